//! Defines the encoders with their efforts, and parses them from text.

use std::fmt;
use std::str::FromStr;

use crate::Algorithm;
use crate::ffi::zstd::MAX_WINDOW_LOG;

/// An encoder and its effort, as `lz4`, `lz4hc,12`, `zstd,15` or `lzma,level=9,dictsize=8m` name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Compressor {
    /// LZ4 at its one, fast effort.
    Lz4,
    /// LZ4 with a thorough match search.
    Lz4Hc {
        /// Effort, 1 to 12; values outside are clamped by the encoder.
        level: u8,
    },
    /// LZMA.
    Lzma(LzmaEffort),
    /// DEFLATE.
    Deflate {
        /// Effort, 1 to 12; that of 10 to 12 is libdeflate's.
        level: u8,
    },
    /// Zstandard.
    Zstd {
        /// Effort, -7 to 22.
        level: i8,
        /// The farthest that matches reach back, a power of two from 1 KiB to 1 MiB; `None` for what suits the
        /// pcluster size.
        window: Option<u32>,
    },
}

/// What the LZMA encoder does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct LzmaEffort {
    /// Effort, 0 to 9.
    pub level: u8,
    /// Much more time for a little more.
    pub extreme: bool,
    /// The farthest that matches reach back, 4 KiB to 8 MiB; `None` for what suits the pcluster size.
    pub dictionary: Option<u32>,
    /// Which statistics are separate; `None` for what suits, of which extreme effort tries several.
    pub bits: Option<LzmaBits>,
}

/// By which bits LZMA separates its statistics. The algorithm has these three, so the fields are all there will be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LzmaBits {
    /// Bits of the byte before that choose a literal's statistics, 0 to 4.
    pub lc: u8,
    /// Bits of the position that do, 0 to 4 - `lc`.
    pub lp: u8,
    /// Bits of the position that choose a match's, 0 to 4.
    pub pb: u8,
}

impl LzmaBits {
    /// The nearest that the format has.
    pub(crate) fn clamped(self) -> Self {
        let lc = self.lc.min(4);
        Self { lc, lp: self.lp.min(4 - lc), pb: self.pb.min(4) }
    }
}

impl Default for LzmaBits {
    /// What suits most content.
    fn default() -> Self {
        Self { lc: 3, lp: 0, pb: 2 }
    }
}

impl LzmaEffort {
    /// Levels 100 to 109 are 0 to 9 with more time, as mkfs.erofs has it.
    const EXTREME: u8 = 100;

    /// A level, 0 to 9, with everything else as usual.
    #[must_use]
    pub const fn new(level: u8) -> Self {
        Self { level, extreme: false, dictionary: None, bits: None }
    }

    /// The same with much more time for a little less output.
    #[must_use]
    pub const fn extreme(self) -> Self {
        Self { extreme: true, ..self }
    }

    /// The same with matches that reach back at most so many bytes, 4 KiB to 8 MiB.
    #[must_use]
    pub const fn with_dictionary(self, bytes: u32) -> Self {
        Self { dictionary: Some(bytes), ..self }
    }
}

/// The smallest dictionary that is chosen for LZMA.
const MIN_LZMA_DICTIONARY: u32 = 32 << 10;
/// The largest LZMA dictionary that kernels allow, and that a reader must have memory for.
pub(crate) const MAX_LZMA_DICTIONARY: u32 = 8 << 20;
/// The window of DEFLATE.
const DEFLATE_WINDOW: u32 = 32 << 10;
/// The largest window that kernels allow Zstandard.
const MAX_ZSTD_WINDOW: u32 = 1 << MAX_WINDOW_LOG;

impl Compressor {
    /// The level that `lz4hc` means when none is given.
    pub const LZ4HC_DEFAULT_LEVEL: u8 = 9;
    /// The highest level of `lz4hc`.
    pub const LZ4HC_MAX_LEVEL: u8 = 12;

    /// The algorithm a reader needs for what this encoder writes.
    #[must_use]
    pub const fn algorithm(&self) -> Algorithm {
        match self {
            Self::Lz4 | Self::Lz4Hc { .. } => Algorithm::Lz4,
            Self::Lzma(_) => Algorithm::Lzma,
            Self::Deflate { .. } => Algorithm::Deflate,
            Self::Zstd { .. } => Algorithm::Zstd,
        }
    }

