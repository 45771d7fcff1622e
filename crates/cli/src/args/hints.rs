//! Parses compress-hints files of mkfs.erofs into rules.

use std::{fs, path::Path};

use lith::{
    builder::{Compression, Files, Rule},
    codec::Compressor,
    format::addr::BlockBits,
    transform::ExtendedRegex,
};

use super::value::Size;

/// What lines refer to by number, and the defaults for what they omit.
pub(crate) struct Context<'a> {
    /// The compressors that `-z` lists, by the number in a line.
    pub(crate) compressors: &'a [Compressor],
    /// The compression of which a line replaces pcluster size and compressor.
    pub(crate) default: Compression,
    pub(crate) block: BlockBits,
}

/// The rules of a file, in the order of its lines.
pub(crate) fn read(path: &Path, context: &Context<'_>) -> Result<Vec<Rule>, String> {
    let failed = |error: std::io::Error| {
        format!("cannot read the hints in {}: {}", path.display(), super::one_line(&error))
    };
    let text = fs::read_to_string(path).map_err(failed)?;
    let lines = (1..).zip(text.lines());
    let lines = lines.filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
    lines
        .map(|(number, line)| {
            rule(line, context).map_err(|error| format!("{}:{number}: {error}", path.display()))
        })
        .collect()
}

/// `SIZE [NUMBER] PATTERN`.
fn rule(line: &str, context: &Context<'_>) -> Result<Rule, String> {
    let (size, rest) = first_field(line);
    let (number, pattern) = match first_field(rest) {
        (pattern, "") => (None, pattern),
        (number, pattern) => (Some(number), pattern),
    };
    if pattern.is_empty() {
        return Err("a pcluster size and a pattern are expected".into());
    }
    let compression = compression(size, number, context)?;
    let pattern = ExtendedRegex::new(pattern.as_bytes()).map_err(|e| super::one_line(&e))?;
    Ok(Rule { files: Files::new(move |path| pattern.is_match(path)), compression, second: None })
}

fn first_field(line: &str) -> (&str, &str) {
    let line = line.trim();
    let (field, rest) = line.split_once([' ', '\t']).unwrap_or((line, ""));
    (field, rest.trim_start())
}

/// The compression of a line; size 0 means none.
fn compression(
    size: &str,
    number: Option<&str>,
    context: &Context<'_>,
) -> Result<Option<Compression>, String> {
    let Size(bytes) = size.parse().map_err(|error| format!("pcluster size {size:?}: {error}"))?;
    let block = context.block.size();
    if !bytes.is_multiple_of(block.into()) {
        return Err(format!("pcluster size {size:?} is not a multiple of the block size, {block}"));
    }
    let compressor = compressor(number.unwrap_or("0"), context.compressors);
    if bytes == 0 && number.is_none() {
        return Ok(None);
    }
    let (compressor, pcluster) = (compressor?, Some(Size(bytes).as_u32()));
    Ok((bytes > 0).then_some(Compression { compressor, pcluster, ..context.default }))
}

fn compressor(number: &str, all: &[Compressor]) -> Result<Compressor, String> {
    let found = number.parse().ok().and_then(|number: usize| all.get(number));
    found.copied().ok_or_else(|| {
        let count = all.len();
        format!("{number:?} is not the number, from 0, of one of the {count} algorithms of -z")
    })
}

#[cfg(test)]
mod tests {
    use lith::codec::LzmaEffort;

    use super::*;

    const LZ4: Compressor = Compressor::Lz4;
    const LZMA: Compressor = Compressor::Lzma(LzmaEffort::new(6));

    fn parse(line: &str) -> Result<Rule, String> {
        let default = Compression { compressor: LZ4, pcluster: Some(4096), min_saving: 3 };
        let block = BlockBits::DEFAULT;
        rule(line, &Context { compressors: &[LZ4, LZMA], default, block })
    }

    #[test]
    fn lines_are_rules() {
        for (line, expected) in [
            ("16384 \\.bin$", Some((LZ4, 16384))),
            ("16384\t1 ^(dir|etc)/", Some((LZMA, 16384))),
            ("  1M 0  dir[[:alnum:]./]*n  ", Some((LZ4, 1 << 20))),
            ("0 b", None),
            ("0 1 b", None),
        ] {
            let rule = parse(line).unwrap();
            let files = [&b"dir/x.bin"[..], b"other"].map(|path| rule.files.includes(path));
            let compression = rule.compression.map(|c| (c.compressor, c.pcluster.unwrap()));
            assert_eq!((files, compression), ([true, false], expected), "{line}");
        }
    }

    #[test]
    fn invalid_lines_are_refused() {
        for (line, found) in [
            ("16384", "a pcluster size and a pattern"),
            ("5000 a", "multiple of the block size, 4096"),
            ("-4096 a", "size \"-4096\""),
            ("16384 2 a", "\"2\" is not the number"),
            ("16384 a b", "\"a\" is not the number"),
            ("16384 (a", "not closed"),
        ] {
            let error = parse(line).unwrap_err();
            assert!(error.contains(found) && !error.contains('\n'), "{line}: {error}");
        }
    }
}
