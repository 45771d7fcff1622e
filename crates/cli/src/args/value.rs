//! Parses sizes, times, compressors and other values of options.

use std::{
    num::NonZeroUsize,
    path::{Path, PathBuf},
    str::FromStr,
};

use clap::builder::{PathBufValueParser, PossibleValue, PossibleValuesParser, TypedValueParser};
use jiff::{Timestamp as Time, civil};
use lith::{
    builder::{ImageId, IndexForm, Preset},
    codec::{Compressor, ParseCompressorError},
    composefs::Version,
    format::{
        addr::BlockBits,
        kernel::{KernelVersion, Target},
    },
    tree::Timestamp,
};
use uuid::Uuid;

const NO_SIZE: &str = "expected a number of bytes, or one with K, M, G or T: 65536, 64K, 1M";
const NO_COUNT: &str = "expected a number from 1 on";
const NO_DURATION: &str = "expected a number of seconds, or one with s, m, h or d: 90, 90s, 2m";
const NO_STREAM: &str =
    "standard input or output can't be used here; `./-` is the file of this name";
const NO_TIME: &str =
    "expected seconds since 1970, or a date such as 2024-01-31 or 2024-01-31T12:00:00Z";

pub(crate) fn preset() -> impl TypedValueParser<Value = Preset> {
    PossibleValuesParser::new(Preset::ALL.map(Preset::name)).try_map(|name| name.parse::<Preset>())
}

/// Parses the name of a distribution.
pub(crate) fn target() -> impl TypedValueParser<Value = Target> {
    // A name of the second list has an error of its own.
    let names = Target::ALL.iter().map(|target| PossibleValue::new(target.name));
    let others = Target::WITHOUT.iter().map(|target| PossibleValue::new(target.name).hide(true));
    PossibleValuesParser::new(names.chain(others)).try_map(|name| name.parse::<Target>())
}

/// Reads a version of Linux, or `host` for the one that runs.
pub(crate) fn kernel(text: &str) -> Result<KernelVersion, &'static str> {
    let host = (text == "host").then(lith_system::kernel_release).flatten();
    host.as_deref()
        .unwrap_or(text)
        .parse()
        .map_err(|_error| "expected a version of Linux, such as 6.1 or 6.12.3-generic, or `host`")
}

/// Reads the form of an index.
pub(crate) fn index() -> impl TypedValueParser<Value = IndexForm> {
    PossibleValuesParser::new(["compact", "full", "records"]).map(|form| match &*form {
        "compact" => IndexForm::Compact,
        "full" => IndexForm::Full,
        _ => IndexForm::Records,
    })
}

/// Reads the version of an image of composefs.
pub(crate) fn composefs_version() -> impl TypedValueParser<Value = Version> {
    PossibleValuesParser::new(["0", "1"]).map(|version| match &*version {
        "0" => Version::V0,
        _ => Version::V1,
    })
}

/// A number of bytes: `4096`, `64K`, `64KiB`, `1M`, `2G`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Size(pub(crate) u64);

impl Size {
    /// The number, limited to `u32::MAX`: all sizes that the format has as 32 bits are far below, so the checks of options
    /// refuse either.
    pub(crate) fn as_u32(self) -> u32 {
        u32::try_from(self.0).unwrap_or(u32::MAX)
    }
}

impl FromStr for Size {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
        let suffix = text.get(digits.len()..).unwrap_or_default();
        let shift = match suffix.to_ascii_lowercase().as_str() {
            "" | "b" => 0,
            "k" | "kb" | "kib" => 10,
            "m" | "mb" | "mib" => 20,
            "g" | "gb" | "gib" => 30,
            "t" | "tb" | "tib" => 40,
            _ => return Err(NO_SIZE),
        };
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(NO_SIZE);
        }
        let number: u64 = digits.parse().map_err(|_too_many_digits| "too large")?;
        number.checked_mul(1 << shift).map(Self).ok_or("too large")
    }
}

/// Parses a number of threads.
pub(crate) fn count(text: &str) -> Result<NonZeroUsize, &'static str> {
    text.parse().map_err(|_not_one| NO_COUNT)
}

/// Parses a duration in seconds: `90`, `90s`, `2m`, `1h`, `1d`.
pub(crate) fn seconds(text: &str) -> Result<u64, &'static str> {
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let factor = match text.get(digits.len()..).unwrap_or_default() {
        "" | "s" | "sec" => 1,
        "m" | "min" => 60,
        "h" => 3600,
        "d" => 86400,
        _ => return Err(NO_DURATION),
    };
    let number: u64 = digits.parse().map_err(|_not_one| NO_DURATION)?;
    number.checked_mul(factor).ok_or("too large")
}

