//! Makes hash trees.

use std::{
    io,
    num::NonZeroUsize,
    ops::Range,
    sync::{Mutex, PoisonError},
};

use lith_device::{MemoryDevice, ReadAt};
use lith_parallel::try_map;

use crate::{
    RootHash, Shape, Superblock, VerifiedDevice, VerityError,
    hash::{Digest, Hasher},
    identity::Identity,
    shape::Level,
};

/// Writes bytes at a position; called by several threads.
pub type Put<'a> = dyn Fn(&[u8], u64) -> io::Result<()> + Sync + 'a;

/// Makes the hash tree of the data that a superblock describes, and writes both with `put`: the tree, and then the superblock
/// in front of it, at byte `hash_offset`. Of what is interrupted nobody thinks that it is a tree.
///
/// Each block is read once. Memory is a digest for each block of digests, a 128th of the tree.
///
/// # Errors
/// [`VerityError`] if the data has fewer blocks, can't be read, or the tree can't be written.
pub fn format(
    data: &dyn ReadAt,
    (superblock, hash_offset): (&Superblock, u64),
    put: &Put<'_>,
    workers: NonZeroUsize,
) -> Result<RootHash, VerityError> {
    let shape = Shape::new(superblock, hash_offset)?;
    let (found, expected) = (data.size(), shape.data_bytes());
    if found < expected {
        return Err(VerityError::Length { found, expected });
    }
    let mut head = superblock.encode()?.to_vec();
    head.resize(length(shape.position(0) - hash_offset), 0);
    let hasher = Hasher::new(&superblock.salt);
    let root = Formatter { shape: &shape, hasher, put }.run(data, workers)?;
    put(&head, hash_offset).map_err(VerityError::Write)?;
    Ok(root)
}

/// Makes the hash tree of all bytes of a device in memory. What it reads later is what it read for that, or an error.
///
/// # Errors
/// [`VerityError`] if the device can't be read, or its size is no multiple of 512 bytes.
pub fn in_memory(
    data: Box<dyn ReadAt>,
    workers: NonZeroUsize,
) -> Result<VerifiedDevice, VerityError> {
    let block = 1 << data.size().trailing_zeros().min(12);
    let data_blocks = data.size() / u64::from(block);
    let Identity { salt, uuid } = Identity::of(&data)?;
    let superblock = Superblock { uuid, data_block: block, hash_block: block, data_blocks, salt };
    let shape = Shape::new(&superblock, 0)?;
    let bytes = Mutex::new(vec![0; length(shape.end())]);
    let put = |part: &[u8], position: u64| {
        let mut bytes = bytes.lock().unwrap_or_else(PoisonError::into_inner);
        let place = bytes.iter_mut().skip(length(position));
        place.zip(part).for_each(|(to, from)| *to = *from);
        Ok(())
    };
    let root = format(&data, (&superblock, 0), &put, workers)?;
    let bytes = bytes.into_inner().unwrap_or_else(PoisonError::into_inner);
    VerifiedDevice::new(data, (Box::new(MemoryDevice::new(bytes)), 0), root)
}

/// A number of bytes in memory; of more than there can be, allocating fails.
fn length(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

/// Makes a tree.
struct Formatter<'a> {
    shape: &'a Shape,
    hasher: Hasher,
    put: &'a Put<'a>,
}

