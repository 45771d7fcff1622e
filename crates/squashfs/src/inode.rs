//! Reads inodes.

use zerocopy::{
    FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned,
    little_endian::{U16, U32, U64},
};

use crate::{Corruption, Error, Part, limits, metadata::Reader};

/// Where an inode is: bits 16 and up are the position of a metadata block in the inode table, the low 16 bits that of a byte in
/// it. Names with one address are hard links of each other.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct InodeAddress(pub u64);

/// A file of any type.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Inode {
    /// Permission bits with setuid, setgid and sticky.
    pub permissions: u16,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Last modification: seconds since 1970.
    pub mtime: u32,
    /// The number of names, for directories that of subdirectories and two.
    pub nlink: u32,
    /// The number of its set of extended attributes, for [`crate::SquashFs::xattrs`].
    pub xattrs: Option<u32>,
    /// The type.
    pub kind: Kind,
}

/// The type of a file, with what only files of that type have.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Names, which [`crate::SquashFs::entries`] reads.
    Directory(Listing),
    /// Bytes, which [`crate::SquashFs::file`] reads.
    Regular(Regular),
    /// The symlink's target.
    Symlink(Box<[u8]>),
    /// A block device, with its major and minor number.
    BlockDevice(u32, u32),
    /// A character device, with its major and minor number.
    CharDevice(u32, u32),
    /// A named pipe.
    Fifo,
    /// A local socket's name.
    Socket,
}

/// Where the names in a directory are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Listing {
    /// The address of the first one in the directory table, as [`InodeAddress`] has it in the inode table.
    pub(crate) address: u64,
    /// Their bytes.
    pub(crate) size: u32,
}

impl Listing {
    /// Bytes that the names take, decoded.
    #[must_use]
    pub const fn size(self) -> u32 {
        self.size
    }
}

/// A regular file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Regular {
    /// Bytes, holes included.
    pub size: u64,
    /// Where its first block is.
    pub(crate) start: u64,
    /// Where its tail is, if that is in a fragment block.
    pub(crate) fragment: Option<FragmentPlace>,
}

impl Regular {
    /// The number of the fragment block that its tail is in. Files with one number are best read one after another.
    #[must_use]
    pub fn fragment(self) -> Option<u32> {
        self.fragment.map(|place| place.number)
    }
}

/// A place in a fragment block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct FragmentPlace {
    /// The number of the fragment block.
    pub(crate) number: u32,
    /// The byte in it.
    pub(crate) offset: u32,
}

/// Stands for no fragment and for no extended attributes.
const NONE: u32 = u32::MAX;

/// The size of a directory counts three bytes for `.` and `..`, which are not stored.
const DOTS: u32 = 3;

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct StoredBase {
    kind: U16,
    mode: U16,
    uid: U16,
    gid: U16,
    mtime: U32,
    number: U32,
}

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct StoredDirectory {
    start_block: U32,
    nlink: U32,
    file_size: U16,
    offset: U16,
    parent: U32,
}

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct StoredLongDirectory {
    nlink: U32,
    file_size: U32,
    start_block: U32,
    parent: U32,
    index_count: U16,
    offset: U16,
    xattr: U32,
}

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct StoredFile {
    start_block: U32,
    fragment: U32,
    offset: U32,
    file_size: U32,
}

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct StoredLongFile {
    start_block: U64,
    file_size: U64,
    sparse: U64,
    nlink: U32,
    fragment: U32,
    offset: U32,
    xattr: U32,
}

const _: () = assert!(size_of::<StoredBase>() == 16);
const _: () = assert!(size_of::<StoredDirectory>() == 16);
const _: () = assert!(size_of::<StoredLongDirectory>() == 24);
const _: () = assert!(size_of::<StoredFile>() == 16);
const _: () = assert!(size_of::<StoredLongFile>() == 40);

/// Reads an inode, whose owner and group are numbers of `ids`. What follows it is left to read.
pub(crate) fn read(reader: &mut Reader<'_>, ids: &[u32]) -> Result<Inode, Error> {
    let base: StoredBase = reader.get()?;
    let (nlink, kind, xattrs) = read_kind(reader, base.kind.get())?;
    Ok(Inode {
        permissions: base.mode.get() & 0o7777,
        uid: id(ids, base.uid)?,
        gid: id(ids, base.gid)?,
        mtime: base.mtime.get(),
        nlink,
        xattrs: Some(xattrs).filter(|xattrs| *xattrs != NONE),
        kind,
    })
}

