//! How does a tree become an image?
//!
//! `tree -> plan -> compress -> place -> write`: the plan fixes every order; file content is compressed
//! and written first, by all workers at once; then everything else has a known size and finds its place;
//! last come inodes, directories and the superblock. Equal trees and options give equal bytes,
//! whatever the number of workers.
#![forbid(unsafe_code)]

mod codings;
mod compress;
mod data;
mod digest;
mod error;
mod holes;
mod options;
mod pipeline;
mod place;
mod plan;
mod report;
mod rule;
mod spool;
mod write;

use std::{collections::HashMap, fs::File, sync::OnceLock};

use lith_format::addr::Nid;
use lith_tree::{Contents, InodeIndex, Kind, Tree};

pub use digest::{Digest, DigestOfPieces, PIECE};
pub use error::BuildError;
pub use options::{Compression, Fragments, ImageId, IndexForm, Options, Progress};
pub use report::Report;
pub use rule::{Files, Rule};

use crate::{
    codings::Codings,
    compress::{Sources, candidates},
    data::{DataWriter, FileData},
    pipeline::Pass,
    place::{Placement, Records},
    plan::Plan,
    write::{Finished, superblock_size, write_superblock},
};

/// A finished image: facts about it, and what its files' bytes hashed to when they were read.
#[derive(Debug)]
pub struct Built {
    /// Facts.
    pub report: Report,
    /// The digest of each regular file, by the inode's number in the tree.
    pub digests: Vec<Digest>,
}

/// Writes an image of `tree` into `image`, an empty file.
///
/// The image is complete when this returns, but neither verified nor synced.
///
/// # Errors
/// [`BuildError`] if the source can't be read or changes, the image can't be written, or something asked
/// for can't be had. What is in `image` is then of no use.
pub fn build(
    tree: &Tree,
    contents: &dyn Contents,
    image: &File,
    options: &Options,
    progress: &Progress,
) -> Result<Built, BuildError> {
    options.check()?;
    let plan = Plan::new(tree)?;
    let packed = OnceLock::new();
    let codings = Codings::new(options, tree, &plan.order);
    let sources = Sources { tree, contents, options, codings: &codings, packed: &packed };
    let head = lith_format::superblock::SUPERBLOCK_POSITION + superblock_size(options);
    let mut data = DataWriter::new(sources, &plan, image, options.block.blocks_for(head));
    let data_start = data.next;
    store_all(sources, &plan, &mut data, progress)?;
    let head_end = head.next_multiple_of(Nid::SLOT);
    let has_data = data.next > data_start;
    let data_end = if has_data { data.next * u64::from(options.block.size()) } else { head_end };
    let records = Records::new(sources, &plan, &data.files);
    let placement = Placement::new(&records, head_end, data_end)?;
    let (plan, placement) = (&plan, &placement);
    let (files, digests, spool) = (&data.files[..], &data.digests[..], &data.spool);
    let used = &data.used;
    let finished = Finished { sources, plan, placement, files, used, digests, spool, image };
    let content = finished.write_metadata(&records)?;
    write_superblock(&finished, content)?;
    let mut report = report_of(&finished, &records);
    report.data_bytes = (data.next - data_start) * u64::from(options.block.size());
    let mut digests = data.digests;
    digests.truncate(tree.len());
    Ok(Built { report, digests })
}

/// Stores the content of all files: those with the bytes of others by referring to them, then the others, then what is
/// left of them for the packed inode.
fn store_all<'a>(
    sources: Sources<'a>,
    plan: &'a Plan,
    data: &mut DataWriter<'a>,
    progress: &Progress,
) -> Result<(), BuildError> {
    let run = |pass: Pass<'_>, data: &mut DataWriter<'a>| {
        pipeline::store_contents(sources, plan, pass, data, progress)
    };
    let mut duplicates = HashMap::new();
    if sources.options.share_duplicates {
        run(Pass::Look(&candidates(sources, &plan.order)), data)?;
        duplicates = data.take_duplicates()?;
    }
    let is_first = |inode: &&InodeIndex| !duplicates.contains_key(inode);
    let order: Vec<_> = plan.order.iter().filter(is_first).copied().collect();
    run(Pass::Store(&order), data)?;
    data.pack()?;
    if let Some(packed) = sources.packed.get() {
        run(Pass::Store(&[packed.index]), data)?;
    }
    data.share(&duplicates);
    Ok(())
}

fn report_of(finished: &Finished<'_>, records: &Records<'_>) -> Report {
    let sources = finished.sources;
    let packed = sources.packed.get().map(|packed| packed.index);
    let mut report = Report {
        image_bytes: finished.placement.blocks * u64::from(sources.options.block.size()),
        shared_xattrs: finished.plan.xattrs.shared_count,
        ..Report::default()
    };
    for record in records.iter().filter(|record| Some(record.index) != packed) {
        report.inodes += 1;
        report.compact_inodes += u64::from(record.inode.size_on_disk() == 32);
        if let Kind::Regular { size } = sources.node(record.index).kind {
            report.files += 1;
            report.content_bytes += size;
            let data = finished.files.get(record.index.index()).map(|file| file.data);
            report.compressed_files += u64::from(matches!(data, Some(FileData::Compressed { .. })));
            report.sparse_files += u64::from(matches!(data, Some(FileData::Chunked(_))));
        }
    }
    report
}
