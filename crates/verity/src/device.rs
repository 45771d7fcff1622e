//! Defines [`VerifiedDevice`], which reads only bytes that match a root hash.

use std::{
    fmt,
    num::NonZeroUsize,
    sync::{Arc, Mutex, PoisonError},
};

use lith_device::{DeviceError, ReadAt};
use lith_parallel::try_map;

use crate::{
    RootHash, Shape, Superblock, VerityError,
    area::read_superblock,
    hash::{DIGEST_SIZE, Digest, Hasher},
};

/// Bytes of blocks of digests that are kept: 4 MiB, the digests of 512 MiB of data in blocks of 4 KiB.
const CACHE: u32 = 4 << 20;

/// Data whose blocks are compared with a hash tree whenever they are read.
///
/// A block that doesn't match is [`DeviceError::Changed`], and none of the bytes read with it are handed out. Blocks of
/// digests that were compared once are kept, as many as fit 4 MiB.
pub struct VerifiedDevice {
    data: Box<dyn ReadAt>,
    digests: Box<dyn ReadAt>,
    superblock: Superblock,
    shape: Shape,
    hasher: Hasher,
    root: RootHash,
    cache: Vec<Slot>,
    /// How errors name it.
    name: Option<Box<str>>,
}

/// A block of digests that matched, and its number. Each number has one slot that it can be in.
type Slot = Mutex<Option<(u64, Arc<[u8]>)>>;

impl fmt::Debug for VerifiedDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { superblock, root, .. } = self;
        f.debug_struct("VerifiedDevice")
            .field("superblock", superblock)
            .field("root", root)
            .finish()
    }
}

impl VerifiedDevice {
    /// Verifies `data` with the tree whose superblock is at a byte of another device, or of the same one.
    ///
    /// # Errors
    /// [`VerityError`] if there is no such tree, it isn't the one of `root`, or there is less data than it is about.
    pub fn new(
        data: Box<dyn ReadAt>,
        (digests, hash_offset): (Box<dyn ReadAt>, u64),
        root: RootHash,
    ) -> Result<Self, VerityError> {
        let superblock = read_superblock(&digests, hash_offset)?;
        let shape = Shape::new(&superblock, hash_offset)?;
        let (found, expected) = (data.size(), shape.data_bytes());
        if found < expected {
            return Err(VerityError::Length { found, expected });
        }
        let blocks = shape.levels.iter().map(|level| level.blocks).sum::<u64>();
        let slots = blocks.min((CACHE / shape.hash_block).into());
        let cache = (0..slots).map(|_| Slot::default()).collect();
        let hasher = Hasher::new(&superblock.salt);
        let device = Self { data, digests, superblock, shape, hasher, root, cache, name: None };
        device.check_top()?;
        Ok(device)
    }

    /// The same, with a name that errors have for it.
    #[must_use]
    pub fn named(self, name: &str) -> Self {
        Self { name: Some(name.into()), ..self }
    }

    /// How the tree was made.
    #[must_use]
    pub const fn superblock(&self) -> &Superblock {
        &self.superblock
    }

    /// Reads all data once.
    ///
    /// # Errors
    /// [`DeviceError::Changed`] about the first block that doesn't match, or the error of reading.
    pub fn verify(&self, workers: NonZeroUsize) -> Result<(), DeviceError> {
        const STEP: u64 = 1 << 20;
        let steps: Vec<u64> = (0..self.size().div_ceil(STEP)).collect();
        try_map(&steps, workers, Vec::new, |buffer, step| {
            let start = step * STEP;
            let len = (self.size() - start).min(STEP);
            buffer.resize(usize::try_from(len).expect("at most a step"), 0);
            self.read_at(buffer, start)
        })?;
        Ok(())
    }

    /// Compares the digest at the top with the root hash; that of data without a tree when it is read.
    fn check_top(&self) -> Result<(), VerityError> {
        if self.shape.levels.is_empty() {
            return Ok(());
        }
        let top = self.read_digests(0)?;
        let found = RootHash(self.hasher.hash(&top));
        if found == self.root {
            return Ok(());
        }
        Err(VerityError::RootHash { found, expected: self.root })
    }

    fn read_digests(&self, block: u64) -> Result<Arc<[u8]>, DeviceError> {
        let mut bytes = vec![0; self.shape.hash_block as usize];
        self.digests.read_at(&mut bytes, self.shape.position(block))?;
        Ok(bytes.into())
    }

