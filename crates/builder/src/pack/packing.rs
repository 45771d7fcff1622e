//! Defines [`Packing`], the content of the packed inode.

use std::ops::Range;

use lith_tree::{Content, ContentError, DataRange, Inode, InodeIndex, Kind, Metadata};

use crate::{Input, input::ExtraInode, plan::Geometry, scan::Fragment, temporary::Temporary};

/// A fragment and the position of its bytes in the packed inode.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    pub(super) position: u64,
    pub(super) inode: InodeIndex,
    pub(super) start: u64,
    pub(super) len: u64,
}

/// The content of the packed inode.
pub(crate) struct Packing {
    /// Bytes at the start that other packed inodes hold.
    pub(super) known: u64,
    /// Ranges of these, in order, that are zeros instead: they would have to be stored again, and no file has them.
    pub(super) unused: Vec<Range<u64>>,
    /// The long prefixes of extended attributes, for kernels that look for them here.
    pub(super) prefixes: Vec<u8>,
    /// Where they start, at a multiple of 4.
    pub(super) prefixes_start: u64,
    /// By position, without gaps, from the end of the prefixes on.
    pub(super) parts: Vec<Part>,
    /// The end of the fragments that are read first.
    pub(super) hot_end: u64,
    /// Where pclusters must start, in ascending order.
    pub(super) cuts: Vec<u64>,
    pub(super) directories_start: u64,
    pub(super) size: u64,
}

impl Part {
    pub(super) const fn new(position: u64, fragment: &Fragment) -> Self {
        let Fragment { inode, start, len, .. } = *fragment;
        Self { position, inode, start, len }
    }
}

impl Packing {
    /// The packed inode, with the content of the directories if some are packed. Its bytes are read from the files of
    /// `input` when they are needed.
    pub(crate) fn inode<'a>(
        &'a self,
        Geometry { input, plan }: Geometry<'a>,
        directories: Option<Temporary>,
    ) -> ExtraInode<'a> {
        let metadata = Metadata { permissions: 0o644, mtime: plan.epoch, ..Metadata::default() };
        let inode = Inode::nameless(metadata, Kind::Regular { size: self.size });
        let content = Box::new(Packed { input, packing: self, directories });
        let border = Some(self.hot_end).filter(|end| *end > 0 && *end < self.size);
        let cuts = self.cuts.clone();
        ExtraInode { index: plan.packed, inode, border, cuts, content, known: self.known }
    }

    /// Where the long prefixes of extended attributes are, in units of 4 bytes. `None`: too far on for the superblock.
    pub(crate) fn prefixes_start(&self) -> Option<u32> {
        u32::try_from(self.prefixes_start / 4).ok()
    }

    /// Clears what is unused of known bytes, which start at `position`.
    fn clear_unused(&self, known: &mut [u8], position: u64) {
        let first = self.unused.partition_point(|range| range.end <= position);
        let end = position + known.len() as u64;
        for range in self.unused.iter().skip(first).take_while(|range| range.start < end) {
            let within = |at: u64| usize::try_from(at.clamp(position, end) - position).ok();
            if let (Some(from), Some(to)) = (within(range.start), within(range.end))
                && let Some(unused) = known.get_mut(from..to)
            {
                unused.fill(0);
            }
        }
    }

    fn part_at(&self, position: u64) -> Option<&Part> {
        let after = self.parts.partition_point(|part| part.position <= position);
        self.parts.get(after.checked_sub(1)?)
    }
}

/// The bytes of the packed inode, from the files that they belong to.
pub(super) struct Packed<'a> {
    pub(super) input: Input<'a>,
    pub(super) packing: &'a Packing,
    pub(super) directories: Option<Temporary>,
}

impl Packed<'_> {
    /// Reads known bytes, the prefixes, or the zeros before these, and returns how many bytes that were.
    fn read_head(&self, buf: &mut [u8], position: u64) -> Result<usize, ContentError> {
        let Packing { known, prefixes, prefixes_start, .. } = self.packing;
        let room = |end: u64| usize::try_from(end.saturating_sub(position)).unwrap_or(usize::MAX);
        let len = room(*known).min(buf.len());
        if len > 0 {
            let number = self.input.known.packed.as_ref().map_or(0, |packed| packed.content);
            let content = self.input.known.contents.open(number)?;
            let known = buf.get_mut(..len).unwrap_or_default();
            content.read_at(known, position)?;
            self.packing.clear_unused(known, position);
            return Ok(len);
        }
        let len = room(*prefixes_start).min(buf.len());
        if len > 0 {
            buf.iter_mut().take(len).for_each(|byte| *byte = 0);
            return Ok(len);
        }
        let at = usize::try_from(position - prefixes_start).unwrap_or(usize::MAX);
        let left = prefixes.get(at..).unwrap_or_default();
        Ok(buf.iter_mut().zip(left).map(|(to, from)| *to = *from).count())
    }
}

impl Content for Packed<'_> {
    fn read_at(&self, mut buf: &mut [u8], mut position: u64) -> Result<(), ContentError> {
        while !buf.is_empty() {
            let copied = self.read_head(buf, position)?;
            if copied > 0 {
                position += copied as u64;
                buf = buf.get_mut(copied..).unwrap_or_default();
                continue;
            }
            if let Some(position) = position.checked_sub(self.packing.directories_start)
                && let Some(directories) = &self.directories
            {
                return directories.read_at(buf, position);
            }
            let Some(part) = self.packing.part_at(position) else { return Ok(()) };
            let skip = position - part.position;
            let left = usize::try_from(part.len - skip).unwrap_or(usize::MAX);
            let (now, later) = buf.split_at_mut(left.min(buf.len()));
            let content = self.input.open(part.inode)?;
            content.read_at(now, part.start + skip)?;
            content.check_unchanged()?;
            position += now.len() as u64;
            buf = later;
        }
        Ok(())
    }

    fn range_at(&self, _position: u64) -> Result<DataRange, ContentError> {
        Ok(DataRange::Data { end: self.packing.size })
    }

    /// Each file is checked when it is read.
    fn check_unchanged(&self) -> Result<(), ContentError> {
        Ok(())
    }
}