    /// How many bytes back matches reach at most in pclusters of up to `pcluster` bytes, which is what a reader must
    /// keep: LZMA's dictionary, the window of the others.
    #[must_use]
    pub fn window(&self, pcluster: u32) -> u32 {
        match *self {
            Self::Lz4 | Self::Lz4Hc { .. } => u16::MAX.into(),
            Self::Lzma(LzmaEffort { dictionary, .. }) => dictionary.unwrap_or_else(|| {
                pcluster.saturating_mul(4).clamp(MIN_LZMA_DICTIONARY, MAX_LZMA_DICTIONARY)
            }),
            Self::Deflate { .. } => DEFLATE_WINDOW,
            Self::Zstd { window, .. } => {
                let suits = pcluster.saturating_mul(8).clamp(1 << 10, MAX_ZSTD_WINDOW);
                window.unwrap_or(1 << suits.ilog2())
            }
        }
    }
}

/// Bytes of the position tables of LZMA's encoder, for each byte that matches reach back.
const LZMA_TREE: u64 = 8;
/// Bytes of each of the tables of last occurrences by which LZMA's middle levels search.
const LZMA_ROWS: u64 = 8 << 20;
/// The largest window that liblzma's encoder is used for where there is an own one, and what it takes for each byte of it.
const LIBRARY_WINDOW: u64 = 512 << 10;
const LIBRARY_LZMA: u64 = 12;

impl Compressor {
    /// About how many bytes of memory an encoder takes for pclusters of up to `pcluster` bytes, at most.
    #[must_use]
    pub fn encoder_memory(&self, pcluster: u32) -> u64 {
        let (window, pcluster) = (u64::from(self.window(pcluster)), u64::from(pcluster));
        match *self {
            Self::Lz4 => 256 << 10,
            Self::Lz4Hc { .. } => 1 << 20,
            // Tokens of what fits, twice, and the library's own tables.
            Self::Deflate { level } => 16 * pcluster + if level > 9 { 10 << 20 } else { 2 << 20 },
            Self::Zstd { level, .. } => {
                let tables = if level < 10 { 4 } else { 14 };
                tables * window + (1 << 20)
            }
            Self::Lzma(LzmaEffort { level, extreme, .. }) => {
                let trial = if extreme { LIBRARY_LZMA << 20 } else { 0 };
                let least = LIBRARY_LZMA * window.min(LIBRARY_WINDOW) + (1 << 20);
                let own = match level {
                    _ if window <= LIBRARY_WINDOW => 0,
                    _ if extreme => LZMA_TREE * window.next_power_of_two() + (4 << 20),
                    ..=3 => LIBRARY_LZMA * window,
                    4 => 2 * LZMA_ROWS.min(4 * window),
                    5 | 6 => 3 * LZMA_ROWS.min(4 * window),
                    7.. => LZMA_TREE * window.next_power_of_two() + (4 << 20),
                };
                trial + least + own
            }
        }
    }
}

impl fmt::Display for Compressor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Lz4 => f.write_str("lz4"),
            Self::Lz4Hc { level } => write!(f, "lz4hc,{level}"),
            Self::Deflate { level } => write!(f, "deflate,{level}"),
            Self::Zstd { level, window } => {
                write!(f, "zstd,{level}")?;
                window.map_or(Ok(()), |window| write!(f, ",dictsize={window}"))
            }
            Self::Lzma(LzmaEffort { level, extreme, dictionary, bits }) => {
                write!(f, "lzma,{}", if extreme { level + LzmaEffort::EXTREME } else { level })?;
                dictionary.map_or(Ok(()), |bytes| write!(f, ",dictsize={bytes}"))?;
                bits.map_or(Ok(()), |LzmaBits { lc, lp, pb }| write!(f, ",lc={lc},lp={lp},pb={pb}"))
            }
        }
    }
}

/// Why text does not name a [`Compressor`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseCompressorError {
    /// The format or this program has no encoder of that name.
    #[error(
        "unknown compressor {name:?}; known are lz4, lz4hc, lzma (xz), deflate (gzip, libdeflate) and zstd"
    )]
    UnknownName {
        /// The text found.
        name: String,
    },
    /// The encoder has no such option.
    #[error("compressor {name} has no option {option:?}")]
    UnknownOption {
        /// The encoder.
        name: &'static str,
        /// The option found.
        option: String,
    },
    /// The level, or another number, is none or outside the range.
    #[error("{option} {found:?} of {name} is not {expected}")]
    Value {
        /// The encoder.
        name: &'static str,
        /// The option.
        option: &'static str,
        /// The text found.
        found: String,
        /// What would be right.
        expected: &'static str,
    },
}

/// A number of an option: its name and what it may be.
struct Number {
    name: &'static str,
    option: &'static str,
    expected: &'static str,
}

