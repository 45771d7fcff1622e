//! In which way is an extent decoded?
//!
//! These are the ways of the EROFS paper (Gao et al., USENIX ATC 2019, section 3.3), as they are in user space.

/// An extent is decoded for the cache up to this length whatever part of it is wanted; of a longer one at least this
/// much, and twice what is wanted, so that reading it bit by bit decodes each byte about twice.
const EAGER: u64 = 2 << 20;

/// A read of at most so many bytes somewhere in an extent says nothing about the bytes behind.
const SMALL: usize = 16 << 10;

/// Output before what is wanted of at least so many bytes goes through a window, if nothing of it can be kept.
const ROLL: u64 = 256 << 10;

/// How the output of a decoder gets to the caller.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// Into the caller's buffer.
    Direct,
    /// Into a buffer, of which the wanted part is copied; the cache may keep it.
    Buffered,
    /// What nobody asked for passes through a small window; only the wanted part is stored.
    Rolling,
    /// Into the caller's buffer, at whose end the stored bytes lie. LZ4 only: the others can't decode over their input.
    InPlace,
}

/// The part of an extent that is wanted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wish {
    /// Bytes of the extent.
    pub(crate) extent: u64,
    /// Bytes of it that nobody asks for, before those that are wanted.
    pub(crate) skip: u64,
    /// Bytes of it that are wanted.
    pub(crate) wanted: usize,
    /// Bytes that the whole read asks for.
    pub(crate) read: usize,
    /// Whether what the extent holds is needed by many files.
    pub(crate) shared: bool,
}

impl Wish {
    /// Bytes from the extent's start to the last that is wanted.
    pub(crate) const fn end(&self) -> u64 {
        self.skip.saturating_add(self.wanted as u64)
    }

    pub(crate) const fn is_whole(&self) -> bool {
        self.wanted as u64 == self.extent
    }

    /// How many bytes to decode for the cache, which keeps pieces up to `room` and was asked for the extent before if
    /// it is `known`.
    pub(crate) fn kept(&self, known: bool, room: usize) -> u64 {
        let all = if self.shared {
            self.extent
        } else {
            self.end().saturating_mul(2).max(EAGER).min(self.extent)
        };
        // The rest of what is decoded for the most part costs little.
        let most = self.end() >= self.extent / 2;
        let more = known || most || self.shared || self.read > SMALL;
        if more && all <= room as u64 { all } else { self.end() }
    }

    /// The way to decode it where `room` is the longest that can be kept.
    pub(crate) fn way(&self, forced: Option<Way>, room: usize) -> Way {
        match forced {
            Some(Way::Direct | Way::InPlace) if !self.is_whole() => Way::Buffered,
            Some(Way::Rolling) | None if self.is_whole() => Way::Direct,
            Some(way) => way,
            None if self.end() > room as u64 && self.skip >= ROLL => Way::Rolling,
            None => Way::Buffered,
        }
    }
}
