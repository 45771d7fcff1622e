//! Writes images byte for byte as mkcomposefs does: names, attributes, and files of a few bytes.
//!
//! ```text
//! superblock, inodes breadth first with what is inline, shared attributes | blocks of directories and long symlinks
//! ```
//!
//! No content is compressed and only [`Version`] is to choose, so this is a small pipeline of its own: the order of inodes, their
//! attributes, their places, the bytes.

mod form;
mod order;
mod place;
mod write;

use lith_observer::Phase;
use lith_tree::{Filesystem, Kind, Tree};

pub use self::form::Version;
use self::{form::is_elsewhere, order::Order, place::Placement, write::Writer};
use crate::{BuildError, Built, Context, Output, Report, limits::SYMLINK, plan::XattrPlan};

/// Writes an image as mkcomposefs makes it of a tree into `image`, which is empty after its start.
///
/// The tree has the marks of composefs already. Content is read of those files only that no attribute `trusted.overlay.metacopy`
/// declares to be elsewhere; the others are holes. The image is complete when this returns, but neither verified nor synced.
///
/// # Errors
/// [`BuildError`] if the tree has what such an image can't hold, a file can't be read, the image can't be written, or the observer
/// cancels.
pub fn build(
    fs: Filesystem<'_>,
    image: Output<'_>,
    version: Version,
    context: &Context<'_>,
) -> Result<Built, BuildError> {
    context.observer.begin(Phase::Storing);
    let order = &Order::new(fs.tree);
    check_symlinks(fs.tree, order)?;
    let xattrs = &XattrPlan::of_composefs(fs.tree, order.inodes())?;
    let placement = &Placement::new(fs.tree, order, xattrs)?;
    let writer = Writer { fs, order, xattrs, placement, observer: context.observer };
    let digests = writer.write(image, version)?;
    let report = report(fs.tree, order, (xattrs, placement));
    Ok(Built { report, digests, unread: Vec::new(), time: None })
}

/// Refuses the first symbolic link whose target Linux would not read.
fn check_symlinks(tree: &Tree, order: &Order) -> Result<(), BuildError> {
    for index in order.inodes() {
        if let Kind::Symlink(target) = &tree.get(*index).kind
            && target.len() > SYMLINK
        {
            let (path, found) = (tree.path(*index), target.len());
            return Err(BuildError::Symlink { path, found, limit: SYMLINK });
        }
    }
    Ok(())
}

fn report(tree: &Tree, order: &Order, (xattrs, placement): (&XattrPlan, &Placement)) -> Report {
    let mut report = Report {
        image_bytes: placement.end(),
        inodes: order.inodes().len() as u64,
        compact_inodes: placement.compact_inodes(),
        shared_xattrs: xattrs.shared_count,
        ..Report::default()
    };
    for inode in order.inodes().iter().map(|index| tree.get(*index)) {
        if let Kind::Regular { size } = inode.kind {
            report.files += 1;
            report.content_bytes += size;
            report.sparse_files += u64::from(is_elsewhere(tree, inode));
        }
    }
    report
}

#[cfg(test)]
mod tests;
