//! Defines [`Bases`]: the images that a build refers to.

use std::{
    collections::HashSet,
    fs::File,
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use lith_builder::KnownContents;
use lith_device::{DeviceError, FileDevice, ReadAt};
use lith_format::{
    addr::{Blkaddr, BlockBits, Nid},
    bases::Base,
    file_type::FileType,
};
use lith_reader::Image;
use lith_tree::{Content, ContentError, DataRange};

use crate::{
    BaseError, Search, check_digest, find,
    identity::{bytes_of, identify, identify_by_head, root_of},
};

/// The number of all packed inodes together among known contents.
pub(crate) const ALL_PACKED: u32 = u32::MAX;

/// What an image records of its bases, to identify them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Identity {
    /// The digest of all their bytes, which are read, and compared with digests that are recorded already.
    Whole,
    /// Their length and beginning; digests only as they are recorded already.
    Head,
}

/// Images that another image refers to.
#[derive(Debug, Default)]
pub struct Bases {
    images: Vec<Opened>,
    files: Vec<BaseFile>,
    /// The regular files of all images that have content, each once, if all bytes were read: the image's number and the
    /// NID. Their numbers in known contents are those in this list.
    contents: Vec<(usize, Nid)>,
}

/// An image, and which file each of its devices is.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) path: PathBuf,
    pub(crate) image: Image,
    /// The numbers of the files of its devices, its own first.
    files: Vec<usize>,
}

/// A file that images lie in.
#[derive(Debug)]
struct BaseFile {
    path: PathBuf,
    device: Arc<FileDevice>,
    base: Base,
}

/// What the files of images are to an image that refers to what they hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    /// Devices of it.
    Devices,
    /// Parts of its one device, which follow it there.
    Parts,
    /// Nothing: it gets copies of what they hold.
    Copied,
}

/// Where the files of all images are in the unified address space.
#[derive(Debug)]
pub(crate) struct Addresses<'a> {
    pub(crate) block: BlockBits,
    /// The first block of each file, and how many it has.
    starts: Vec<(u64, u64)>,
    /// What the files are to the new image.
    role: Role,
    bases: &'a Bases,
}

impl Bases {
    /// Opens images, whose own bases are found as [`find`] does.
    ///
    /// # Errors
    /// [`BaseError`] names the first file that is missing, wrong, or no image.
    pub fn open(paths: &[PathBuf], search: &Search, identity: Identity) -> Result<Self, BaseError> {
        let mut bases = Self::default();
        let reader = lith_reader::Options::of_several(paths.len());
        for path in paths {
            bases.add(path, search, (identity, reader))?;
        }
        Ok(bases)
    }

    fn add(
        &mut self,
        path: &Path,
        search: &Search,
        (identity, reader): (Identity, lith_reader::Options),
    ) -> Result<(), BaseError> {
        let open = |source| BaseError::Open { path: path.to_owned(), source };
        let base_of = match identity {
            Identity::Whole => identify,
            Identity::Head => identify_by_head,
        };
        let own = Arc::new(FileDevice::open(path).map_err(open)?);
        let base = base_of(&own, bytes_of(&own, path)?, path)?;
        let mut files = vec![self.file(base, path, &own)];
        let mut devices: Vec<Box<dyn ReadAt>> = vec![Box::new(own)];
        for found in find(path, 0, search)? {
            let base = match found.base {
                Some(base) if identity == Identity::Head => base,
                Some(base) if base.has_digest() => {
                    check_digest(&found.device, &base, &found.path)?;
                    let root = root_of(&found.device, base.bytes, &found.path)?;
                    Base { root: root.or(base.root), ..base }
                }
                _ => {
                    let bytes = bytes_of(&found.device, &found.path)?;
                    base_of(&found.device, bytes, &found.path)?
                }
            };
            let device = Arc::new(found.device);
            files.push(self.file(base, &found.path, &device));
            devices.push(Box::new(device));
        }
        let failed = |source| BaseError::Image { path: path.to_owned(), source };
        let image = Image::open_with(devices, reader).map_err(failed)?;
        if identity == Identity::Whole {
            self.list(&image).map_err(failed)?;
        }
        self.images.push(Opened { path: path.to_owned(), image, files });
        Ok(())
    }

    /// Lists the contents of the image that is opened next.
    fn list(&mut self, image: &Image) -> Result<(), lith_reader::Error> {
        let mut nids = HashSet::new();
        for file in image.files() {
            let inode = file?.inode;
            let is_first = inode.file_type == FileType::Regular && nids.insert(inode.nid);
            if is_first && inode.size > 0 {
                self.contents.push((self.images.len(), inode.nid));
            }
        }
        Ok(())
    }

