//! Writes the headers of an entry: name and metadata.

use std::io::{self, Write};

use lith_tree::{Inode, Kind, Metadata, Rdev, Xattr};
use tar::{EntryType, Header};

use super::pax::{Records, decimal};

/// Seven octal digits: the largest id or device number in a header.
const MAX_ID: u64 = 0o777_7777;
/// Eleven octal digits: the largest size or time in a header.
const MAX_LONG: u64 = 0o777_7777_7777;

/// The size of a header; content is padded to a multiple of it.
pub(super) const BLOCK: usize = 512;

/// The zeros that pad so many bytes to whole blocks.
pub(super) fn padding(length: u64) -> &'static [u8] {
    const ZEROS: [u8; BLOCK] = [0; BLOCK];
    let over = usize::try_from(length % BLOCK as u64).expect("less than a block");
    match over {
        0 => &[],
        _ => ZEROS.split_at(over).1,
    }
}

/// An entry of a tar without its content.
pub(super) struct Entry<'a> {
    kind: EntryType,
    name: Vec<u8>,
    target: &'a [u8],
    metadata: &'a Metadata,
    /// Bytes of content that follow the header.
    size: u64,
    rdev: Option<Rdev>,
    xattrs: &'a [Xattr],
    /// The file's size if it is written in the sparse format.
    real_size: Option<u64>,
}

impl<'a> Entry<'a> {
    /// The entry of an inode, which must not be a socket: sockets have no form in a tar.
    pub(super) fn new(inode: &'a Inode, path: &[u8], xattrs: &'a [Xattr]) -> Self {
        let mut entry = Self {
            kind: EntryType::Regular,
            name: path.to_vec(),
            target: b"",
            metadata: &inode.metadata,
            size: 0,
            rdev: None,
            xattrs,
            real_size: None,
        };
        match &inode.kind {
            Kind::Directory(_) => {
                entry.kind = EntryType::Directory;
                entry.name = [if path.is_empty() { b"." } else { path }, b"/"].concat();
            }
            Kind::Regular { size } => entry.size = *size,
            Kind::Symlink(target) => (entry.kind, entry.target) = (EntryType::Symlink, target),
            Kind::CharDevice(rdev) => (entry.kind, entry.rdev) = (EntryType::Char, Some(*rdev)),
            Kind::BlockDevice(rdev) => (entry.kind, entry.rdev) = (EntryType::Block, Some(*rdev)),
            Kind::Fifo | Kind::Socket => entry.kind = EntryType::Fifo,
        }
        entry
    }

    /// A further name of an inode that precedes it in the tar as `first`.
    pub(super) fn hard_link(inode: &'a Inode, path: &[u8], first: &'a [u8]) -> Self {
        Self {
            kind: EntryType::Link,
            target: first,
            size: 0,
            rdev: None,
            ..Self::new(inode, path, &[])
        }
    }

    /// Makes it the entry of a sparse file, whose map and data have `size` bytes together.
    pub(super) fn make_sparse(&mut self, size: u64) {
        self.real_size = Some(self.size);
        self.size = size;
    }

    pub(super) fn write(&self, output: &mut impl Write) -> io::Result<()> {
        let mut records = Records::default();
        let mut header = Header::new_ustar();
        header.set_entry_type(self.kind);
        self.put_names(&mut header, &mut records);
        self.put_numbers(&mut header, &mut records);
        for Xattr { name, value } in self.xattrs {
            records.add_xattr(name, value);
        }
        let records = records.as_bytes();
        if !records.is_empty() {
            let length = records.len() as u64;
            output.write_all(pax_header(&self.name, length).as_bytes())?;
            output.write_all(records)?;
            output.write_all(padding(length))?;
        }
        header.set_cksum();
        output.write_all(header.as_bytes())
    }

    fn put_names(&self, header: &mut Header, records: &mut Records) {
        if [&*self.name, self.target].iter().any(|name| str::from_utf8(name).is_err()) {
            records.add(b"hdrcharset", b"BINARY");
        }
        if let Some(size) = self.real_size {
            records.add(b"GNU.sparse.major", b"1");
            records.add(b"GNU.sparse.minor", b"0");
            records.add(b"GNU.sparse.name", &self.name);
            records.add_number("GNU.sparse.realsize", size);
            // A reader that doesn't know the sparse format must not take map and data for the file.
            put_name(header, &short_name(b"GNUSparseFile.0/", &self.name));
        } else if !put_name(header, &self.name) {
            records.add(b"path", &self.name);
        }
        if !put_target(header, self.target) {
            records.add(b"linkpath", self.target);
        }
    }

