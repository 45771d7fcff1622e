//! Defines [`Earlier`], the order in which an earlier image is stored.

use std::collections::HashMap;

use lith_builder::{Digest, EarlierPacked};
use lith_format::file_type::FileType;
use lith_reader::{Error, Image, Place};
use lith_tree::{InodeIndex, Kind, Tree};

/// The longest fragment whose digest is made: longer ones are files that have pclusters of their own nearly everywhere.
const LONGEST: u64 = 16 << 20;

/// The order in which an earlier image stores files and fragments, so that a new one can keep it: who copies images by what
/// has changed then finds the same bytes in the same order.
#[derive(Clone, Debug, Default)]
pub struct Earlier {
    /// The paths of files that have blocks, by where these are.
    files: Vec<Vec<u8>>,
    packed: EarlierPacked,
}

impl Earlier {
    /// Reads the order of an image, and all fragments for their digests.
    ///
    /// # Errors
    /// [`Error`] if a directory, an index or a fragment can't be read.
    pub fn read(image: &Image) -> Result<Self, Error> {
        let mut files = Vec::new();
        let mut fragments = HashMap::new();
        // In a valid image fragments don't overlap.
        let mut budget = image.packed_inode().map_or(0, |packed| packed.size);
        for entry in image.files() {
            let entry = entry?;
            let inode = entry.inode;
            if inode.file_type != FileType::Regular {
                continue;
            }
            let mut first = None;
            for extent in image.extents(&inode)? {
                let extent = extent?;
                match extent.place {
                    Place::Device(at) if at.device == 0 => {
                        first = first.or(Some(at.pa.0));
                    }
                    Place::Packed { offset } => {
                        let range = offset..offset.saturating_add(extent.len);
                        let is_known = fragments.contains_key(&range.start);
                        if is_known || extent.len > LONGEST.min(budget) {
                            continue;
                        }
                        budget -= extent.len;
                        let bytes = image.file(&inode)?.read_range(extent.la..extent.end())?;
                        fragments.insert(range.start, (Digest::of_content(&bytes), range));
                    }
                    _ => {}
                }
            }
            files.extend(first.map(|first| (first, entry.path)));
        }
        files.sort();
        let mut pclusters = Vec::new();
        if let Some(packed) = image.packed_inode() {
            for extent in image.extents(packed)? {
                pclusters.push(extent?.la);
            }
        }
        pclusters.sort_unstable();
        let mut fragments: Vec<_> = fragments.into_values().collect();
        fragments.sort_by_key(|(_, range)| range.start);
        let files = files.into_iter().map(|(_, path)| path).collect();
        Ok(Self { files, packed: EarlierPacked { fragments, pclusters } })
    }

    /// The files of a tree that the image has, too, in its order. The others follow them.
    pub(crate) fn files(&self, tree: &Tree) -> Vec<InodeIndex> {
        let known = self.files.iter().filter_map(|path| tree.find(path));
        known.filter(|inode| matches!(tree.get(*inode).kind, Kind::Regular { .. })).collect()
    }

    /// What its packed inode holds.
    pub(crate) const fn packed(&self) -> &EarlierPacked {
        &self.packed
    }
}
