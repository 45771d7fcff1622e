//! Parses the argument of `--rule`: which files have another compression.

use std::str::FromStr;

use lith::{
    builder::{Compression, Files, Heat, Rule},
    codec::{Compressor, ParseCompressorError},
    source::Excludes,
};

use super::value::{Compress, Size};

/// `GLOB=ALGORITHM[,LEVEL][|ALGORITHM[,LEVEL]][,pcluster=SIZE]`.
#[derive(Clone, Debug)]
pub(crate) struct RuleArgument {
    glob: String,
    files: Excludes,
    compress: Compress,
    second: Option<Compressor>,
    pcluster: Option<Size>,
}

impl FromStr for RuleArgument {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = "GLOB=ALGORITHM[,LEVEL][,pcluster=SIZE] is expected";
        let (glob, how) =
            text.split_once('=').filter(|(glob, _)| !glob.is_empty()).ok_or(expected)?;
        let files = Excludes::new([glob]).map_err(|error| super::one_line(&error))?;
        let (first, second) = how.split_once('|').unzip();
        let mut pcluster = None;
        let first = take_pcluster(first.unwrap_or(how), &mut pcluster)?;
        let compress: Compress = first.parse()?;
        let second = second.map(|text| take_pcluster(text, &mut pcluster)).transpose()?;
        let second = second.map(|text| text.parse()).transpose();
        let second = second.map_err(|error: ParseCompressorError| error.to_string())?;
        if compress.0.is_none() && pcluster.is_some() {
            return Err("pcluster has no meaning without compression".into());
        }
        Ok(Self { glob: glob.to_owned(), files, compress, second, pcluster })
    }
}

/// `ALGORITHM[,LEVEL][,pcluster=SIZE]`, for files that are chosen by how they are read.
#[derive(Clone, Debug)]
pub(crate) struct HeatArgument(RuleArgument);

impl FromStr for HeatArgument {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        format!("*={text}").parse().map(Self)
    }
}

impl HeatArgument {
    /// The rule for these files, as [`RuleArgument::into_rule`] makes it.
    pub(crate) fn into_rule(self, files: Files, default: Compression) -> Rule {
        Rule { files, ..self.0.into_rule(default) }
    }

    /// How ranges are compressed that are chosen in this way, with the pcluster size and the saving of `default` unless given;
    /// `None` if two compressors are given, which only whole files can have.
    pub(crate) fn as_heat(&self, default: Compression) -> Option<Heat> {
        let RuleArgument { compress, second, pcluster, .. } = &self.0;
        let pcluster = pcluster.map(Size::as_u32).or(default.pcluster);
        let heat = compress.0.map_or(Heat::Raw, |compressor| {
            Heat::Compressed(Compression { compressor, pcluster, ..default })
        });
        second.is_none().then_some(heat)
    }

    /// The compressors and the pcluster size, if one is given.
    pub(crate) fn into_parts(self) -> (Vec<Compressor>, Option<Size>) {
        let RuleArgument { compress, second, pcluster, .. } = self.0;
        (compress.0.into_iter().chain(second).collect(), pcluster)
    }
}

/// Removes the pcluster size, of which there may be one, from comma-separated options.
fn take_pcluster(text: &str, pcluster: &mut Option<Size>) -> Result<String, String> {
    let mut others = Vec::new();
    for option in text.split(',') {
        let Some(size) = option.strip_prefix("pcluster=") else {
            others.push(option);
            continue;
        };
        let size = size.parse().map_err(|error| format!("pcluster: {error}"))?;
        if pcluster.replace(size).is_some() {
            return Err("more than one pcluster size".into());
        }
    }
    Ok(others.join(","))
}

impl RuleArgument {
    /// The rule, with the pcluster size and the saving of `default` unless given.
    pub(crate) fn into_rule(self, default: Compression) -> Rule {
        let Self { glob, files, compress, second, pcluster } = self;
        let pcluster = pcluster.map(Size::as_u32).or(default.pcluster);
        let compression =
            compress.0.map(|compressor| Compression { compressor, pcluster, ..default });
        let files = Files::new(move |path| files.covers(path)).named(&glob);
        Rule { files, compression, second }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(text: &str) -> Result<Rule, String> {
        let default =
            Compression { compressor: Compressor::Lz4, pcluster: Some(8192), min_saving: 7 };
        text.parse().map(|rule: RuleArgument| rule.into_rule(default))
    }

    #[test]
    fn rules_name_files_and_their_compression() {
        let zstd = Compressor::Zstd { level: 9, window: Some(65536) };
        for (text, path, expected) in [
            ("*.so=lz4", "usr/a.so", Some((Compressor::Lz4, 8192))),
            ("*.so=zstd,9,pcluster=64K,dictsize=64k", "usr/a.so", Some((zstd, 65536))),
            ("/usr/lib=none", "usr/lib/a/b", None),
        ] {
            let rule = rule(text).unwrap();
            assert!(
                rule.files.includes(path.as_bytes()) && !rule.files.includes(b"usr/b.o"),
                "{text}"
            );
            let compression = rule.compression.map(|c| (c.compressor, c.pcluster.unwrap()));
            assert_eq!(compression, expected, "{text}");
            assert!(rule.compression.is_none_or(|c| c.min_saving == 7), "{text}");
        }
    }

    #[test]
    fn a_second_algorithm_follows_a_bar() {
        for text in ["*=lz4hc,12|zstd,9,pcluster=16K", "*=lz4hc,12,pcluster=16K|zstd,9"] {
            let rule = rule(text).unwrap();
            let compression = rule.compression.unwrap();
            assert_eq!(compression.compressor, Compressor::Lz4Hc { level: 12 }, "{text}");
            assert_eq!(compression.pcluster, Some(16384), "{text}");
            assert_eq!(rule.second, Some(Compressor::Zstd { level: 9, window: None }), "{text}");
        }
    }

    #[test]
    fn invalid_rules_are_refused() {
        for (text, found) in [
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
            let error = rule(text).unwrap_err();
            assert!(error.contains(found), "{text}: {error}");
        }
    }
}
