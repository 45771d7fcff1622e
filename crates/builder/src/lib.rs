//! How does a tree become an image?
//!
//! `tree -> plan -> compress -> place -> write`: the plan fixes every order; file content is compressed
//! and written first, by all workers at once; then everything else has a known size and finds its place;
//! last come inodes, directories and the superblock. Equal trees and options give equal bytes,
//! whatever the number of workers.
#![forbid(unsafe_code)]

mod chunks;
mod codings;
mod compress;
mod context;
mod data;
mod devices;
mod digest;
mod error;
mod index;
mod metabox;
mod options;
mod output;
mod pipeline;
mod place;
mod plan;
mod report;
mod rule;
mod spool;
mod unread;
mod write;

use std::{collections::HashMap, sync::OnceLock};

use lith_format::addr::Nid;
use lith_observer::Phase;
use lith_tree::{Filesystem, InodeIndex, Kind, Timestamp, Tree};

pub use chunks::{ChunkForm, Chunks};
pub use context::Context;
pub use digest::{Digest, DigestOfPieces, PIECE};
pub use error::BuildError;
pub use options::{
    AttributeOptions, Compression, CompressionOptions, Fragments, Identity, ImageId, IndexForm,
    InodeForm, LayoutOptions, Options,
};
pub use output::Output;
pub use report::Report;
pub use rule::{Files, Rule};
pub use unread::DataImport;

use crate::{
    codings::Codings,
    compress::{FoundRepeats, Limits, Look, Repeats, Sources, candidates},
    data::{DataWriter, FileData},
    devices::extra_devices,
    metabox::Named,
    pipeline::Pass,
    place::{Placement, Records, check_forms},
    plan::{Plan, content_sizes},
    unread::store_unread,
    write::{Finished, Target, head_end, write_superblock},
};

/// A finished image: facts about it, and what its files' bytes hashed to when they were read.
#[derive(Debug)]
pub struct Built {
    /// Facts.
    pub report: Report,
    /// The digest of each regular file, by the inode's number in the tree.
    pub digests: Vec<Digest>,
    /// Those that were not read and have none, in ascending order.
    pub unread: Vec<InodeIndex>,
    /// The time that compact inodes may show in place of their own, if that was asked for.
    pub time: Option<Timestamp>,
}

/// Writes an image of `fs` into `image`, which holds nothing behind its beginning.
///
/// The image is complete when this returns, but neither verified nor synced.
///
/// # Errors
/// [`BuildError`] if the source can't be read or changes, the image can't be written, or something asked
/// for can't be had. What is in `image` is then of no use.
pub fn build(
    fs: Filesystem<'_>,
    image: Output<'_>,
    options: &Options,
    context: &Context<'_>,
) -> Result<Built, BuildError> {
    options.check()?;
    let Filesystem { tree, contents } = fs;
    let devices = extra_devices(contents, options, context.blob)?;
    context.observer.begin(Phase::Storing);
    let plan = Plan::new(tree, options, devices)?;
    // Only records have room for far addresses, and no room beside them.
    let tail_packing = options.compression.tail_packing && !plan.is_far;
    let options = &options.clone().with(|options| options.compression.tail_packing = tail_packing);
    let codings = Codings::new(options, tree, &plan.order);
    let (packed, metabox) = (OnceLock::new(), OnceLock::new());
    let (codings, packed, metabox) = (&codings, &packed, &metabox);
    let repeats = &FoundRepeats::default();
    let sources = Sources { tree, contents, options, context, codings, packed, metabox, repeats };
    check_forms(sources, &plan)?;
    let head = head_end(options, &plan);
    let first = options.layout.block.blocks_for(head).max(options.layout.data_start);
    let mut data = DataWriter::new(sources, &plan, image, first);
    let data_start = data.next;
    let unread = store_unread(sources, &mut data)?;
    store_all(sources, &unread, &mut data)?;
    let data_bytes = (data.next - data_start) * u64::from(options.layout.block.size());
    let named = match options.compression.metabox {
        Some(_) => Some(metabox::store(&mut data, image)?),
        None => None,
    };
    let head_end = head.next_multiple_of(Nid::SLOT);
    let has_data = data.next > data_start;
    let data_end =
        if has_data { data.next * u64::from(options.layout.block.size()) } else { head_end };
    let records = Records::new(sources, &plan, &data.files);
    let mut report = Report { data_bytes, ..report_of(sources, &plan, &records) };
    let ends = (head_end, data_end);
    report.image_bytes = write_rest(sources, &data, &records, ends, named)?;
    report.blob_bytes = blob_bytes(&data);
    let mut digests = data.digests;
    digests.truncate(tree.len());
    let time = options.ignores_mtime().then_some(plan.epoch);
    Ok(Built { report, digests, unread, time })
}

/// Writes all inodes, or if the `named` ones are in the metabox the others, and the superblock. Returns how many bytes
/// the image has.
fn write_rest(
    sources: Sources<'_>,
    data: &DataWriter<'_>,
    records: &Records<'_>,
    (head_end, data_end): (u64, u64),
    named: Option<Named>,
) -> Result<u64, BuildError> {
    let placement = match named {
        Some(_) => Placement::outside(records, head_end, data_end)?,
        None => Placement::new(records, head_end, data_end)?,
    };
    let root = named.as_ref().map_or_else(|| placement.nid(InodeIndex::ROOT), |named| named.root);
    let (placement, image) = (&placement, data.image);
    let finished = Finished {
        sources,
        plan: data.plan,
        placement,
        files: &data.files,
        used: &data.used,
        digests: &data.digests,
        spool: &data.spool,
        image,
        metadata: Target::Image(image),
        directories: None,
        root,
        has_shared: data.has_shared,
        blob: data.blob.as_ref(),
    };
    let content = match named {
        Some(named) => {
            let rest = finished.write_metadata(records, records.outside())?;
            Digest::of_file(&[named.content, rest])
        }
        None => finished.write_metadata(records, records.iter())?,
    };
    finished.lengthen()?;
    write_superblock(&finished, content)?;
    Ok(placement.image_end)
}

