//! Makes the [`Plan`]: everything that is decided before any content is read.
//!
//! Orders of inodes and of content, the segments that large files are cut into, how each file is compressed, the layout
//! of the image's first bytes, times and extended attributes that are stored once.

mod codings;
mod decisions;
mod devices;
mod geometry;
mod head;
mod hot;
mod order;
mod prefixes;
mod times;
mod xattrs;

use lith_format::{
    addr::Blkaddr,
    joined::{SEARCHED, encode_joined_header},
    provenance::{MOST_TEXT, encode_provenance},
};
use lith_tree::InodeIndex;

pub use self::geometry::file_type;
use self::{codings::Codings, head::Head};
pub(crate) use self::{
    decisions::Plan,
    geometry::{Geometry, entries_with_dots, inode_of, tail_beside},
    head::{configs, configs_of},
    hot::{Hot, HotRange},
    xattrs::XattrPlan,
};
use crate::{BuildError, Context, Input, Known, Options, PIECE, limits::SEGMENT};

/// So many blocks of content leave enough 32-bit addresses for everything else.
const NEAR_BLOCKS: u64 = 1 << 31;

/// A few workers should have something to do even if nearly all content is one file.
fn segment_for(input: Input<'_>, order: &[InodeIndex]) -> u64 {
    const PARTS: u64 = 8;
    let content = order.iter().map(|inode| input.size(*inode)).fold(0_u64, u64::saturating_add);
    content.div_ceil(PARTS).checked_next_multiple_of(PIECE).unwrap_or(SEGMENT).clamp(PIECE, SEGMENT)
}

/// Plans an image.
///
/// # Errors
/// [`BuildError`] if the tree can't be stored as the options request.
pub(crate) fn plan<'a>(
    input: Input<'_>,
    options: &'a Options,
    context: &Context<'_>,
) -> Result<Plan<'a>, BuildError> {
    let devices = devices::extra_devices(input, options, context.blob)?;
    let tree = input.tree;
    let (order, first) = order::of_inodes(input);
    let mut codings = Codings::new(options, tree, &order);
    let hot = Hot::new(input, options.layout.block);
    codings.store_raw(hot.whole_files(input));
    let is_raw = |inode| {
        codings.of(inode).is_none() || input.size(inode) <= options.layout.block.size().into()
    };
    let files = order::of_content(input, &order, (&hot.files(), &is_raw));
    let wide = options.is_wide();
    let (epoch, build_time) = match options.identity.build_time {
        Some(time) if wide => times::base_of(time),
        Some(time) => (time, 0),
        None if wide => times::base_of_most(tree, &order),
        None => (times::most_frequent(tree, &order), 0),
    };
    let end = options
        .layout
        .data_start
        .saturating_add(input.content_blocks(options.layout.block, &order));
    let is_far = wide && end > NEAR_BLOCKS;
    let xattrs = XattrPlan::new(tree, &order, options)?;
    let has_hot = !hot.ranges.is_empty() || first > 1;
    let head = Head::new(options, (input.known, has_hot), &xattrs, devices.len(), is_far);
    check_provenance(options, &head)?;
    check_joined(&head)?;
    check_metadata_first(options, input.known)?;
    let plan = Plan {
        options,
        segment: segment_for(input, &order),
        codings,
        hot,
        first,
        packed: tree.next_index(),
        order,
        files,
        epoch,
        build_time,
        wide,
        is_far,
        // Only extent records have room for far addresses, and they can't describe a pcluster beside the inode.
        tail_packing: options.compression.tail_packing && !is_far,
        devices,
        xattrs,
        head,
    };
    let geometry = Geometry { input, plan: &plan };
    geometry.check_symlinks()?;
    geometry.check_forms()?;
    Ok(plan)
}

/// Refuses a note on the images that follow where it isn't searched, after very many long prefixes.
fn check_joined(head: &Head) -> Result<(), BuildError> {
    match head.joined {
        Some(start) if encode_joined_header(Blkaddr(0), 0, start).is_none() => {
            Err(BuildError::Option {
                option: "the note on the images that follow",
                found: format!("at byte {start}"),
                expected: format!("within the first {SEARCHED} bytes of the image"),
            })
        }
        _ => Ok(()),
    }
}

/// Refuses a note on how the image was made that is too long, or would start where it isn't searched.
fn check_provenance(options: &Options, head: &Head) -> Result<(), BuildError> {
    let (Some(text), Some(start)) = (&options.identity.provenance, head.provenance) else {
        return Ok(());
    };
    match encode_provenance(text, start) {
        Some(_note) => Ok(()),
        None => Err(BuildError::Option {
            option: "the provenance",
            found: format!("of {} bytes at byte {start}", text.len()),
            expected: format!("at most {MOST_TEXT} bytes at the beginning of the image"),
        }),
    }
}

/// Refuses metadata before the content where some content has its place already.
fn check_metadata_first(options: &Options, known: &Known<'_>) -> Result<(), BuildError> {
    let mut devices = known.devices.iter();
    let has_place = known.follows.is_some() || devices.any(|device| device.uniaddr.is_some());
    if options.layout.metadata_first && has_place {
        return Err(BuildError::Option {
            option: "metadata before the content",
            found: "in an image that refers to others".into(),
            expected: "an image that has all of its content".into(),
        });
    }
    Ok(())
}
