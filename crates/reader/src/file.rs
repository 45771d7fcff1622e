//! Defines an open file: its bytes, extents and holes.

use std::{ops::Range, sync::Arc};

use crate::{
    decode::Stream,
    error::{Error, Fault},
    extent::ExtentKind,
    image::Image,
    inode::Inode,
    map::{Extents, Map},
};

/// The most extents that one call of [`File::range_at`] examines.
const RANGE_EXTENTS: usize = 4;

/// The content of a regular file, directory or symlink: cheap to open, readable by many threads.
#[derive(Debug)]
pub struct File<'a> {
    image: &'a Image,
    inode: Inode,
    map: Map,
}

/// An extent of a file that is decoded and in the cache.
#[derive(Clone, Debug)]
pub struct Kept {
    /// Its first byte in the file.
    pub la: u64,
    bytes: Arc<Vec<u8>>,
    len: usize,
}

impl Kept {
    /// All its bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        // The cache returned `len` bytes or more.
        self.bytes.split_at(self.len).0
    }
}

/// A range of a file from some position on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DataRange {
    /// Stored bytes up to this position.
    Data {
        /// First position after the range.
        end: u64,
    },
    /// Zeros without any stored bytes up to this position.
    Hole {
        /// First position after the range.
        end: u64,
    },
}

impl Image {
    /// The content of an inode.
    ///
    /// # Errors
    /// [`Error::NoContent`] for devices, pipes and sockets, [`Error::Corrupt`] if its map makes no sense.
    pub fn file(&self, inode: &Inode) -> Result<File<'_>, Error> {
        if !inode.file_type.has_content() {
            return Err(Error::NoContent { nid: inode.nid });
        }
        let map = Map::of(self, inode).map_err(|fault| fault.of(inode.nid))?;
        Ok(File { image: self, inode: *inode, map })
    }

    /// The content of the file that a path leads to. Symlinks are followed.
    ///
    /// # Errors
    /// As [`Self::resolve_following`] and [`Self::file`].
    pub fn open_file(&self, path: impl AsRef<[u8]>) -> Result<File<'_>, Error> {
        self.file(&self.resolve_following(path)?)
    }

    /// Where the bytes of an inode are stored, in the order of the file. Reads indexes, but no data.
    ///
    /// # Errors
    /// As [`Self::file`]. An extent that can't be mapped is an error in its place, and the last item.
    pub fn extents(&self, inode: &Inode) -> Result<Extents<'_>, Error> {
        Ok(self.file(inode)?.extents())
    }
}

impl<'a> File<'a> {
    /// The file's inode.
    #[must_use]
    pub const fn inode(&self) -> &Inode {
        &self.inode
    }

    /// Bytes in the file.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.inode.size
    }

    /// The range of its metadata space that the inode takes with its xattrs and its table of extents. An inline tail is
    /// not included: it is one of the extents.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if it would end beyond all addresses.
    pub fn footprint(&self) -> Result<Range<u64>, Error> {
        let end = self.map.table_end(self.image, &self.inode);
        Ok(self.inode.position..end.map_err(|fault| fault.of(self.inode.nid))?)
    }

    /// Fills `buf` with the bytes from `position` on. Large reads are faster: extents that are requested whole are decoded
    /// directly into `buf`.
    ///
    /// # Errors
    /// [`Error::BeyondEnd`] if the file ends earlier, [`Error::Corrupt`] if the bytes don't decode,
    /// [`Error::Unsupported`] if there is no decoder for them, [`Error::Device`] if they can't be read.
    pub fn read_at(&self, buf: &mut [u8], position: u64) -> Result<(), Error> {
        let content = self.image.content_of(&self.inode, &self.map);
        content.read(buf, position).map_err(|fault| fault.of(self.inode.nid))
    }

    /// The bytes of a range of positions. For a whole file of unknown origin prefer [`Self::into_handle`]: its size may
    /// be more than memory holds.
    ///
    /// # Errors
    /// As [`Self::read_at`].
    ///
    /// ```
    /// use lith_reader::Image;
    ///
    /// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/03-lz4.erofs");
    /// let image = Image::open_path(path)?;
    /// let bytes = image.open_file("/text")?.read_range(100..200)?;
    /// assert_eq!(bytes.len(), 100);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read_range(&self, range: Range<u64>) -> Result<Vec<u8>, Error> {
        let (position, length) = (range.start, range.end.saturating_sub(range.start));
        let (nid, size) = (self.inode.nid, self.inode.size);
        let beyond = || Error::BeyondEnd { nid, position, length, size };
        // Checked before memory is taken for it.
        if range.end > size {
            return Err(beyond());
        }
        let mut bytes = vec![0; usize::try_from(length).map_err(|_too_long| beyond())?];
        self.read_at(&mut bytes, position)?;
        Ok(bytes)
    }

    /// Decodes the extents that hold the `length` bytes from `position` on, up to the end of the file, into the cache.
    ///
    /// # Errors
    /// As [`Self::read_at`].
    pub fn prepare(&self, position: u64, length: u64) -> Result<(), Error> {
        let content = self.image.content_of(&self.inode, &self.map);
        content.prepare(position, length).map_err(|fault| fault.of(self.inode.nid))
    }

    /// The extent that holds the byte at `position`, if all of it is decoded and in the cache: a by-product of reading that
    /// byte.
    #[must_use]
    pub fn kept_at(&self, position: u64) -> Option<Kept> {
        let extent = self.extents_from(position).step()?.ok()?;
        let len = usize::try_from(extent.len).ok()?;
        let bytes = self.image.decoded.get(Stream::of(&extent)?.key(), len)?;
        Some(Kept { la: extent.la, bytes, len })
    }

    /// The extents of the file.
    #[must_use]
    pub fn extents(&self) -> Extents<'a> {
        self.extents_from(0)
    }

    /// The extent that holds the byte at `position`, and all after it. The first may start before `position`.
    #[must_use]
    pub fn extents_from(&self, position: u64) -> Extents<'a> {
        Extents::new(self.image, &self.inode, &self.map, position)
    }

    /// The range of data or hole that starts at `position`. Ranges tile the file, but two consecutive ones may be of one
    /// kind. `None`: `position` is at the end of the file or after it.
    ///
    /// # Errors
    /// [`Error::Corrupt`] or [`Error::Device`] if the extents can't be read.
    pub fn range_at(&self, position: u64) -> Result<Option<DataRange>, Error> {
        let size = self.inode.size;
        if position >= size {
            return Ok(None);
        }
        if self.map.has_no_holes() {
            return Ok(Some(DataRange::Data { end: size }));
        }
        let range = self.run_of_extents(position);
        range.map(Some).map_err(|fault| fault.of(self.inode.nid))
    }

    fn run_of_extents(&self, position: u64) -> Result<DataRange, Fault> {
        let mut extents = self.extents_from(position);
        let (mut is_hole, mut end) = (None, position);
        for _ in 0..RANGE_EXTENTS {
            let Some(extent) = extents.step().transpose()? else { break };
            let hole = extent.kind == ExtentKind::Hole;
            if *is_hole.get_or_insert(hole) != hole {
                break;
            }
            end = extent.end();
        }
        Ok(if is_hole == Some(true) { DataRange::Hole { end } } else { DataRange::Data { end } })
    }
}
