//! Modes, owners, times, extended attributes, ACLs and capabilities.

use std::{
    fs, iter,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
};

use rustix::fs::{
    AtFlags, CWD, Gid, Timespec, Timestamps, UTIME_OMIT, Uid, XattrFlags, chownat, lsetxattr,
    utimensat,
};

use super::bed::Bed;
use crate::noise::{Texture, bytes};

pub(super) fn plant(bed: &mut Bed) {
    plant_owners(bed);
    plant_modes(bed);
    plant_xattrs(bed);
    plant_shared_xattrs(bed);
    plant_acls(bed);
    plant_capabilities(bed);
    // Last, since all other steps change times.
    plant_times(bed);
}

fn plant_owners(bed: &mut Bed) {
    let folder = bed.folder("owners");
    let owners = [
        (0, 1),
        (1, 0),
        (65_534, 65_535),
        (65_535, 65_536),
        (65_536, 1),
        (0x7fff_ffff, 0x8000_0000),
        (u32::MAX - 1, u32::MAX - 1),
    ];
    for (uid, gid) in owners {
        for path in
            [folder.join(format!("file-{uid}-{gid}")), folder.join(format!("folder-{uid}-{gid}"))]
        {
            if path.to_string_lossy().contains("folder-") {
                fs::create_dir(&path).unwrap();
            } else {
                fs::write(&path, "").unwrap();
            }
            let owner = (Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)));
            let changed = chownat(CWD, &path, owner.0, owner.1, AtFlags::SYMLINK_NOFOLLOW);
            bed.attempt("other owners", changed);
        }
    }
}

fn plant_modes(bed: &Bed) {
    let folder = bed.folder("modes");
    for mode in
        [0o000, 0o001, 0o400, 0o600, 0o644, 0o755, 0o777, 0o1777, 0o2755, 0o4755, 0o6711, 0o7777]
    {
        // Files that only root can read.
        if mode & 0o400 == 0 && !crate::tier::is_root() {
            continue;
        }
        let (file, inner) =
            (folder.join(format!("file-{mode:04o}")), folder.join(format!("folder-{mode:04o}")));
        fs::write(&file, "mode").unwrap();
        fs::create_dir(&inner).unwrap();
        for path in [file, inner] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode | 0o400)).unwrap();
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        }
    }
}

/// Moments around those that compact inodes, 32-bit seconds and unsigned numbers can hold.
const TIMES: [(i64, i64); 14] = [
    (0, 0),
    (0, 1),
    (0, 999_999_999),
    (-1, 0),
    (-1, 999_999_999),
    (-1_000_000_000, 123_456_789),
    (-(1 << 31), 0),
    (-(1 << 31) - 5, 5),
    ((1 << 31) - 1, 999_999_999),
    (1 << 31, 0),
    ((1 << 32) - 1, 1),
    (1 << 32, 0),
    (1 << 33, 7),
    (1_700_000_000, 0),
];

fn plant_times(bed: &mut Bed) {
    let folder = bed.folder("times");
    for (sec, nsec) in TIMES {
        let file = folder.join(format!("file {sec} {nsec}"));
        fs::write(&file, "").unwrap();
        let inner = folder.join(format!("folder {sec} {nsec}"));
        fs::create_dir(&inner).unwrap();
        let link = folder.join(format!("link {sec} {nsec}"));
        symlink("target", &link).unwrap();
        for path in [file, inner, link] {
            bed.attempt("times", set_mtime(&path, sec, nsec));
        }
    }
    bed.attempt("times", set_mtime(&bed.root.clone(), 1_234_567_890, 987_654_321));
}

fn set_mtime(path: &Path, sec: i64, nsec: i64) -> rustix::io::Result<()> {
    let last_access = Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT };
    let last_modification = Timespec { tv_sec: sec, tv_nsec: nsec };
    utimensat(CWD, path, &Timestamps { last_access, last_modification }, AtFlags::SYMLINK_NOFOLLOW)
}

fn set(bed: &mut Bed, path: &Path, name: &str, value: &[u8]) {
    let namespace = name.split_once('.').map_or(name, |(namespace, _)| namespace);
    let what = match value.len() {
        0..2000 => format!("xattrs {namespace}.*"),
        _ => "long xattrs".to_owned(),
    };
    bed.attempt(&what, lsetxattr(path, name, value, XattrFlags::empty()));
}