    /// The number of a file, which is added unless it is there already.
    fn file(&mut self, base: Base, path: &Path, device: &Arc<FileDevice>) -> usize {
        let has_digest = base.has_digest();
        let same = |file: &BaseFile| {
            let is_known = has_digest && file.base.digest == base.digest;
            let is_same_file = lith_system::is_same_file(&file.path, path);
            file.base.bytes == base.bytes && (is_known || is_same_file)
        };
        self.files.iter().position(same).unwrap_or_else(|| {
            let device = Arc::clone(device);
            self.files.push(BaseFile { path: path.to_owned(), device, base });
            self.files.len() - 1
        })
    }

    /// Fails if there are more files than `most`.
    ///
    /// # Errors
    /// [`BaseError::TooMany`].
    pub fn check_count(&self, most: usize) -> Result<(), BaseError> {
        match self.files.last() {
            Some(last) if self.files.len() > most => {
                let (path, found) = (last.path.clone(), self.files.len());
                Err(BaseError::TooMany { path, found, most })
            }
            _ => Ok(()),
        }
    }

    /// The paths of all files, in the order in which [`Self::known`] has them as devices.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.files.iter().map(|file| file.path.as_path())
    }

    /// The places of all files, one after another from block `room` on.
    pub(crate) fn addresses(
        &self,
        (block, room): (BlockBits, u64),
        role: Role,
    ) -> Result<Addresses<'_>, BaseError> {
        for Opened { path, image, .. } in &self.images {
            let (found, expected) = (image.superblock().block.size(), block.size());
            if found != expected {
                return Err(BaseError::BlockSize { path: path.clone(), found, expected });
            }
        }
        let (mut starts, mut next) = (Vec::new(), room);
        for (number, BaseFile { path, base, device }) in self.files.iter().enumerate() {
            let blocks = block.blocks_for(base.bytes);
            starts.push((next, blocks));
            let is_followed = number + 1 < self.files.len();
            let is_whole = device.size() == blocks.saturating_mul(block.size().into());
            if role == Role::Parts && is_followed && !is_whole {
                return Err(BaseError::Odd { path: path.clone() });
            }
            next = next.saturating_add(blocks);
            if next >= u32::MAX.into() && role != Role::Copied {
                return Err(BaseError::TooFar { path: path.clone() });
            }
        }
        Ok(Addresses { block, starts, role, bases: self })
    }

    pub(crate) fn images(&self) -> &[Opened] {
        &self.images
    }

    /// The files of an image with content, by their numbers.
    pub(crate) fn contents_of(&self, image: usize) -> Vec<(u32, Nid)> {
        let numbered = (0..).zip(&self.contents);
        let own = numbered.filter(|(_, (of, _))| *of == image);
        own.map(|(number, (_, nid))| (number, *nid)).collect()
    }
}

impl KnownContents for Bases {
    fn open(&self, number: u32) -> Result<Box<dyn Content + '_>, ContentError> {
        if number == ALL_PACKED {
            return self.open_packed();
        }
        let found = usize::try_from(number).ok().and_then(|number| self.contents.get(number));
        let opened = found.and_then(|(image, nid)| Some((self.images.get(*image)?, nid)));
        let Some((Opened { path, image, .. }, nid)) = opened else { return ().open(number) };
        let file = image.inode(*nid).and_then(|inode| image.file(&inode));
        let file = file.map_err(|error| damaged(path, error))?;
        Ok(Box::new(InodeContent { path, file }))
    }
}

impl Bases {
    fn open_packed(&self) -> Result<Box<dyn Content + '_>, ContentError> {
        let (mut all, mut start) = (Vec::new(), 0);
        for Opened { path, image, .. } in &self.images {
            let Some(inode) = image.packed_inode() else { continue };
            let file = image.file(inode).map_err(|error| damaged(path, error))?;
            all.push((start, InodeContent { path, file }));
            start += inode.size;
        }
        Ok(Box::new(AllPacked(all)))
    }
}

impl<'a> Addresses<'a> {
    pub(crate) fn opened(&self, number: usize) -> Option<&'a Opened> {
        self.bases.images.get(number)
    }

    /// The first block after all files.
    pub(crate) fn end(&self) -> u64 {
        self.starts.last().map_or(0, |(start, blocks)| start.saturating_add(*blocks))
    }

    /// The files and their first blocks.
    pub(crate) fn files(&self) -> impl Iterator<Item = (&'a Base, Blkaddr)> {
        let bases = self.bases.files.iter().map(|file| &file.base);
        bases.zip(self.starts.iter().map(|(start, _)| Blkaddr(*start)))
    }

    pub(crate) const fn bases(&self) -> &'a Bases {
        self.bases
    }

    /// The address of `bytes` bytes on a device of an image, and the number of the device in the new image. `None`: no
    /// whole blocks of the device start there.
    pub(crate) fn place(
        &self,
        number: usize,
        (device, pa): (u16, u64),
        bytes: u64,
    ) -> Option<(u16, Blkaddr, Blkaddr)> {
        let file = *self.opened(number)?.files.get(usize::from(device))?;
        let (start, blocks) = *self.starts.get(file)?;
        let size = u64::from(self.block.size());
        let first = pa / size;
        let end = first.checked_add(self.block.blocks_for(bytes))?;
        let is_whole = pa.is_multiple_of(size) && end <= blocks;
        let address = Blkaddr(start + first);
        let (slot, first) = match self.role {
            Role::Parts | Role::Copied => (0, address),
            Role::Devices => (u16::try_from(file + 1).ok()?, Blkaddr(first)),
        };
        is_whole.then_some((slot, first, address))
    }
}

