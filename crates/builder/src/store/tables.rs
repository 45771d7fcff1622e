//! Defines [`Tables`], which encodes the index and chunk tables of files and enters them in the file table.

use std::ops::Range;

use lith_format::{
    addr::Blkaddr,
    compression::{Algorithm, AlgorithmSet},
    zmap::{EncodeParams, EncodedExtent, HeadKind, Tail as TailPlace, encode_whole_fragment},
};
use lith_tree::InodeIndex;

use super::{
    chunks::Runs,
    files::{FileData, FileTable},
    index::encode_index,
};
use crate::{
    BuildError, ChunkForm, IndexForm, Input,
    coding::{Coding, Heads, Used, algorithm_of},
    error::Unencodable,
    limits::CHUNKS,
    plan::Geometry,
};

/// The pclusters of a file.
pub(super) struct Pclusters<'t> {
    pub(super) inode: InodeIndex,
    /// Bytes of the file.
    pub(super) size: u64,
    /// The block of the first one.
    pub(super) start: u64,
    pub(super) extents: &'t [EncodedExtent],
    /// The block of each, if they are not contiguous.
    pub(super) addresses: Option<&'t [Blkaddr]>,
    /// The bytes of the last one, if it is stored beside the inode.
    pub(super) tail: &'t [u8],
    /// The algorithms of those that other devices hold.
    pub(super) known: AlgorithmSet,
}

/// The file table, and the encodings that it refers to.
pub(super) struct Tables<'a> {
    geometry: Geometry<'a>,
    pub(super) files: FileTable,
    pub(super) used: Used,
    /// The blocks of the packed inode up to where its hot bytes end.
    pub(super) hot_packed: Option<Range<u64>>,
}

impl<'a> Tables<'a> {
    pub(super) const fn new(geometry: Geometry<'a>, files: FileTable, used: Used) -> Self {
        Self { geometry, files, used, hot_packed: None }
    }