fn id(ids: &[u32], number: U16) -> Result<u32, Corruption> {
    let found = ids.get(usize::from(number.get())).copied();
    let (number, count) = (number.get().into(), ids.len() as u64);
    found.ok_or(Corruption::Entry { part: Part::Ids, number, count })
}

/// The link count, the type and the set of extended attributes that follow the fields all inodes have.
fn read_kind(reader: &mut Reader<'_>, kind: u16) -> Result<(u32, Kind, u32), Error> {
    // Types from 8 on are the long forms of those from 1 on, and have extended attributes.
    Ok(match kind {
        1 => read_directory(&reader.get()?),
        2 => read_file(&reader.get()?),
        8 => read_long_directory(&reader.get()?),
        9 => read_long_file(&reader.get()?)?,
        3..=7 | 10..=14 => {
            let nlink: U32 = reader.get()?;
            let kind_of = read_other(reader, if kind > 7 { kind - 7 } else { kind })?;
            let xattrs = if kind > 7 { reader.get::<U32>()?.get() } else { NONE };
            (nlink.get(), kind_of, xattrs)
        }
        unknown => return Err(Corruption::InodeType(unknown).into()),
    })
}

fn read_directory(stored: &StoredDirectory) -> (u32, Kind, u32) {
    let address = address(stored.start_block, stored.offset);
    let size = u32::from(stored.file_size.get()).saturating_sub(DOTS);
    (stored.nlink.get(), Kind::Directory(Listing { address, size }), NONE)
}

fn read_long_directory(stored: &StoredLongDirectory) -> (u32, Kind, u32) {
    let address = address(stored.start_block, stored.offset);
    let size = stored.file_size.get().saturating_sub(DOTS);
    (stored.nlink.get(), Kind::Directory(Listing { address, size }), stored.xattr.get())
}

fn read_file(stored: &StoredFile) -> (u32, Kind, u32) {
    let regular = Regular {
        size: stored.file_size.get().into(),
        start: stored.start_block.get().into(),
        fragment: fragment(stored.fragment, stored.offset),
    };
    (1, Kind::Regular(regular), NONE)
}

fn read_long_file(stored: &StoredLongFile) -> Result<(u32, Kind, u32), Error> {
    let size = stored.file_size.get();
    if i64::try_from(size).is_err() {
        return Err(Corruption::FileSize(size).into());
    }
    let fragment = fragment(stored.fragment, stored.offset);
    let regular = Regular { size, start: stored.start_block.get(), fragment };
    Ok((stored.nlink.get(), Kind::Regular(regular), stored.xattr.get()))
}

/// Reads what a symlink, a device, a pipe or a socket has of its own.
fn read_other(reader: &mut Reader<'_>, kind: u16) -> Result<Kind, Error> {
    Ok(match kind {
        3 => {
            let length = reader.get::<U32>()?.get();
            if length > limits::SYMLINK {
                return Err(Corruption::Symlink(length).into());
            }
            let length = usize::try_from(length).unwrap_or_default();
            Kind::Symlink(reader.bytes(length)?.into())
        }
        4 | 5 => {
            let device = reader.get::<U32>()?.get();
            // As the kernel's `new_encode_dev`: the minor number's high bits are before the major number.
            let (major, minor) = (device >> 8 & 0xfff, device & 0xff | device >> 12 & 0xf_ff00);
            if kind == 4 { Kind::BlockDevice(major, minor) } else { Kind::CharDevice(major, minor) }
        }
        6 => Kind::Fifo,
        _ => Kind::Socket,
    })
}

fn address(block: U32, offset: U16) -> u64 {
    u64::from(block.get()) << 16 | u64::from(offset.get())
}

fn fragment(number: U32, offset: U32) -> Option<FragmentPlace> {
    let (number, offset) = (number.get(), offset.get());
    (number != NONE).then_some(FragmentPlace { number, offset })
}