    /// A block of digests of a level, compared with the tree above it.
    fn digests(&self, level: usize, number: u64) -> Result<Arc<[u8]>, DeviceError> {
        let first = self.shape.levels.get(level).map_or(0, |level| level.first);
        let block = first + number;
        let slot = usize::try_from(block % self.cache.len().max(1) as u64);
        let slot = slot.ok().and_then(|slot| self.cache.get(slot));
        let slot = slot.expect("a tree with blocks has slots");
        let kept = slot.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some((_, bytes)) = kept.filter(|(kept, _)| *kept == block) {
            return Ok(bytes);
        }
        let bytes = self.read_digests(block)?;
        let above = self.above(level + 1, number)?;
        if !self.matches(&self.hasher.hash(&bytes), &above, number) {
            let position = self.shape.position(block);
            return Err(self.changed("hash block", block, position));
        }
        *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some((block, Arc::clone(&bytes)));
        Ok(bytes)
    }

    /// The block of digests, of a level, with that of the block below it that is `number` in its own level.
    fn above(&self, level: usize, number: u64) -> Result<Arc<[u8]>, DeviceError> {
        if level == self.shape.levels.len() {
            return Ok(self.root.0.as_slice().into());
        }
        self.digests(level, number / self.shape.per_block())
    }

    /// Whether a block of digests has that of a block that is `number` in its level.
    fn matches(&self, found: &Digest, above: &[u8], number: u64) -> bool {
        let at = usize::try_from(number % self.shape.per_block()).expect("a block has few digests");
        above.chunks_exact(DIGEST_SIZE).nth(at) == Some(&found[..])
    }

    fn changed(&self, what: &'static str, block: u64, position: u64) -> DeviceError {
        DeviceError::Changed { what, block, position, device: self.name.clone() }
    }

    /// Reads and compares whole blocks.
    fn read_blocks(&self, buf: &mut [u8], first: u64) -> Result<(), DeviceError> {
        let size = self.shape.data_block;
        self.data.read_at(buf, first * u64::from(size))?;
        let mut above = self.above(0, first)?;
        for (block, digest) in (first..).zip(self.hasher.hash_each(buf, size as usize)) {
            if block > first && block % self.shape.per_block() == 0 {
                above = self.above(0, block)?;
            }
            if !self.matches(&digest, &above, block) {
                let position = block * u64::from(size);
                return Err(self.changed("block", block, position));
            }
        }
        Ok(())
    }

    /// Reads and compares a block, and copies a part of it.
    fn read_part(&self, part: &mut [u8], block: u64, start: usize) -> Result<(), DeviceError> {
        let mut whole = vec![0; self.shape.data_block as usize];
        self.read_blocks(&mut whole, block)?;
        let found = whole.get(start..start + part.len());
        part.copy_from_slice(found.expect("a part of a block is inside it"));
        Ok(())
    }

    fn read(&self, buf: &mut [u8], position: u64) -> Result<(), DeviceError> {
        let bytes = u64::from(self.shape.data_block);
        let size = self.shape.data_block as usize;
        let within = usize::try_from(position % bytes).unwrap_or(0);
        let first = position / bytes;
        let head = if within == 0 { 0 } else { (size - within).min(buf.len()) };
        let (head, rest) = buf.split_at_mut(head);
        let whole = rest.len() - rest.len() % size;
        let (whole, tail) = rest.split_at_mut(whole);
        if !head.is_empty() {
            self.read_part(head, first, within)?;
        }
        let next = first + u64::from(within > 0);
        if !whole.is_empty() {
            self.read_blocks(whole, next)?;
        }
        if !tail.is_empty() {
            self.read_part(tail, next + whole.len() as u64 / bytes, 0)?;
        }
        Ok(())
    }
}

impl ReadAt for VerifiedDevice {
    fn read_at(&self, buf: &mut [u8], position: u64) -> Result<(), DeviceError> {
        let length = buf.len() as u64;
        let end = position.checked_add(length);
        if end.is_none_or(|end| end > self.size()) {
            return Err(DeviceError::PastEnd { position, length, size: self.size() });
        }
        // Also a caller that ignores the error gets nothing that was changed.
        self.read(buf, position).inspect_err(|_changed| buf.fill(0))
    }

    fn size(&self) -> u64 {
        self.shape.data_bytes()
    }

    fn will_need(&self, position: u64, length: u64) {
        self.data.will_need(position, length);
    }
}

#[cfg(test)]
mod tests {
    use lith_device::MemoryDevice;

    use super::*;
    use crate::{format, in_memory};

    const DATA_BLOCKS: u64 = 300;