    pub(super) const fn input(&self) -> Input<'a> {
        self.geometry.input
    }

    /// Enters contiguous blocks, with the bytes beside the inode.
    pub(super) fn set_flat(
        &mut self,
        inode: InodeIndex,
        start: u64,
        tail: &[u8],
    ) -> Result<(), BuildError> {
        self.files.set(inode, FileData::Flat { start }, tail)
    }

    /// Enters a chunk table.
    pub(super) fn set_runs(&mut self, inode: InodeIndex, runs: &Runs) -> Result<(), BuildError> {
        let chunks = self.geometry.plan.options.layout.chunks;
        let form = chunks.map_or(ChunkForm::Smallest, |chunks| chunks.form);
        if runs.entries() > CHUNKS {
            let path = self.geometry.input.path(inode);
            let problem = "its data is too far apart for a table of its chunks";
            return Err(BuildError::FileTooLarge { path, problem });
        }
        let encoded = runs.encode(form).map_err(Unencodable::Chunks);
        let (format, table) = encoded.map_err(|source| self.unencodable(inode, source))?;
        let sparse = runs.has_holes();
        self.files.set(inode, FileData::Chunked { format, sparse }, &table)
    }

    /// Enters pclusters, with the encoders of the file's coding.
    pub(super) fn set_pclusters(&mut self, file: &Pclusters<'_>) -> Result<(), BuildError> {
        let tail = match u16::try_from(file.tail.len()) {
            Ok(size @ 1..) => TailPlace::Inline { size },
            _ => TailPlace::Blocks,
        };
        self.set_compressed(file, tail)
    }

    /// Enters pclusters that end with `tail`.
    pub(super) fn set_compressed(
        &mut self,
        file: &Pclusters<'_>,
        tail: TailPlace,
    ) -> Result<(), BuildError> {
        let coding = self.geometry.plan.coding(file.inode).copied();
        let coding = coding.expect("only files with a coding have pclusters");
        let heads = self.heads(&coding, file);
        self.set_encoded(file, heads, tail)
    }

    /// The algorithms of pclusters, some of which other devices hold.
    fn heads(&mut self, coding: &Coding, file: &Pclusters<'_>) -> Heads {
        // Others' pclusters may have taken HEAD2; then nothing of the file is hot.
        let hot = self.geometry.plan.hot_coding(file.inode).flatten();
        let hot = hot.filter(|_| file.known.is_empty());
        let makers = self.used.add(coding, hot, file.extents);
        let own = Heads::of(coding);
        let is_other = |algorithm: &Algorithm| ![own.head1, own.head2].contains(&Some(*algorithm));
        let other = file.known.iter_known().find(is_other);
        Heads {
            head1: makers.head1.map(algorithm_of),
            head2: makers.head2.map(algorithm_of).or(other),
        }
    }

    /// Enters pclusters of these algorithms.
    pub(super) fn set_encoded(
        &mut self,
        file: &Pclusters<'_>,
        heads: Heads,
        tail: TailPlace,
    ) -> Result<(), BuildError> {
        let Pclusters { inode, size, start, extents, addresses, known, .. } = *file;
        let Geometry { input, plan } = self.geometry;
        if let Some(border) = input.border(inode).filter(|_| addresses.is_none()) {
            self.hot_packed = Some(start..end_of(extents, border, start));
        }
        let own = addresses.filter(|_| known.is_empty() && plan.hot.has(inode));
        let contiguous = own.and_then(|own| first_of_contiguous(extents, own));
        let (start, addresses) = contiguous.map_or((start, addresses), |first| (first, None));
        let options = plan.options;
        self.used.has_layouts = true;
        self.used.known |= known;
        let id = |algorithm: Option<Algorithm>| algorithm.map_or(0, Algorithm::id);
        let block = options.layout.block;
        let mut params = EncodeParams::new(block, size, Blkaddr(start), id(heads.head1));
        params.head2 = id(heads.head2);
        params.interlaced = self.geometry.is_interlaced(inode);
        params.big_pcluster = plan.head.has_configs;
        params.tail = tail;
        let header = self.geometry.map_header(inode, size);
        let form = (options.compression.index, options.is_wide());
        let encoded = encode_index(extents, addresses, &params, header, form);
        let encoded = encoded.map_err(Unencodable::Index);
        let (index, mut table) = encoded.map_err(|source| self.unencodable(inode, source))?;
        self.used.announces_big |= params.big_pcluster && index != IndexForm::Records;
        let (in_blocks, inline) = match (tail, extents.split_last()) {
            (TailPlace::Blocks, _) | (_, None) => (extents, 0),
            (TailPlace::Inline { size }, Some((_, others))) => (others, size),
            (TailPlace::Fragment { .. }, Some((_, others))) => (others, 0),
        };
        let blocks = in_blocks.iter().map(|extent| u64::from(extent.blocks)).sum();
        table.extend_from_slice(file.tail);
        self.files.set(inode, FileData::Compressed { blocks, index, inline }, &table)
    }

    /// Enters a file, or a directory, all of which is at `offset` in the packed inode.
    pub(super) fn set_fragment(
        &mut self,
        inode: InodeIndex,
        offset: u64,
    ) -> Result<(), BuildError> {
        self.used.has_layouts = true;
        let data = FileData::Compressed { blocks: 0, index: IndexForm::Full, inline: 0 };
        self.files.set(inode, data, &encode_whole_fragment(offset))
    }

    /// An extent of `len` bytes in the packed inode.
    pub(super) fn fragment_extent(bytes: u64) -> EncodedExtent {
        let llen = u32::try_from(bytes).expect("a fragment after pclusters is smaller than one");
        EncodedExtent { llen, blocks: 0, kind: HeadKind::Head1, partial: false }
    }

    fn unencodable(&self, inode: InodeIndex, source: Unencodable) -> BuildError {
        BuildError::Encode { path: self.geometry.input.path(inode), source }
    }
}

/// The first block of pclusters that follow each other, as those of a file do that is hot as a whole; `None` if they
/// don't, or if some are only begun, for which compact indexes have no bit.
fn first_of_contiguous(extents: &[EncodedExtent], addresses: &[Blkaddr]) -> Option<u64> {
    let first = addresses.first()?.0;
    let mut next = first;
    for (extent, address) in extents.iter().zip(addresses) {
        if extent.partial || (extent.blocks > 0 && address.0 != next) {
            return None;
        }
        next += u64::from(extent.blocks);
    }
    Some(first)
}

/// The block after the contiguous pclusters that hold the bytes before `border`.
fn end_of(extents: &[EncodedExtent], border: u64, start: u64) -> u64 {
    let (mut position, mut block) = (0, start);
    for extent in extents {
        if position >= border {
            break;
        }
        position += u64::from(extent.llen);
        block += u64::from(extent.blocks);
    }
    block
}
