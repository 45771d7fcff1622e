//! Defines [`Plan`], the directories, files and links to make, in order.

use std::{collections::HashMap, ops::Range};

use lith_tree::{Filesystem, InodeIndex, Kind, Name, Tree};

use crate::Selection;

/// A name to be made, and its inode.
#[derive(Clone, Copy)]
pub(super) struct Entry<'a> {
    pub(super) parent: InodeIndex,
    pub(super) name: &'a Name,
    pub(super) inode: InodeIndex,
}

pub(super) struct Directory<'a> {
    pub(super) inode: InodeIndex,
    pub(super) parent: InodeIndex,
    /// `None` for the root.
    pub(super) name: Option<&'a Name>,
    depth: usize,
    /// Whether its attributes are set: if it is selected itself, or new.
    pub(super) owns_attributes: bool,
}

/// A further name of a file, and the name by which the file is made.
pub(super) struct Link<'a> {
    pub(super) entry: Entry<'a>,
    pub(super) first: Entry<'a>,
}

/// The unit of work of a worker.
pub(super) enum Job {
    /// A range of the plan's entries.
    Entries(Range<usize>),
    /// Bytes of one of the plan's large files.
    Segment { large: usize, range: Range<u64> },
}

/// A regular file so large that several workers write it.
pub(super) struct Large<'a> {
    pub(super) entry: Entry<'a>,
    pub(super) size: u64,
    pub(super) segments: usize,
}

/// Everything to be made.
#[derive(Default)]
pub(super) struct Plan<'a> {
    /// By depth; those of one parent are adjacent.
    pub(super) directories: Vec<Directory<'a>>,
    pub(super) entries: Vec<Entry<'a>>,
    pub(super) large: Vec<Large<'a>>,
    pub(super) links: Vec<Link<'a>>,
    pub(super) jobs: Vec<Job>,
}

/// From this size on a file is written by several workers.
const LARGE: u64 = 16 << 20;
/// Bytes of a large file in one job,
const SEGMENT: u64 = 4 << 20;
/// unless a file would have more jobs than this: a file of holes can have any size.
const MAX_SEGMENTS: u64 = 4096;
/// Files in a job of small files at most,
const JOB_ENTRIES: usize = 64;
/// and the bytes after which it ends.
const JOB_BYTES: u64 = 4 << 20;

impl<'a> Plan<'a> {
    pub(super) fn new(fs: Filesystem<'a>, selection: &'a Selection) -> Self {
        let tree = fs.tree;
        let mut plan = Self::default();
        let mut batch = Batch::default();
        let mut firsts = HashMap::new();
        for (visit, chosen) in selection.walk(tree) {
            let found = tree.get(visit.inode);
            let Some(name) = visit.name.filter(|_| found.as_directory().is_none()) else {
                plan.directories.push(Directory {
                    inode: visit.inode,
                    parent: visit.parent,
                    name: visit.name,
                    depth: visit.depth,
                    owns_attributes: chosen,
                });
                continue;
            };
            let (parent, inode) = (visit.parent, visit.inode);
            let entry = Entry { parent, name, inode };
            if found.nlink() > 1
                && let Some(first) = firsts.insert(inode, entry)
            {
                // Keep the first name.
                firsts.insert(inode, first);
                plan.links.push(Link { entry, first });
                continue;
            }
            plan.add(entry, &found.kind, &mut batch);
        }
        plan.end_batch(&mut batch);
        plan.directories.sort_by_key(|directory| directory.depth);
        let inodes: Vec<_> = plan.entries.iter().map(|entry| entry.inode).collect();
        if let Some(groups) = fs.contents.reading_order(&inodes) {
            plan.follow(tree, &groups);
        }
        plan
    }

    /// Orders the entries by groups, whose last one is in the order of directories.
    fn follow(&mut self, tree: &Tree, groups: &[Vec<usize>]) {
        let entries = std::mem::take(&mut self.entries);
        self.jobs.retain(|job| matches!(job, Job::Segment { .. }));
        let mut batch = Batch::default();
        let Some((others, groups)) = groups.split_last() else { return };
        for group in groups {
            self.entries.extend(group.iter().filter_map(|number| entries.get(*number)));
            self.end_batch(&mut batch);
        }
        for entry in others.iter().filter_map(|number| entries.get(*number)) {
            self.add(*entry, &tree.get(entry.inode).kind, &mut batch);
        }
        self.end_batch(&mut batch);
    }

    fn add(&mut self, entry: Entry<'a>, kind: &Kind, batch: &mut Batch) {
        let size = match kind {
            Kind::Regular { size } => *size,
            _ => 0,
        };
        if size >= LARGE {
            return self.add_large(entry, size);
        }
        if batch.parent != Some(entry.parent)
            || self.entries.len() - batch.start >= JOB_ENTRIES
            || batch.bytes >= JOB_BYTES
        {
            self.end_batch(batch);
            batch.parent = Some(entry.parent);
        }
        batch.bytes = batch.bytes.saturating_add(size);
        self.entries.push(entry);
    }

    fn add_large(&mut self, entry: Entry<'a>, size: u64) {
        let large = self.large.len();
        let length = SEGMENT.max(size.div_ceil(MAX_SEGMENTS));
        let mut segments = 0;
        let mut start = 0;
        while start < size {
            let end = size.min(start.saturating_add(length));
            let range = start..end;
            self.jobs.push(Job::Segment { large, range });
            segments += 1;
            start = end;
        }
        self.large.push(Large { entry, size, segments });
    }

    fn end_batch(&mut self, batch: &mut Batch) {
        let end = self.entries.len();
        if batch.start < end {
            self.jobs.push(Job::Entries(batch.start..end));
        }
        *batch = Batch { start: end, ..Batch::default() };
    }
}

/// A job of small files while it is collected.
#[derive(Default)]
struct Batch {
    parent: Option<InodeIndex>,
    start: usize,
    bytes: u64,
}
