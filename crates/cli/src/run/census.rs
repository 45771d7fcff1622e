//! How is what an image holds counted?

use std::collections::HashSet;

use lith::{
    format::{addr::Nid, features::Incompat, file_type::FileType, inode::InodeForm},
    reader::{Error, Extent, ExtentKind, Inode, Place},
};

use super::subject::Subject;
use crate::output::{census::Census, extents};

/// Looks at every inode and extent of an image, but at no data.
pub(crate) fn count(subject: &Subject<'_>) -> anyhow::Result<Census> {
    let counted = Counting::new(subject).and_then(Counting::run);
    counted.map_err(|error| subject.failed(error))
}

struct Counting<'a> {
    subject: &'a Subject<'a>,
    census: Census,
    inodes: HashSet<Nid>,
    directories: Vec<Inode>,
    /// The places that were met, if extents can share them.
    places: Option<HashSet<(u16, u64)>>,
}

impl<'a> Counting<'a> {
    fn new(subject: &'a Subject<'a>) -> Result<Self, Error> {
        let shared = Incompat::DEDUPE | Incompat::CHUNKED_FILE;
        let can_share = subject.image.superblock().incompat.intersects(shared);
        let mut counting = Self {
            subject,
            census: Census::default(),
            inodes: HashSet::new(),
            directories: Vec::new(),
            places: can_share.then(HashSet::new),
        };
        counting.meet(subject.image.superblock().root_nid)?;
        Ok(counting)
    }

    fn run(mut self) -> Result<Census, Error> {
        if let Some(packed) = self.subject.image.packed_inode() {
            self.extents(packed)?;
        }
        while let Some(directory) = self.directories.pop() {
            for entry in self.subject.image.read_dir(&directory)? {
                let entry = entry?;
                self.census.names += 1;
                self.meet(entry.nid)?;
            }
        }
        Ok(self.census)
    }

    fn meet(&mut self, nid: Nid) -> Result<(), Error> {
        if !self.inodes.insert(nid) {
            return Ok(());
        }
        let inode = self.subject.image.inode(nid)?;
        let census = &mut self.census;
        *census.kinds.entry(inode.file_type).or_default() += 1;
        census.compact += u64::from(inode.form == InodeForm::Compact);
        census.with_xattrs += u64::from(inode.xattr_icount > 0);
        match inode.file_type {
            FileType::Directory => self.directories.push(inode),
            FileType::Regular => {
                census.bytes = census.bytes.saturating_add(inode.size);
                self.extents(&inode)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn extents(&mut self, inode: &Inode) -> Result<(), Error> {
        for extent in self.subject.image.extents(inode)? {
            self.add(&extent?);
        }
        Ok(())
    }

    fn add(&mut self, extent: &Extent) {
        let is_new = match (&mut self.places, extent.place) {
            (Some(places), Place::Device(at)) => places.insert((at.device, at.pa.0)),
            _ => true,
        };
        // What fragments take is counted with the packed inode that holds them.
        let is_stored = is_new && extent.kind != ExtentKind::Fragment;
        let tally = self.census.data.entry(extents::kind_name(extent.kind)).or_default();
        tally.extents += 1;
        tally.bytes = tally.bytes.saturating_add(extent.len);
        tally.stored = tally.stored.saturating_add(if is_stored { extent.plen } else { 0 });
    }
}
