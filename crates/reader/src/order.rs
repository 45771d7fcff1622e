//! Prepares for reading all files, and orders them for that.

use std::num::NonZeroUsize;

use lith_format::addr::Nid;

use crate::{
    extent::Place,
    fragments::Fragments,
    image::Image,
    inode::Inode,
    map::{Extents, Map},
};

/// Bytes of decoded fragments in a temporary file that each stored byte justifies.
const TEMPORARY_FACTOR: u64 = 64;

/// Bytes after which a group of files ends, unless they share an extent.
const GROUP: u64 = 1 << 20;

/// From this size on a file has work for several threads.
const LARGE: u64 = 4 << 20;

impl Image {
    /// Prepares for reading all files from start to end, with so many threads: from now on each extent is decoded whole
    /// and about once, in whatever order the files are read. Extents of the packed inode are kept in memory until their
    /// fragments were read, and if they are too many in a temporary file in `$TMPDIR`, or else `/var/tmp`.
    ///
    /// Only the first call has an effect.
    pub fn expect_all_files(&self, readers: NonZeroUsize) {
        self.all_files.get_or_init(|| {
            self.decoded.expect_readers(readers.get());
            let packed = self.packed.as_ref()?;
            let Map::Compressed(_) = packed.map else { return None };
            let extents = Extents::new(self, &packed.inode, &packed.map, 0);
            let ends = extents.map_while(Result::ok).map(|extent| extent.end());
            let stored = (0..=self.superblock.extra_devices).map(|device| self.device_size(device));
            let limit = stored.fold(0, u64::saturating_add).saturating_mul(TEMPORARY_FACTOR);
            Some(Fragments::new(ends, readers.get(), limit))
        });
    }

    /// The extents of the packed inode, if all files are read.
    pub(crate) fn fragments(&self) -> Option<&Fragments> {
        self.all_files.get()?.as_ref()
    }

    /// Groups of `files`, by their indices, that are best read one after another, each by one thread: groups share few
    /// extents of the packed inode, and each of these is needed for a short time only. Files without a fragment and large
    /// ones come in one group at the end. `None` if the order makes no difference, in particular without
    /// [`Self::expect_all_files`].
    #[must_use]
    pub fn reading_order(&self, files: &[Nid]) -> Option<Vec<Vec<usize>>> {
        let fragments = self.fragments().filter(|fragments| !fragments.fit_memory())?;
        let mut packed: Vec<_> =
            files.iter().enumerate().map(|(file, nid)| (self.fragment_of(*nid), file)).collect();
        packed.sort_unstable();
        let others = packed.split_off(packed.partition_point(|(offset, _)| *offset < u64::MAX));
        let extents = packed.chunk_by(|(one, _), (other, _)| {
            fragments.extent_at(*one) == fragments.extent_at(*other)
        });
        let mut groups: Vec<Vec<usize>> = Vec::new();
        let mut start = 0;
        for extent in extents {
            let at = extent.first().map_or(0, |(offset, _)| *offset);
            if groups.is_empty() || at - start >= GROUP {
                groups.push(Vec::new());
                start = at;
            }
            groups.last_mut()?.extend(extent.iter().map(|(_, file)| *file));
        }
        groups.push(others.into_iter().map(|(_, file)| file).collect());
        Some(groups)
    }

    /// Where the fragment of a file is in the packed inode; the greatest number if the file is large or has none, or after
    /// an error, which reading the file reports.
    fn fragment_of(&self, nid: Nid) -> u64 {
        let place_of = |inode: Inode| {
            let last = inode.size.checked_sub(1).filter(|last| *last < LARGE)?;
            let extent = self.file(&inode).ok()?.extents_from(last).next()?;
            Some(extent.ok()?.place)
        };
        match self.inode(nid).ok().and_then(place_of) {
            Some(Place::Packed { offset }) => offset,
            _ => u64::MAX,
        }
    }
}
