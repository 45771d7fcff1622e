//! Links of both sorts, devices, pipes, sockets.

use std::{
    ffi::OsStr,
    fs,
    os::unix::{ffi::OsStrExt, fs::symlink, net::UnixListener},
    path::Path,
};

use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};

use super::bed::{Bed, Nasty};
use crate::noise::{Texture, bytes};

/// Device numbers of each width that Linux has.
const DEVICES: [(&str, u32, u32); 6] = [
    ("whiteout", 0, 0),
    ("null", 1, 3),
    ("byte", 255, 255),
    ("more-than-bytes", 256, 256),
    ("wide", 259, 74565),
    ("widest", 4095, 1_048_575),
];

pub(super) fn plant(bed: &mut Bed, what: Nasty) {
    plant_symlinks(&bed.folder("symlinks"));
    plant_nodes(bed);
    let folder = bed.root.join("special");
    if what == Nasty::Whole {
        drop(UnixListener::bind(folder.join("socket")).unwrap());
    }
    plant_hard_links(bed, what);
}

fn plant_symlinks(folder: &Path) {
    let segments = bytes(Texture::Pattern, 5, 4095).into_iter().enumerate();
    let long: Vec<u8> =
        segments.map(|(at, byte)| if at % 99 == 98 { b'/' } else { byte % 26 + b'a' }).collect();
    let targets: [&[u8]; 9] = [
        b"x",
        b"..",
        b"/",
        b"/etc/passwd",
        b"../../../../../../etc/shadow",
        b"no\nsuch\xfffile",
        b"self",
        b"trailing/",
        b"//double//slashes",
    ];
    for (number, target) in targets.into_iter().enumerate() {
        symlink(OsStr::from_bytes(target), folder.join(number.to_string())).unwrap();
    }
    symlink("self", folder.join("self")).unwrap();
    for length in [59, 60, 61, 511, 1000, 3999, 4031, 4032, 4094, 4095] {
        let target = OsStr::from_bytes(&long[..length]);
        symlink(target, folder.join(format!("long-{length}"))).unwrap();
    }
}

fn plant_nodes(bed: &mut Bed) {
    let folder = bed.folder("special");
    let mode = Mode::from_raw_mode(0o640);
    mknodat(CWD, folder.join("fifo"), FileType::Fifo, mode, 0).unwrap();
    for (kind, letter) in [(FileType::CharacterDevice, 'c'), (FileType::BlockDevice, 'b')] {
        for (name, major, minor) in DEVICES {
            let path = folder.join(format!("{letter}-{name}"));
            bed.attempt("device nodes", mknodat(CWD, path, kind, mode, makedev(major, minor)));
        }
    }
}

fn plant_hard_links(bed: &mut Bed, what: Nasty) {
    let folder = bed.folder("links");
    fs::write(folder.join("first"), bytes(Texture::Text, 3, 30_000)).unwrap();
    fs::create_dir(folder.join("below")).unwrap();
    fs::hard_link(folder.join("first"), folder.join("below/second")).unwrap();
    // A name that comes before the first one, in a folder before its own.
    let before = bed.folder("a-link");
    fs::hard_link(folder.join("first"), before.join("third")).unwrap();
    fs::write(folder.join("popular"), "").unwrap();
    for number in 0..300 {
        fs::hard_link(folder.join("popular"), folder.join(format!("popular-{number}"))).unwrap();
    }
    symlink("first", folder.join("symlink")).unwrap();
    fs::hard_link(folder.join("symlink"), folder.join("symlink-again")).unwrap();
    // GNU tar makes two of a node with two names.
    let nodes: &[&str] = if what == Nasty::Whole { &["fifo", "c-null", "socket"] } else { &[] };
    for name in nodes {
        let node = bed.root.join("special").join(name);
        if node.symlink_metadata().is_ok() {
            fs::hard_link(node, folder.join(format!("{name}-again"))).unwrap();
        }
    }
}