/// Parses the path of a file or directory that standard input or output can't replace.
pub(crate) fn place() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new()
        .try_map(|path| if path == Path::new("-") { Err(NO_STREAM) } else { Ok(path) })
}

pub(crate) fn block(text: &str) -> Result<BlockBits, &'static str> {
    let Size(bytes) = text.parse()?;
    block_bits(bytes).ok_or("expected a block size: 512, 1K, 2K, 4K, 8K, 16K, 32K or 64K")
}

/// The size of blocks of that many bytes, if there is one.
pub(crate) fn block_bits(bytes: u64) -> Option<BlockBits> {
    let bits = bytes.checked_ilog2().filter(|_| bytes.is_power_of_two())?;
    BlockBits::new(u8::try_from(bits).ok()?)
}

/// Parses a time: seconds since 1970 or a date, in UTC unless it has a zone.
pub(crate) fn time(text: &str) -> Result<Timestamp, &'static str> {
    let text = text.strip_prefix('@').unwrap_or(text);
    if let Ok(sec) = text.parse() {
        return Ok(Timestamp { sec, nsec: 0 });
    }
    let time = date(text).ok_or(NO_TIME)?;
    // Before 1970, jiff's fraction is negative.
    let (sec, nsec) = (time.as_second(), time.subsec_nanosecond());
    Ok(match u32::try_from(nsec) {
        Ok(nsec) => Timestamp { sec, nsec },
        Err(_negative) => {
            Timestamp { sec: sec - 1, nsec: (1_000_000_000 - nsec.unsigned_abs()).min(999_999_999) }
        }
    })
}

fn date(text: &str) -> Option<Time> {
    if let Ok(time) = text.parse() {
        return Some(time);
    }
    let local: civil::DateTime = text.parse().ok()?;
    jiff::tz::Offset::UTC.to_timestamp(local).ok()
}

/// The value of a rule: an encoder, or `none`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Compress(pub(crate) Option<Compressor>);

impl FromStr for Compress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "none" {
            return Ok(Self(None));
        }
        compressor(text).map(|compressor| Self(Some(compressor)))
    }
}

/// The value of `-z`: `none`, or encoders separated by colons. The first is for all files for which no hint names
/// another.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Compressors(pub(crate) Vec<Compressor>);

impl FromStr for Compressors {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "none" {
            return Ok(Self(Vec::new()));
        }
        text.split(':').map(compressor).collect::<Result<_, _>>().map(Self)
    }
}

/// The value of `-m`: the size of pclusters and an encoder; `None`: that of files.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Metadata {
    pub(crate) pcluster: Size,
    pub(crate) compressor: Option<Compressor>,
}

impl FromStr for Metadata {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Some((size, by)) = text.split_once(':') else {
            return Ok(Self { pcluster: text.parse()?, compressor: None });
        };
        Ok(Self { compressor: Some(compressor(by)?), pcluster: size.parse()? })
    }
}

fn compressor(text: &str) -> Result<Compressor, String> {
    text.parse().map_err(|error: ParseCompressorError| error.to_string())
}

pub(crate) fn zero_or_one(text: &str) -> Result<bool, &'static str> {
    match text {
        "0" => Ok(false),
        "1" => Ok(true),
        _ => Err("expected 0 or 1"),
    }
}

/// Parses the source of the UUID: a UUID itself, or `content`, `random`, `clear`.
pub(crate) fn image_id(text: &str) -> Result<ImageId, &'static str> {
    Ok(match text {
        "content" => ImageId::FromContent,
        "random" => ImageId::Random,
        "clear" => ImageId::Clear,
        _ => {
            let uuid = Uuid::parse_str(text)
                .map_err(|_not_one| "expected a UUID, `content`, `random` or `clear`")?;
            ImageId::Fixed(*uuid.as_bytes())
        }
    })
}

