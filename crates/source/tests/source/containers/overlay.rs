//! Random layers: what Linux' overlayfs shows of them is what the image holds.

use std::{
    collections::HashMap,
    fs,
    os::unix::fs::{PermissionsExt, chown, symlink},
    path::{Path, PathBuf},
    process::Command,
};

use fastrand::Rng;
use lith_source::{Options, directory, merge};
use rustix::fs::{CWD, FileType, Mode, XattrFlags, makedev, mknodat, setxattr};

use super::{
    super::common::{Rows, assert_same, is_root, rows},
    layout::tar_of,
    read_all,
};

/// A layer in both forms: with `.wh.` names, and as overlayfs has it.
struct Forms {
    oci: PathBuf,
    overlay: PathBuf,
}

impl Forms {
    fn join(&self, name: &str) -> Self {
        Self { oci: self.oci.join(name), overlay: self.overlay.join(name) }
    }

    fn both(&self, make: impl Fn(&Path)) {
        make(&self.oci);
        make(&self.overlay);
    }

    /// Fills a directory with a few names, which are the same ones in all layers and directories.
    fn fill(&self, noise: &mut Rng, depth: u32) {
        for name in ["a", "b", "c", "d"] {
            let at = self.join(name);
            match noise.u32(..10) {
                0 => {
                    fs::write(self.oci.join(format!(".wh.{name}")), "").unwrap();
                    make_whiteout(&at.overlay);
                    // Without it, overlayfs lists whiteouts of a directory that only one layer has.
                    let flags = XattrFlags::empty();
                    setxattr(&self.overlay, "trusted.overlay.origin", b"", flags).unwrap();
                }
                1 => at.both(|path| symlink("a", path).unwrap()),
                2 => at.both(|path| {
                    let mode = Mode::from_raw_mode(0o640);
                    mknodat(CWD, path, FileType::CharacterDevice, mode, makedev(1, 3)).unwrap();
                }),
                3 | 4 => {
                    let text = format!("{} {}", at.oci.display(), noise.u32(..1 << 20));
                    at.both(|path| fs::write(path, &text).unwrap());
                    at.describe(noise);
                    if noise.bool() {
                        let other = self.join(&format!("{name}-link"));
                        fs::hard_link(&at.oci, other.oci).unwrap();
                        fs::hard_link(&at.overlay, other.overlay).unwrap();
                    }
                }
                5..=7 if depth > 0 => {
                    at.both(|path| fs::create_dir(path).unwrap());
                    at.fill(noise, depth - 1);
                    at.describe(noise);
                    at.hide(self, name, noise);
                }
                _ => {}
            }
        }
    }

    /// Makes some directories opaque, by either mark.
    fn hide(&self, parent: &Self, name: &str, noise: &mut Rng) {
        match noise.u32(..6) {
            0 => fs::write(self.oci.join(".wh..wh..opq"), "").unwrap(),
            1 => fs::write(parent.oci.join(format!(".wh.{name}")), "").unwrap(),
            _ => return,
        }
        let flags = XattrFlags::empty();
        setxattr(&self.overlay, "trusted.overlay.opaque", b"y", flags).unwrap();
    }

    fn describe(&self, noise: &mut Rng) {
        let mode = 0o400 | noise.u32(..0o1000);
        let owner = noise.u32(..3);
        let marked = noise.bool();
        self.both(|path| {
            chown(path, Some(owner), Some(owner)).unwrap();
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
            if marked {
                setxattr(path, "user.owner", &owner.to_le_bytes(), XattrFlags::empty()).unwrap();
            }
        });
    }
}

fn make_whiteout(path: &Path) {
    mknodat(CWD, path, FileType::CharacterDevice, Mode::empty(), 0).unwrap();
}

/// Sets all times below a directory.
fn stamp(directory: &Path, seconds: usize) {
    let time = format!("@{}", 1_600_000_000 + seconds);
    let mut find = Command::new("find");
    find.arg(directory).args(["-depth", "-exec", "touch", "-h", "-d", &time, "{}", "+"]);
    assert!(find.status().unwrap().success());
}

/// A mounted overlay.
struct Overlay(PathBuf);

impl Overlay {
    /// Mounts layers, the lowest first; `None`: that is not possible here.
    fn mount(layers: &[PathBuf], at: PathBuf) -> Option<Self> {
        fs::create_dir(&at).unwrap();
        let lower: Vec<_> = layers.iter().rev().map(|path| path.display().to_string()).collect();
        let options = format!("ro,lowerdir={}", lower.join(":"));
        let mut mount = Command::new("mount");
        let mounted = mount.args(["-t", "overlay", "overlay", "-o", &options]).arg(&at).output();
        mounted.is_ok_and(|output| output.status.success()).then_some(Self(at))
    }
}

impl Drop for Overlay {
    fn drop(&mut self) {
        let _failed = Command::new("umount").arg(&self.0).status();
    }
}

/// Rows with inodes numbered in the order of their paths, and without what only a layer has.
fn normal(mut rows: Rows) -> Rows {
    let mut numbers = HashMap::new();
    for row in rows.values_mut() {
        let next = numbers.len();
        row.inode = *numbers.entry(row.inode).or_insert(next);
        row.xattrs.retain(|(name, _)| !name.starts_with(b"trusted.overlay."));
    }
    rows
}

#[test]
fn random_layers_are_what_overlayfs_shows() {
    if !is_root() {
        eprintln!("skipped: mounting overlayfs needs root");
        return;
    }
    for seed in 0..24 {
        let folder = tempfile::tempdir().unwrap();
        let mut noise = Rng::with_seed(seed);
        let (mut tars, mut lower) = (Vec::new(), Vec::new());
        for number in 0..4 {
            let place = |form: &str| folder.path().join(format!("{form}{number}"));
            let forms = Forms { oci: place("oci"), overlay: place("overlay") };
            forms.both(|path| fs::create_dir(path).unwrap());
            forms.fill(&mut noise, 3);
            forms.describe(&mut noise);
            forms.both(|path| stamp(path, number));
            tars.push(tar_of(&forms.oci));
            lower.push(forms.overlay);
        }
        let Some(shown) = Overlay::mount(&lower, folder.path().join("shown")) else {
            eprintln!("skipped: overlayfs can't be mounted");
            return;
        };
        let expected = normal(rows(&directory(&shown.0, &Options::default()).unwrap()));
        let found = normal(read_all("oci", &super::layout(&tars).1));
        assert_same(&expected, &found, &format!("seed {seed}"));
        // Layers as overlayfs has them, without their whiteouts, are the same.
        let layer = |path: &PathBuf| directory(path, &Options::default()).unwrap();
        let mut merged = merge(lower.iter().map(layer).collect()).unwrap();
        lith_transform::strip_overlay(&mut merged.tree);
        assert_same(&expected, &normal(rows(&merged)), &format!("seed {seed}, directories"));
    }
}
