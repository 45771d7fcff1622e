//! Cuts images into chunks by their content, so that versions of an image have most chunks in common. Defines [`ChunkSize`].

use std::io::{self, Read};

use fastcdc::v2020::StreamCDC;
use sha2::{Digest, Sha256};

use super::index::{ChunkIndex, MOST};

const SMALLEST: u32 = 16 << 10;
const LARGEST: u32 = 4 << 20;
/// The size of chunks unless the image is long: a chunk is what a read of a few bytes fetches.
const USUAL: u32 = 256 << 10;
/// The number of chunks above which they get larger. Registries limit what a manifest lists: some to 4200.
const MANY: u64 = 3072;

/// The size that chunks have on average. They have a fourth of it at least, but for the last one, and four times as much at most.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ChunkSize(u32);

impl ChunkSize {
    /// A power of two from 16 KiB to 4 MiB.
    #[must_use]
    pub fn new(bytes: u64) -> Option<Self> {
        let bytes = u32::try_from(bytes).ok()?;
        let is_legal = bytes.is_power_of_two() && (SMALLEST..=LARGEST).contains(&bytes);
        is_legal.then_some(Self(bytes))
    }

    /// That for images of so many bytes together: 256 KiB, or more so that there are some thousand chunks at most.
    #[must_use]
    pub fn usual(length: u64) -> Self {
        let mut size = USUAL;
        while size < LARGEST && length / u64::from(size) > MANY {
            size *= 2;
        }
        Self(size)
    }

    /// The number of bytes.
    #[must_use]
    pub const fn bytes(self) -> u32 {
        self.0
    }
}

/// Cuts what a reader has. Returns the digest of all of it too, in the form `sha256:HEX`.
///
/// # Errors
/// The reader's, or that there are too many chunks for a manifest, or a few too often.
pub fn cut_chunks(reader: impl Read, size: ChunkSize) -> io::Result<(ChunkIndex, String)> {
    let bytes = usize::try_from(size.0).map_err(io::Error::other)?;
    let (mut index, mut all) = (ChunkIndex::default(), Sha256::new());
    for chunk in StreamCDC::new(Restarting(reader), bytes / 4, bytes, bytes * 4) {
        let chunk = chunk?;
        all.update(&chunk.data);
        if !index.push(chunk.data.len() as u64, Sha256::digest(&chunk.data).into()) {
            let what = format!("it has more than {MOST} chunks of {bytes} bytes: take larger ones");
            return Err(io::Error::other(what));
        }
    }
    index.check_repeats().map_err(io::Error::other)?;
    Ok((index, format!("sha256:{}", hex::encode(all.finalize()))))
}

/// Reads again what a signal has interrupted.
struct Restarting<R>(R);

impl<R: Read> Read for Restarting<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.0.read(buf) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                done => return done,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::digest::sha256_of;

    const MIB: usize = 1 << 20;

    /// Bytes without repeats.
    fn noise(length: usize, seed: u64) -> Vec<u8> {
        let mut random = fastrand::Rng::with_seed(seed);
        std::iter::repeat_with(|| random.u8(..)).take(length).collect()
    }

    #[test]
    fn chunks_tile_what_they_are_cut_from() {
        let bytes = noise(3 * MIB + 77, 1);
        let (index, all) = cut_chunks(&*bytes, ChunkSize::new(64 << 10).unwrap()).unwrap();
        assert_eq!(sha256_of(&*bytes).unwrap(), (all, index.length()));
        let mut next = 0;
        for chunk in index.chunks() {
            assert_eq!(chunk.start, next);
            next += chunk.length;
            assert!(chunk.length >= 16 << 10 || next == index.length());
            assert!(chunk.length <= 256 << 10);
            let own = &bytes[usize::try_from(chunk.start).unwrap()..usize::try_from(next).unwrap()];
            assert_eq!(chunk.digest(), sha256_of(own).unwrap().0);
        }
        assert_eq!(next, index.length());
        // Releases that cut in other places have no chunk in common with this one.
        let pinned = "sha256:c720bbb163cf4458c0c8fd8b54e94f8d3b8806ad97c0e1e0ec74d5cf7dec2f6b";
        assert_eq!(sha256_of(&*index.to_bytes()).unwrap().0, pinned);
        let none = cut_chunks(&b""[..], ChunkSize::usual(0)).unwrap().0;
        assert_eq!((none.length(), none.chunks().count()), (0, 0));
    }

    #[test]
    fn versions_have_chunks_in_common() {
        let (old, size) = (noise(8 * MIB, 2), ChunkSize::new(64 << 10).unwrap());
        let new = [&old[..MIB], b"inserted", &old[MIB..5 * MIB], &old[5 * MIB + 4096..]].concat();
        let digests = |bytes: &[u8]| {
            let index = cut_chunks(bytes, size).unwrap().0;
            index.chunks().map(|chunk| chunk.digest()).collect::<HashSet<_>>()
        };
        let (old, new) = (digests(&old), digests(&new));
        assert!(new.difference(&old).count() <= 6, "{}", new.difference(&old).count());
    }

    #[test]
    fn long_images_have_larger_chunks() {
        let usual = |length: u64| ChunkSize::usual(length).bytes();
        assert_eq!([usual(0), usual(700 << 20), usual(1 << 30)], [USUAL, USUAL, 2 * USUAL]);
        assert_eq!(usual(u64::MAX), LARGEST);
        assert_eq!(ChunkSize::new(8 << 10), None);
        assert_eq!(ChunkSize::new(100_000), None);
        assert_eq!(ChunkSize::new(8 << 20), None);
    }
}