fn plant_xattrs(bed: &mut Bed) {
    let folder = bed.folder("xattrs");
    let file = |name: &str| {
        let path = folder.join(name);
        fs::write(&path, name).unwrap();
        path
    };
    let long_name = format!("user.{}", "n".repeat(250));
    let cases: [(&str, &str, Vec<u8>); 8] = [
        ("empty-value", "user.empty", vec![]),
        ("binary", "user.binary", (0..=255).collect()),
        ("trusted", "trusted.overlay.opaque", b"y".to_vec()),
        ("label", "security.selinux", b"system_u:object_r:etc_t:s0\0".to_vec()),
        ("longest-name", &long_name, b"v".to_vec()),
        ("long", "user.long", bytes(Texture::Noise, 60, 60_000)),
        ("longer-than-a-block", "user.long", bytes(Texture::Text, 4, 5000)),
        ("odd-name", "user.sp ace\n\u{e9}", b"v".to_vec()),
    ];
    for (name, xattr, value) in cases {
        set(bed, &file(name), xattr, &value);
    }
    let many = file("many");
    for number in 0..40 {
        set(
            bed,
            &many,
            &format!("user.number-{number}"),
            &bytes(Texture::Text, number, number as usize * 2),
        );
    }
    for name in ["below", "empty-below"] {
        fs::create_dir(folder.join(name)).unwrap();
        set(bed, &folder.join(name), "user.on-a-folder", b"yes");
    }
    fs::write(folder.join("below/file"), "").unwrap();
    symlink("nowhere", folder.join("link")).unwrap();
    set(bed, &folder.join("link"), "trusted.on-a-link", b"yes");
    let root = bed.root.clone();
    set(bed, &root, "user.on-the-root", b"yes");
}

/// Some attributes that many files have, and some files with values that differ in a byte.
pub(super) fn plant_shared_xattrs(bed: &mut Bed) {
    let folder = bed.folder("shared-xattrs");
    let label = bytes(Texture::Text, 77, 100);
    for number in 0..12_u8 {
        let path = folder.join(format!("{number:02}"));
        fs::write(&path, [number]).unwrap();
        set(bed, &path, "security.label", &label);
        set(bed, &path, "user.all-the-same", b"same");
        set(bed, &path, "user.each-its-own", &[number]);
        if number % 2 == 0 {
            set(bed, &path, "user.half", &bytes(Texture::Noise, 1, 1500));
        }
    }
}

/// An ACL in the form of its extended attribute: version 2, then tag, permissions and id of each entry.
fn acl(entries: &[(u16, u16, u32)]) -> Vec<u8> {
    let entry = |(tag, permissions, id): &(u16, u16, u32)| {
        [&tag.to_le_bytes()[..], &permissions.to_le_bytes(), &id.to_le_bytes()].concat()
    };
    iter::once(2_u32.to_le_bytes().to_vec()).chain(entries.iter().map(entry)).flatten().collect()
}

fn plant_acls(bed: &mut Bed) {
    const NOBODY: u32 = u32::MAX;
    let folder = bed.folder("acls");
    let (user_obj, user, group_obj, group, mask, other) = (1, 2, 4, 8, 16, 32);
    let long: Vec<_> = [(user_obj, 7, NOBODY)]
        .into_iter()
        .chain((1000..1030).map(|id| (user, 5, id)))
        .chain([(group_obj, 5, NOBODY), (group, 4, 77), (mask, 5, NOBODY), (other, 0, NOBODY)])
        .collect();
    let short = [
        (user_obj, 6, NOBODY),
        (user, 4, 1234),
        (group_obj, 4, NOBODY),
        (mask, 4, NOBODY),
        (other, 4, NOBODY),
    ];
    for (name, entries) in [("short", &short[..]), ("long", &long)] {
        let file = folder.join(name);
        fs::write(&file, "").unwrap();
        set_acl(bed, &file, "access", entries);
        let inner = folder.join(format!("folder-{name}"));
        fs::create_dir(&inner).unwrap();
        set_acl(bed, &inner, "access", entries);
        set_acl(bed, &inner, "default", entries);
    }
}

fn set_acl(bed: &mut Bed, path: &Path, which: &str, entries: &[(u16, u16, u32)]) {
    let name = format!("system.posix_acl_{which}");
    bed.attempt("ACLs", lsetxattr(path, &*name, &acl(entries), XattrFlags::empty()));
}

fn plant_capabilities(bed: &mut Bed) {
    let folder = bed.folder("capabilities");
    let words =
        |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    // Revision 2 with the bit for "effective", then permitted and inheritable, low halves and high halves.
    let version_2 = words(&[0x0200_0001, 1 << 13, 0, 0, 0]);
    let path: PathBuf = folder.join("ping");
    fs::write(&path, "").unwrap();
    let result = lsetxattr(&path, "security.capability", &version_2, XattrFlags::empty());
    bed.attempt("capabilities", result);
}
