//! How does a tree become an image?
//!
//! ```text
//! Input  --plan-->  Plan           orders, geometry, codings: what is decided before content is read
//!        --scan-->  Analysis       duplicates, repeats, known content: reads, stores nothing
//!        --store->  StoredFiles    where content is stored, and the tables that find it
//!        --pack-->  Packing        the packed inode, which is stored by the same call as files
//!        --place->  Placement      where inodes and directories are stored
//!        --write->  the image      inodes, directories, superblock
//! ```
//!
//! Each stage is a folder with one entry function, which takes the finished values of the stages before it and returns a
//! new one. File content is compressed and written before anything is placed, since the size of its index decides where
//! inodes are stored. Equal input and options give equal bytes, for any number of workers.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod apart;
mod coding;
pub mod composefs;
mod context;
mod digest;
mod error;
mod input;
mod limits;
mod options;
mod output;
mod pack;
mod pieces;
mod pipeline;
mod place;
mod plan;
mod report;
mod scan;
mod sparse;
mod store;
mod temporary;
#[cfg(test)]
mod tests;
mod window;
mod write;
mod written;
mod xattr_name;

use std::ops::Range;

use lith_format::addr::Nid;
use lith_observer::Phase;
use lith_tree::{Inode, InodeIndex, Kind, Metadata as Attributes, Timestamp};

pub use context::Context;
pub use digest::{Digest, DigestOfPieces, PIECE};
pub use error::{BuildError, OtherDevice, Unencodable};
pub use input::{
    EarlierPacked, Following, Input, Known, KnownContents, KnownDevice, KnownExtent, KnownFile,
    KnownPacked, KnownParts, KnownPcluster, KnownStorage, KnownStretch, Order,
};
pub use options::{
    AttributeOptions, ChunkForm, Chunks, Compression, CompressionOptions, DataImport, Files,
    Fragments, Heat, Identity, ImageId, IndexForm, InodeForm, LayoutOptions, Need, Options, Preset,
    Rule, UnknownPreset,
};
pub use output::Output;
pub use plan::file_type;
pub use report::Report;

use crate::{
    input::ExtraInode,
    pack::{Packing, pack},
    place::{Ends, Placement, SizedInodes, place, place_apart, place_in_metabox},
    plan::{Geometry, Plan, plan},
    scan::{Analysis, scan},
    store::{Destination, FileData, StoredFiles, refer_to_fragments, store, store_hot},
    temporary::Temporary,
    write::{Image, Metadata, Sink, complete},
    written::Written,
};

/// The version of what an image looks like, for provenance: it is raised when the same tree and options give other bytes,
/// which the pinned digests of tests show.
pub const LAYOUT: u32 = 8;

/// Bytes of metadata that are copied at once.
const COPIED: usize = 1 << 20;

/// A finished image: facts about it, and the digests of what was read.
#[derive(Debug)]
#[non_exhaustive]
pub struct Built {
    /// Facts.
    pub report: Report,
    /// The digest of each regular file, by the inode's index in the tree.
    pub digests: Vec<Digest>,
    /// The files that were not read and have no digest, in ascending order.
    pub unread: Vec<InodeIndex>,
    /// The time that compact inodes may have in place of their own, if the options allow that.
    pub time: Option<Timestamp>,
}

/// Writes an image of `input` into `image`, which is empty after its start.
///
/// The image is complete when this returns, but neither verified nor synced.
///
/// # Errors
/// [`BuildError`] if the source can't be read or changes, the image can't be written, the format or the target kernel
/// does not allow the options, or the observer cancels. The content of `image` is then of no use.
pub fn build<'a>(
    input: impl Into<Input<'a>>,
    image: Output<'_>,
    options: &Options,
    context: &Context<'_>,
) -> Result<Built, BuildError> {
    let input = input.into();
    options.check()?;
    context.observer.begin(Phase::Storing);
    let plan = plan(input, options, context)?;
    let geometry = Geometry { input, plan: &plan };
    let written = Written::default();
    let image = image.noting(&written);
    let image = image.map_err(|source| BuildError::Output { action: "open", source })?;
    let destination = Destination { image, context };
    let analysis = scan_files(geometry, context)?;
    let start = options.layout.block.blocks_for(plan.head.end).max(options.layout.data_start);
    let stored = StoredFiles::new(&plan, start, context);
    let (analysis, stored) = store_hot(geometry, analysis, destination, stored)?;
    let stored = store(geometry, &analysis, destination, stored)?;
    let in_packed = analysis.in_known_packed(input);
    let Analysis { files, fragments, sketches, duplicates, unread, .. } = analysis;
    let (stored, tails) = stored.without_tails();
    let known = input.known.packed.as_ref().filter(|_| !in_packed.is_empty());
    let pieces = ((fragments, sketches), tails, known.map(|known| (known, in_packed)));
    let (stored, packing) = match pack(geometry, &files, pieces, context.workers)? {
        Some((packing, parts)) => (refer_to_fragments(geometry, parts, stored)?, Some(packing)),
        None => (stored, None),
    };
    let stored = stored.with_duplicates(&duplicates);
    let without_digest = unread.iter().filter(|(_, how)| !how.has_digest());
    let without_digest = without_digest.map(|(inode, _)| *inode).collect();
    // Where most files are known, this takes more memory than what follows.
    drop(unread);
    let metadata = Content { geometry, destination, start, packing: packing.as_ref() };
    let (report, stored) = match options.compression.metabox {
        None => metadata.write(stored)?,
        Some(_) if options.layout.metadata_first => metadata.write_with_metabox_first(stored)?,
        Some(_) => metadata.write_with_metabox(stored)?,
    };
    let digests = stored.table.into_digests(input.tree.len());
    let time = options.ignores_mtime().then_some(plan.epoch);
    Ok(Built { report, digests, unread: without_digest, time })
}

