//! Compares what `stat` returns for a mounted tree beyond what a [`Tree`] holds.

use std::{
    ffi::OsStr,
    fs::{self, File},
    os::{
        fd::{AsFd, AsRawFd},
        unix::{ffi::OsStrExt, fs::FileExt},
    },
    path::PathBuf,
};

use lith::tree::{DisplayPath, Filesystem, InodeIndex, Kind, Tree};
use rustix::fs::{AtFlags, Stat, statat};

use crate::{noise::Noise, tarball};

/// A path to what a descriptor of this process refers to.
pub fn path(root: impl AsFd) -> PathBuf {
    format!("/proc/self/fd/{}/", root.as_fd().as_raw_fd()).into()
}

/// Compares what `stat` and `readdir` return below `root` with `expected`, in what a [`Tree`] doesn't show: link counts
/// as they are stored, inode numbers, the types in directories.
pub fn assert_stats(root: impl AsFd, expected: &Tree) {
    let mut numbers = vec![None; expected.len()];
    for visit in expected.walk() {
        let path = expected.path(visit.parent);
        let path = match visit.name {
            Some(name) => [&path[..], name.as_bytes()].join(&b'/'),
            None => b".".to_vec(),
        };
        let path = path.strip_prefix(b"/").unwrap_or(&path);
        if path.len() >= 4096 {
            continue;
        }
        let stat = statat(&root, path, AtFlags::SYMLINK_NOFOLLOW).unwrap();
        let inode = expected.get(visit.inode);
        let shown = DisplayPath(path);
        // Link counts have different types on different machines.
        let counts = [i128::from(stat.st_nlink), i128::from(inode.nlink())];
        assert_eq!(counts[0], counts[1], "{shown}: link count");
        let size = size_of(expected, visit.inode).unwrap_or(stat.st_size);
        assert_eq!(size, stat.st_size, "{shown}: size");
        let number: &mut Option<u64> = &mut numbers[visit.inode.index()];
        assert_eq!(*number.get_or_insert(stat.st_ino), stat.st_ino, "{shown}: hard link");
        if inode.as_directory().is_some() {
            assert_types(&root, path, &stat);
        }
    }
    let distinct: std::collections::HashSet<_> = numbers.iter().flatten().collect();
    assert_eq!(distinct.len(), numbers.iter().flatten().count(), "two inodes have one number");
}

fn assert_types(root: impl AsFd, folder: &[u8], directory: &Stat) {
    let folder = path(root).join(OsStr::from_bytes(folder));
    let mut names = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let stat = entry.metadata().unwrap();
        assert_eq!(entry.file_type().unwrap(), stat.file_type(), "{}", entry.path().display());
        names += 1;
    }
    assert!(names > 0 || directory.st_nlink == 2);
}

/// Reads parts of files below `root` in random order and compares them.
pub fn read_at_random(root: impl AsFd, fs: Filesystem<'_>, seed: u64) {
    let (tree, mut noise) = (fs.tree, Noise::new(seed));
    let mut files: Vec<_> = tree.walk().map(|visit| visit.inode).collect();
    files.extend_from_within(..);
    files.extend_from_within(..);
    noise.shuffle(&mut files);
    for inode in files {
        let name = tree.path(inode);
        let (Kind::Regular { size: 1.. }, 0..4000) = (&tree.get(inode).kind, name.len()) else {
            continue;
        };
        let Kind::Regular { size } = tree.get(inode).kind else { continue };
        let position = noise.next() % size;
        let longest = [1, 100, 5000, 300_000][noise.below(4)];
        let length = (1 + noise.below(longest)).min(usize::try_from(size - position).unwrap());
        let (mut expected, mut found) = (vec![0; length], vec![1; length]);
        fs.open(inode).unwrap().read_at(&mut expected, position).unwrap();
        let file = File::open(path(&root).join(tarball::as_path(&name))).unwrap();
        file.read_exact_at(&mut found, position).unwrap();
        let shown = DisplayPath(&name);
        assert!(expected == found, "{length} bytes at {position} of {shown}");
    }
}

fn size_of(tree: &Tree, inode: InodeIndex) -> Option<i64> {
    match &tree.get(inode).kind {
        Kind::Regular { size } => i64::try_from(*size).ok(),
        Kind::Symlink(target) => i64::try_from(target.len()).ok(),
        _ => None,
    }
}
