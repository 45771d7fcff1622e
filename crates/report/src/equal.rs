//! Finds equal files that are stored several times.

use std::cmp::Reverse;

use lith_format::addr::Nid;
use lith_reader::Image;
use xxhash_rust::xxh3::Xxh3;

use crate::{
    facts::{EqualFiles, EqualGroup, Located, Sums},
    folders::{Entry, FolderIndex, Folders},
};

/// Bytes that are read at once.
const WINDOW: u64 = 1 << 20;
/// Groups that are listed, and paths of each.
const GROUPS: usize = 20;
const PATHS: usize = 4;
/// Bytes that are read for each byte of an image (more than 1, since holes are read too), and for the smallest image.
const READS: u64 = 64;
const FLOOR: u64 = 64 << 20;

/// All files with stored bytes.
#[derive(Debug, Default)]
pub(crate) struct Candidates {
    files: Vec<Candidate>,
}

#[derive(Debug)]
struct Candidate {
    bytes: u64,
    stored: u64,
    nid: Nid,
    folder: FolderIndex,
    name: Box<[u8]>,
}

impl Candidates {
    pub(crate) fn see(&mut self, nid: Nid, sums: &Sums, Entry { folder, name }: Entry<'_>) {
        let Sums { bytes, stored, .. } = *sums;
        if stored > 0 {
            self.files.push(Candidate { bytes, stored, nid, folder, name: name.into() });
        }
    }

    /// Compares the files that have the same size as another one: reads them.
    pub(crate) fn compare(mut self, image: &Image, folders: &Folders) -> EqualFiles {
        let left = FLOOR.saturating_add(image.device_size(0).saturating_mul(READS));
        let mut reading = Reading { image, buffer: Vec::new(), left };
        let (mut found, mut groups) = (EqualFiles::default(), Vec::new());
        self.files.sort_by_key(|file| file.bytes);
        for alike in self.files.chunk_by(|one, next| one.bytes == next.bytes) {
            let alike = if alike.len() > 1 { alike } else { &[] };
            let mut known: Vec<_> =
                alike.iter().filter_map(|file| Some((reading.hash(file)?, file))).collect();
            found.not_compared += (alike.len() - known.len()) as u64;
            known.sort_by_key(|(hash, _)| *hash);
            let equal = known.chunk_by(|one, next| one.0 == next.0).filter(|equal| equal.len() > 1);
            groups.extend(equal.map(|equal| group(equal, folders)));
        }
        groups.sort_by_cached_key(|group| Reverse(group.stored));
        for EqualGroup { bytes, files, stored, .. } in &groups {
            found.groups += 1;
            let copies = files.saturating_sub(1);
            found.copies = found.copies.saturating_add(copies);
            found.bytes = found.bytes.saturating_add(bytes.saturating_mul(copies));
            found.stored = found.stored.saturating_add(*stored);
        }
        groups.truncate(GROUPS);
        found.largest = groups;
        found
    }
}

fn group(equal: &[(u128, &Candidate)], folders: &Folders) -> EqualGroup {
    let files = equal.iter().map(|(_, file)| *file);
    let stored = files.clone().skip(1).fold(0, |sum: u64, file| sum.saturating_add(file.stored));
    let path =
        |file: &Candidate| Located(folders.path(Entry { folder: file.folder, name: &file.name }));
    EqualGroup {
        bytes: equal.first().map_or(0, |(_, file)| file.bytes),
        files: equal.len() as u64,
        stored,
        paths: files.take(PATHS).map(path).collect(),
    }
}

/// The reading of files within a budget.
struct Reading<'a> {
    image: &'a Image,
    buffer: Vec<u8>,
    /// Bytes that may still be read.
    left: u64,
}

impl Reading<'_> {
    /// A hash of a file's bytes; `None` if they can't be read or exceed the budget.
    fn hash(&mut self, candidate: &Candidate) -> Option<u128> {
        self.left = self.left.checked_sub(candidate.bytes)?;
        let inode = self.image.inode(candidate.nid).ok()?;
        let file = self.image.file(&inode).ok()?;
        let (mut hasher, mut at) = (Xxh3::new(), 0);
        while at < candidate.bytes {
            let length = usize::try_from((candidate.bytes - at).min(WINDOW)).ok()?;
            self.buffer.resize(length, 0);
            file.read_at(&mut self.buffer, at).ok()?;
            hasher.update(&self.buffer);
            at += length as u64;
        }
        Some(hasher.digest128())
    }
}
