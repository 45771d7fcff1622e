//! Which encoder makes the pclusters, and with what effort?

use std::fmt;
use std::str::FromStr;

use crate::Algorithm;

/// An encoder and its level, as `lz4`, `lz4hc` or `lz4hc,12` name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Compressor {
    /// LZ4 at its one, fast effort.
    Lz4,
    /// LZ4 with a thorough match search.
    Lz4Hc {
        /// Effort, 1 to 12; values outside are clamped by the encoder.
        level: u8,
    },
}

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
        }
    }
}

impl fmt::Display for Compressor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lz4 => f.write_str("lz4"),
            Self::Lz4Hc { level } => write!(f, "lz4hc,{level}"),
        }
    }
}

/// Why words do not name a [`Compressor`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseCompressorError {
    /// The format or this program has no encoder of that name.
    #[error("unknown compressor {name:?}; known are lz4 and lz4hc")]
    UnknownName {
        /// The word found.
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
    /// The level is no number or outside the range.
    #[error("level {found:?} of {name} is not a number from 1 to {max}")]
    Level {
        /// The encoder.
        name: &'static str,
        /// The word found.
        found: String,
        /// The highest level.
        max: u8,
    },
}

impl FromStr for Compressor {
    type Err = ParseCompressorError;

    fn from_str(words: &str) -> Result<Self, Self::Err> {
        let (name, option) = match words.split_once(',') {
            Some((name, option)) => (name, Some(option)),
            None => (words, None),
        };
        match (name, option) {
            ("lz4", None) => Ok(Self::Lz4),
            ("lz4", Some(option)) => Err(unknown_option("lz4", option)),
            ("lz4hc", None) => Ok(Self::Lz4Hc { level: Self::LZ4HC_DEFAULT_LEVEL }),
            ("lz4hc", Some(option)) => Ok(Self::Lz4Hc { level: parse_level(option)? }),
            _ => Err(ParseCompressorError::UnknownName { name: name.to_owned() }),
        }
    }
}

/// Reads `12` or `level=12`.
fn parse_level(option: &str) -> Result<u8, ParseCompressorError> {
    let word = match option.split_once('=') {
        None => option,
        Some(("level", word)) => word,
        Some(_) => return Err(unknown_option("lz4hc", option)),
    };
    let max = Compressor::LZ4HC_MAX_LEVEL;
    word.parse()
        .ok()
        .filter(|level| (1..=max).contains(level))
        .ok_or_else(|| ParseCompressorError::Level { name: "lz4hc", found: word.to_owned(), max })
}

fn unknown_option(name: &'static str, option: &str) -> ParseCompressorError {
    ParseCompressorError::UnknownOption { name, option: option.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_display_agree() {
        for (words, expected) in [
            ("lz4", Compressor::Lz4),
            ("lz4hc", Compressor::Lz4Hc { level: 9 }),
            ("lz4hc,12", Compressor::Lz4Hc { level: 12 }),
            ("lz4hc,level=1", Compressor::Lz4Hc { level: 1 }),
        ] {
            let parsed: Compressor = words.parse().unwrap();
            assert_eq!(parsed, expected, "{words}");
            assert_eq!(parsed.to_string().parse(), Ok(expected), "{words}");
        }
    }

    #[test]
    fn wrong_words_are_refused_by_name() {
        let level = |found: &str| ParseCompressorError::Level {
            name: "lz4hc",
            found: found.to_owned(),
            max: 12,
        };
        for (words, expected) in [
            ("", ParseCompressorError::UnknownName { name: String::new() }),
            ("lz5", ParseCompressorError::UnknownName { name: "lz5".to_owned() }),
            ("lz4,9", unknown_option("lz4", "9")),
            ("lz4hc,dict=9", unknown_option("lz4hc", "dict=9")),
            ("lz4hc,", level("")),
            ("lz4hc,0", level("0")),
            ("lz4hc,13", level("13")),
            ("lz4hc,level=-1", level("-1")),
        ] {
            assert_eq!(words.parse::<Compressor>(), Err(expected), "{words}");
        }
    }
}