impl Number {
    fn parse<T: FromStr>(
        &self,
        value: &str,
        is_allowed: impl Fn(&T) -> bool,
    ) -> Result<T, ParseCompressorError> {
        self.accept(value.parse().ok().filter(is_allowed), value)
    }

    /// Bytes with an optional suffix `k` or `m`.
    fn parse_size(
        &self,
        value: &str,
        is_allowed: impl Fn(&u32) -> bool,
    ) -> Result<u32, ParseCompressorError> {
        let shift = match value.as_bytes().last() {
            Some(b'k' | b'K') => 10,
            Some(b'm' | b'M') => 20,
            _ => 0,
        };
        let digits = if shift > 0 { value.get(..value.len() - 1) } else { Some(value) };
        let number: Option<u32> = digits.and_then(|digits| digits.parse().ok());
        let bytes = number.and_then(|number| number.checked_mul(1 << shift));
        self.accept(bytes.filter(is_allowed), value)
    }

    fn accept<T>(&self, parsed: Option<T>, value: &str) -> Result<T, ParseCompressorError> {
        let Self { name, option, expected } = *self;
        let found = value.to_owned();
        parsed.ok_or(ParseCompressorError::Value { name, option, found, expected })
    }
}

impl FromStr for Compressor {
    type Err = ParseCompressorError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (name, options) = match text.split_once(',') {
            Some((name, options)) => (name, Some(options)),
            None => (text, None),
        };
        let mut compressor = match name {
            "lz4" => Self::Lz4,
            "lz4hc" => Self::Lz4Hc { level: Self::LZ4HC_DEFAULT_LEVEL },
            "lzma" | "xz" => Self::Lzma(LzmaEffort::new(6)),
            "deflate" | "libdeflate" | "gzip" => Self::Deflate { level: 9 },
            "zstd" => Self::Zstd { level: 3, window: None },
            _ => return Err(ParseCompressorError::UnknownName { name: name.to_owned() }),
        };
        for option in options.into_iter().flat_map(|options| options.split(',')) {
            let (key, value) = option.split_once('=').unwrap_or(("level", option));
            compressor.set(key, value, option)?;
        }
        match compressor {
            Self::Lzma(LzmaEffort { bits: Some(LzmaBits { lc, lp, .. }), .. }) if lc + lp > 4 => {
                Err(ParseCompressorError::Value {
                    name: "lzma",
                    option: "lc + lp",
                    found: (lc + lp).to_string(),
                    expected: "at most 4",
                })
            }
            _ => Ok(compressor),
        }
    }
}

impl Compressor {
    const fn name(&self) -> &'static str {
        match self {
            Self::Lz4 => "lz4",
            Self::Lz4Hc { .. } => "lz4hc",
            Self::Lzma(_) => "lzma",
            Self::Deflate { .. } => "deflate",
            Self::Zstd { .. } => "zstd",
        }
    }

    /// Sets what `key` names to `value`; `option` is both as they were given.
    fn set(&mut self, key: &str, value: &str, option: &str) -> Result<(), ParseCompressorError> {
        let name = self.name();
        let number = |option, expected| Number { name, option, expected };
        match (self, key) {
            (Self::Lz4Hc { level }, "level") => {
                let max = Self::LZ4HC_MAX_LEVEL;
                *level = number("level", "a number from 1 to 12")
                    .parse(value, |level| (1..=max).contains(level))?;
            }
            (Self::Deflate { level }, "level") => {
                *level = number("level", "a number from 1 to 12")
                    .parse(value, |level| (1..=12).contains(level))?;
            }
            (Self::Zstd { level, .. }, "level") => {
                *level = number("level", "a number from -7 to 22")
                    .parse(value, |level| (-7..=22).contains(level))?;
            }
            (Self::Zstd { window, .. }, "dictsize") => {
                let is_allowed = |bytes: &u32| {
                    bytes.is_power_of_two() && (1 << 10..=MAX_ZSTD_WINDOW).contains(bytes)
                };
                let size = number("dictsize", "a power of two from 1K to 1M");
                *window = Some(size.parse_size(value, is_allowed)?);
            }
            (Self::Lzma(effort), _) => return effort.set(key, value, option),
            _ => {
                return Err(ParseCompressorError::UnknownOption {
                    name,
                    option: option.to_owned(),
                });
            }
        }
        Ok(())
    }
}

