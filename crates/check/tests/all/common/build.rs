//! Assembles images that no builder would make.

use lith_format::{
    addr::{Blkaddr, BlockBits, Nid},
    dirent::DirPacker,
    features::Incompat,
    file_type::FileType,
    inode::{Inode, InodeContext, InodeData, InodeForm, Layout},
    superblock::Superblock,
};

/// Bytes in a block.
pub(crate) const BLOCK: usize = 4096;

/// An image of blocks of 4 KiB that grows: metadata first, then data.
pub(crate) struct Builder {
    pub(crate) sb: Superblock,
    bytes: Vec<u8>,
    /// Where the next inode may be.
    next: usize,
}

/// A compact inode of this kind, without content.
pub(crate) fn inode(file_type: FileType, size: u64) -> Inode {
    let data = match file_type {
        FileType::Regular | FileType::Directory | FileType::Symlink => {
            InodeData::Blocks { start: None }
        }
        _ => InodeData::None,
    };
    Inode {
        form: InodeForm::Compact,
        layout: Layout::FlatInline,
        file_type,
        mode: file_type.mode_bits() | 0o755,
        nlink: if file_type == FileType::Directory { 2 } else { 1 },
        size,
        uid: 0,
        gid: 0,
        mtime: 0,
        mtime_nsec: 0,
        xattr_icount: 0,
        ino: 0,
        dot_omitted: false,
        data,
    }
}

impl Builder {
    /// An image with so many blocks for metadata.
    pub(crate) fn new(metadata: usize) -> Self {
        let sb = Superblock::new(BlockBits::DEFAULT);
        Self { sb, bytes: vec![0; metadata * BLOCK], next: 1024 + 128 }
    }

    /// Room for an inode and what follows it, that does not cross a block.
    pub(crate) fn reserve(&mut self, bytes: usize) -> Nid {
        self.next = self.next.next_multiple_of(32);
        if bytes <= BLOCK && self.next % BLOCK + bytes > BLOCK {
            self.next = self.next.next_multiple_of(BLOCK);
        }
        let nid = Nid(self.next as u64 / 32);
        self.next += bytes;
        assert!(self.next <= self.bytes.len(), "more metadata than planned");
        nid
    }

    /// Writes an inode and what follows it.
    pub(crate) fn write(&mut self, nid: Nid, inode: &Inode, rest: &[u8]) {
        let context = InodeContext { epoch: 0, fixed_nsec: 0, wide: false };
        let mut out = vec![];
        inode.encode_into(&context, &mut out).unwrap();
        out.extend_from_slice(rest);
        let start = usize::try_from(nid.0).unwrap() * 32;
        self.bytes[start..start + out.len()].copy_from_slice(&out);
    }

    /// Writes metadata anywhere.
    pub(crate) fn put(&mut self, at: usize, bytes: &[u8]) {
        self.bytes[at..at + bytes.len()].copy_from_slice(bytes);
    }

    /// Appends data in blocks of its own.
    pub(crate) fn data(&mut self, bytes: &[u8]) -> Blkaddr {
        let start = self.bytes.len() / BLOCK;
        self.bytes.extend_from_slice(bytes);
        self.bytes.resize(self.bytes.len().next_multiple_of(BLOCK), 0);
        Blkaddr(start as u64)
    }

    /// A directory that is inline or, if it is large, in blocks.
    pub(crate) fn directory(&mut self, nid: Nid, content: &[u8], nlink: u32) {
        let mut directory = inode(FileType::Directory, content.len() as u64);
        directory.nlink = nlink;
        let room = BLOCK - (usize::try_from(nid.0).unwrap() * 32 + 32) % BLOCK;
        if content.len() <= room {
            self.write(nid, &directory, content);
        } else {
            directory.layout = Layout::FlatPlain;
            directory.data = InodeData::Blocks { start: Some(self.data(content)) };
            self.write(nid, &directory, &[]);
        }
    }

    /// The image with this root and this number of inodes in its superblock.
    pub(crate) fn finish(mut self, root: Nid, inos: u64) -> Vec<u8> {
        self.sb.root_nid = root;
        self.sb.inos = inos;
        self.sb.blocks = (self.bytes.len() / BLOCK) as u64;
        let sb = self.sb.encode().unwrap();
        self.bytes[1024..1024 + sb.len()].copy_from_slice(&sb);
        self.bytes
    }

    pub(crate) fn compressed(&mut self) {
        self.sb.incompat |= Incompat::LZ4_0PADDING;
    }
}

/// The blocks of a directory with these names, `.` and `..` added.
pub(crate) fn names(own: Nid, parent: Nid, entries: &[(&[u8], Nid, FileType)]) -> Vec<u8> {
    let dots = [(&b"."[..], own, FileType::Directory), (b"..", parent, FileType::Directory)];
    let mut all: Vec<_> = dots.into_iter().chain(entries.iter().copied()).collect();
    all.sort_by_key(|entry| entry.0);
    let mut packer = DirPacker::new(BlockBits::DEFAULT);
    for (name, nid, file_type) in all {
        packer.push(name, nid, file_type.dirent_type()).unwrap();
    }
    packer.finish()
}
