//! Names of every byte and length, folders of many names, paths longer than any system call takes.

use std::{
    ffi::OsStr,
    fs,
    os::{fd::OwnedFd, unix::ffi::OsStrExt},
    path::Path,
};

use rustix::fs::{CWD, Mode, OFlags};

use super::bed::{Bed, Nasty};
use crate::noise::Noise;

pub(super) fn plant(bed: &mut Bed, what: Nasty) {
    plant_odd(&bed.folder("names"));
    plant_many(&bed.folder("many"));
    let deep = bed.folder("deep");
    plant_deep(&deep, if what == Nasty::Whole { 30 } else { 8 });
}

fn plant_odd(folder: &Path) {
    let touch = |name: &[u8]| fs::write(folder.join(OsStr::from_bytes(name)), name).unwrap();
    (1..=255).filter(|byte| !b"./".contains(byte)).for_each(|byte| touch(&[byte]));
    let mut noise = Noise::new(255);
    for _ in 0..20 {
        let name: Vec<u8> = (0..255).map(|_| 1 + noise.below(255) as u8).collect();
        touch(
            &name
                .into_iter()
                .map(|byte| if byte == b'/' { b'|' } else { byte })
                .collect::<Vec<_>>(),
        );
    }
    let odd: [&[u8]; 16] = [
        b"...",
        b"..a",
        b".hidden",
        b"-rf",
        b"--",
        b" ",
        b"  lead",
        b"trail ",
        b"new\nline",
        b"a\tb",
        b"\xff\xfe",
        b"\xed\xa0\x80",
        "\u{202e}gnp.exe".as_bytes(),
        "\u{e9}".as_bytes(),
        "e\u{301}".as_bytes(),
        b".wh.name",
    ];
    odd.into_iter().for_each(touch);
    for length in 1..=60 {
        touch(&vec![b'p'; length + 1]);
    }
}

/// Enough names for a directory of many blocks, of lengths that don't fit them evenly.
fn plant_many(folder: &Path) {
    for number in 0..3000_usize {
        let name = format!("{number:04}{}", "-".repeat(number * 37 % 90));
        fs::write(folder.join(&name), if number % 7 == 0 { &name } else { "" }).unwrap();
    }
    // A name in a directory of just a block.
    let one = folder.join("one-block");
    fs::create_dir(&one).unwrap();
    for number in 0..100 {
        fs::write(one.join(format!("{number:028}")), "").unwrap();
    }
}

fn plant_deep(folder: &Path, levels: usize) {
    let mut at: OwnedFd =
        rustix::fs::openat(CWD, folder, OFlags::DIRECTORY, Mode::empty()).unwrap();
    for level in 0..levels {
        let name = format!("{level:-<200}");
        rustix::fs::mkdirat(&at, &*name, Mode::RWXU).unwrap();
        at = rustix::fs::openat(&at, &*name, OFlags::DIRECTORY, Mode::empty()).unwrap();
    }
    let file =
        rustix::fs::openat(&at, "bottom", OFlags::CREATE | OFlags::WRONLY, Mode::RUSR).unwrap();
    rustix::io::write(&file, b"far down").unwrap();
}
