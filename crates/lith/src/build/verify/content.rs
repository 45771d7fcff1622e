//! Compares the content of an image's files with the digests of what was read.

use std::num::NonZeroUsize;

use lith_builder::{Digest, DigestOfPieces, PIECE};
use lith_format::addr::Nid;
use lith_observer::Observer;
use lith_parallel::try_map;
use lith_reader::{DataRange, Image};
use lith_tree::{InodeIndex, Kind, Tree};

use crate::{Error, mismatch::Mismatch};

/// Pieces that a worker takes at once, since neighbours mostly share pclusters.
const STRIDE: usize = 8;

/// A piece of a file, at most [`PIECE`] bytes.
#[derive(Clone, Copy)]
struct Piece {
    index: InodeIndex,
    nid: Nid,
    start: u64,
    /// Whole pieces from `start` on that a hole of the image holds; 0: it is one piece, which is read.
    holes: u64,
}

/// Compares the content of regular files.
pub(super) struct Content<'a> {
    pub(super) tree: &'a Tree,
    pub(super) image: &'a Image,
    /// The digest of each file, by its index in the tree.
    pub(super) digests: &'a [Digest],
    pub(super) observer: &'a dyn Observer,
}

impl Content<'_> {
    pub(super) fn compare_all(
        &self,
        files: &[(InodeIndex, Nid)],
        workers: NonZeroUsize,
    ) -> Result<(), Error> {
        let sizes = files.iter().map(|(index, _)| self.size(*index));
        self.observer.expect(sizes.fold(0, u64::saturating_add));
        let nids: Vec<Nid> = files.iter().map(|(_, nid)| *nid).collect();
        let groups = self.image.reading_order(&nids);
        let groups = groups.unwrap_or_else(|| vec![(0..files.len()).collect()]);
        let (others, packed) = groups.split_last().expect("there is a group at least");
        let pieces = |group: &Vec<usize>| -> Result<Vec<Piece>, Mismatch> {
            let mut pieces = Vec::new();
            for (index, nid) in group.iter().filter_map(|number| files.get(*number)) {
                self.add_pieces((*index, *nid), &mut pieces)?;
            }
            Ok(pieces)
        };
        let packed = packed.iter().map(pieces).collect::<Result<Vec<_>, _>>()?;
        let others = pieces(others)?;
        let strides = packed.iter().map(Vec::as_slice).chain(others.chunks(STRIDE));
        let strides: Vec<_> = strides.collect();
        let digests = try_map(&strides, workers, Vec::new, |buf, stride| {
            stride.iter().map(|piece| self.hash(piece, buf)).collect::<Result<Vec<_>, _>>()
        })?;
        Ok(self.compare_digests(strides.into_iter().flatten(), &digests.concat())?)
    }

    /// Adds the pieces of a file. Those within a hole are one, however many.
    fn add_pieces(
        &self,
        (index, nid): (InodeIndex, Nid),
        pieces: &mut Vec<Piece>,
    ) -> Result<(), Mismatch> {
        let size = self.size(index);
        if size <= PIECE {
            pieces.extend((size > 0).then_some(Piece { index, nid, start: 0, holes: 0 }));
            return Ok(());
        }
        let unreadable = |source| Mismatch::Unreadable { path: self.tree.path(index), source };
        let inode = self.image.inode(nid).map_err(unreadable)?;
        let file = self.image.file(&inode).map_err(unreadable)?;
        let (mut start, mut data_end) = (0, 0);
        while start < size {
            let mut holes = 0;
            if start >= data_end {
                match file.range_at(start).map_err(unreadable)? {
                    Some(DataRange::Hole { end }) => holes = end.min(size) / PIECE - start / PIECE,
                    Some(DataRange::Data { end }) => data_end = end,
                    None => data_end = size,
                }
            }
            pieces.push(Piece { index, nid, start, holes });
            start += holes.max(1) * PIECE;
        }
        Ok(())
    }

    fn size(&self, index: InodeIndex) -> u64 {
        match self.tree.get(index).kind {
            Kind::Regular { size } => size,
            _ => 0,
        }
    }

    fn hash(&self, piece: &Piece, buf: &mut Vec<u8>) -> Result<Digest, Error> {
        if self.observer.is_cancelled() {
            return Err(Error::Cancelled);
        }
        if piece.holes > 0 {
            self.observer.advance(piece.holes * PIECE);
            return Ok(Digest::default());
        }
        let unreadable =
            |source| Mismatch::Unreadable { path: self.tree.path(piece.index), source };
        let len = PIECE.min(self.size(piece.index) - piece.start);
        let len = usize::try_from(len).expect("a piece fits into memory");
        if buf.len() < len {
            buf.resize(len, 0);
        }
        let bytes = buf.get_mut(..len).unwrap_or_default();
        let inode = self.image.inode(piece.nid).map_err(unreadable)?;
        let file = self.image.file(&inode).map_err(unreadable)?;
        file.read_at(bytes, piece.start).map_err(unreadable)?;
        self.observer.advance(len as u64);
        Ok(Digest::of_piece(bytes))
    }

    /// Compares the digests of files, made from those of their pieces.
    fn compare_digests<'p>(
        &self,
        pieces: impl IntoIterator<Item = &'p Piece>,
        digests: &[Digest],
    ) -> Result<(), Mismatch> {
        let both: Vec<_> = pieces.into_iter().zip(digests).collect();
        for file in both.chunk_by(|(a, _), (b, _)| a.index == b.index) {
            let mut whole = DigestOfPieces::default();
            for (piece, digest) in file {
                match piece.holes {
                    0 => whole.push(**digest),
                    holes => whole.push_zeros(holes),
                }
            }
            let Some((piece, _)) = file.first() else { continue };
            if self.digests.get(piece.index.index()) != Some(&whole.finish()) {
                let path = self.tree.path(piece.index);
                return Err(Mismatch::Differs { path, what: "content" });
            }
        }
        Ok(())
    }
}
