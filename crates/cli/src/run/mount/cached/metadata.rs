//! Fetches the metadata of an image, for kernels that don't report its reads.

use std::collections::HashSet;

use anyhow::Context;
use lith::{
    format::addr::Nid,
    reader::{Image, Inode, Options, Place as Stored},
};

use crate::{
    args::mount::{Mount, Settings},
    output::error::Place,
    run::{remote, subject},
};

/// Extents in addition to those that the size of an image justifies.
const FEWEST: u64 = 1 << 20;

/// Fetches all that the kernel reads of an image other than by the content of a file, and makes it durable: what is in no inode,
/// inodes, extended attributes, indexes and inline tails, of each file that a directory names.
///
/// Each is read by the reader of this program, from which the kernel's differs in that it reads whole pages; and what is fetched
/// are units of several pages.
pub(super) fn fetch(request: &Mount, settings: &Settings) -> anyhow::Result<()> {
    let path = &request.image.image;
    let devices = subject::open_all(&request.location(settings))?;
    let device = remote::opened(path).context("it is not open")?;
    let image = Image::open_with(devices, Options::default())?;
    let mut left = (image.device_size(0) / 2).saturating_add(FEWEST);
    let mut seen: HashSet<Nid> = HashSet::new();
    let special = [image.packed_inode(), image.metabox_inode()].into_iter().flatten();
    let special = special.map(|inode| Ok(*inode));
    let root = std::iter::once_with(|| image.root());
    for inode in special.chain(root).chain(image.files().map(|entry| Ok(entry?.inode))) {
        let inode: Inode = inode?;
        if !seen.insert(inode.nid) {
            continue;
        }
        image.xattrs_with_hidden(&inode)?;
        if !inode.file_type.has_content() {
            continue;
        }
        for extent in image.extents(&inode)? {
            let extent = extent?;
            left = left.checked_sub(1).context("its files have too many extents")?;
            if let Stored::Metadata { position, .. } = extent.place {
                // Positions in a metabox are less than those of the image, and don't hurt.
                let start = settings.offset.saturating_add(position);
                device.fill(&(start..start.saturating_add(extent.plen)))?;
            }
        }
    }
    device.settle().with_context(|| Place(path).to_string())?;
    Ok(())
}
