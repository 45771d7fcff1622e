//! Where a filesystem shares extents, an image that is made of others takes no further space.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "in tests failures should be loud"
)]

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use lith::{bases::Search, codec::Compressor};
use lith_testkit::{
    compare, image,
    noise::{self, Texture},
    place, tier,
};

/// Bytes of the disk, which is a sparse file.
const DISK: u64 = 512 << 20;
/// Bytes of the content, most of which the base holds.
const CONTENT: usize = 24 << 20;

/// A filesystem in a file, mounted until it is dropped.
struct Disk {
    folder: PathBuf,
    _file: tempfile::TempDir,
}

impl Disk {
    /// `None`: it can't be made or mounted here.
    fn new(mkfs: &[&str]) -> Option<Self> {
        let tier = format!("reflinks on {}", mkfs[0]);
        let place = place::large_folder();
        let (file, folder) = (place.path().join("disk"), place.path().join("mounted"));
        fs::create_dir(&folder).unwrap();
        fs::File::create(&file).unwrap().set_len(DISK).unwrap();
        let made = Command::new(mkfs[0]).args(&mkfs[1..]).arg(&file).output();
        if !made.is_ok_and(|made| made.status.success()) {
            tier::skip(&tier, "no such program");
            return None;
        }
        let mounted = Command::new("mount").args(["-o", "loop"]).args([&file, &folder]).output();
        match mounted {
            Ok(mounted) if mounted.status.success() => {
                tier::ran(&tier);
                Some(Self { folder, _file: place })
            }
            refused => {
                tier::skip(&tier, format!("{refused:?}"));
                None
            }
        }
    }

    /// Bytes in use, of all that was written.
    fn used(&self) -> u64 {
        rustix::fs::sync();
        let found = rustix::fs::statvfs(&self.folder).unwrap();
        (found.f_blocks - found.f_bfree) * found.f_frsize
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _gone = Command::new("umount").arg(&self.folder).status();
    }
}

fn write(folder: &Path, name: &str, texture: Texture, len: usize) {
    fs::write(folder.join(name), noise::bytes(texture, len as u64, len)).unwrap();
}

#[test]
fn flat_images_share_the_bytes_of_their_parts() {
    if let Err(reason) = tier::can_mount() {
        return tier::skip("reflinks", reason);
    }
    let all: [&[&str]; 2] =
        [&["mkfs.xfs", "-q", "-m", "reflink=1"], &["mkfs.btrfs", "-q", "-O", "^no-holes"]];
    for mkfs in all {
        let Some(disk) = Disk::new(mkfs) else { continue };
        let source = place::folder();
        write(source.path(), "noise", Texture::Noise, CONTENT);
        write(source.path(), "text", Texture::Text, CONTENT / 4);
        let options = image::compressed(Compressor::Lz4, 64 << 10);
        let [base, patch, flat] =
            ["base", "patch", "flat"].map(|name| disk.folder.join(name).with_extension("erofs"));
        let builder = || image::workers(2).builder(image::directory(source.path()), &options);
        builder().build_to(&base).unwrap();
        write(source.path(), "new", Texture::Text, 300_000);
        builder().base(&base).build_to(&patch).unwrap();
        let before = disk.used();
        let read = image::open_with(&patch, std::slice::from_ref(&base));
        let made = image::workers(2).builder(read, &options).base(&patch);
        made.search(Search::default()).copied_layers().build_to(&flat).unwrap();
        let (more, size) = (disk.used() - before, fs::metadata(&flat).unwrap().len());
        assert!(size > CONTENT as u64, "{size}");
        assert!(more < size / 4, "{}: {more} more for an image of {size}", mkfs[0]);
        for part in [&base, &patch] {
            fs::remove_file(part).unwrap();
        }
        let whole = image::open(&flat);
        let expected = image::directory(source.path());
        compare::assert_same(expected.filesystem(), whole.filesystem(), mkfs[0]);
    }
}
