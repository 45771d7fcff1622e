//! Finds where what is read first lies in an image.

use std::ops::Range;

use super::image::Image;
use crate::store::FileData;

/// The stretches of the image that hold what is read first, in bytes: content, fragments, directories, inodes. None is empty.
pub(super) fn stretches(image: &Image<'_>) -> Vec<Range<u64>> {
    let block = u64::from(image.geometry.plan.options.layout.block.size());
    let moved = image.placement.moved;
    let in_bytes =
        |blocks: Range<u64>| (blocks.start + moved) * block..(blocks.end + moved) * block;
    let content = content(image).map(in_bytes);
    let packed = image.stored.hot_packed.clone().map(in_bytes);
    let metadata = image.placement.first.iter().cloned();
    let all = content.into_iter().chain(packed).chain(metadata);
    all.filter(|range| !range.is_empty()).collect()
}

/// The blocks of the hot ranges of files that are compressed, and of the uncompressed files after them.
fn content(image: &Image<'_>) -> Option<Range<u64>> {
    let (plan, stored) = (image.geometry.plan, image.stored);
    let mut blocks = stored.hot.clone()?;
    for inode in plan.files.iter().take_while(|inode| plan.hot.has(**inode)) {
        let FileData::Flat { start } = stored.get(*inode).data else { continue };
        let size = image.geometry.input.size(*inode);
        let whole =
            plan.options.layout.block.blocks_for(size - u64::from(stored.get(*inode).payload.len));
        if start == blocks.end {
            blocks.end += whole;
        }
    }
    Some(blocks)
}
