//! Does the image hold what was read of the source?
//!
//! The finished image is read with the same reader that everybody uses, and every name, attribute and byte
//! of it is compared: metadata with the tree, content with the digests that were taken when the source was
//! read.

use std::{fs::File, iter, num::NonZeroUsize};

use lith_builder::{Built, Digest, DigestOfPieces, PIECE};
use lith_device::{FileDevice, OffsetDevice, ReadAt};
use lith_format::{
    addr::Nid,
    file_type::FileType,
    inode::{InodeData, InodeForm},
};
use lith_parallel::try_map;
use lith_reader::{Image, Inode, Place};
use lith_tree::{ContentError, DisplayPath, Filesystem, InodeIndex, Kind, Timestamp, Tree};

use crate::places;

/// How an image differs from its source.
#[derive(Debug, thiserror::Error)]
pub enum Mismatch {
    /// The image can't be opened again.
    #[error("cannot open it again")]
    Device(#[source] std::io::Error),
    /// A file of the image, or the image itself, can't be read.
    #[error("{}: cannot be read back", DisplayPath(path))]
    Unreadable {
        /// The file's path in the tree; empty for the root and the image itself.
        path: Vec<u8>,
        /// What the reader said.
        source: lith_reader::Error,
    },
    /// The source no longer says where a file's bytes lie.
    #[error(transparent)]
    Source(#[from] ContentError),
    /// A file of the image is not that of the source.
    #[error("{}: its {what} differs from the source's", DisplayPath(path))]
    Differs {
        /// The file's path in the tree.
        path: Vec<u8>,
        /// Which part of it.
        what: &'static str,
    },
}

/// Compares the image on `devices`, which begins at byte `start` of the first, with the source that it was built from: content with the digests of what was read,
/// and what was not read with where the source says that it lies.
pub(crate) fn verify(
    (devices, start): (Vec<File>, u64),
    fs: Filesystem<'_>,
    built: &Built,
    (is_full, workers): (bool, NonZeroUsize),
) -> Result<(), Mismatch> {
    let starts = iter::once(start).chain(iter::repeat(0));
    let open = |(file, start)| {
        let device = FileDevice::new(file)?;
        Ok(Box::new(OffsetDevice::new(device, start)) as Box<dyn ReadAt>)
    };
    let devices: Result<_, _> = devices.into_iter().zip(starts).map(open).collect();
    let devices = devices.map_err(Mismatch::Device)?;
    let image = Image::open_with(devices, lith_reader::Options::default())
        .map_err(|source| Mismatch::Unreadable { path: Vec::new(), source })?;
    let (nids, files) = (vec![None; fs.tree.len()], Vec::new());
    let mut names = Names { tree: fs.tree, image: &image, time: built.time, nids, files };
    names.compare_all()?;
    let content = Content { tree: fs.tree, image: &image, digests: &built.digests };
    let (unread, read): (Vec<_>, Vec<_>) =
        names.files.iter().partition(|(index, _)| built.unread.binary_search(index).is_ok());
    if is_full {
        unread.iter().try_for_each(|file| places::compare(fs, &image, *file))?;
    }
    content.compare_all(&read, workers)
}

/// Compares everything but the content of regular files, and notes which those are.
struct Names<'a> {
    tree: &'a Tree,
    image: &'a Image,
    /// The time that compact inodes may show in place of their own.
    time: Option<Timestamp>,
    /// By inode of the tree, as far as met.
    nids: Vec<Option<Nid>>,
    files: Vec<(InodeIndex, Nid)>,
}

impl Names<'_> {
    fn compare_all(&mut self) -> Result<(), Mismatch> {
        let root = self.image.superblock().root_nid;
        let mut stack = vec![self.compare(InodeIndex::ROOT, root)?];
        while let Some(found) = stack.pop() {
            let Some((index, inode)) = found else { continue };
            for (child, nid) in self.compare_names(index, &inode)? {
                stack.push(self.compare(child, nid)?);
            }
        }
        Ok(())
    }

    fn unreadable(&self, index: InodeIndex) -> impl FnOnce(lith_reader::Error) -> Mismatch + use<> {
        let path = self.tree.path(index);
        |source| Mismatch::Unreadable { path, source }
    }

