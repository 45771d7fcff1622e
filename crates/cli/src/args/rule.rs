//! Which files does a rule compress in another way?

use std::str::FromStr;

use lith::{
    builder::{Compression, Files, Rule},
    codec::{Compressor, ParseCompressorError},
    source::Excludes,
};

use super::value::{Compress, Size};

/// `GLOB=ALGORITHM[,LEVEL][|ALGORITHM[,LEVEL]][,pcluster=SIZE]`.
#[derive(Clone, Debug)]
pub(crate) struct RuleWord {
    files: Excludes,
    compress: Compress,
    second: Option<Compressor>,
    pcluster: Option<Size>,
}

impl FromStr for RuleWord {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let expected = "GLOB=ALGORITHM[,LEVEL][,pcluster=SIZE] is expected";
        let (glob, how) =
            word.split_once('=').filter(|(glob, _)| !glob.is_empty()).ok_or(expected)?;
        let files = Excludes::new([glob]).map_err(|error| super::one_line(&error))?;
        let (first, second) = how.split_once('|').unzip();
        let mut pcluster = None;
        let first = take_pcluster(first.unwrap_or(how), &mut pcluster)?;
        let compress: Compress = first.parse().map_err(|error| format!("{error}"))?;
        let second = second.map(|words| take_pcluster(words, &mut pcluster)).transpose()?;
        let second = second.map(|words| words.parse()).transpose();
        let second = second.map_err(|error: ParseCompressorError| error.to_string())?;
        if compress.0.is_none() && pcluster.is_some() {
            return Err("pcluster has no meaning without compression".into());
        }
        Ok(Self { files, compress, second, pcluster })
    }
}

/// The words without those that give a pcluster size, of which there may be one.
fn take_pcluster(words: &str, pcluster: &mut Option<Size>) -> Result<String, String> {
    let mut others = Vec::new();
    for word in words.split(',') {
        let Some(size) = word.strip_prefix("pcluster=") else {
            others.push(word);
            continue;
        };
        let size = size.parse().map_err(|error| format!("pcluster: {error}"))?;
        if pcluster.replace(size).is_some() {
            return Err("more than one pcluster size".into());
        }
    }
    Ok(others.join(","))
}

impl RuleWord {
    /// The rule. What it leaves open is as in `default`.
    pub(crate) fn into_rule(self, default: Compression) -> Rule {
        let Self { files, compress, second, pcluster } = self;
        let pcluster = pcluster.map(Size::as_u32).or(default.pcluster);
        let compression =
            compress.0.map(|compressor| Compression { compressor, pcluster, ..default });
        Rule { files: Files::new(move |path| files.covers(path)), compression, second }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(word: &str) -> Result<Rule, String> {
        let default =
            Compression { compressor: Compressor::Lz4, pcluster: Some(8192), min_saving: 7 };
        word.parse().map(|word: RuleWord| word.into_rule(default))
    }

    #[test]
    fn rules_name_files_and_their_compression() {
        let zstd = Compressor::Zstd { level: 9, window: Some(65536) };
        for (word, path, expected) in [
            ("*.so=lz4", "usr/a.so", Some((Compressor::Lz4, 8192))),
            ("*.so=zstd,9,pcluster=64K,dictsize=64k", "usr/a.so", Some((zstd, 65536))),
            ("/usr/lib=none", "usr/lib/a/b", None),
        ] {
            let rule = rule(word).unwrap();
            assert!(
                rule.files.includes(path.as_bytes()) && !rule.files.includes(b"usr/b.o"),
                "{word}"
            );
            let compression = rule.compression.map(|c| (c.compressor, c.pcluster.unwrap()));
            assert_eq!(compression, expected, "{word}");
            assert!(rule.compression.is_none_or(|c| c.min_saving == 7), "{word}");
        }
    }

    #[test]
    fn a_second_algorithm_follows_a_bar() {
        for word in ["*=lz4hc,12|zstd,9,pcluster=16K", "*=lz4hc,12,pcluster=16K|zstd,9"] {
            let rule = rule(word).unwrap();
            let compression = rule.compression.unwrap();
            assert_eq!(compression.compressor, Compressor::Lz4Hc { level: 12 }, "{word}");
            assert_eq!(compression.pcluster, Some(16384), "{word}");
            assert_eq!(rule.second, Some(Compressor::Zstd { level: 9, window: None }), "{word}");
        }
    }

    #[test]
    fn what_is_no_rule_is_told() {
        for (word, telling) in [
            ("*.so", "GLOB=ALGORITHM"),
            ("=lz4", "GLOB=ALGORITHM"),
            ("*.so=lzo", "lzo"),
            ("*.so=zstd,99", "99"),
            ("a[b=lz4", "a[b"),
            ("*.so=none,pcluster=4K", "pcluster"),
            ("*.so=lz4,pcluster=4X", "pcluster: expected"),
            ("*.so=lz4,pcluster=4K,pcluster=8K", "more than one"),
            ("*.so=lz4,pcluster=4K|zstd,pcluster=8K", "more than one"),
            ("*.so=lz4|none", "none"),
            ("*.so=lz4|zstd|lzma", "zstd|lzma"),
        ] {
            let error = rule(word).unwrap_err();
            assert!(error.contains(telling), "{word}: {error}");
        }
    }
}