    /// Bytes of data, then of the tree with the superblock at the data's end, and the root hash. Three levels.
    fn signed() -> (Vec<u8>, RootHash) {
        let mut random = fastrand::Rng::with_seed(1);
        let data: Vec<u8> = (0..DATA_BLOCKS * 512).map(|_| random.u8(..)).collect();
        let superblock = Superblock {
            uuid: [1; 16],
            data_block: 512,
            hash_block: 512,
            data_blocks: DATA_BLOCKS,
            salt: vec![5; 32],
        };
        let all = Mutex::new(data.clone());
        let put = |bytes: &[u8], position: u64| {
            let mut all = all.lock().unwrap();
            let start = usize::try_from(position).unwrap();
            let len = all.len().max(start + bytes.len());
            all.resize(len, 0);
            all[start..start + bytes.len()].copy_from_slice(bytes);
            Ok(())
        };
        let (data, offset) = (MemoryDevice::new(data), DATA_BLOCKS * 512);
        let root = format(&data, (&superblock, offset), &put, NonZeroUsize::MIN).unwrap();
        (all.into_inner().unwrap(), root)
    }

    fn open(bytes: &[u8], root: RootHash) -> Result<VerifiedDevice, VerityError> {
        let device = || Box::new(MemoryDevice::new(bytes.to_vec()));
        VerifiedDevice::new(device(), (device(), DATA_BLOCKS * 512), root)
    }

    #[test]
    fn any_range_is_read_as_it_is() {
        let (bytes, root) = signed();
        let device = open(&bytes, root).unwrap();
        assert_eq!(device.size(), DATA_BLOCKS * 512);
        for (start, len) in [
            (0, 1),
            (0, 512),
            (511, 2),
            (100, 3000),
            (512, 513),
            (153_599, 1),
            (0, 153_600),
            (7, 0),
        ] {
            let mut found = vec![0; len];
            device.read_at(&mut found, start as u64).unwrap();
            assert_eq!(found, bytes[start..start + len], "{start} {len}");
        }
        for (start, len) in [(153_600, 1), (0, 153_601), (u64::MAX, 2)] {
            let past = device.read_at(&mut vec![0; len], start);
            assert!(matches!(past, Err(DeviceError::PastEnd { size: 153_600, .. })), "{start}");
        }
        device.verify(NonZeroUsize::MIN.saturating_add(1)).unwrap();
    }

    #[test]
    fn a_changed_byte_anywhere_is_found_and_not_handed_out() {
        let (bytes, root) = signed();
        for at in (0..bytes.len()).step_by(97) {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            let data_end = usize::try_from(DATA_BLOCKS * 512).unwrap();
            let Ok(device) = open(&changed, root) else {
                // The superblock, or the block at the top.
                assert!((data_end..data_end + 1024).contains(&at), "{at}");
                continue;
            };
            let found = device.verify(NonZeroUsize::MIN);
            if at < data_end {
                let block = at as u64 / 512;
                let Err(DeviceError::Changed { what: "block", block: named, .. }) = found else {
                    panic!("{at}: {found:?}");
                };
                assert_eq!(named, block);
                let mut buf = vec![7; 2048];
                let start = (block * 512).min(device.size() - 2048);
                assert!(device.read_at(&mut buf, start).is_err());
                assert!(buf.iter().all(|byte| *byte == 0));
            } else if at >= data_end + 512 {
                let found = found.unwrap_err();
                assert!(matches!(found, DeviceError::Changed { what: "hash block", .. }), "{at}");
            }
        }
    }

    #[test]
    fn errors_name_the_device() {
        let (mut bytes, root) = signed();
        bytes[700] ^= 1;
        let device = open(&bytes, root).unwrap().named("old.erofs");
        let error = device.read_at(&mut [0], 600).unwrap_err().to_string();
        assert!(error.starts_with("block 1 (at byte 512) of old.erofs has changed"), "{error}");
    }

    #[test]
    fn another_root_hash_is_refused() {
        let (bytes, root) = signed();
        let other = RootHash([1; 32]);
        let Err(VerityError::RootHash { found, expected }) = open(&bytes, other) else {
            panic!("it was accepted");
        };
        assert_eq!((found, expected), (root, other));
        let short = open(&bytes[..153_599], root);
        assert!(short.is_err());
    }

    #[test]
    fn a_single_block_is_compared_with_the_root_hash() {
        let device = in_memory(Box::new(MemoryDevice::new(vec![3; 512])), NonZeroUsize::MIN);
        let mut buf = [0; 3];
        device.unwrap().read_at(&mut buf, 509).unwrap();
        assert_eq!(buf, [3; 3]);
    }
}
