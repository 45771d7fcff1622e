//! Defines [`Packed`], a temporary file of compressed bytes that are read at any position.

use std::{
    collections::VecDeque,
    fs::File,
    io::{self, Write},
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use lith_codec::{Algorithm, Compressor, Encoder, decode};
use lith_system::FileAt;

/// Bytes that are compressed together: as far back as LZ4 finds matches. A read of one byte decodes them.
const BLOCK: usize = 64 << 10;
/// Decoded blocks that are kept, as small files are read one after the other.
const KEPT: usize = 32;

/// Bytes in a file without a name, each block compressed by LZ4 or, where that gains nothing, as it is. The last, incomplete
/// block is in memory.
///
/// Content is read several times, and in another order than it arrives. LZ4 takes less time than what is done with each byte
/// besides, and the file about half the space.
pub(super) struct Packed {
    file: File,
    /// Where each block ends in the file.
    ends: Vec<u64>,
    last: Vec<u8>,
    /// In a mutex because it is not `Sync`.
    encoder: Mutex<Encoder>,
    /// What the encoder writes to.
    output: Vec<u8>,
    kept: Mutex<VecDeque<(usize, Arc<[u8]>)>>,
}

impl Packed {
    /// An empty one in a directory.
    pub(super) fn new(dir: &Path) -> io::Result<Self> {
        Ok(Self {
            file: tempfile::tempfile_in(dir)?,
            ends: Vec::new(),
            last: Vec::with_capacity(BLOCK),
            encoder: Mutex::new(Encoder::new(&Compressor::Lz4)),
            output: vec![0; BLOCK],
            kept: Mutex::default(),
        })
    }

    /// Bytes that were appended.
    pub(super) fn length(&self) -> u64 {
        self.ends.len() as u64 * BLOCK as u64 + self.last.len() as u64
    }

    /// Appends bytes.
    pub(super) fn append(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let (part, rest) = bytes.split_at(bytes.len().min(BLOCK - self.last.len()));
            self.last.extend_from_slice(part);
            if self.last.len() == BLOCK {
                self.write()?;
            }
            bytes = rest;
        }
        Ok(())
    }

    /// Writes the last block, which is complete.
    fn write(&mut self) -> io::Result<()> {
        let encoder = self.encoder.get_mut().unwrap_or_else(PoisonError::into_inner);
        let fit = encoder.fill(&self.last, &mut self.output).map_err(io::Error::other)?;
        let fit = fit.filter(|fit| fit.consumed == BLOCK && fit.written < BLOCK);
        let packed = fit.and_then(|fit| self.output.get(..fit.written));
        let bytes = packed.unwrap_or(&self.last);
        self.file.write_all(bytes)?;
        self.ends.push(self.ends.last().unwrap_or(&0) + bytes.len() as u64);
        self.last.clear();
        Ok(())
    }

    /// Fills `buf` with bytes that were appended.
    pub(super) fn read_at(&self, mut buf: &mut [u8], mut position: u64) -> io::Result<()> {
        while !buf.is_empty() {
            let number = usize::try_from(position / BLOCK as u64).unwrap_or(usize::MAX);
            let start = usize::try_from(position % BLOCK as u64).unwrap_or_default();
            let length = buf.len().min(BLOCK - start);
            let (part, rest) = buf.split_at_mut(length);
            if number == self.ends.len() {
                copy(part, &self.last, start)?;
            } else if length == BLOCK {
                self.decode(number, part)?;
            } else {
                copy(part, &self.block(number)?, start)?;
            }
            position += length as u64;
            buf = rest;
        }
        Ok(())
    }

    /// A block of the file, decoded.
    fn block(&self, number: usize) -> io::Result<Arc<[u8]>> {
        let find = |(other, block): &(usize, Arc<[u8]>)| (*other == number).then(|| block.clone());
        if let Some(block) = self.kept().iter().find_map(find) {
            return Ok(block);
        }
        let mut bytes = vec![0; BLOCK];
        self.decode(number, &mut bytes)?;
        let block: Arc<[u8]> = bytes.into();
        let mut kept = self.kept();
        kept.truncate(KEPT - 1);
        kept.push_front((number, Arc::clone(&block)));
        Ok(block)
    }

    /// Decodes a block of the file.
    fn decode(&self, number: usize, to: &mut [u8]) -> io::Result<()> {
        let before = number.checked_sub(1).and_then(|before| self.ends.get(before));
        let (start, end) = (*before.unwrap_or(&0), self.ends.get(number));
        let end = end.ok_or(io::ErrorKind::UnexpectedEof)?;
        let length = usize::try_from(end - start).expect("at most a block");
        if length == BLOCK {
            return self.file.read_exact_at(to, start);
        }
        let mut packed = vec![0; length];
        self.file.read_exact_at(&mut packed, start)?;
        decode(Algorithm::Lz4, &packed, to).map_err(io::Error::other)
    }

    fn kept(&self) -> MutexGuard<'_, VecDeque<(usize, Arc<[u8]>)>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Copies bytes of a block from a position on.
fn copy(to: &mut [u8], block: &[u8], start: usize) -> io::Result<()> {
    let bytes = start.checked_add(to.len()).and_then(|end| block.get(start..end));
    to.copy_from_slice(bytes.ok_or(io::ErrorKind::UnexpectedEof)?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Text, noise and zeros, of several blocks each.
    fn data() -> Vec<u8> {
        let mut noise = fastrand::Rng::with_seed(7);
        let text = b"the same words again and again; ".iter().copied().cycle().take(300_000);
        let noise = std::iter::repeat_with(move || noise.u8(..)).take(300_000);
        text.chain(noise).chain(std::iter::repeat_n(0, 300_000)).collect()
    }

    #[test]
    fn bytes_are_read_at_any_position_and_take_less_space() {
        let (dir, data) = (tempfile::tempdir().unwrap(), data());
        let mut packed = Packed::new(dir.path()).unwrap();
        let mut rest = &data[..];
        for length in [0, 1, 65_535, 65_536, 400_000, 368_928] {
            let (part, after) = rest.split_at(length);
            packed.append(part).unwrap();
            rest = after;
        }
        assert!(rest.is_empty());
        assert_eq!(packed.length(), 900_000);
        for (start, length) in
            [(0, 900_000), (65_535, 2), (65_536, 65_536), (131_000, 200_000), (899_999, 1), (7, 0)]
        {
            for _ in 0..2 {
                let mut found = vec![0; length];
                packed.read_at(&mut found, start as u64).unwrap();
                assert!(found == data[start..start + length], "{length} bytes at {start}");
            }
        }
        for start in [899_999, 900_000, u64::MAX - 9] {
            assert!(packed.read_at(&mut [0; 2], start).is_err(), "{start}");
        }
        // Noise alone is as large as it was.
        let taken = packed.file.metadata().unwrap().len();
        assert!((250_000..400_000).contains(&taken), "{taken}");
    }
}
