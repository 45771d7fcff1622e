//! Maps the arguments of mkfs.erofs to the compression of files and inodes; parses the encoders of
//! its `-z`.

use lith::{
    builder::{Compression, Rule},
    codec::Compressor,
    format::addr::BlockBits,
};

use super::arguments::{Arguments, DataArguments};
use crate::args::{c_number, hints};

/// The part of a file that compression must save, in percent.
const MIN_SAVING: u8 = 2;

/// The compressors of `-z` and the pcluster size of `-C`.
#[derive(Debug)]
pub(super) struct Compressions {
    compressors: Vec<Compressor>,
    pcluster: u32,
}

impl Compressions {
    pub(super) fn new(arguments: &Arguments) -> Result<Self, String> {
        let DataArguments { compressors, pcluster, .. } = &arguments.data;
        let pcluster = pcluster.unwrap_or(arguments.layout.block);
        let pcluster = u32::try_from(pcluster).map_err(|_large| "-C is too large".to_owned())?;
        Ok(Self { compressors: all(compressors)?, pcluster })
    }

    fn by(&self, compressor: Compressor) -> Compression {
        Compression { compressor, pcluster: Some(self.pcluster), min_saving: MIN_SAVING }
    }

    /// The compression of files that no hint matches.
    pub(super) fn first(&self) -> Option<Compression> {
        self.compressors.first().map(|first| self.by(*first))
    }

    pub(super) fn rules(
        &self,
        arguments: &Arguments,
        block: BlockBits,
    ) -> Result<Vec<Rule>, String> {
        let Some(path) = &arguments.data.compress_hints else { return Ok(Vec::new()) };
        // Without a compressor no line can name one.
        let Some(default) = self.first() else { return Ok(Vec::new()) };
        hints::read(path, &hints::Context { compressors: &self.compressors, default, block })
    }

    /// The compression of inodes, `BYTES[:X]`: X is a compressor, or the number of one of `-z`. Without any compressor
    /// inodes are uncompressed in the metabox.
    pub(super) fn metabox(&self, arguments: &Arguments) -> Result<Option<Compression>, String> {
        let Some(argument) = &arguments.data.metadata else { return Ok(None) };
        let (size, by) = argument.split_once(':').unzip();
        let bytes = c_number::bytes(size.unwrap_or(argument));
        let bytes = bytes.map_err(|problem| format!("-m {argument}: {problem}"))?;
        let pcluster =
            u32::try_from(bytes).map_err(|_large| format!("-m {argument}: too large"))?;
        let compression = match (by.map(|by| (by, by.parse::<usize>())), self.first()) {
            (None, Some(first)) => first,
            // No compression saves that much, so all pclusters are stored uncompressed.
            (None, None) => Compression { min_saving: 100, ..self.by(Compressor::Lz4) },
            (Some((_, Ok(number))), _) => {
                let named = self.compressors.get(number).copied();
                self.by(named.ok_or_else(|| {
                    format!("-m {argument}: -z names no compressor number {number}, counted from 0")
                })?)
            }
            (Some((by, Err(_name))), _) => self.by(one(by)?),
        };
        Ok(Some(Compression { pcluster: Some(pcluster), ..compression }))
    }
}

/// The encoders of all `-z` in order; one `-z` lists several separated by colons.
fn all(texts: &[String]) -> Result<Vec<Compressor>, String> {
    let each = texts.iter().flat_map(|text| text.split(':')).filter(|text| !text.is_empty());
    each.map(one).collect()
}

/// An encoder: its name and comma-separated options, of which the first may be a bare level.
fn one(text: &str) -> Result<Compressor, String> {
    let (name, options) = text.split_once(',').unwrap_or((text, ""));
    let options = options.split(',').filter(|option| !option.is_empty()).enumerate();
    let options = options.map(|(number, option)| match option.split_once('=') {
        None if number == 0 => Ok(("level", option)),
        None => Err(format!("{name}: {option:?} is no option of a compressor")),
        Some(pair) => Ok(pair),
    });
    let options = options.collect::<Result<Vec<_>, String>>()?;
    let mut known = own_name(name).to_owned();
    if !options.iter().any(|(key, _)| *key == "level") {
        known += default_level(name);
    }
    for (key, value) in options {
        if let Some(option) = own_option(name, key, value)? {
            known = format!("{known},{option}");
        }
    }
    known.parse().map_err(|problem| format!("-z {text}: {problem}"))
}

