//! Defines [`Digest`], by which verification finds out that an image holds other bytes than its source.
//!
//! While the source is read, each file's bytes are hashed; the finished image is read back and hashed the same way. A
//! file is hashed in pieces of [`PIECE`] bytes, so that several workers can read it: the digest of a file of more than
//! one piece is that of its pieces' digests, in which a run of all-zero pieces is their number, since holes can be of any
//! size and are not read. The hash is not cryptographic: it detects errors, not forgeries.

use std::sync::LazyLock;

use xxhash_rust::xxh3::{Xxh3, xxh3_128};

/// Bytes of a file that are hashed as one, few enough to stay in a core's cache.
pub const PIECE: u64 = PIECE_LEN as u64;

const PIECE_LEN: usize = 1 << 20;

/// The digest of a whole piece of zeros.
static ZEROS: LazyLock<Digest> = LazyLock::new(|| Digest::of_piece(&vec![0; PIECE_LEN]));

/// The hash of a file's bytes (XXH3, 128 bits).
// There is one for each file, mostly beside numbers of 8 bytes.
#[repr(Rust, packed(8))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Digest(pub u128);

impl Digest {
    /// The digest of a file that consists of the pieces.
    pub(crate) fn of_file(pieces: &[Self]) -> Self {
        pieces.iter().copied().collect::<DigestOfPieces>().finish()
    }

    /// The digest of a file of these bytes.
    #[must_use]
    pub fn of_content(bytes: &[u8]) -> Self {
        Self::of_file(&Self::of_pieces(bytes))
    }

    /// The digests of the whole pieces in so many bytes of zeros.
    pub(crate) fn of_zeros(bytes: u64) -> Vec<Self> {
        (0..bytes / PIECE).map(|_| *ZEROS).collect()
    }

    /// The digests of the pieces that the bytes consist of.
    pub(crate) fn of_pieces(bytes: &[u8]) -> Vec<Self> {
        bytes.chunks(PIECE_LEN).map(Self::of_piece).collect()
    }

    /// The digest of one piece, or of a file that is no longer than one.
    #[must_use]
    pub fn of_piece(bytes: &[u8]) -> Self {
        Self(xxh3_128(bytes))
    }
}

/// Puts the digests of a file's pieces together.
#[derive(Default)]
pub struct DigestOfPieces {
    first: Option<Digest>,
    more: Option<Box<Xxh3>>,
    /// Whole pieces of zeros at the end.
    zeros: u64,
}

impl DigestOfPieces {
    /// Takes the next piece's digest.
    pub fn push(&mut self, piece: Digest) {
        if piece == *ZEROS {
            self.push_zeros(1);
        } else {
            self.end_zeros();
            self.add(piece);
        }
    }

    /// Takes the digests of `count` whole pieces of zeros.
    pub fn push_zeros(&mut self, count: u64) {
        self.zeros = self.zeros.saturating_add(count);
    }

    fn end_zeros(&mut self) {
        match std::mem::take(&mut self.zeros) {
            0 => {}
            1 => self.add(*ZEROS),
            more => [*ZEROS, Digest(more.into())].into_iter().for_each(|part| self.add(part)),
        }
    }

    fn add(&mut self, piece: Digest) {
        match self.first {
            None => self.first = Some(piece),
            Some(first) => self
                .more
                .get_or_insert_with(|| {
                    let mut hasher = Box::new(Xxh3::new());
                    hasher.update(&first.0.to_le_bytes());
                    hasher
                })
                .update(&piece.0.to_le_bytes()),
        }
    }

    /// The digest of the file; that of no byte when there was no piece.
    #[must_use]
    pub fn finish(mut self) -> Digest {
        self.end_zeros();
        match (&self.more, self.first) {
            (Some(hasher), _) => Digest(hasher.digest128()),
            (None, Some(only)) => only,
            (None, None) => Digest::of_piece(&[]),
        }
    }
}

impl Extend<Digest> for DigestOfPieces {
    fn extend<T: IntoIterator<Item = Digest>>(&mut self, pieces: T) {
        pieces.into_iter().for_each(|piece| self.push(piece));
    }
}

impl FromIterator<Digest> for DigestOfPieces {
    fn from_iter<T: IntoIterator<Item = Digest>>(pieces: T) -> Self {
        let mut all = Self::default();
        all.extend(pieces);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_piece_is_its_own_digest_and_order_counts() {
        let (a, b) = (Digest::of_piece(b"a"), Digest::of_piece(b"b"));
        let of = Digest::of_file;
        assert_eq!(of(&[a]), a);
        assert_eq!(of(&[]), Digest::of_piece(b""));
        assert_ne!(of(&[a, b]), of(&[b, a]));
        assert_ne!(of(&[a, b]), of(&[a, b, b]));
        let zeros = *ZEROS;
        assert_eq!(of(&[zeros]), zeros);
        assert_ne!(of(&[zeros, zeros, a]), of(&[zeros, zeros, zeros, a]));
        let mut run = DigestOfPieces::default();
        run.push_zeros(2);
        run.push(a);
        run.push_zeros(1);
        assert_eq!(run.finish(), of(&[zeros, zeros, a, zeros]));
        let bytes = vec![7; PIECE_LEN + 1];
        let (piece, rest) = bytes.split_at(PIECE_LEN);
        assert_eq!(Digest::of_pieces(&bytes), [Digest::of_piece(piece), Digest::of_piece(rest)]);
    }
}