    fn put_numbers(&self, header: &mut Header, records: &mut Records) {
        let Metadata { permissions, uid, gid, mtime, .. } = *self.metadata;
        header.set_mode(permissions.into());
        header.set_uid(or_record(uid, MAX_ID, "uid", records).into());
        header.set_gid(or_record(gid, MAX_ID, "gid", records).into());
        header.set_size(or_record(self.size, MAX_LONG, "size", records));
        let seconds = u64::try_from(mtime.sec).ok().filter(|sec| *sec <= MAX_LONG);
        header.set_mtime(seconds.unwrap_or(0));
        if seconds.is_none() || mtime.nsec != 0 {
            records.add(b"mtime", decimal(mtime).as_bytes());
        }
        if let (Some(Rdev { major, minor }), Some(fields)) = (self.rdev, header.as_ustar_mut()) {
            fields.set_device_major(or_record(major, MAX_ID, "SCHILY.devmajor", records));
            fields.set_device_minor(or_record(minor, MAX_ID, "SCHILY.devminor", records));
        }
    }
}

/// The number for the header: zero if it is too large, and then in a record.
fn or_record<N: Into<u64> + Copy + Default>(
    number: N,
    max: u64,
    key: &str,
    records: &mut Records,
) -> N {
    if number.into() <= max {
        return number;
    }
    records.add_number(key, number.into());
    N::default()
}

/// Puts a name into its two fields of a header; false if it doesn't fit or isn't ASCII. The fields then hold as much of it as
/// fits.
fn put_name(header: &mut Header, name: &[u8]) -> bool {
    let Some(fields) = header.as_ustar_mut() else {
        return false;
    };
    match split_name(name, fields.prefix.len(), fields.name.len()) {
        Some((prefix, rest)) => {
            fill(&mut fields.prefix, prefix);
            fill(&mut fields.name, rest);
            name.is_ascii()
        }
        None => fill(&mut fields.name, name),
    }
}

/// Splits a name at a slash into parts that fit; the first is empty if the whole name fits the second field.
fn split_name(name: &[u8], prefix: usize, rest: usize) -> Option<(&[u8], &[u8])> {
    if name.len() <= rest {
        return Some((b"", name));
    }
    let fits = |at: &usize| *at > 0 && *at <= prefix && name.len() - at - 1 <= rest;
    let slash = (0..name.len() - 1).filter(|at| name.get(*at) == Some(&b'/')).find(fits)?;
    let (prefix, rest) = name.split_at(slash);
    Some((prefix, rest.strip_prefix(b"/").unwrap_or(rest)))
}

fn put_target(header: &mut Header, target: &[u8]) -> bool {
    let Some(fields) = header.as_ustar_mut() else {
        return target.is_empty();
    };
    fill(&mut fields.linkname, target) && target.is_ascii()
}

/// Copies the bytes that fit, and returns whether all did.
fn fill(field: &mut [u8], bytes: &[u8]) -> bool {
    for (to, from) in field.iter_mut().zip(bytes) {
        *to = *from;
    }
    bytes.len() <= field.len()
}

/// A name in `directory` with the first bytes of the last part of `path`, short enough for a header.
fn short_name(directory: &[u8], path: &[u8]) -> Vec<u8> {
    let path = path.strip_suffix(b"/").unwrap_or(path);
    let last = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
    let length = last.len().min(100 - directory.len());
    [directory, last.split_at(length).0].concat()
}

/// The header of `length` bytes of records.
fn pax_header(name: &[u8], length: u64) -> Header {
    let mut header = Header::new_ustar();
    header.set_entry_type(EntryType::XHeader);
    put_name(&mut header, &short_name(b"PaxHeaders/", name));
    header.set_mode(0o644);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    header.set_size(length);
    header.set_cksum();
    header
}
