//! Which compression algorithms does an image use?
//!
//! [`Algorithm`] numbers them; [`Configs`] holds the parameters that an image declares.

mod config;

use core::fmt;

pub use self::config::{ConfigError, Configs, DeflateConfig, Lz4Config, LzmaConfig, ZstdConfig};
use crate::kernel::{Capability, KernelVersion};

/// A compression algorithm, by its number in the format.
///
/// Like all types that mirror the format it may be matched exhaustively: a new one is a change that every reader must
/// see.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Algorithm {
    /// LZ4 blocks, made by LZ4 or LZ4HC.
    Lz4 = 0,
    /// `MicroLZMA`: LZMA1 without a header.
    Lzma = 1,
    /// Raw DEFLATE.
    Deflate = 2,
    /// Zstandard frames.
    Zstd = 3,
}

impl Algorithm {
    /// All algorithms, in the order of their numbers.
    pub const ALL: [Self; 4] = [Self::Lz4, Self::Lzma, Self::Deflate, Self::Zstd];

    /// The algorithm's number in the format.
    #[must_use]
    pub const fn id(self) -> u8 {
        self as u8
    }

    /// Its name in lower case.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Lz4 => "lz4",
            Self::Lzma => "lzma",
            Self::Deflate => "deflate",
            Self::Zstd => "zstd",
        }
    }

    /// Decoding it, as a capability of kernels.
    #[must_use]
    pub const fn capability(self) -> Capability {
        match self {
            Self::Lz4 => Capability::Lz4,
            Self::Lzma => Capability::Lzma,
            Self::Deflate => Capability::Deflate,
            Self::Zstd => Capability::Zstd,
        }
    }

    /// The first kernel that decodes it.
    #[must_use]
    pub const fn since(self) -> KernelVersion {
        self.capability().since()
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A number that no algorithm has.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("no compression algorithm has the number {raw}")]
#[non_exhaustive]
pub struct UnknownAlgorithm {
    /// The number as found.
    pub raw: u8,
}

impl TryFrom<u8> for Algorithm {
    type Error = UnknownAlgorithm;

    fn try_from(raw: u8) -> Result<Self, UnknownAlgorithm> {
        Self::ALL.into_iter().find(|a| a.id() == raw).ok_or(UnknownAlgorithm { raw })
    }
}

bitflags::bitflags! {
    /// A set of algorithms (`available_compr_algs`). Unknown bits are kept, to be named.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
    pub struct AlgorithmSet: u16 {
        /// [`Algorithm::Lz4`].
        const LZ4 = 1;
        /// [`Algorithm::Lzma`].
        const LZMA = 2;
        /// [`Algorithm::Deflate`].
        const DEFLATE = 4;
        /// [`Algorithm::Zstd`].
        const ZSTD = 8;
    }
}

impl AlgorithmSet {
    /// Whether `algorithm` is in the set.
    #[must_use]
    pub const fn has(self, algorithm: Algorithm) -> bool {
        self.bits() >> algorithm.id() & 1 == 1
    }

    /// The algorithms in the set, by number; unknown bits are passed over.
    pub fn iter_known(self) -> impl Iterator<Item = Algorithm> {
        Algorithm::ALL.into_iter().filter(move |a| self.has(*a))
    }

    /// The bits that no known algorithm has.
    #[must_use]
    pub const fn unknown(self) -> u16 {
        self.bits() & !Self::all().bits()
    }
}

impl From<Algorithm> for AlgorithmSet {
    fn from(algorithm: Algorithm) -> Self {
        Self::from_bits_retain(1 << algorithm.id())
    }
}

impl FromIterator<Algorithm> for AlgorithmSet {
    fn from_iter<I: IntoIterator<Item = Algorithm>>(algorithms: I) -> Self {
        algorithms.into_iter().map(Self::from).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn algorithms_have_numbers_and_bits() {
        for algorithm in Algorithm::ALL {
            assert_eq!(Algorithm::try_from(algorithm.id()), Ok(algorithm));
            assert!(AlgorithmSet::from(algorithm).iter_known().eq([algorithm]));
        }
        assert_eq!(Algorithm::try_from(4), Err(UnknownAlgorithm { raw: 4 }));
        let set = AlgorithmSet::from_bits_retain(0x8011);
        assert!(set.iter_known().eq([Algorithm::Lz4]));
        assert_eq!(set.unknown(), 0x8010);
    }
}