impl Formatter<'_> {
    fn run(&self, data: &dyn ReadAt, workers: NonZeroUsize) -> Result<RootHash, VerityError> {
        let Some((lowest, above)) = self.shape.levels.split_first() else {
            let mut block = vec![0; self.shape.data_block as usize];
            data.read_at(&mut block, 0)?;
            return Ok(RootHash(self.hasher.hash(&block)));
        };
        let blocks: Vec<u64> = (0..lowest.blocks).collect();
        let mut digests = try_map(&blocks, workers, Vec::new, |buffer, number| {
            let digests = self.digests_of(data, self.under(*number), buffer)?;
            self.finish(lowest.first + number, &digests)
        })?;
        for level in above {
            digests = self.level(*level, &digests)?;
        }
        let root = digests.first().copied().expect("the level at the top has one block");
        Ok(RootHash(root))
    }

    /// The blocks of data that a block of the lowest level is about.
    fn under(&self, number: u64) -> Range<u64> {
        let start = number * self.shape.per_block();
        start..(start + self.shape.per_block()).min(self.shape.data_blocks)
    }

    /// Reads and hashes blocks of data.
    fn digests_of(
        &self,
        data: &dyn ReadAt,
        blocks: Range<u64>,
        buffer: &mut Vec<u8>,
    ) -> Result<Vec<Digest>, VerityError> {
        let size = u64::from(self.shape.data_block);
        buffer.resize(length((blocks.end - blocks.start) * size), 0);
        data.read_at(buffer, blocks.start * size)?;
        Ok(self.hasher.hash_each(buffer, self.shape.data_block as usize).collect())
    }

    /// Writes a level with the digests of all blocks below it, and returns those of its own blocks.
    fn level(&self, level: Level, below: &[Digest]) -> Result<Vec<Digest>, VerityError> {
        let blocks = below.chunks(length(self.shape.per_block()));
        (level.first..).zip(blocks).map(|(block, digests)| self.finish(block, digests)).collect()
    }

    /// Writes a block of digests, and returns its own digest.
    fn finish(&self, block: u64, digests: &[Digest]) -> Result<Digest, VerityError> {
        let mut bytes = digests.as_flattened().to_vec();
        bytes.resize(self.shape.hash_block as usize, 0);
        (self.put)(&bytes, self.shape.position(block)).map_err(VerityError::Write)?;
        Ok(self.hasher.hash(&bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(bytes: u64) -> Box<dyn ReadAt> {
        let mut random = fastrand::Rng::with_seed(bytes);
        let bytes: Vec<u8> = (0..bytes).map(|_| random.u8(..)).collect();
        Box::new(MemoryDevice::new(bytes))
    }

    #[test]
    fn the_tree_is_the_same_for_any_number_of_workers() {
        for blocks in [1, 2, 128, 129, 1000] {
            let data = device(blocks * 512);
            let (uuid, salt) = ([1; 16], vec![9; 32]);
            let superblock =
                Superblock { uuid, data_block: 512, hash_block: 1024, data_blocks: blocks, salt };
            let made = |workers| {
                let written = Mutex::new(Vec::new());
                let put = |bytes: &[u8], position| {
                    written.lock().unwrap().push((position, bytes.to_vec()));
                    Ok(())
                };
                let workers = NonZeroUsize::new(workers).unwrap();
                let root = format(&data, (&superblock, 2048), &put, workers).unwrap();
                let mut written = written.into_inner().unwrap();
                assert_eq!(written.last().unwrap().0, 2048, "the superblock is the last");
                written.sort();
                (root, written)
            };
            assert_eq!(made(1), made(3));
        }
    }

    #[test]
    fn data_that_is_too_short_is_an_error() {
        let (uuid, salt) = ([1; 16], vec![]);
        let superblock =
            Superblock { uuid, data_block: 512, hash_block: 512, data_blocks: 3, salt };
        let put = |_: &[u8], _| Ok(());
        let made = format(&device(1024), (&superblock, 0), &put, NonZeroUsize::MIN);
        assert!(matches!(made, Err(VerityError::Length { found: 1024, expected: 1536 })));
        assert!(in_memory(device(100), NonZeroUsize::MIN).is_err());
        assert!(in_memory(device(0), NonZeroUsize::MIN).is_err());
    }

    #[test]
    fn a_failure_to_write_is_told() {
        let full =
            |_: &[u8], at| if at > 0 { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) };
        let superblock = Superblock {
            uuid: [0; 16],
            data_block: 512,
            hash_block: 512,
            data_blocks: 30,
            salt: vec![],
        };
        let made = format(&device(30 * 512), (&superblock, 0), &full, NonZeroUsize::MIN);
        assert!(matches!(made, Err(VerityError::Write(_))));
    }
}
