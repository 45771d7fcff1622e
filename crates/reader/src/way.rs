//! Chooses the way in which an extent is decoded.
//!
//! The ways are those of the EROFS paper (Gao et al., USENIX ATC 2019, section 3.3), in user space.

/// An extent up to this length is decoded whole for the cache, whatever part of it is requested. Of a longer one at least
/// this much is decoded, and at least twice what is requested, so that reading it bit by bit decodes each byte about twice.
const EAGER: u64 = 2 << 20;

/// A read of at most so many bytes within an extent doesn't suggest that the bytes after it are read too.
const SMALL: usize = 16 << 10;

/// At least so many bytes before the requested ones go through a window, if none of them can be kept.
const ROLL: u64 = 256 << 10;

/// How the output of a decoder gets to the caller.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// Into the caller's buffer.
    Direct,
    /// Into a buffer from which the requested part is copied; the cache may keep the buffer.
    Buffered,
    /// Bytes that were not requested pass through a small window; only the requested ones are stored.
    Rolling,
    /// Into the caller's buffer, over the stored bytes at its end. LZ4 only: the others can't decode over their input.
    InPlace,
}

/// The part of an extent that is requested.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    /// Bytes of the extent.
    pub(crate) extent: u64,
    /// Bytes of it before the requested ones.
    pub(crate) skip: u64,
    /// Bytes of it that are requested.
    pub(crate) len: usize,
    /// Bytes of the whole read.
    pub(crate) read: usize,
    /// Whether many files need the extent.
    pub(crate) shared: bool,
    /// Whether all of the extent will be read.
    pub(crate) whole: bool,
}

impl Request {
    /// Bytes from the extent's start to the last one requested.
    pub(crate) const fn end(&self) -> u64 {
        self.skip.saturating_add(self.len as u64)
    }

    pub(crate) const fn is_whole(&self) -> bool {
        self.len as u64 == self.extent
    }

    /// Bytes to decode for the cache, which keeps pieces of up to `longest` bytes. An extent that is `known` was requested
    /// before.
    pub(crate) fn kept(&self, known: bool, longest: usize) -> u64 {
        let all = if self.shared || self.whole {
            self.extent
        } else {
            self.end().saturating_mul(2).max(EAGER).min(self.extent)
        };
        // The rest of an extent costs little when more than half of it is decoded.
        let most = self.end() >= self.extent / 2;
        let more = known || most || self.shared || self.whole || self.read > SMALL;
        if more && all <= longest as u64 { all } else { self.end() }
    }

    /// The way to decode it, if the cache keeps pieces of up to `longest` bytes.
    pub(crate) fn way(&self, forced: Option<Way>, longest: usize) -> Way {
        match forced {
            Some(Way::Direct | Way::InPlace) if !self.is_whole() => Way::Buffered,
            Some(Way::Rolling) | None if self.is_whole() => Way::Direct,
            Some(way) => way,
            None if self.end() > longest as u64 && self.skip >= ROLL => Way::Rolling,
            None => Way::Buffered,
        }
    }
}
