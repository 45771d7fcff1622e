//! What does an inode hold, and where are the parts that follow it?
//!
//! [`Inode`] holds the fields of either form, checked.

mod encode;
mod error;
mod layout;
mod raw;
mod rdev;

use zerocopy::FromBytes;

use self::raw::{RawCompact, RawExtended};
pub use self::{
    error::{InodeEncodeError, InodeError},
    layout::Layout,
    raw::InodeForm,
    rdev::Rdev,
};
use crate::{addr::Blkaddr, chunk::ChunkFormat, file_type::FileType, halves::join};

/// The bit of `i_format` that means one link and a 48-bit address, or for a directory that `.` is omitted.
const NLINK_1_OR_DOT_OMITTED: u16 = 1 << 4;
/// The bits of `i_format` without a known meaning.
const UNKNOWN: u16 = !0x1f;
/// `i_u` of an inode without an address.
const NO_ADDRESS_LO: u32 = u32::MAX;
/// The high half that goes with it, where it counts.
const NO_ADDRESS_HI: u16 = u16::MAX;

/// The fields of the superblock that inodes depend on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InodeContext {
    /// The base of compact inodes' times.
    pub epoch: i64,
    /// The nanoseconds of compact inodes' times.
    pub fixed_nsec: u32,
    /// Whether the image has 48-bit addresses (`Incompat::BITS_48`).
    pub wide: bool,
}

/// The meaning of `i_u` and its high half, which depends on layout and file type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InodeData {
    /// Flat layouts: the first block of the data. None if no block has an address: nothing but an
    /// inline tail, or with [`Layout::FlatPlain`] a hole.
    Blocks {
        /// The first block.
        start: Option<Blkaddr>,
    },
    /// Compressed layouts: the number of blocks of compressed data, for statistics.
    Compressed {
        /// The blocks, without inline tail and fragments.
        blocks: u64,
    },
    /// The chunk-based layout.
    Chunked(ChunkFormat),
    /// Devices of either kind.
    Device(Rdev),
    /// Named pipes and sockets.
    None,
}

/// An inode.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Inode {
    /// How large the inode itself is.
    pub form: InodeForm,
    /// How the data is stored.
    pub layout: Layout,
    /// The kind of file, which the mode also holds.
    pub file_type: FileType,
    /// `st_mode`.
    pub mode: u16,
    /// Number of hard links.
    pub nlink: u32,
    /// Bytes of content, less than 2^63.
    pub size: u64,
    /// The owner.
    pub uid: u32,
    /// The owner's group.
    pub gid: u32,
    /// Seconds since 1970 of the last change.
    pub mtime: i64,
    /// Nanoseconds of the last change; a corrupt image may have 10^9 or more.
    pub mtime_nsec: u32,
    /// The xattr body's size, encoded; see [`Self::xattr_size`].
    pub xattr_icount: u16,
    /// A serial number, for 32-bit `stat` only.
    pub ino: u32,
    /// Whether a directory leaves `.` out.
    pub dot_omitted: bool,
    /// Where the data is.
    pub data: InodeData,
}

impl Inode {
    /// Reads the inode at the start of `bytes`: 64 bytes always suffice.
    ///
    /// # Errors
    /// Bytes are missing, or their fields are invalid.
    pub fn parse(bytes: &[u8], context: &InodeContext) -> Result<Self, InodeError> {
        let found = bytes.len();
        let form = InodeForm::of(bytes).unwrap_or(InodeForm::Compact);
        let truncated = InodeError::Truncated { found, needed: form.size() };
        match form {
            InodeForm::Compact => {
                let raw = RawCompact::ref_from_prefix(bytes).map_err(|_short| truncated)?.0;
                Self::from_compact(raw, context)
            }
            InodeForm::Extended => {
                let raw = RawExtended::ref_from_prefix(bytes).map_err(|_short| truncated)?.0;
                Self::from_extended(raw, context)
            }
        }
    }

    fn from_compact(raw: &RawCompact, context: &InodeContext) -> Result<Self, InodeError> {
        let mode = raw.mode.get();
        let format = Format::parse(raw.format.get(), mode)?;
        let nb = raw.nb.get();
        let nb_is_address = format.flag && format.file_type != FileType::Directory;
        let (nlink, address) = if nb_is_address {
            (1, Address { hi: nb, lo: raw.u.get(), no_address_hi: NO_ADDRESS_HI })
        } else {
            (nb, Address { hi: 0, lo: raw.u.get(), no_address_hi: 0 })
        };
        Ok(Self {
            form: InodeForm::Compact,
            layout: format.layout,
            file_type: format.file_type,
            mode,
            nlink: nlink.into(),
            size: raw.size.get().into(),
            uid: raw.uid.get().into(),
            gid: raw.gid.get().into(),
            mtime: context.epoch.wrapping_add(raw.mtime.get().into()),
            mtime_nsec: context.fixed_nsec,
            xattr_icount: raw.xattr_icount.get(),
            ino: raw.ino.get(),
            dot_omitted: format.dot_omitted(),
            data: address.data(&format)?,
        })
    }

