//! Which inodes were met, and how often?

use std::collections::HashMap;

use lith_format::{addr::Nid, file_type::FileType, inode::InodeForm};
use lith_reader::Inode;

/// What is remembered of an inode.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Visit {
    /// The directory in which it was met first; its own NID for the root.
    pub(crate) parent: Nid,
    /// Its names so far; of a directory the directories in it.
    pub(crate) links: u32,
    /// Its names as it says.
    nlink: u32,
    pub(crate) file_type: FileType,
    form: InodeForm,
}

/// All inodes with a name. Those that can't be read are there, too, but without a [`Visit`].
#[derive(Debug, Default)]
pub(crate) struct Visits {
    by_nid: HashMap<Nid, Option<Visit>>,
    /// Names are missing: some directory could not be read as a whole.
    pub(crate) incomplete: bool,
}

impl Visits {
    /// Notes an inode that was met first in `parent`.
    pub(crate) fn add(&mut self, inode: &Inode, parent: Nid) {
        let (nlink, file_type, form) = (inode.nlink, inode.file_type, inode.form);
        let links = u32::from(file_type != FileType::Directory);
        self.by_nid.insert(inode.nid, Some(Visit { parent, links, nlink, file_type, form }));
    }

    /// Notes an inode that can't be read.
    pub(crate) fn add_unreadable(&mut self, nid: Nid) {
        self.by_nid.insert(nid, None);
    }

    /// What is known of an inode that can be read.
    pub(crate) fn get(&self, nid: Nid) -> Option<&Visit> {
        self.by_nid.get(&nid)?.as_ref()
    }

    /// Whether an inode was met, be it readable or not.
    pub(crate) fn has_met(&self, nid: Nid) -> bool {
        self.by_nid.contains_key(&nid)
    }

    /// Counts another name, or for a directory another directory in it.
    pub(crate) fn count_link(&mut self, nid: Nid) {
        if let Some(Some(visit)) = self.by_nid.get_mut(&nid) {
            visit.links = visit.links.saturating_add(1);
        }
    }

    /// NIDs of all that can be read, in order.
    pub(crate) fn nids(&self) -> Vec<Nid> {
        let readable = self.by_nid.iter().filter(|(_, visit)| visit.is_some());
        let mut nids: Vec<_> = readable.map(|(nid, _)| *nid).collect();
        nids.sort_unstable();
        nids
    }

    /// Inodes whose count of names is wrong, in order: the NID, what it says, what is right.
    pub(crate) fn wrong_nlinks(&self) -> Vec<(Nid, u32, u32)> {
        let visits = self.by_nid.iter().filter_map(|(nid, visit)| Some((*nid, visit.as_ref()?)));
        let wrong = visits.filter_map(|(nid, visit)| {
            let right = visit.right_nlink();
            (!self.allows(visit, right)).then_some((nid, visit.nlink, right))
        });
        let mut wrong: Vec<_> = wrong.collect();
        wrong.sort_unstable();
        wrong
    }

    fn allows(&self, visit: &Visit, right: u32) -> bool {
        // What does not fit a compact inode of a directory is written as 1: names are not counted.
        let too_many = visit.form == InodeForm::Compact && right > u32::from(u16::MAX);
        let uncounted = visit.file_type == FileType::Directory && too_many && visit.nlink == 1;
        visit.nlink == right || uncounted || (self.incomplete && visit.nlink > right)
    }
}

impl Visit {
    fn right_nlink(&self) -> u32 {
        let own = if self.file_type == FileType::Directory { 2 } else { 0 };
        self.links.saturating_add(own)
    }
}
