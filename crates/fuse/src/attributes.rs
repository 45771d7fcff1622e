//! Converts inodes to the attributes that the kernel gets.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fuser::FileAttr;
use lith_format::{
    addr::{BlockBits, Nid},
    file_type::FileType,
    inode::InodeData,
};
use lith_reader::{Image, Inode};

use crate::{numbers::Numbers, options::Options};

/// How long the kernel may keep replies: ten years.
pub(crate) const FOREVER: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);

/// A size that no file has: the kernel refuses attributes with it.
const NO_SIZE: u64 = u64::MAX;

/// Converts inodes of one image.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attributes {
    pub(crate) numbers: Numbers,
    block: BlockBits,
    uid: Option<u32>,
    gid: Option<u32>,
}

impl Attributes {
    pub(crate) fn new(image: &Image, options: &Options) -> Self {
        let superblock = image.superblock();
        Self {
            numbers: Numbers::new(superblock.root_nid),
            block: superblock.block,
            uid: options.uid,
            gid: options.gid,
        }
    }

    /// What `stat` shows, the same as for the kernel's EROFS.
    pub(crate) fn of(&self, inode: &Inode) -> FileAttr {
        let mtime = time(inode.mtime, inode.mtime_nsec);
        FileAttr {
            size: inode.size,
            blocks: self.blocks(inode),
            atime: mtime,
            mtime,
            ctime: mtime,
            perm: inode.mode & 0o7777,
            nlink: inode.nlink,
            uid: self.uid.unwrap_or(inode.uid),
            gid: self.gid.unwrap_or(inode.gid),
            rdev: rdev(inode),
            ..self.bare(inode.nid, inode.file_type)
        }
    }

    /// Attributes for a file that does not exist.
    pub(crate) fn none(&self) -> FileAttr {
        FileAttr { ino: fuser::INodeNo(0), ..self.bare(Nid(0), FileType::Regular) }
    }

    /// Attributes of an inode that can't be read: the kernel shows its name and requests everything else again.
    pub(crate) fn unknown(&self, nid: Nid, file_type: FileType) -> FileAttr {
        FileAttr { size: NO_SIZE, ..self.bare(nid, file_type) }
    }

    fn bare(&self, nid: Nid, file_type: FileType) -> FileAttr {
        FileAttr {
            ino: self.numbers.number(nid),
            size: 0,
            blocks: 0,
            atime: UNIX_EPOCH,
            mtime: UNIX_EPOCH,
            ctime: UNIX_EPOCH,
            crtime: UNIX_EPOCH,
            kind: kind(file_type),
            perm: 0,
            nlink: 1,
            uid: 0,
            gid: 0,
            rdev: 0,
            blksize: self.block.size(),
            flags: 0,
        }
    }

    /// Stored bytes in units of 512.
    fn blocks(&self, inode: &Inode) -> u64 {
        let blocks = match inode.data {
            InodeData::Compressed { blocks } => blocks,
            _ => self.block.blocks_for(inode.size),
        };
        blocks.saturating_mul(u64::from(self.block.size())) / 512
    }
}

fn time(seconds: i64, nanoseconds: u32) -> SystemTime {
    let whole = Duration::from_secs(seconds.unsigned_abs());
    let whole =
        if seconds < 0 { UNIX_EPOCH.checked_sub(whole) } else { UNIX_EPOCH.checked_add(whole) };
    let moment =
        whole.and_then(|whole| whole.checked_add(Duration::from_nanos(nanoseconds.into())));
    moment.unwrap_or(UNIX_EPOCH)
}

/// The device number as the kernel packs it, which is how EROFS stores it.
fn rdev(inode: &Inode) -> u32 {
    match inode.data {
        InodeData::Device(rdev) => rdev.to_raw().expect("images store device numbers in 32 bits"),
        _ => 0,
    }
}

pub(crate) const fn kind(file_type: FileType) -> fuser::FileType {
    match file_type {
        FileType::Regular => fuser::FileType::RegularFile,
        FileType::Directory => fuser::FileType::Directory,
        FileType::CharDevice => fuser::FileType::CharDevice,
        FileType::BlockDevice => fuser::FileType::BlockDevice,
        FileType::Fifo => fuser::FileType::NamedPipe,
        FileType::Socket => fuser::FileType::Socket,
        FileType::Symlink => fuser::FileType::Symlink,
    }
}