/// The bytes of all files, at the addresses of [`Bases::addresses`] from block 0 on.
impl Content for Bases {
    fn read_at(&self, mut buf: &mut [u8], mut position: u64) -> Result<(), ContentError> {
        let Some(block) = self.images.first().map(|opened| opened.image.superblock().block) else {
            return Ok(());
        };
        let mut start = 0;
        for BaseFile { path, device, base } in &self.files {
            let end = start + block.blocks_for(base.bytes) * u64::from(block.size());
            if !buf.is_empty() && position < end {
                let len = usize::try_from(end - position).unwrap_or(usize::MAX).min(buf.len());
                let (now, later) = buf.split_at_mut(len);
                read_padded(device, now, position - start).map_err(|source| ContentError::Io {
                    path: path.clone(),
                    action: "read",
                    source: io::Error::other(source),
                })?;
                position += len as u64;
                buf = later;
            }
            start = end;
        }
        Ok(())
    }

    fn range_at(&self, _position: u64) -> Result<DataRange, ContentError> {
        Ok(DataRange::Data { end: u64::MAX })
    }

    fn check_unchanged(&self) -> Result<(), ContentError> {
        Ok(())
    }

    fn copy_to(&self, (position, len): (u64, u64), to: (&File, u64)) -> u64 {
        let Some(block) = self.images.first().map(|opened| opened.image.superblock().block) else {
            return 0;
        };
        let mut start = 0;
        for BaseFile { device, base, .. } in &self.files {
            let end = start + block.blocks_for(base.bytes) * u64::from(block.size());
            if position < end {
                // What is known is within one file; the padding of its last block is none of its bytes.
                return device.copy_to(position - start, len, to);
            }
            start = end;
        }
        0
    }
}

/// Reads from a device, whose last block may be cut off: zeros follow.
fn read_padded(device: &FileDevice, buf: &mut [u8], position: u64) -> Result<(), DeviceError> {
    let left = usize::try_from(device.size().saturating_sub(position)).unwrap_or(usize::MAX);
    let (stored, padding) = buf.split_at_mut(left.min(buf.len()));
    padding.fill(0);
    device.read_at(stored, position)
}

/// The content of an inode.
struct InodeContent<'a> {
    path: &'a Path,
    file: lith_reader::File<'a>,
}

impl Content for InodeContent<'_> {
    fn read_at(&self, buf: &mut [u8], position: u64) -> Result<(), ContentError> {
        self.file.read_at(buf, position).map_err(|error| damaged(self.path, error))
    }

    fn range_at(&self, _position: u64) -> Result<DataRange, ContentError> {
        Ok(DataRange::Data { end: self.file.size() })
    }

    fn check_unchanged(&self) -> Result<(), ContentError> {
        Ok(())
    }
}

/// The packed inodes of all images, end to end.
struct AllPacked<'a>(Vec<(u64, InodeContent<'a>)>);

impl Content for AllPacked<'_> {
    fn read_at(&self, mut buf: &mut [u8], mut position: u64) -> Result<(), ContentError> {
        while !buf.is_empty() {
            let at = self.0.partition_point(|(start, _)| *start <= position);
            let Some((start, content)) = at.checked_sub(1).and_then(|at| self.0.get(at)) else {
                return Ok(());
            };
            let skip = position - start;
            let left = content.file.size().saturating_sub(skip);
            let len = usize::try_from(left).unwrap_or(usize::MAX).min(buf.len());
            let (now, later) = buf.split_at_mut(len);
            content.read_at(now, skip)?;
            if len == 0 {
                return Ok(());
            }
            position += len as u64;
            buf = later;
        }
        Ok(())
    }

    fn range_at(&self, _position: u64) -> Result<DataRange, ContentError> {
        Ok(DataRange::Data { end: u64::MAX })
    }

    fn check_unchanged(&self) -> Result<(), ContentError> {
        Ok(())
    }
}

fn damaged(path: &Path, source: lith_reader::Error) -> ContentError {
    ContentError::Damaged { path: path.to_owned(), source: Box::new(source) }
}
