//! Parses the form of `composefs-info dump` and `mkcomposefs --from-file`, composefs-dump(5).

use lith_tree::{Metadata, Rdev, Timestamp, Xattr};

use super::{
    entry::{Bytes, Described, Entry, EntryKind, nanoseconds, number, relative, seconds},
    error::ManifestProblem,
    escape::unescape,
};

/// The bits of a mode that are the type of a file.
const TYPE: u32 = 0o170_000;

/// `PATH SIZE MODE NLINK UID GID RDEV MTIME PAYLOAD CONTENT DIGEST [NAME=VALUE]…`, the mode with the type, and after `@` of a
/// hard link, whose target is the payload.
pub(super) fn parse(line: &[u8]) -> Result<Described, ManifestProblem> {
    let fields: Vec<&[u8]> = line.trim_ascii_end().split(|byte| *byte == b' ').collect();
    let [path, size, mode, _nlink, uid, gid, rdev, mtime, payload, content, _digest, xattrs @ ..] =
        fields.as_slice()
    else {
        return Err(ManifestProblem::Missing);
    };
    let given = |field: &[u8]| (field != b"-").then(|| unescape(field)).transpose();
    let (is_link, mode) = match mode.strip_prefix(b"@") {
        Some(mode) => (true, mode),
        None => (false, *mode),
    };
    let raw: u32 = number(mode, 8, "mode")?;
    let metadata = Metadata {
        permissions: u16::try_from(raw & 0o7777).expect("twelve bits"),
        uid: number(uid, 10, "owner")?,
        gid: number(gid, 10, "group")?,
        mtime: time(mtime)?,
        ..Metadata::default()
    };
    let rdev: u64 = number(rdev, 10, "device number")?;
    let rdev = device(rdev);
    let payload = given(payload)?;
    let kind = match raw & TYPE {
        _ if is_link => EntryKind::HardLink(relative(&payload.ok_or(ManifestProblem::Missing)?)),
        0o040_000 => EntryKind::Directory,
        0o100_000 => EntryKind::Regular {
            size: Some(number(size, 10, "size")?),
            content: match (given(content)?, payload) {
                (Some(bytes), _) => Bytes::Inline(bytes.into()),
                (None, Some(path)) => Bytes::At(path),
                (None, None) if *size == b"0" => Bytes::Inline(Box::default()),
                (None, None) => Bytes::Own,
            },
        },
        0o120_000 => EntryKind::Symlink(payload.ok_or(ManifestProblem::Missing)?.into()),
        0o020_000 => EntryKind::CharDevice(rdev),
        0o060_000 => EntryKind::BlockDevice(rdev),
        0o010_000 => EntryKind::Fifo,
        0o140_000 => EntryKind::Socket,
        _ => return Err(ManifestProblem::field("mode", mode)),
    };
    let xattrs = xattrs.iter().map(|field| xattr(field)).collect::<Result<_, _>>()?;
    Ok((relative(&unescape(path)?), Entry { kind, metadata, xattrs }))
}

/// The numbers of a device, as `stat` of Linux has them in one.
fn device(rdev: u64) -> Rdev {
    let number = |bits: u64| u32::try_from(bits).expect("twelve and twenty bits");
    Rdev {
        major: number((rdev >> 8) & 0xfff | (rdev >> 32) & 0xffff_f000),
        minor: number(rdev & 0xff | (rdev >> 12) & 0xffff_ff00),
    }
}

/// `SECONDS.NANOSECONDS`.
fn time(field: &[u8]) -> Result<Timestamp, ManifestProblem> {
    let point = field.iter().position(|byte| *byte == b'.').unwrap_or(field.len());
    let (sec, nsec) = field.split_at(point);
    let nsec = nsec.get(1..).filter(|nsec| !nsec.is_empty());
    Ok(Timestamp { sec: seconds(sec)?, nsec: nsec.map_or(Ok(0), nanoseconds)? })
}

/// `NAME=VALUE`, both with escapes.
fn xattr(field: &[u8]) -> Result<Xattr, ManifestProblem> {
    let equals = field.iter().position(|byte| *byte == b'=');
    let wrong = || ManifestProblem::field("extended attribute", field);
    let (name, value) = field.split_at(equals.ok_or_else(wrong)?);
    let value = unescape(value.get(1..).unwrap_or_default())?;
    Ok(Xattr { name: unescape(name)?.into(), value: value.into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_devices_are_those_of_the_c_library() {
        for (rdev, major, minor) in [(0x103, 1, 3), (0x1_1000_0000, 0, 0x11_0000)] {
            assert_eq!(device(rdev), Rdev { major, minor }, "{rdev:x}");
        }
        assert_eq!(device(0x1234_5000_0010_0678), Rdev { major: 0x1234_5006, minor: 0x178 });
    }
}