    fn differs(&self, index: InodeIndex, what: &'static str) -> Mismatch {
        Mismatch::Differs { path: self.tree.path(index), what }
    }

    /// Compares an inode; gives it back if it is a directory that was not met before.
    fn compare(
        &mut self,
        index: InodeIndex,
        nid: Nid,
    ) -> Result<Option<(InodeIndex, Inode)>, Mismatch> {
        let met = self.nids.get_mut(index.index()).and_then(|slot| slot.replace(nid));
        if let Some(met) = met {
            return if met == nid { Ok(None) } else { Err(self.differs(index, "hard link")) };
        }
        let inode = self.image.inode(nid).map_err(|error| self.unreadable(index)(error))?;
        if let Some(what) = self.difference(index, &inode)? {
            return Err(self.differs(index, what));
        }
        match self.tree.get(index).kind {
            Kind::Directory(_) => return Ok(Some((index, inode))),
            Kind::Regular { size: 1.. } => self.files.push((index, nid)),
            _ => {}
        }
        Ok(None)
    }

    fn difference(
        &self,
        index: InodeIndex,
        inode: &Inode,
    ) -> Result<Option<&'static str>, Mismatch> {
        let node = self.tree.get(index);
        let metadata = &node.metadata;
        let differing = [
            ("kind", inode.file_type != file_type(&node.kind)),
            ("mode", inode.mode & 0o7777 != metadata.permissions),
            ("owner", (inode.uid, inode.gid) != (metadata.uid, metadata.gid)),
            ("modification time", !self.has_right_time(inode, metadata.mtime)),
            ("link count", inode.nlink != node.nlink()),
            ("extended attributes", !self.has_same_xattrs(index, inode)?),
        ];
        if let Some((what, _)) = differing.into_iter().find(|(_, differs)| *differs) {
            return Ok(Some(what));
        }
        Ok(match &node.kind {
            Kind::Regular { size } => (inode.size != *size).then_some("size"),
            Kind::Symlink(target) => {
                let found =
                    self.image.read_link(inode).map_err(|error| self.unreadable(index)(error))?;
                (*found != **target).then_some("target")
            }
            Kind::CharDevice(rdev) | Kind::BlockDevice(rdev) => match inode.data {
                InodeData::Device(found) => ((found.major, found.minor)
                    != (rdev.major, rdev.minor))
                    .then_some("device number"),
                _ => Some("device number"),
            },
            _ => None,
        })
    }

    fn has_right_time(&self, inode: &Inode, expected: Timestamp) -> bool {
        let shown = Timestamp { sec: inode.mtime, nsec: inode.mtime_nsec };
        shown == expected || (inode.form == InodeForm::Compact && Some(shown) == self.time)
    }

    fn has_same_xattrs(&self, index: InodeIndex, inode: &Inode) -> Result<bool, Mismatch> {
        let expected = self.tree.xattrs.get(self.tree.get(index).metadata.xattrs);
        if expected.is_empty() && inode.xattr_icount == 0 {
            return Ok(true);
        }
        let found = self.image.xattrs_with_hidden(inode);
        let mut found = found.map_err(|error| self.unreadable(index)(error))?;
        found.sort();
        Ok(found.len() == expected.len()
            && found.iter().zip(expected).all(|(f, e)| *f.name == *e.name && *f.value == *e.value))
    }

    /// Compares the names of a directory; gives back where they lead.
    fn compare_names(
        &self,
        index: InodeIndex,
        inode: &Inode,
    ) -> Result<Vec<(InodeIndex, Nid)>, Mismatch> {
        let Some(directory) = self.tree.get(index).as_directory() else { return Ok(Vec::new()) };
        let mut expected = directory.entries();
        let mut leads = Vec::with_capacity(directory.len());
        let entries = self.image.read_dir(inode).map_err(|error| self.unreadable(index)(error))?;
        for entry in entries {
            let entry = entry.map_err(|error| self.unreadable(index)(error))?;
            match expected.next() {
                Some((name, child)) if name.as_bytes() == entry.name => {
                    leads.push((child, entry.nid));
                }
                _ => return Err(self.differs(index, "list of names")),
            }
        }
        match expected.next() {
            None => Ok(leads),
            Some(_) => Err(self.differs(index, "list of names")),
        }
    }
}

