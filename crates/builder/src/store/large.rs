//! Defines [`Large`]: what is stored of a file whose pieces are not all written yet.

use std::sync::Arc;

use lith_format::{addr::Blkaddr, zmap::EncodedExtent};
use lith_tree::Content;

use super::{
    chunks::{Granules, Runs},
    equal::PclusterDigest,
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
    pub(super) pclusters: Vec<PclusterDigest>,
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
            pclusters: Vec::new(),
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
        (start, addresses): (u64, Option<Vec<Blkaddr>>),
        tail: &[u8],
    ) -> Stored {
        self.digest.extend(outcome.digests);
        if let Stored::Pclusters(extents) = &outcome.stored
            && (addresses.is_some() || self.addresses.is_some())
        {
            // Those before the first that is shared follow each other.
            let all = self.addresses.get_or_insert_with(|| contiguous(self.start, &self.extents));
            all.extend(addresses.unwrap_or_else(|| contiguous(start, extents)));
        }
        self.pclusters.extend(outcome.pclusters);
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

/// The blocks of extents that are stored one after another.
fn contiguous(start: u64, extents: &[EncodedExtent]) -> Vec<Blkaddr> {
    let address = |next: &mut u64, extent: &EncodedExtent| {
        let address = *next;
        *next += u64::from(extent.blocks);
        Some(Blkaddr(address))
    };
    extents.iter().scan(start, address).collect()
}
