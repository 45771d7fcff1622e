//! Defines [`Paths`], which finds the paths of the inodes that findings are about.

use std::collections::{BTreeMap, HashMap, HashSet};

use lith_format::addr::Nid;
use lith_reader::Image;

use crate::{
    findings::{Note, Subject},
    limits::{PATH_BYTES, PATH_LEVELS},
    report::Finding,
    visits::Visits,
};

/// Replaces the beginning of a path that is too long.
const ELLIPSIS: &[u8] = b"...";

/// Names of inodes in the directories where they were met first. Walking keeps no names, to save memory; they are
/// looked up again for the few inodes that have findings.
#[derive(Debug)]
pub(crate) struct Paths<'a> {
    visits: &'a Visits,
    root: Nid,
    names: HashMap<Nid, Vec<u8>>,
}

impl<'a> Paths<'a> {
    /// The paths of all inodes that `notes` are about, from the inode `root` on.
    pub(crate) fn of<'b>(
        image: &Image,
        root: Nid,
        visits: &'a Visits,
        notes: impl Iterator<Item = &'b Note>,
    ) -> Self {
        let mut paths = Self { visits, root, names: HashMap::new() };
        let mut needed = BTreeMap::<Nid, HashSet<Nid>>::new();
        for note in notes {
            match note.subject {
                Subject::Image => {}
                Subject::Inode(nid) => paths.collect(nid, &mut needed),
                Subject::Entry { directory, .. } => paths.collect(directory, &mut needed),
            }
        }
        for (directory, nids) in needed {
            paths.look_up(image, directory, nids);
        }
        paths
    }

    /// Adds an inode and all directories above it to the names that are needed, by directory.
    fn collect(&self, nid: Nid, needed: &mut BTreeMap<Nid, HashSet<Nid>>) {
        let mut nid = nid;
        for _ in 0..PATH_LEVELS {
            let Some(parent) = self.parent(nid) else { return };
            if !needed.entry(parent).or_default().insert(nid) {
                return;
            }
            nid = parent;
        }
    }

    /// The directory in which an inode was met first; `None` for the root and for inodes without name.
    fn parent(&self, nid: Nid) -> Option<Nid> {
        let visit = self.visits.walk.note(nid)?;
        (nid != self.root).then_some(visit.parent)
    }

    fn look_up(&mut self, image: &Image, directory: Nid, mut nids: HashSet<Nid>) {
        let inode = image.inode(directory);
        let Ok(entries) = inode.and_then(|inode| image.read_dir(&inode)) else { return };
        for entry in entries {
            let Ok(entry) = entry else { return };
            if nids.remove(&entry.nid) {
                self.names.insert(entry.nid, entry.name);
            }
            if nids.is_empty() {
                return;
            }
        }
    }

    pub(crate) fn finding(&self, note: Note) -> Finding {
        let Note { rule, subject, detail } = note;
        let (nid, path) = match subject {
            Subject::Image => (None, None),
            Subject::Inode(nid) => (Some(nid), self.path(nid, Vec::new())),
            Subject::Entry { directory, name, nid } => {
                (Some(nid), self.path(directory, vec![name.as_slice()]))
            }
        };
        Finding { rule, nid, path, detail }
    }

    /// The path of an inode followed by `names`; `None` if the inode has no path.
    fn path<'b>(&'b self, nid: Nid, mut names: Vec<&'b [u8]>) -> Option<Vec<u8>> {
        self.visits.walk.note(nid)?;
        let (mut at, mut length, mut whole) = (nid, 0, true);
        while let Some(parent) = self.parent(at) {
            let name = self.names.get(&at).map_or(ELLIPSIS, Vec::as_slice);
            length += name.len() + 1;
            if length > PATH_BYTES || names.len() > PATH_LEVELS {
                whole = false;
                break;
            }
            names.push(name);
            at = parent;
        }
        let mut path = if whole { Vec::new() } else { ELLIPSIS.to_vec() };
        for name in names.iter().rev() {
            path.push(b'/');
            path.extend_from_slice(name);
        }
        if path.is_empty() {
            path.push(b'/');
        }
        Some(path)
    }
}