const fn file_type(kind: &Kind) -> FileType {
    match kind {
        Kind::Directory(_) => FileType::Directory,
        Kind::Regular { .. } => FileType::Regular,
        Kind::Symlink(_) => FileType::Symlink,
        Kind::CharDevice(_) => FileType::CharDevice,
        Kind::BlockDevice(_) => FileType::BlockDevice,
        Kind::Fifo => FileType::Fifo,
        Kind::Socket => FileType::Socket,
    }
}

/// Pieces that a worker takes at once.
const STRIDE: usize = 8;

/// A piece of a file that is to be hashed.
#[derive(Clone, Copy)]
struct Piece {
    index: InodeIndex,
    nid: Nid,
    start: u64,
}

/// Compares the content of regular files.
struct Content<'a> {
    tree: &'a Tree,
    image: &'a Image,
    digests: &'a [Digest],
}

impl Content<'_> {
    fn compare_all(
        &self,
        files: &[(InodeIndex, Nid)],
        workers: NonZeroUsize,
    ) -> Result<(), Mismatch> {
        let mut files = files.to_vec();
        // What lies in the same pcluster is wanted while that is still decoded.
        if self.image.superblock().packed_nid.is_some() {
            files.sort_by_cached_key(|(_, nid)| self.fragment_of(*nid));
        }
        let pieces: Vec<Piece> =
            files.iter().flat_map(|(index, nid)| self.pieces(*index, *nid)).collect();
        // Neighbours mostly share pclusters, so one worker takes several.
        let strides: Vec<_> = pieces.chunks(STRIDE).collect();
        let digests = try_map(&strides, workers, Vec::new, |buf, stride| {
            stride.iter().map(|piece| self.hash(piece, buf)).collect::<Result<Vec<_>, _>>()
        })?;
        let digests = digests.concat();
        self.compare_digests(&pieces, &digests)
    }

    /// Where in the packed inode a file is, if it is there. If that can't be told, reading the file will say why.
    fn fragment_of(&self, nid: Nid) -> Option<u64> {
        let inode = self.image.inode(nid).ok()?;
        match self.image.extents(&inode).ok()?.next()?.ok()?.place {
            Place::Packed { offset } => Some(offset),
            _ => None,
        }
    }

    fn pieces(&self, index: InodeIndex, nid: Nid) -> impl Iterator<Item = Piece> + use<> {
        let size = self.size(index);
        (0..size.div_ceil(PIECE)).map(move |number| Piece { index, nid, start: number * PIECE })
    }

    fn size(&self, index: InodeIndex) -> u64 {
        match self.tree.get(index).kind {
            Kind::Regular { size } => size,
            _ => 0,
        }
    }

    fn hash(&self, piece: &Piece, buf: &mut Vec<u8>) -> Result<Digest, Mismatch> {
        let unreadable =
            |source| Mismatch::Unreadable { path: self.tree.path(piece.index), source };
        let len = PIECE.min(self.size(piece.index) - piece.start);
        // At most a piece.
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        if buf.len() < len {
            buf.resize(len, 0);
        }
        let bytes = buf.get_mut(..len).unwrap_or_default();
        let inode = self.image.inode(piece.nid).map_err(unreadable)?;
        let file = self.image.file(&inode).map_err(unreadable)?;
        file.read_at(bytes, piece.start).map_err(unreadable)?;
        Ok(Digest::of_piece(bytes))
    }

    /// Compares the digests of files, put together from those of their pieces.
    fn compare_digests(&self, pieces: &[Piece], digests: &[Digest]) -> Result<(), Mismatch> {
        let both: Vec<_> = pieces.iter().zip(digests).collect();
        for file in both.chunk_by(|(a, _), (b, _)| a.index == b.index) {
            let mut whole = DigestOfPieces::default();
            for (_, digest) in file {
                whole.push(**digest);
            }
            let Some((piece, _)) = file.first() else { continue };
            if self.digests.get(piece.index.index()) != Some(&whole.finish()) {
                let path = self.tree.path(piece.index);
                return Err(Mismatch::Differs { path, what: "content" });
            }
        }
        Ok(())
    }
}
