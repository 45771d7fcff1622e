//! Writes the headers of frames and blocks.

use crate::ffi::zstd::{MAX_BLOCK, MAX_WINDOW_LOG};

const MAGIC: [u8; 4] = [0x28, 0xB5, 0x2F, 0xFD];
/// The longest header written here: magic, descriptor, window, four bytes of content size.
pub(crate) const MAX_HEADER: usize = 10;
/// The lowest window log that a window descriptor can express.
const MIN_WINDOW_LOG: u32 = 10;
/// What the two-byte form of the content size leaves out.
const SHORT_BASE: usize = 256;
const SHORT_MAX: usize = SHORT_BASE + 0xFFFF;

/// A frame header with content size, without dictionary and checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    bytes: [u8; MAX_HEADER],
    len: usize,
}

impl Header {
    /// The shortest header for `content` bytes whose matches reach back at most `1 << window_log`.
    pub(crate) fn new(content: usize, window_log: u32) -> Self {
        let mut header = Self { bytes: [0; MAX_HEADER], len: 0 };
        let [low, second, third, high, ..] = content.to_le_bytes();
        let exponent = window_log.clamp(MIN_WINDOW_LOG, MAX_WINDOW_LOG) - MIN_WINDOW_LOG;
        header.push(&MAGIC);
        if content > 1 << window_log {
            header.push(&[0x80, exponent.to_le_bytes()[0] << 3, low, second, third, high]);
        } else if content < SHORT_BASE {
            header.push(&[0x20, low]);
        } else if content <= SHORT_MAX {
            let [low, second, ..] = (content - SHORT_BASE).to_le_bytes();
            header.push(&[0x60, low, second]);
        } else {
            header.push(&[0xA0, low, second, third, high]);
        }
        header
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).expect("the length of what was pushed")
    }

    fn push(&mut self, bytes: &[u8]) {
        if let Some(room) = self.bytes.get_mut(self.len..self.len + bytes.len()) {
            room.copy_from_slice(bytes);
            self.len += bytes.len();
        }
    }
}

/// What kind of block follows a block header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Raw,
    Rle,
    Compressed,
}

/// One block of a frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block<'a> {
    pub(crate) kind: Kind,
    /// The size in the header: content bytes of a raw or RLE block, stream bytes of a compressed one.
    pub(crate) size: usize,
    /// The stream after the header.
    pub(crate) stream: &'a [u8],
}

pub(crate) const BLOCK_HEADER: usize = 3;

impl<'a> Block<'a> {
    /// The first block of `blocks` and what follows it.
    pub(crate) fn split(blocks: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let (&[low, mid, high], rest) = blocks.split_first_chunk()?;
        let word = usize::from(low) | usize::from(mid) << 8 | usize::from(high) << 16;
        let size = word >> 3;
        let (kind, len) = match word >> 1 & 3 {
            0 => (Kind::Raw, size),
            1 => (Kind::Rle, 1),
            2 => (Kind::Compressed, size),
            _ => return None,
        };
        let (stream, rest) = rest.split_at_checked(len)?;
        (size <= MAX_BLOCK).then_some((Self { kind, size, stream }, rest))
    }

    /// Bytes of header and stream.
    pub(crate) fn len(&self) -> usize {
        BLOCK_HEADER + self.stream.len()
    }
}

/// The header of a block that is not the last.
pub(crate) fn block_header(kind: Kind, size: usize) -> [u8; BLOCK_HEADER] {
    let bits = match kind {
        Kind::Raw => 0,
        Kind::Rle => 1,
        Kind::Compressed => 2,
    };
    let [low, mid, high, ..] = (size << 3 | bits << 1).to_le_bytes();
    [low, mid, high]
}