/// Scans all files. Those that are not stored count as done.
fn scan_files<'a>(
    geometry: Geometry<'a>,
    context: &Context<'_>,
) -> Result<Analysis<'a>, BuildError> {
    let Geometry { input, plan } = geometry;
    let bytes = |files: &[InodeIndex]| -> u64 {
        files.iter().map(|inode| input.size(*inode)).fold(0, u64::saturating_add)
    };
    let total = bytes(&plan.files);
    context.observer.expect(total);
    let analysis = scan(geometry, &plan.files, context)?;
    context.observer.advance(total - bytes(&analysis.files));
    Ok(analysis)
}

/// Inodes with names, in the content of the metabox.
struct Boxed<'a> {
    /// The metabox.
    inode: ExtraInode<'a>,
    root: Nid,
    /// The digest of all metadata in it and of the content of files.
    content: Digest,
    /// The block after those of directories and symlinks.
    next: u64,
}

/// The content of all files that have names, except what the packed inode holds, is stored.
struct Content<'a> {
    geometry: Geometry<'a>,
    destination: Destination<'a>,
    /// The first block of content.
    start: u64,
    packing: Option<&'a Packing>,
}

impl Content<'_> {
    /// Writes an image in which all inodes are stored together.
    fn write(&self, stored: StoredFiles) -> Result<(Report, StoredFiles), BuildError> {
        let extra: Vec<_> = self.packing.iter().map(|p| p.inode(self.geometry, None)).collect();
        let geometry = self.with_extra(&extra);
        let stored = self.store_packed(geometry, stored)?;
        let inodes = SizedInodes { geometry, files: &stored.table };
        let indices: Vec<_> = extra.iter().map(|extra| extra.index).collect();
        let placement = place(inodes, &indices, &self.ends(&stored))?;
        self.make_room(self.start..stored.next, placement.moved)?;
        let sink = Sink::Image(self.destination.image);
        let metadata = self.metadata(geometry, (&stored, &placement), sink);
        let content = metadata.write(inodes.with_names(&indices))?;
        let root = placement.nid(InodeIndex::ROOT);
        let mut report = self.report(&stored);
        self.complete(geometry, (&stored, &placement), (root, content), &mut report)?;
        Ok((report, stored))
    }

    /// Writes an image in which the metabox holds all inodes that have names. Its content, and with it that of directories
    /// in the packed inode, is stored when all those inodes are placed.
    fn write_with_metabox(&self, stored: StoredFiles) -> Result<(Report, StoredFiles), BuildError> {
        let Destination { image, context } = self.destination;
        let plan = self.geometry.plan;
        let packs_directories = plan.options.compression.pack_directories;
        let mut extra = Vec::new();
        let mut stored = stored;
        if let Some(packing) = self.packing.filter(|_| !packs_directories) {
            extra.push(packing.inode(self.geometry, None));
            stored = self.store_packed(self.with_extra(&extra), stored)?;
        }
        let mut report = self.report(&stored);
        let directories = Temporary::new(context.temporary)?;
        let boxed = self.boxed(&stored, (stored.next, 0), (image, &directories))?;
        stored = stored.with_next(boxed.next);
        if let Some(packing) = self.packing.filter(|_| packs_directories) {
            extra.push(packing.inode(self.geometry, Some(directories)));
            stored = self.store_packed(self.with_extra(&extra), stored)?;
        }
        extra.push(boxed.inode);
        let geometry = self.with_extra(&extra);
        let unknown = Analysis::of_unknown(plan.metabox());
        let stored = store(geometry, &unknown, self.destination, stored)?;
        let indices: Vec<_> = extra.iter().map(|extra| extra.index).collect();
        let apart = SizedInodes { geometry, files: &stored.table };
        let placement = place_apart(apart, &indices, &self.ends(&stored))?;
        let metadata = self.metadata(geometry, (&stored, &placement), Sink::Image(image));
        let content = Digest::of_file(&[boxed.content, metadata.write(apart.apart(&indices))?]);
        self.complete(geometry, (&stored, &placement), (boxed.root, content), &mut report)?;
        Ok((report, stored))
    }

    /// Writes an image in which directories and metabox precede the content of files, which moves to make room for them.
    ///
    /// How many blocks the metabox takes depends on the addresses in it, which depend on how many it takes. So it is stored
    /// in a file beside the image first, again as long as it needs more room than it had: twice, mostly.
    fn write_with_metabox_first(
        &self,
        stored: StoredFiles,
    ) -> Result<(Report, StoredFiles), BuildError> {
        let Destination { image, context } = self.destination;
        let plan = self.geometry.plan;
        let mut extra: Vec<_> = self.packing.iter().map(|p| p.inode(self.geometry, None)).collect();
        let named = extra.len();
        let mut stored = self.store_packed(self.with_extra(&extra), stored)?;
        let mut report = self.report(&stored);
        let (ends, content) = (self.ends(&stored), self.start..stored.next);
        let size = u64::from(plan.options.layout.block.size());
        let first = plan.options.layout.block.blocks_for(plan.head.end);
        let unknown = Analysis::of_unknown(plan.metabox());
        let mut moved = 0;
        let (early, placement, root, boxed, indices) = loop {
            let early = Temporary::new(context.temporary)?;
            let directories = Temporary::new(context.temporary)?;
            let boxed = self.boxed(&stored, (first, moved), (early.output(), &directories))?;
            extra.truncate(named);
            extra.push(boxed.inode);
            let geometry = self.with_extra(&extra);
            let destination = Destination { image: early.output(), context };
            stored = store(geometry, &unknown, destination, stored.with_next(boxed.next))?;
            let indices: Vec<_> = extra.iter().map(|extra| extra.index).collect();
            let apart = SizedInodes { geometry, files: &stored.table };
            let blocks = Some(stored.next * size).filter(|_| stored.next > first);
            let ends = ends.clone().after(blocks, moved);
            let placement = place_apart(apart, &indices, &ends)?;
            if placement.moved == moved {
                break (early, placement, boxed.root, boxed.content, indices);
            }
            moved = placement.moved;
        };
        self.make_room(content, moved)?;
        self.copy(&early, first * size..stored.next * size)?;
        let geometry = self.with_extra(&extra);
        let metadata = self.metadata(geometry, (&stored, &placement), Sink::Image(image));
        let apart = SizedInodes { geometry, files: &stored.table };
        let content = Digest::of_file(&[boxed, metadata.write(apart.apart(&indices))?]);
        self.complete(geometry, (&stored, &placement), (root, content), &mut report)?;
        Ok((report, stored))
    }

    /// The metabox of an image in which the content of files is to be moved so many blocks. Directories and symlinks that
    /// have blocks are written from block `next` on, and directories for the packed inode to a file of their own.
    fn boxed<'b>(
        &self,
        stored: &StoredFiles,
        (next, moved): (u64, u64),
        (blocks, directories): (Output<'_>, &Temporary),
    ) -> Result<Boxed<'b>, BuildError> {
        let inodes = Temporary::new(self.destination.context.temporary)?;
        let named = SizedInodes { geometry: self.geometry, files: &stored.table };
        let placement = place_in_metabox(named, next, moved);
        let metadata = Metadata {
            image: blocks,
            directories: Some(Sink::Temporary(directories)),
            ..self.metadata(self.geometry, (stored, &placement), Sink::Temporary(&inodes))
        };
        let content = metadata.write(named.with_names(&[]))?;
        let has_blocks = placement.content_end > placement.content_start;
        Ok(Boxed {
            inode: metabox(self.geometry.plan, inodes, placement.end),
            root: placement.nid(InodeIndex::ROOT),
            content,
            next: if has_blocks { placement.content_end } else { next },
        })
    }

    fn with_extra<'b>(&'b self, extra: &'b [ExtraInode<'b>]) -> Geometry<'b> {
        Geometry { input: self.geometry.input.with_extra(extra), plan: self.geometry.plan }
    }

    /// Stores the packed inode, if the geometry has one.
    fn store_packed(
        &self,
        geometry: Geometry<'_>,
        stored: StoredFiles,
    ) -> Result<StoredFiles, BuildError> {
        if geometry.input.extra.is_empty() {
            return Ok(stored);
        }
        let analysis = scan(geometry, &[geometry.plan.packed], self.destination.context)?;
        store(geometry, &analysis, self.destination, stored)
    }

    fn ends(&self, stored: &StoredFiles) -> Ends {
        let plan = self.geometry.plan;
        let next = Some(stored.next).filter(|next| *next > self.start);
        let ends = Ends::new(plan.head.end, next, plan.options.layout.block);
        if plan.options.layout.metadata_first {
            return ends.metadata_first(next.map(|next| self.start..next));
        }
        ends
    }

    /// Moves the content of files so many blocks towards the end of the image, for the metadata before it.
    fn make_room(&self, content: Range<u64>, blocks: u64) -> Result<(), BuildError> {
        if blocks == 0 {
            return Ok(());
        }
        let size = u64::from(self.geometry.plan.options.layout.block.size());
        let content = content.start * size..content.end * size;
        let moved = self.destination.image.move_towards_end(content, blocks * size);
        moved.map_err(|source| BuildError::Output { action: "move the content in", source })
    }

    /// Writes bytes of the image that were stored beside it.
    fn copy(&self, from: &Temporary, range: Range<u64>) -> Result<(), BuildError> {
        let mut bytes = vec![0; COPIED];
        for position in range.clone().step_by(COPIED) {
            let len = COPIED.min(usize::try_from(range.end - position).unwrap_or(COPIED));
            let bytes = bytes.get_mut(..len).unwrap_or_default();
            from.read_exact_at(bytes, position)?;
            let written = self.destination.image.write_all_at(bytes, position);
            written.map_err(|source| BuildError::Output { action: "write", source })?;
        }
        Ok(())
    }

    fn metadata<'b>(
        &self,
        geometry: Geometry<'b>,
        (stored, placement): (&'b StoredFiles, &'b Placement),
        inodes: Sink<'b>,
    ) -> Metadata<'b>
    where
        Self: 'b,
    {
        let image = self.destination.image;
        Metadata { geometry, stored, placement, image, inodes, directories: None }
    }

    fn complete(
        &self,
        geometry: Geometry<'_>,
        (stored, placement): (&StoredFiles, &Placement),
        (root, content): (Nid, Digest),
        report: &mut Report,
    ) -> Result<(), BuildError> {
        report.image_bytes = placement.image_end;
        report.blob_bytes =
            stored.blob_blocks * u64::from(geometry.plan.options.layout.block.size());
        let destination = self.destination;
        let start = self.packing.map_or(Some(0), Packing::prefixes_start);
        let prefixes_start = start.ok_or(BuildError::TooLarge { limit: u32::MAX.into() })?;
        complete(&Image { geometry, stored, placement, destination, root, prefixes_start, content })
    }

    /// Facts about the inodes that have names.
    fn report(&self, stored: &StoredFiles) -> Report {
        let Geometry { input, plan } = self.geometry;
        let data_blocks = stored.next - self.start;
        let mut report = Report {
            data_bytes: data_blocks * u64::from(plan.options.layout.block.size()),
            shared_xattrs: plan.xattrs.shared_count,
            ..Report::default()
        };
        let inodes = SizedInodes { geometry: self.geometry, files: &stored.table };
        for sized in inodes.with_names(&[]) {
            report.inodes += 1;
            report.compact_inodes += u64::from(sized.inode.size_on_disk() == 32);
            if let Kind::Regular { size } = input.inode(sized.index).kind {
                report.files += 1;
                report.content_bytes += size;
                let data = stored.get(sized.index).data;
                report.compressed_files += u64::from(matches!(data, FileData::Compressed { .. }));
                let is_sparse = matches!(data, FileData::Chunked { sparse: true, .. });
                report.sparse_files += u64::from(is_sparse);
            }
        }
        report
    }
}

/// The metabox inode, whose content is the first `size` bytes of a file.
fn metabox<'a>(plan: &Plan<'_>, content: Temporary, size: u64) -> ExtraInode<'a> {
    let metadata = Attributes { permissions: 0o644, mtime: plan.epoch, ..Attributes::default() };
    let inode = Inode::nameless(metadata, Kind::Regular { size });
    let (border, cuts) = (None, Vec::new());
    ExtraInode { index: plan.metabox(), inode, border, cuts, content: Box::new(content), known: 0 }
}