pub(crate) fn percent(text: &str) -> Result<u8, &'static str> {
    let number = text.trim_end_matches('%').parse().ok();
    number.filter(|number| *number <= 100).ok_or("expected a number from 0 to 100")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_suffixes() {
        let parse = |text: &str| text.parse::<Size>().map(|size| size.0);
        for (text, bytes) in [
            ("0", 0),
            ("4096", 4096),
            ("4k", 4096),
            ("64K", 65536),
            ("64KiB", 65536),
            ("1M", 1 << 20),
            ("2G", 2 << 30),
            ("1t", 1 << 40),
            ("7B", 7),
        ] {
            assert_eq!(parse(text), Ok(bytes), "{text}");
        }
        for text in ["", "K", "-1", "+1", "1.5M", "1X", "1 K", "K1", "0x10", "1K1", "１"] {
            assert_eq!(parse(text), Err(NO_SIZE), "{text}");
        }
        for text in ["18446744073709551616", "18014398509481984K"] {
            assert_eq!(parse(text), Err("too large"), "{text}");
        }
    }

    #[test]
    fn counts_and_durations_say_what_is_expected() {
        assert_eq!(count("3").map(NonZeroUsize::get), Ok(3));
        for text in ["0", "-1", "many", ""] {
            assert_eq!(count(text), Err(NO_COUNT), "{text}");
        }
        for (text, expected) in
            [("0", 0), ("90", 90), ("2s", 2), ("2m", 120), ("1h", 3600), ("1d", 86400)]
        {
            assert_eq!(seconds(text), Ok(expected), "{text}");
        }
        for text in ["", "s", "1.5s", "2 s", "2ms", "-1"] {
            assert_eq!(seconds(text), Err(NO_DURATION), "{text}");
        }
    }

    #[test]
    fn blocks_are_powers_of_two() {
        for (text, bits) in [("512", Some(9)), ("4K", Some(12)), ("64k", Some(16))] {
            assert_eq!(block(text).ok().map(BlockBits::bits), bits, "{text}");
        }
        for text in ["0", "1", "256", "4097", "128K", "12K"] {
            assert_eq!(
                block(text),
                Err("expected a block size: 512, 1K, 2K, 4K, 8K, 16K, 32K or 64K"),
                "{text}"
            );
        }
    }

    #[test]
    fn times_are_seconds_or_dates() {
        let at = |sec, nsec| Ok(Timestamp { sec, nsec });
        for (text, expected) in [
            ("0", at(0, 0)),
            ("1700000000", at(1_700_000_000, 0)),
            ("@1700000000", at(1_700_000_000, 0)),
            ("-5", at(-5, 0)),
            ("1970-01-02", at(86400, 0)),
            ("1970-01-01T00:00:01.5Z", at(1, 500_000_000)),
            ("1970-01-01T01:00:00+01:00", at(0, 0)),
            ("1970-01-01 00:01", at(60, 0)),
            ("1969-12-31T23:59:59.25Z", at(-1, 250_000_000)),
        ] {
            assert_eq!(time(text), expected, "{text}");
        }
        for text in ["", "now", "1.5", "2024-13-01", "12:00"] {
            assert_eq!(time(text), Err(NO_TIME), "{text}");
        }
    }

    #[test]
    fn compressors_may_be_none() {
        let parse = |text: &str| text.parse::<Compress>().map(|compress| compress.0);
        assert_eq!(parse("none"), Ok(None));
        assert_eq!(parse("lz4"), Ok(Some(Compressor::Lz4)));
        assert_eq!(parse("lz4hc,level=12"), Ok(Some(Compressor::Lz4Hc { level: 12 })));
        assert!(parse("lzo").is_err_and(|problem| problem.contains("lzo")));
    }

    #[test]
    fn several_compressors_are_separated_by_colons() {
        let parse = |text: &str| text.parse::<Compressors>().map(|all| all.0);
        assert_eq!(parse("none"), Ok(Vec::new()));
        let both = vec![Compressor::Lz4Hc { level: 12 }, Compressor::Deflate { level: 1 }];
        assert_eq!(parse("lz4hc,12:deflate,level=1"), Ok(both));
        for text in ["lz4:none", "lz4:", ":lz4", ""] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn identities_are_uuids_or_keywords() {
        assert_eq!(image_id("clear"), Ok(ImageId::Clear));
        assert_eq!(image_id("random"), Ok(ImageId::Random));
        assert_eq!(image_id("content"), Ok(ImageId::FromContent));
        let fixed = image_id("00112233-4455-6677-8899-aabbccddeeff").unwrap();
        let ImageId::Fixed(bytes) = fixed else { panic!("{fixed:?}") };
        assert_eq!((bytes[0], bytes[15]), (0x00, 0xff));
        assert_eq!(image_id("1234"), Err("expected a UUID, `content`, `random` or `clear`"));
    }

    #[test]
    fn percentages_are_at_most_100() {
        let texts = ["0", "100", "5%", "101", "-1", ""];
        let numbers = [Some(0), Some(100), Some(5), None, None, None];
        assert_eq!(texts.map(|text| percent(text).ok()), numbers);
    }
}
