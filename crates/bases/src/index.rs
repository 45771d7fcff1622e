//! Reads all files of a base, each once: their digests, the hashes of their extents, and which files of the source have the
//! same bytes.

use std::num::NonZeroUsize;

use lith_builder::{Digest, DigestOfPieces, KnownExtent, KnownFile, KnownParts, PIECE};
use lith_format::addr::Nid;
use lith_parallel::try_map;
use lith_reader::{Error, Extent, ExtentKind, File};
use lith_tree::{Filesystem, InodeIndex};

use crate::{
    BaseError,
    packed::PackedExtents,
    same::{Likely, Same},
    stored::Stored,
};

/// What an image holds.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) files: Vec<KnownFile>,
    pub(crate) extents: Vec<KnownExtent>,
    /// How the files of the source are stored that have the bytes of one at the same path.
    pub(crate) own: Vec<(InodeIndex, KnownParts)>,
}

/// The most bytes that are read at once.
const STEP: u64 = PIECE;

/// Files without fragments that a worker takes at once.
const STRIDE: usize = 16;

/// Reads all files of an image, and compares them with those of a source.
pub(crate) fn index(
    (stored, extents): (&Stored<'_>, &PackedExtents),
    source: Filesystem<'_>,
    workers: NonZeroUsize,
) -> Result<Found, BaseError> {
    let Some(opened) = stored.addresses.opened(stored.image) else { return Ok(Found::default()) };
    let image = &opened.image;
    let failed = |source| BaseError::Image { path: opened.path.clone(), source };
    let likely = Likely::find(image, source.tree).map_err(failed)?;
    image.expect_all_files(workers);
    let contents = stored.addresses.bases().contents_of(stored.image);
    let nids: Vec<Nid> = contents.iter().map(|(_, nid)| *nid).collect();
    let groups = image.reading_order(&nids).unwrap_or_else(|| vec![(0..nids.len()).collect()]);
    let Some((others, packed)) = groups.split_last() else { return Ok(Found::default()) };
    let strides = packed.iter().map(Vec::as_slice).chain(others.chunks(STRIDE));
    let strides: Vec<_> = strides.collect();
    let memory = || (Vec::new(), Vec::new());
    let found = try_map(&strides, workers, memory, |(buf, other), stride| {
        let mut found = Found::default();
        for (number, nid) in stride.iter().filter_map(|at| contents.get(*at)) {
            let (inode, number) = (image.inode(*nid)?, *number);
            let same = Same::new(source, likely.of(*nid), &mut *other);
            let file = image.file(&inode)?;
            Reader { stored, packed: extents, number, file, same }.read(buf, &mut found)?;
        }
        Ok(found)
    });
    let mut all = Found::default();
    for Found { files, extents, own } in found.map_err(failed)? {
        all.files.extend(files);
        all.extents.extend(extents);
        all.own.extend(own);
    }
    // The order in which files are read depends on the memory at hand.
    all.files.sort_by_key(|file| file.content);
    Ok(all)
}

/// Reads one file.
struct Reader<'a> {
    stored: &'a Stored<'a>,
    packed: &'a PackedExtents,
    number: u32,
    file: File<'a>,
    same: Same<'a>,
}

impl Reader<'_> {
    fn read(mut self, buf: &mut Vec<u8>, found: &mut Found) -> Result<(), Error> {
        let (mut digest, mut piece) = (DigestOfPieces::default(), Vec::new());
        let extents = self.file.extents().collect::<Result<Vec<_>, _>>()?;
        for extent in &extents {
            let mut done = 0;
            while done < extent.len {
                let len = self.step(extent, done);
                buf.resize(usize::try_from(len).expect("an extent is held in memory"), 0);
                self.file.read_at(buf, extent.la + done)?;
                self.same.keep(buf, extent.la + done);
                self.add(extent, (done, buf), found);
                push(&mut digest, &mut piece, buf);
                done += len;
            }
        }
        if !piece.is_empty() {
            digest.push(Digest::of_piece(&piece));
        }
        if let Some(stored) = self.stored.storage(&extents) {
            let same = self.same.finish().into_iter();
            found.own.extend(same.map(|inode| (inode, KnownParts::Whole(stored.clone()))));
            let (size, digest, content) = (self.file.size(), digest.finish(), self.number);
            found.files.push(KnownFile { size, digest, content, stored });
        }
        Ok(())
    }

    /// How many bytes of an extent are read at once, `done` after its start: those of an extent that can be found elsewhere,
    /// or some before the next one.
    fn step(&self, extent: &Extent, done: u64) -> u64 {
        let left = extent.len - done;
        match extent.kind {
            ExtentKind::Compressed { .. } => left,
            ExtentKind::Fragment => {
                let next = self
                    .stored
                    .fragment(extent)
                    .and_then(|start| self.packed.next((start.saturating_add(done), left)));
                match next {
                    Some((0, known)) => known.llen.into(),
                    Some((before, _)) => before.min(STEP),
                    None => left.min(STEP),
                }
            }
            _ => left.min(STEP),
        }
    }

    /// Adds what can be found in other files of an extent, of which these bytes are read, `done` after its start.
    fn add(&self, extent: &Extent, (done, bytes): (u64, &[u8]), found: &mut Found) {
        let place = |skip: u64| (self.number, extent.la + done + skip);
        let block = self.stored.addresses.block;
        match extent.kind {
            ExtentKind::Compressed { .. } | ExtentKind::Plain { .. } => {
                let pcluster = self.stored.pcluster(extent);
                found.extents.extend(
                    pcluster.and_then(|known| KnownExtent::new(bytes, (known, block), place(0))),
                );
            }
            ExtentKind::Flat | ExtentKind::Chunk => {
                let size = block.size() as usize;
                for (number, bytes) in (0..).zip(bytes.chunks_exact(size)) {
                    let skip = number * size as u64;
                    let pcluster = self.stored.plain_block(extent, done + skip);
                    let known = pcluster
                        .and_then(|known| KnownExtent::new(bytes, (known, block), place(skip)));
                    found.extents.extend(known);
                }
            }
            ExtentKind::Fragment => {
                let start = self.stored.fragment(extent).map(|start| start.saturating_add(done));
                let known = start.and_then(|start| self.packed.next((start, bytes.len() as u64)));
                let known = known.filter(|(before, _)| *before == 0);
                found.extents.extend(
                    known.and_then(|(_, known)| KnownExtent::new(bytes, (known, block), place(0))),
                );
            }
            ExtentKind::Hole | ExtentKind::Inline => {}
        }
    }
}

/// Adds bytes to a digest of pieces.
fn push(digest: &mut DigestOfPieces, piece: &mut Vec<u8>, mut bytes: &[u8]) {
    let size = usize::try_from(PIECE).expect("a piece is held in memory");
    while !bytes.is_empty() {
        let (now, later) = bytes.split_at((size - piece.len()).min(bytes.len()));
        piece.extend_from_slice(now);
        bytes = later;
        if piece.len() == size {
            digest.push(Digest::of_piece(piece));
            piece.clear();
        }
    }
}