fn own_name(name: &str) -> &str {
    if name == "libdeflate" { "deflate" } else { name }
}

/// The level that erofs-utils takes if none is given, where ours is another.
fn default_level(name: &str) -> &'static str {
    if own_name(name) == "deflate" { ",1" } else { "" }
}

/// An option by its name in this library. `None`: it is the default.
fn own_option(name: &str, key: &str, value: &str) -> Result<Option<String>, String> {
    let invalid = || format!("-z {name}: invalid {key} {value:?}");
    match (name, key) {
        (_, "level") => {
            let level = value.parse().map_err(|_no_number| invalid())?;
            let level = own_level(name, level).ok_or_else(invalid)?;
            Ok((name != "lz4").then(|| format!("level={level}")))
        }
        ("deflate", "dictsize") => match c_number::bytes(value) {
            Ok(32_768) => Ok(None),
            _ => Err(format!("-z deflate: dictsize is 32768 always, so it can't be {value:?}")),
        },
        ("lzma" | "zstd", "dictsize") => {
            let bytes = c_number::bytes(value).map_err(|_no_number| invalid())?;
            // 0 means a size that follows from the pclusters, the default here.
            Ok((bytes > 0).then(|| format!("dictsize={bytes}")))
        }
        _ => Ok(Some(format!("{key}={value}"))),
    }
}

/// This library's level for a level of erofs-utils, if that is valid. Level 0 is the default for LZ4HC and Zstandard, and
/// the lowest for DEFLATE.
fn own_level(name: &str, level: u8) -> Option<u8> {
    match (name, level) {
        ("lz4hc", 0) => Some(Compressor::LZ4HC_DEFAULT_LEVEL),
        ("zstd", 0) => Some(3),
        ("deflate" | "libdeflate", 0) => Some(1),
        ("deflate", 10..) | ("lz4", _) => None,
        _ => Some(level),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_of_scripts_are_accepted() {
        for (text, expected) in [
            ("lz4", "lz4"),
            ("lz4hc", "lz4hc,9"),
            ("lz4hc,12", "lz4hc,12"),
            ("lz4hc,level=0", "lz4hc,9"),
            ("lzma", "lzma,6"),
            ("lzma,109", "lzma,109"),
            ("lzma,level=9,dictsize=8388608", "lzma,9,dictsize=8388608"),
            ("lzma,9,dictsize=0x10000", "lzma,9,dictsize=65536"),
            ("lzma,dictsize=64k,lc=4,pb=0", "lzma,6,dictsize=65536,lc=4,lp=0,pb=0"),
            ("deflate", "deflate,1"),
            ("deflate,9,dictsize=32768", "deflate,9"),
            ("libdeflate,12", "deflate,12"),
            ("libdeflate,0", "deflate,1"),
            ("zstd", "zstd,3"),
            ("zstd,level=0", "zstd,3"),
            ("zstd,22", "zstd,22"),
            ("zstd,8,dictsize=1m", "zstd,8,dictsize=1048576"),
        ] {
            assert_eq!(one(text).unwrap().to_string(), expected, "{text}");
        }
        let names = |texts: &[&str]| {
            let texts: Vec<_> = texts.iter().map(ToString::to_string).collect();
            let all = all(&texts).unwrap();
            all.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(names(&["lz4hc,12:zstd,15", "lz4"]), "lz4hc,12 zstd,15 lz4");
        assert_eq!(names(&[]), "");
    }

    #[test]
    fn invalid_encoders_are_refused() {
        for (text, found) in [
            ("lzo", "\"lzo\""),
            ("lz4,1", "invalid level \"1\""),
            ("lz4hc,13", "\"13\""),
            ("lz4hc,fast", "invalid level \"fast\""),
            ("lz4hc,level=", "invalid level \"\""),
            ("deflate,10", "invalid level \"10\""),
            ("deflate,dictsize=4096", "\"4096\""),
            ("zstd,3,9", "\"9\" is no option"),
            ("zstd,windowlog=3", "windowlog"),
            ("lzma,10", "\"10\""),
            ("lzma,dictsize=x", "invalid dictsize \"x\""),
        ] {
            let error = one(text).unwrap_err();
            assert!(error.contains(found) && !error.contains('\n'), "{text}: {error}");
        }
    }
}
