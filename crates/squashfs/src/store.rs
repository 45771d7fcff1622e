//! Defines [`Store`], the bytes of an image and the decoded blocks that are kept.

use std::{cell::Cell, sync::Arc};

use lith_device::ReadAt;

use crate::{
    Compression, Corruption, Error,
    cache::{Block, Cache},
    limits,
    stored::StoredBlock,
};

/// Set in the two bytes before a metadata block if it is stored as it is.
const UNCOMPRESSED: u16 = 1 << 15;

/// Where blocks are read from.
pub(crate) struct Store {
    device: Box<dyn ReadAt>,
    compression: Compression,
    metadata: Cache,
    data: Cache,
    /// The most bytes in a data block, decoded.
    pub(crate) block_size: u32,
}

thread_local! {
    /// Memory for stored blocks.
    static STORED: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

impl Store {
    pub(crate) fn new(device: Box<dyn ReadAt>, compression: Compression, block_size: u32) -> Self {
        let data = limits::DATA_CACHE / usize::try_from(block_size).expect("32 bits");
        let metadata = Cache::new(limits::METADATA_CACHE / limits::METADATA);
        Self { device, compression, metadata, data: Cache::new(data), block_size }
    }

    /// Bytes of the device.
    pub(crate) fn size(&self) -> u64 {
        self.device.size()
    }

    pub(crate) fn read(&self, buf: &mut [u8], position: u64) -> Result<(), Error> {
        Ok(self.device.read_at(buf, position)?)
    }

    /// The metadata block at a position.
    pub(crate) fn metadata_block(&self, position: u64) -> Result<Arc<Block>, Error> {
        self.metadata.get(position, || self.read_metadata_block(position))
    }

    fn read_metadata_block(&self, position: u64) -> Result<Block, Error> {
        let mut head = [0; 2];
        self.read(&mut head, position)?;
        let head = u16::from_le_bytes(head);
        let size = metadata_size(head);
        let size = size.map_err(|size| Corruption::MetadataSize { position, size })?;
        let start = position.saturating_add(2);
        let mut stored = vec![0; size];
        self.read(&mut stored, start)?;
        let end = start.saturating_add(size as u64);
        if head & UNCOMPRESSED != 0 {
            return Ok(Block { bytes: stored.into(), end });
        }
        let mut bytes = vec![0; limits::METADATA];
        let decoded = self.compression.decode(&stored, &mut bytes);
        bytes.truncate(decoded.map_err(|source| Corruption::Stream { position, source })?);
        Ok(Block { bytes: bytes.into(), end })
    }

    /// A decoded data or fragment block, which has at most `most` bytes.
    pub(crate) fn data_block(&self, stored: StoredBlock, most: usize) -> Result<Arc<Block>, Error> {
        self.data.get(stored.position, || {
            let mut bytes = vec![0; most];
            let length = self.decode(stored, &mut bytes)?;
            bytes.truncate(length);
            let end = stored.position.saturating_add(stored.size.into());
            Ok(Block { bytes: bytes.into(), end })
        })
    }

    /// Decodes a data or fragment block, and returns the number of its bytes.
    pub(crate) fn decode(&self, stored: StoredBlock, output: &mut [u8]) -> Result<usize, Error> {
        let position = stored.position;
        let size = usize::try_from(stored.size).expect("32 bits");
        if !stored.is_compressed {
            let expected = output.len();
            let Some(bytes) = output.get_mut(..size) else {
                return Err(Corruption::BlockLength { position, found: size, expected }.into());
            };
            self.read(bytes, position)?;
            return Ok(size);
        }
        let mut bytes = STORED.take();
        bytes.resize(size, 0);
        let read = self.read(&mut bytes, position);
        let decoded = read.map(|()| self.compression.decode(&bytes, output));
        STORED.set(bytes);
        Ok(decoded?.map_err(|source| Corruption::Stream { position, source })?)
    }
}

/// Bytes that a metadata block takes, by the two bytes before it; `Err`: as many are impossible.
pub(crate) fn metadata_size(head: u16) -> Result<usize, usize> {
    // Zero stands for 32768 bytes, which are too many.
    match usize::from(head & !UNCOMPRESSED) {
        size @ 1..=limits::METADATA => Ok(size),
        size => Err(size),
    }
}
