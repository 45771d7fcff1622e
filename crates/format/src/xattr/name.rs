//! Defines the names of extended attributes and their short prefixes.

use alloc::vec::Vec;

use xxhash_rust::xxh32::Xxh32;

/// Bytes in the longest name after its short prefix.
pub const NAME_REST_MAX: usize = 255;
/// What the hash of a name starts from, before its short prefix's number is added.
const FILTER_SEED: u32 = 0x25BB_E08F;

/// A prefix with a number of its own.
#[derive(zerocopy::TryFromBytes, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum ShortPrefix {
    /// No prefix: hidden from Linux, for internal digests.
    Hidden = 0,
    /// `user.`
    User = 1,
    /// `system.posix_acl_access`, a whole name.
    PosixAclAccess = 2,
    /// `system.posix_acl_default`, a whole name.
    PosixAclDefault = 3,
    /// `trusted.`
    Trusted = 4,
    /// `security.`
    Security = 6,
}

impl ShortPrefix {
    /// All prefixes of names that Linux shows.
    pub const VISIBLE: [Self; 5] =
        [Self::User, Self::PosixAclAccess, Self::PosixAclDefault, Self::Trusted, Self::Security];

    /// The prefix with the number `raw`; 5, once meant for Lustre, has none.
    #[must_use]
    pub fn from_raw(raw: u8) -> Option<Self> {
        zerocopy::try_transmute!(raw).ok()
    }

    /// The prefix's number.
    #[must_use]
    pub const fn to_raw(self) -> u8 {
        self as u8
    }

    /// The prefix itself.
    #[must_use]
    pub const fn text(self) -> &'static [u8] {
        match self {
            Self::Hidden => b"",
            Self::User => b"user.",
            Self::PosixAclAccess => b"system.posix_acl_access",
            Self::PosixAclDefault => b"system.posix_acl_default",
            Self::Trusted => b"trusted.",
            Self::Security => b"security.",
        }
    }

    /// Whether the prefix is already the whole name.
    #[must_use]
    pub const fn is_whole_name(self) -> bool {
        matches!(self, Self::PosixAclAccess | Self::PosixAclDefault)
    }
}

/// An attribute's name: a short prefix, the rest of a long prefix if it has one, and what follows.
#[derive(Clone, Copy, Debug)]
pub struct XattrName<'a> {
    /// The short prefix.
    pub base: ShortPrefix,
    /// What a long prefix adds to the short one.
    pub infix: &'a [u8],
    /// What the entry itself holds.
    pub rest: &'a [u8],
}

impl<'a> XattrName<'a> {
    /// Splits a full name after its short prefix; `None` for names that Linux would not show.
    #[must_use]
    pub fn split(full: &'a [u8]) -> Option<Self> {
        ShortPrefix::VISIBLE.into_iter().find_map(|base| {
            let rest = full.strip_prefix(base.text())?;
            let whole = !base.is_whole_name() || rest.is_empty();
            whole.then_some(Self { base, infix: b"", rest })
        })
    }

    /// The full name; `None` if the name is hidden.
    #[must_use]
    pub fn to_full(&self) -> Option<Vec<u8>> {
        (self.base != ShortPrefix::Hidden)
            .then(|| [self.base.text(), self.infix, self.rest].concat())
    }

    /// The bit of the name filter that is cleared where this attribute exists.
    #[must_use]
    pub fn filter_bit(&self) -> u32 {
        let mut hash = Xxh32::new(FILTER_SEED + u32::from(self.base.to_raw()));
        hash.update(self.infix);
        hash.update(self.rest);
        1 << (hash.digest() & 31)
    }
}

impl PartialEq for XattrName<'_> {
    /// Long and short prefixes are two spellings of the same name.
    fn eq(&self, other: &Self) -> bool {
        let mine = self.infix.iter().chain(self.rest);
        self.base == other.base && mine.eq(other.infix.iter().chain(other.rest))
    }
}

impl Eq for XattrName<'_> {}
