//! Reads any bytes as what images are built of: archives, SquashFS images, lists of files, container images.

use std::{
    fs::{self, File},
    io::Cursor,
    num::NonZeroUsize,
    path::Path,
};

use lith::{
    device::MemoryDevice,
    source::{self, Data, OnError, Opened, Options, Source},
    tree::{DataRange, Filesystem, InodeIndex, Kind},
};
use lith_remote::sha256_of;

use crate::{golden, place};

/// The most names that are read in one image.
pub(super) const NAMES: usize = 2000;
/// The most ranges and extents that are read in one file.
pub(super) const RANGES: usize = 500;
/// Bytes that are read of one file at each end.
pub(super) const READ: u64 = 64 << 10;
/// Bytes that are read of one image in all.
pub(super) const READ_ALL: u64 = 8 << 20;

/// The parts of a container image in a directory: its index, a manifest, a configuration, a layer.
const PARTS: usize = 4;

/// Reads a tar or a cpio archive, compressed or not, with all its contents.
pub fn tar_source(bytes: &[u8]) {
    let options = options_of(bytes);
    if let Ok(source) = source::archive_stream(Cursor::new(bytes), Path::new("tar"), &options) {
        touch(&source);
    }
}

/// Reads an archive that is a file: as [`tar_source`], and zip.
pub fn archive_file(bytes: &[u8]) {
    let mut options = options_of(bytes);
    options.data = if bytes.len() % 5 == 1 { Data::Refer } else { Data::Take };
    in_file(bytes, |path| {
        let file = File::open(path).unwrap();
        if let Ok(source) = source::archive(file, path, &options) {
            touch(&source);
        }
    });
}

fn options_of(bytes: &[u8]) -> Options {
    Options::with(|options| {
        options.aufs = bytes.len() % 2 == 1;
        options.dereference_hard_links = bytes.len() % 3 == 1;
        options.spool_dir = std::env::temp_dir();
        options.workers = NonZeroUsize::MIN;
    })
}

/// Calls a function with the path of a file that has these bytes.
fn in_file(bytes: &[u8], read: impl FnOnce(&Path)) {
    let folder = place::folder();
    let path = folder.path().join("file");
    fs::write(&path, bytes).unwrap();
    read(&path);
}

/// Reads a SquashFS image with all its contents.
pub fn squashfs_source(bytes: &[u8]) {
    let skip = bytes.len() % 2 == 1;
    let options = Options::with(|options| {
        options.on_error = if skip { OnError::Skip } else { OnError::Fail };
    });
    let device = MemoryDevice::new(bytes.to_vec());
    if let Ok(source) = source::squashfs(device, Path::new("image"), &options) {
        touch(&source);
    }
}

/// Reads a list of files of any form, whose content is that of the golden images.
pub fn manifest(bytes: &[u8]) {
    in_file(bytes, |path| {
        if let Ok(source) = source::manifest(path, &golden::folder(), &Options::default()) {
            touch(&source);
        }
    });
}

/// Reads a container image: from the parts of one in a directory, or from an archive.
///
/// A zero byte ends each part but the last one. In a part `sha256:N` becomes the digest of part N, counted from 0, and `-N` its bytes: no
/// fuzzer can guess the digest of what it changed.
pub fn container_image(bytes: &[u8]) {
    if bytes.starts_with(b"{") {
        return container_in_parts(bytes);
    }
    in_file(bytes, |path| {
        for form in ["oci-archive", "docker-archive"] {
            open_container(form, path, &options_of(bytes));
        }
    });
}

fn container_in_parts(bytes: &[u8]) {
    let folder = place::folder();
    let blobs = folder.path().join("blobs/sha256");
    fs::create_dir_all(&blobs).unwrap();
    let mut parts: Vec<_> =
        bytes.splitn(PARTS, |byte| *byte == 0).map(<[u8]>::to_vec).enumerate().collect();
    let mut index = Vec::new();
    let mut known: Vec<(String, String)> = Vec::new();
    while let Some((number, mut part)) = parts.pop() {
        for (word, instead) in &known {
            part = replaced(&part, word.as_bytes(), instead.as_bytes());
        }
        let (digest, length) = sha256_of(&*part).unwrap();
        fs::write(blobs.join(digest.trim_start_matches("sha256:")), &part).unwrap();
        known.push((format!("sha256:{number}"), digest));
        known.push((format!("-{number}"), length.to_string()));
        index = part;
    }
    fs::write(folder.path().join("index.json"), index).unwrap();
    open_container("oci", folder.path(), &options_of(bytes));
}

/// The bytes with `instead` in place of each `word` that is no part of a longer one.
fn replaced(bytes: &[u8], word: &[u8], instead: &[u8]) -> Vec<u8> {
    let mut new = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some(first) = rest.first() {
        match rest.strip_prefix(word) {
            Some(after) if !after.first().is_some_and(u8::is_ascii_hexdigit) => {
                new.extend_from_slice(instead);
                rest = after;
            }
            _ => {
                new.push(*first);
                rest = &rest[1..];
            }
        }
    }
    new
}

fn open_container(form: &str, path: &Path, options: &Options) {
    let mut name = std::ffi::OsString::from(form);
    name.push(":");
    name.push(path);
    if let Ok(Opened::Source(source)) = source::open(Path::new(&name), options) {
        touch(&source);
    }
}

/// Looks at everything in a tree, up to a limit.
pub(super) fn touch(source: &Source) {
    let tree = &source.tree;
    let mut left = READ_ALL;
    for visit in tree.walk().take(NAMES) {
        let inode = tree.get(visit.inode);
        assert!(inode.metadata.permissions <= 0o7777);
        let Kind::Regular { size } = inode.kind else { continue };
        touch_file(source.filesystem(), (visit.inode, size), &mut left);
    }
}

fn touch_file(fs: Filesystem<'_>, (inode, size): (InodeIndex, u64), left: &mut u64) {
    let Ok(content) = fs.open(inode) else { return };
    let mut position = 0;
    for _ in 0..RANGES {
        if position >= size {
            break;
        }
        let Ok(DataRange::Data { end } | DataRange::Hole { end }) = content.range_at(position)
        else {
            break;
        };
        assert!(end > position && end <= size, "a range from {position} to {end} of {size} bytes");
        position = end;
    }
    for start in [0, size.saturating_sub(READ)] {
        let length = READ.min(size - start).min(*left);
        *left -= length;
        let _ = content.read_at(&mut vec![0; length as usize], start);
    }
}
