//! Defines [`Large`]: what is stored of a file whose pieces are not all written yet.

use std::sync::Arc;

use lith_format::{addr::Blkaddr, zmap::EncodedExtent};
use lith_tree::Content;

use super::{
    chunks::{Granules, Runs},
    piece::{Form, Outcome, Piece, Rest, Stored},
};
use crate::{DigestOfPieces, PIECE};

/// A file of more than one piece.
pub(super) struct Large<'a> {
    pub(super) content: Arc<dyn Content + 'a>,
    /// Its first block.
    pub(super) start: u64,
    pub(super) digest: DigestOfPieces,
    pub(super) extents: Vec<EncodedExtent>,
    /// The blocks of the extents, if they are not contiguous.
    pub(super) addresses: Option<Vec<Blkaddr>>,
    pub(super) holes: Granules,
    granule: u32,
    /// Where its chunks are.
    pub(super) runs: Runs,
    /// Bytes beside its inode.
    pub(super) tail: Vec<u8>,
    pub(super) rest: Option<Rest>,
}

impl<'a> Large<'a> {
    /// The file of which `piece` is the first piece.
    pub(super) fn new(piece: &Piece<'_>, content: &Arc<dyn Content + 'a>, start: u64) -> Self {
        let granule = match piece.task.form {
            Form::Raw { granule: Some(granule) } => granule,
            _ => u32::try_from(PIECE).expect("a piece is far smaller than 4 GiB"),
        };
        Self {
            content: Arc::clone(content),
            start,
            digest: DigestOfPieces::default(),
            extents: Vec::new(),
            addresses: None,
            holes: Granules::default(),
            granule,
            runs: Runs::default(),
            tail: Vec::new(),
            rest: None,
        }
    }

    /// Adds the next piece. The chunks, if it has some, are returned: their places are not known yet.
    pub(super) fn add(
        &mut self,
        piece: &Piece<'_>,
        outcome: Outcome,
        addresses: Option<Vec<Blkaddr>>,
        tail: &[u8],
    ) -> Stored {
        self.digest.extend(outcome.digests);
        if let Some(addresses) = addresses {
            self.addresses.get_or_insert_default().extend(addresses);
        }
        self.tail.extend_from_slice(tail);
        match &outcome.stored {
            Stored::Pclusters(extents) => {
                self.extents.extend_from_slice(extents);
                self.rest = outcome.rest;
            }
            Stored::Sparse { holes } => self.holes.extend(holes),
            Stored::Raw => self.holes.push(false, self.granules(piece)),
            Stored::Hole => {
                self.holes.push(true, self.granules(piece));
                self.digest.push_zeros((piece.range.end - piece.range.start) / PIECE);
            }
            Stored::Chunks(_) => {}
        }
        outcome.stored
    }

    fn granules(&self, piece: &Piece<'_>) -> u64 {
        (piece.range.end - piece.range.start).div_ceil(self.granule.into())
    }
}
