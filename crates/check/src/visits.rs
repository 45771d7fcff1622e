//! Defines [`Visits`]: the inodes with a name, where each was met first, and how many names it has.

use std::collections::HashSet;

use lith_format::{addr::Nid, file_type::FileType, inode::InodeForm};
use lith_reader::Inode;
use lith_survey::Walk;

/// What is remembered of an inode.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Visit {
    /// The directory in which it was met first; its own NID for the root.
    pub(crate) parent: Nid,
    /// Names found so far; for a directory, the subdirectories found so far.
    links: u32,
    nlink: u32,
    pub(crate) file_type: FileType,
    form: InodeForm,
}

/// All inodes with a name.
#[derive(Debug, Default)]
pub(crate) struct Visits {
    pub(crate) walk: Walk<Visit>,
    /// Inodes that can't be read.
    pub(crate) unreadable: HashSet<Nid>,
    /// Names are missing: some directory could not be read as a whole.
    pub(crate) incomplete: bool,
}

impl Visits {
    /// Adds an inode that was met first in `parent`.
    pub(crate) fn add(&mut self, inode: &Inode, parent: Nid) {
        let (nlink, file_type, form) = (inode.nlink, inode.file_type, inode.form);
        let links = u32::from(file_type != FileType::Directory);
        self.walk.add(inode, Visit { parent, links, nlink, file_type, form });
    }

    /// Counts another name, or for a directory another subdirectory.
    pub(crate) fn count_link(&mut self, nid: Nid) {
        if let Some(visit) = self.walk.note_mut(nid) {
            visit.links = visit.links.saturating_add(1);
        }
    }

    /// Counts a name in `directory` if it is that of a subdirectory.
    pub(crate) fn count_subdirectory(&mut self, directory: Nid, file_type: FileType) {
        if file_type == FileType::Directory {
            self.count_link(directory);
        }
    }

    pub(crate) fn nids(&self) -> Vec<Nid> {
        let mut nids: Vec<_> = self.walk.notes().map(|(nid, _)| nid).collect();
        nids.sort_unstable();
        nids
    }

    /// Inodes whose `i_nlink` is wrong, in order: the NID, the value found, the value expected.
    pub(crate) fn wrong_nlinks(&self) -> Vec<(Nid, u32, u32)> {
        let wrong = self.walk.notes().filter_map(|(nid, visit)| {
            let expected = visit.expected_nlink();
            (!self.allows(visit, expected)).then_some((nid, visit.nlink, expected))
        });
        let mut wrong: Vec<_> = wrong.collect();
        wrong.sort_unstable();
        wrong
    }

    fn allows(&self, visit: &Visit, expected: u32) -> bool {
        // A directory with more links than 16 bits count is written with 1 link in a compact inode.
        let too_many = visit.form == InodeForm::Compact && expected > u32::from(u16::MAX);
        let uncounted = visit.file_type == FileType::Directory && too_many && visit.nlink == 1;
        visit.nlink == expected || uncounted || (self.incomplete && visit.nlink > expected)
    }
}

impl Visit {
    fn expected_nlink(&self) -> u32 {
        // Its name in its parent, and its own `.`.
        let own = if self.file_type == FileType::Directory { 2 } else { 0 };
        self.links.saturating_add(own)
    }
}
