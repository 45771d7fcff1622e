//! Parses how a stream is compressed.

use std::{path::Path, str::FromStr};

/// An algorithm for streams.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Algorithm {
    Gzip,
    Xz,
    Zstd,
    Bzip2,
}

/// How a stream is compressed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Compression {
    pub(crate) algorithm: Algorithm,
    pub(crate) level: u8,
}

/// The value of `--compress`: `none`, or an algorithm with a level.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct StreamCompression(pub(crate) Option<Compression>);

const EXPECTED: &str = "expected none, gzip (levels 1 to 9), xz (0 to 9), zstd (1 to 22) or bzip2 (1 to 9), with a level \
                        as in `zstd,19` or without";

/// Suffixes of compressed files, and who compresses them.
const SUFFIXES: [(&[&str], Algorithm); 4] = [
    (&["gz", "tgz"], Algorithm::Gzip),
    (&["xz", "txz"], Algorithm::Xz),
    (&["zst", "zstd", "tzst"], Algorithm::Zstd),
    (&["bz2", "tbz", "tbz2"], Algorithm::Bzip2),
];

/// Suffixes of files that this program doesn't write.
const FOREIGN: [&str; 12] =
    ["lz4", "lz", "tlz", "lzma", "lzo", "br", "Z", "taZ", "7z", "zip", "rar", "cpio"];

impl Algorithm {
    /// The levels, of which the second is the default.
    const fn levels(self) -> [u8; 3] {
        match self {
            Self::Gzip => [1, 6, 9],
            Self::Xz => [0, 6, 9],
            Self::Zstd => [1, 3, 22],
            Self::Bzip2 => [1, 9, 9],
        }
    }
}

impl From<Algorithm> for Compression {
    fn from(algorithm: Algorithm) -> Self {
        let [_, level, _] = algorithm.levels();
        Self { algorithm, level }
    }
}

impl Compression {
    /// The compression that the suffix of a file demands; `None`: none.
    pub(crate) fn of_suffix(path: &Path) -> Result<Option<Self>, String> {
        let Some(suffix) = path.extension().and_then(|suffix| suffix.to_str()) else {
            return Ok(None);
        };
        if FOREIGN.contains(&suffix) {
            return Err(format!(
                "{}: no tar is written as .{suffix}; .tar, .gz, .xz, .zst and .bz2 are possible, and --compress with \
                 any name",
                path.display()
            ));
        }
        let found = SUFFIXES.iter().find(|(suffixes, _)| suffixes.contains(&suffix));
        Ok(found.map(|(_, algorithm)| Self::from(*algorithm)))
    }
}

impl FromStr for StreamCompression {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        let (name, level) =
            text.split_once(',').map_or((text, None), |(name, level)| (name, Some(level)));
        let algorithm = match name {
            "none" if level.is_none() => return Ok(Self(None)),
            "gzip" => Algorithm::Gzip,
            "xz" => Algorithm::Xz,
            "zstd" => Algorithm::Zstd,
            "bzip2" => Algorithm::Bzip2,
            _ => return Err(EXPECTED),
        };
        let Some(level) = level else { return Ok(Self(Some(algorithm.into()))) };
        let [least, _, most] = algorithm.levels();
        let level = level.parse().ok().filter(|level| (least..=most).contains(level));
        level.map(|level| Self(Some(Compression { algorithm, level }))).ok_or(EXPECTED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suffix_names_the_compression() {
        let of = |path: &str| Compression::of_suffix(Path::new(path));
        let name = |path: &str| of(path).unwrap().map(|compression| compression.algorithm);
        assert_eq!([name("a.tar"), name("a"), name("a.d/b")], [None; 3]);
        assert_eq!(name("/x/a.tar.zst"), Some(Algorithm::Zstd));
        assert_eq!(name("a.tgz"), Some(Algorithm::Gzip));
        let error = of("a.tar.lz4").unwrap_err();
        assert!(error.starts_with("a.tar.lz4: no tar is written as .lz4"), "{error}");
    }

    #[test]
    fn levels_have_a_range() {
        let parse = |text: &str| text.parse::<StreamCompression>();
        let zstd = Compression { algorithm: Algorithm::Zstd, level: 19 };
        assert_eq!(parse("zstd,19"), Ok(StreamCompression(Some(zstd))));
        assert_eq!(parse("none"), Ok(StreamCompression(None)));
        assert_eq!(parse("gzip").unwrap().0.unwrap().level, 6);
        for text in ["", "lz4", "zstd,", "zstd,0", "xz,10", "gzip,-1", "none,1"] {
            assert_eq!(parse(text), Err(EXPECTED), "{text}");
        }
    }
}
