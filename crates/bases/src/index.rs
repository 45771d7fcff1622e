//! Reads all files of a base: their digests, and the hashes of their extents.

use std::num::NonZeroUsize;

use lith_builder::{Digest, DigestOfPieces, KnownExtent, KnownFile, PIECE};
use lith_format::addr::Nid;
use lith_parallel::try_map;
use lith_reader::{Error, Extent, ExtentKind, File};

use crate::{BaseError, stored::Stored};

/// What an image holds.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) files: Vec<KnownFile>,
    pub(crate) extents: Vec<KnownExtent>,
}

/// The most bytes that are read at once.
const STEP: u64 = PIECE;

/// Files without fragments that a worker takes at once.
const STRIDE: usize = 16;

/// Reads all files of an image.
pub(crate) fn index(stored: &Stored<'_>, workers: NonZeroUsize) -> Result<Found, BaseError> {
    let Some(opened) = stored.addresses.opened(stored.image) else { return Ok(Found::default()) };
    let image = &opened.image;
    image.expect_all_files(workers);
    let contents = stored.addresses.bases().contents_of(stored.image);
    let nids: Vec<Nid> = contents.iter().map(|(_, nid)| *nid).collect();
    let groups = image.reading_order(&nids).unwrap_or_else(|| vec![(0..nids.len()).collect()]);
    let Some((others, packed)) = groups.split_last() else { return Ok(Found::default()) };
    let strides = packed.iter().map(Vec::as_slice).chain(others.chunks(STRIDE));
    let strides: Vec<_> = strides.collect();
    let found = try_map(&strides, workers, Vec::new, |buf, stride| {
        let mut found = Found::default();
        for (number, nid) in stride.iter().filter_map(|at| contents.get(*at)) {
            let inode = image.inode(*nid)?;
            Reader { stored, number: *number, file: image.file(&inode)? }.read(buf, &mut found)?;
        }
        Ok(found)
    });
    let found = found.map_err(|source| BaseError::Image { path: opened.path.clone(), source })?;
    let mut all = Found::default();
    for Found { files, extents } in found {
        all.files.extend(files);
        all.extents.extend(extents);
    }
    // The order in which files are read depends on the memory at hand.
    all.files.sort_by_key(|file| file.content);
    Ok(all)
}

/// Reads one file.
struct Reader<'a> {
    stored: &'a Stored<'a>,
    number: u32,
    file: File<'a>,
}

impl Reader<'_> {
    fn read(&self, buf: &mut Vec<u8>, found: &mut Found) -> Result<(), Error> {
        let (mut digest, mut piece) = (DigestOfPieces::default(), Vec::new());
        let mut extents = Vec::new();
        for extent in self.file.extents() {
            let extent = extent?;
            let step = match extent.kind {
                ExtentKind::Compressed { .. } => extent.len,
                _ => STEP,
            };
            let mut done = 0;
            while done < extent.len {
                let len = step.min(extent.len - done);
                buf.resize(usize::try_from(len).unwrap_or(usize::MAX), 0);
                self.file.read_at(buf, extent.la + done)?;
                self.add(&extent, (done, buf), found);
                push(&mut digest, &mut piece, buf);
                done += len;
            }
            extents.push(extent);
        }
        if !piece.is_empty() {
            digest.push(Digest::of_piece(&piece));
        }
        if let Some(stored) = self.stored.storage(&extents) {
            let (size, digest, content) = (self.file.size(), digest.finish(), self.number);
            found.files.push(KnownFile { size, digest, content, stored });
        }
        Ok(())
    }

    /// Adds what can be found in other files of an extent, of which these bytes are read, `done` after its start.
    fn add(&self, extent: &Extent, (done, bytes): (u64, &[u8]), found: &mut Found) {
        let place = |skip: u64| (self.number, extent.la + done + skip);
        match extent.kind {
            ExtentKind::Compressed { .. } | ExtentKind::Plain { .. } => {
                let pcluster = self.stored.pcluster(extent);
                found
                    .extents
                    .extend(pcluster.and_then(|known| KnownExtent::new(bytes, known, place(0))));
            }
            ExtentKind::Flat | ExtentKind::Chunk => {
                let size = self.stored.addresses.block.size() as usize;
                for (number, block) in (0..).zip(bytes.chunks_exact(size)) {
                    let skip = number * size as u64;
                    let pcluster = self.stored.plain_block(extent, done + skip);
                    let known =
                        pcluster.and_then(|known| KnownExtent::new(block, known, place(skip)));
                    found.extents.extend(known);
                }
            }
            ExtentKind::Hole | ExtentKind::Inline | ExtentKind::Fragment => {}
        }
    }
}

/// Adds bytes to a digest of pieces.
fn push(digest: &mut DigestOfPieces, piece: &mut Vec<u8>, mut bytes: &[u8]) {
    let size = usize::try_from(PIECE).unwrap_or(usize::MAX);
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