/// Stores the content of all files: those with the bytes of others by referring to them, then the others, then what is
/// left of them for the packed inode.
fn store_all<'a>(
    sources: Sources<'a>,
    unread: &[InodeIndex],
    data: &mut DataWriter<'a>,
) -> Result<(), BuildError> {
    let plan = data.plan;
    let is_read = |inode: &&InodeIndex| unread.binary_search(inode).is_err();
    let order: Vec<_> = plan.order.iter().filter(is_read).copied().collect();
    let (observer, all_bytes) = (sources.context.observer, content_bytes(sources.tree, &order));
    observer.expect(all_bytes);
    let run = |pass: Pass<'_>, data: &mut DataWriter<'a>| {
        pipeline::store_contents(sources, plan, pass, data)
    };
    let mut duplicates = HashMap::new();
    // Chunks find files with the same bytes anyway.
    let all_in_chunks = sources.options.layout.chunks.is_some() && !sources.codings.compress();
    if sources.options.layout.share_duplicates && !all_in_chunks {
        run(Pass::Look(Look::Digest, &candidates(sources, &order)), data)?;
        duplicates = data.take_duplicates()?;
    }
    let is_first = |inode: &&InodeIndex| !duplicates.contains_key(inode);
    let order: Vec<_> = order.iter().filter(is_first).copied().collect();
    observer.advance(all_bytes - content_bytes(sources.tree, &order));
    if let Some(repeats) = find_repeats(sources, &order, data)? {
        // It is set nowhere else.
        let _first = sources.repeats.files.set(repeats);
    }
    run(Pass::Store(&order), data)?;
    data.pack()?;
    // With directories in it it is stored when those are known.
    if !sources.options.compression.pack_directories {
        store_packed(sources, data)?;
    }
    data.share(&duplicates);
    Ok(())
}

/// Stores the packed inode, if there is one.
fn store_packed<'a>(sources: Sources<'a>, data: &mut DataWriter<'a>) -> Result<(), BuildError> {
    let Some(packed) = sources.packed.get() else { return Ok(()) };
    if let Some(repeats) = find_repeats(sources, &[packed.index], data)? {
        // It is set nowhere else.
        let _first = sources.repeats.packed.set(repeats);
    }
    pipeline::store_contents(sources, data.plan, Pass::Store(&[packed.index]), data)
}

/// Finds what repeats in files that are stored by themselves, if that is asked for.
fn find_repeats<'a>(
    sources: Sources<'a>,
    order: &[InodeIndex],
    data: &mut DataWriter<'a>,
) -> Result<Option<Repeats>, BuildError> {
    let coding = order.iter().find_map(|inode| sources.coding(*inode));
    let Some(coding) = coding.filter(|_| sources.options.compression.dedupe) else {
        return Ok(None);
    };
    let size_of = |inode: &InodeIndex| match sources.node(*inode).kind {
        Kind::Regular { size } => size,
        _ => 0,
    };
    let content = order.iter().map(size_of).sum();
    let limits = Limits::new(coding, data.plan.segment, content);
    let is_long = |inode: &InodeIndex| {
        let least = sources.longest_fragment(*inode).max(limits.least);
        sources.coding(*inode).is_some() && size_of(inode) > least
    };
    let order: Vec<_> = order.iter().copied().filter(is_long).collect();
    let pass = Pass::Look(Look::Chunks { bits: limits.chunk_bits }, &order);
    pipeline::store_contents(sources, data.plan, pass, data)?;
    Ok(Some(Repeats::find(sources, &data.take_looked(), limits)?))
}

/// Bytes of the content of these files.
fn content_bytes(tree: &Tree, files: &[InodeIndex]) -> u64 {
    content_sizes(tree, files).fold(0, u64::saturating_add)
}

/// Bytes of the device that chunks are written to.
fn blob_bytes(data: &DataWriter<'_>) -> u64 {
    data.blob.as_ref().map_or(0, |blob| blob.next * u64::from(data.block().size()))
}

fn report_of(sources: Sources<'_>, plan: &Plan, records: &Records<'_>) -> Report {
    let packed = sources.packed.get().map(|packed| packed.index);
    let mut report = Report { shared_xattrs: plan.xattrs.shared_count, ..Report::default() };
    for record in records.iter().filter(|record| Some(record.index) != packed) {
        report.inodes += 1;
        report.compact_inodes += u64::from(record.inode.size_on_disk() == 32);
        if let Kind::Regular { size } = sources.node(record.index).kind {
            report.files += 1;
            report.content_bytes += size;
            let data = records.file(record.index).map(|file| file.data);
            report.compressed_files += u64::from(matches!(data, Some(FileData::Compressed { .. })));
            let is_sparse = matches!(data, Some(FileData::Chunked { sparse: true, .. }));
            report.sparse_files += u64::from(is_sparse);
        }
    }
    report
}