    fn from_extended(raw: &RawExtended, context: &InodeContext) -> Result<Self, InodeError> {
        let mode = raw.mode.get();
        let format = Format::parse(raw.format.get(), mode)?;
        let size = raw.size.get();
        if size > i64::MAX.unsigned_abs() {
            return Err(InodeError::Size { size });
        }
        let no_address_hi = if context.wide { NO_ADDRESS_HI } else { 0 };
        let address = Address { hi: raw.nb.get(), lo: raw.u.get(), no_address_hi };
        Ok(Self {
            form: InodeForm::Extended,
            layout: format.layout,
            file_type: format.file_type,
            mode,
            nlink: raw.nlink.get(),
            size,
            uid: raw.uid.get(),
            gid: raw.gid.get(),
            mtime: raw.mtime.get(),
            mtime_nsec: raw.mtime_nsec.get(),
            xattr_icount: raw.xattr_icount.get(),
            ino: raw.ino.get(),
            dot_omitted: format.dot_omitted(),
            data: address.data(&format)?,
        })
    }

    /// Bytes in the inode itself: 32 or 64.
    #[must_use]
    pub const fn size_on_disk(&self) -> usize {
        self.form.size()
    }

    /// Bytes in the xattr body that follows the inode: 0, or 12 and more.
    #[must_use]
    pub const fn xattr_size(&self) -> usize {
        crate::xattr::body_size_of(self.xattr_icount)
    }

    /// Where, relative to the inode's start, its xattr body ends: where inline data begins, and after
    /// alignment the map header or the chunk table.
    #[must_use]
    pub const fn body_end(&self) -> usize {
        self.size_on_disk() + self.xattr_size()
    }

    /// Where, relative to the inode's start, the part starts that its layout needs: the map header,
    /// the chunk table or the inline tail.
    #[must_use]
    pub const fn layout_area(&self) -> usize {
        let alignment = match (self.layout, self.data) {
            (Layout::CompressedFull | Layout::CompressedCompact, _) => 8,
            (_, InodeData::Chunked(format)) => format.unit(),
            _ => 1,
        };
        self.body_end().next_multiple_of(alignment)
    }
}

/// Whether `start` means that there is no address: all ones, in inodes with a high half of 48 bits.
const fn is_no_address(start: u64, no_address_hi: u16) -> bool {
    start == join(no_address_hi, NO_ADDRESS_LO) || start == join(NO_ADDRESS_HI, NO_ADDRESS_LO)
}

/// The fields of `i_format` and the type bits of `i_mode`.
struct Format {
    layout: Layout,
    file_type: FileType,
    flag: bool,
}

impl Format {
    fn parse(format: u16, mode: u16) -> Result<Self, InodeError> {
        if format & UNKNOWN != 0 {
            return Err(InodeError::UnknownFormat { format });
        }
        let [low, _] = format.to_le_bytes();
        Ok(Self {
            layout: Layout::try_from(low >> 1 & 7)?,
            file_type: FileType::from_mode(mode)?,
            flag: format & NLINK_1_OR_DOT_OMITTED != 0,
        })
    }

    fn dot_omitted(&self) -> bool {
        self.flag && self.file_type == FileType::Directory
    }
}

/// `i_u`, with the high half that goes with it.
struct Address {
    hi: u16,
    lo: u32,
    /// The high half of "no address" in this inode.
    no_address_hi: u16,
}

impl Address {
    fn data(&self, format: &Format) -> Result<InodeData, InodeError> {
        if format.file_type.is_device() {
            return Ok(InodeData::Device(Rdev::from_raw(self.lo)));
        }
        if !format.file_type.has_content() {
            return Ok(InodeData::None);
        }
        Ok(match format.layout {
            Layout::FlatPlain | Layout::FlatInline => InodeData::Blocks { start: self.start() },
            Layout::CompressedFull | Layout::CompressedCompact => {
                InodeData::Compressed { blocks: join(self.hi, self.lo) }
            }
            Layout::ChunkBased => InodeData::Chunked(self.chunk_format()?),
        })
    }

    fn start(&self) -> Option<Blkaddr> {
        let start = join(self.hi, self.lo);
        (!is_no_address(start, self.no_address_hi)).then_some(Blkaddr(start))
    }

    fn chunk_format(&self) -> Result<ChunkFormat, InodeError> {
        let [a, b, ..] = self.lo.to_le_bytes();
        Ok(ChunkFormat::try_from(u16::from_le_bytes([a, b]))?)
    }
}

#[cfg(test)]
mod tests;