impl LzmaEffort {
    fn set(&mut self, key: &str, value: &str, option: &str) -> Result<(), ParseCompressorError> {
        let number = |option, expected| Number { name: "lzma", option, expected };
        let bits = |option| number(option, "a number from 0 to 4").parse(value, |bits| *bits <= 4);
        match key {
            "level" => {
                let level: u8 = number("level", "a number from 0 to 9, or from 100 to 109")
                    .parse(value, |level| *level % Self::EXTREME <= 9 && *level <= 109)?;
                (self.level, self.extreme) = (level % Self::EXTREME, level >= Self::EXTREME);
            }
            "dictsize" => {
                let size = number("dictsize", "a size from 4K to 8M");
                let range = 4 << 10..=MAX_LZMA_DICTIONARY;
                self.dictionary = Some(size.parse_size(value, |bytes| range.contains(bytes))?);
            }
            "lc" => self.bits.get_or_insert_default().lc = bits("lc")?,
            "lp" => self.bits.get_or_insert_default().lp = bits("lp")?,
            "pb" => self.bits.get_or_insert_default().pb = bits("pb")?,
            _ => {
                let option = option.to_owned();
                return Err(ParseCompressorError::UnknownOption { name: "lzma", option });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_display_agree() {
        let lzma = LzmaEffort::new(9);
        for (text, expected) in [
            ("lz4", Compressor::Lz4),
            ("lz4hc", Compressor::Lz4Hc { level: 9 }),
            ("lz4hc,12", Compressor::Lz4Hc { level: 12 }),
            ("lz4hc,level=1", Compressor::Lz4Hc { level: 1 }),
            ("lzma", Compressor::Lzma(LzmaEffort::new(6))),
            ("lzma,109", Compressor::Lzma(LzmaEffort { extreme: true, ..lzma })),
            (
                "lzma,level=9,dictsize=8m,lc=0,pb=0",
                Compressor::Lzma(LzmaEffort {
                    dictionary: Some(8 << 20),
                    bits: Some(LzmaBits { lc: 0, lp: 0, pb: 0 }),
                    ..lzma
                }),
            ),
            (
                "lzma,lc=3",
                Compressor::Lzma(LzmaEffort {
                    bits: Some(LzmaBits::default()),
                    ..LzmaEffort::new(6)
                }),
            ),
            ("libdeflate,12", Compressor::Deflate { level: 12 }),
            ("deflate", Compressor::Deflate { level: 9 }),
            ("gzip", Compressor::Deflate { level: 9 }),
            ("xz,9", Compressor::Lzma(lzma)),
            ("zstd,-7", Compressor::Zstd { level: -7, window: None }),
            ("zstd,22,dictsize=64K", Compressor::Zstd { level: 22, window: Some(65536) }),
        ] {
            let parsed: Compressor = text.parse().unwrap();
            assert_eq!(parsed, expected, "{text}");
            assert_eq!(parsed.to_string().parse(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn wrong_words_are_refused_by_name() {
        for (text, expected) in [
            ("", "unknown compressor \"\""),
            ("lz5", "unknown compressor \"lz5\""),
            ("lz4,9", "lz4 has no option \"9\""),
            ("lz4hc,dict=9", "lz4hc has no option \"dict=9\""),
            ("lz4hc,", "level \"\" of lz4hc"),
            ("lz4hc,0", "level \"0\" of lz4hc is not a number from 1 to 12"),
            ("lz4hc,level=-1", "level \"-1\" of lz4hc"),
            ("lzma,10", "level \"10\" of lzma"),
            ("lzma,110", "level \"110\" of lzma"),
            ("lzma,lc=3,lp=2", "lc + lp \"5\" of lzma is not at most 4"),
            ("lzma,dictsize=9m", "dictsize \"9m\" of lzma"),
            ("zstd,23", "level \"23\" of zstd"),
            ("zstd,dictsize=3k", "dictsize \"3k\" of zstd"),
            ("deflate,13", "level \"13\" of deflate"),
        ] {
            let refused = text.parse::<Compressor>().unwrap_err().to_string();
            assert!(refused.contains(expected), "{text}: {refused}");
        }
    }

    #[test]
    fn windows_suit_the_pclusters() {
        let zstd = Compressor::Zstd { level: 3, window: None };
        assert_eq!(
            [4 << 10, 64 << 10, 1 << 20].map(|size| zstd.window(size)),
            [32 << 10, 512 << 10, 1 << 20]
        );
        let lzma = Compressor::Lzma(LzmaEffort::new(6));
        assert_eq!(
            [4 << 10, 64 << 10, 1 << 20].map(|size| lzma.window(size)),
            [32 << 10, 256 << 10, 4 << 20]
        );
    }
}
