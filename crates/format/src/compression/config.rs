//! Defines the config records: what the decoders of an image must support.

use alloc::vec::Vec;

use zerocopy::{
    FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned,
    little_endian::{U16, U32},
};

use super::{Algorithm, AlgorithmSet};
use crate::record::record_at;

/// What the LZ4 decoder must hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lz4Config {
    /// The farthest distance of a match, never 0.
    pub max_distance: u16,
    /// Blocks in the largest pcluster, 1 to 256.
    pub max_pcluster_blocks: u16,
}

/// What the `MicroLZMA` decoder must hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LzmaConfig {
    /// Bytes in the dictionary, 4 KiB to 8 MiB.
    pub dict_size: u32,
}

/// What the DEFLATE decoder must hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DeflateConfig {
    /// The window's size as a logarithm, at most 15; a hint only, often 0.
    pub window_bits: u8,
}

/// What the Zstandard decoder must hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ZstdConfig {
    /// The window's size as a logarithm, 10 to 20.
    pub window_log: u8,
}

impl Lz4Config {
    /// The farthest distance that LZ4 can express, which is always right to declare.
    pub const MAX_DISTANCE: u16 = 65535;
    /// The most blocks that a pcluster may be declared to have.
    pub const MAX_PCLUSTER_BLOCKS: u16 = 256;

    /// The configuration of an image without config records: pclusters have one block, and
    /// `lz4_max_distance` is 0 for the farthest.
    #[must_use]
    pub const fn without_record(lz4_max_distance: u16) -> Self {
        Self { max_distance: or_max_distance(lz4_max_distance), max_pcluster_blocks: 1 }
    }
}

const fn or_max_distance(distance: u16) -> u16 {
    if distance == 0 { Lz4Config::MAX_DISTANCE } else { distance }
}

/// The config records of an image, one for each algorithm it declares.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Configs {
    /// For [`Algorithm::Lz4`].
    pub lz4: Option<Lz4Config>,
    /// For [`Algorithm::Lzma`].
    pub lzma: Option<LzmaConfig>,
    /// For [`Algorithm::Deflate`].
    pub deflate: Option<DeflateConfig>,
    /// For [`Algorithm::Zstd`].
    pub zstd: Option<ZstdConfig>,
}

/// Why config records can't be used.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The records end beyond the bytes at hand.
    #[error("the config record for {algorithm} is cut off")]
    Truncated {
        /// Whose record.
        algorithm: Algorithm,
    },
    /// A record is shorter than its algorithm's fields.
    #[error("the config record for {algorithm} has {found} bytes; {needed} are needed")]
    Short {
        /// Whose record.
        algorithm: Algorithm,
        /// Bytes it has.
        found: usize,
        /// Bytes its fields take.
        needed: usize,
    },
    /// A field is out of its range.
    #[error("the config record for {algorithm} has {field} {found}; the range is {low} to {high}")]
    Range {
        /// Whose record.
        algorithm: Algorithm,
        /// The field's name in the format.
        field: &'static str,
        /// Its value.
        found: u32,
        /// The least value allowed.
        low: u32,
        /// The greatest value allowed.
        high: u32,
    },
}

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct RawLz4 {
    max_distance: U16,
    max_pclusterblks: U16,
    reserved: [u8; 10],
}
const _: () = assert!(size_of::<RawLz4>() == 14);

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct RawLzma {
    dict_size: U32,
    format: U16,
    reserved: [u8; 8],
}
const _: () = assert!(size_of::<RawLzma>() == 14);

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct RawDeflate {
    windowbits: u8,
    reserved: [u8; 5],
}
const _: () = assert!(size_of::<RawDeflate>() == 6);

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct RawZstd {
    format: u8,
    windowlog: u8,
    reserved: [u8; 4],
}
const _: () = assert!(size_of::<RawZstd>() == 6);

impl Configs {
    /// Reads one record for each algorithm of `set` from `bytes`, which begin right after the
    /// superblock. Ranges are checked as Linux does.
    ///
    /// # Errors
    /// A record is truncated, too short, or outside of what decoders support.
    pub fn parse(set: AlgorithmSet, bytes: &[u8]) -> Result<Self, ConfigError> {
        let mut configs = Self::default();
        let mut position = 0;
        for algorithm in set.iter_known() {
            let cut = ConfigError::Truncated { algorithm };
            let (record, end) = record_at(bytes, position).ok_or(cut)?;
            configs.parse_record(algorithm, record)?;
            position = end;
        }
        Ok(configs)
    }

    fn parse_record(&mut self, algorithm: Algorithm, record: &[u8]) -> Result<(), ConfigError> {
        match algorithm {
            Algorithm::Lz4 => self.lz4 = Some(parse_lz4(fields(algorithm, record)?)?),
            Algorithm::Lzma => self.lzma = Some(parse_lzma(fields(algorithm, record)?)?),
            Algorithm::Deflate => self.deflate = Some(parse_deflate(fields(algorithm, record)?)?),
            Algorithm::Zstd => self.zstd = Some(parse_zstd(fields(algorithm, record)?)?),
        }
        Ok(())
    }

    /// The algorithms that have a record.
    #[must_use]
    pub fn algorithms(&self) -> AlgorithmSet {
        let present = [
            self.lz4.map(|_| Algorithm::Lz4),
            self.lzma.map(|_| Algorithm::Lzma),
            self.deflate.map(|_| Algorithm::Deflate),
            self.zstd.map(|_| Algorithm::Zstd),
        ];
        present.into_iter().flatten().collect()
    }

    /// Appends the records, to be placed right after the superblock.
    pub fn encode_into(&self, out: &mut Vec<u8>) {
        if let Some(Lz4Config { max_distance, max_pcluster_blocks }) = self.lz4 {
            let (max_distance, blocks) = (max_distance.into(), max_pcluster_blocks.into());
            push_record(out, &RawLz4 { max_distance, max_pclusterblks: blocks, reserved: [0; 10] });
        }
        if let Some(LzmaConfig { dict_size }) = self.lzma {
            let dict_size = dict_size.into();
            push_record(out, &RawLzma { dict_size, format: U16::ZERO, reserved: [0; 8] });
        }
        if let Some(DeflateConfig { window_bits }) = self.deflate {
            push_record(out, &RawDeflate { windowbits: window_bits, reserved: [0; 5] });
        }
        if let Some(ZstdConfig { window_log }) = self.zstd {
            let windowlog = window_log.saturating_sub(10);
            push_record(out, &RawZstd { format: 0, windowlog, reserved: [0; 4] });
        }
    }

    /// Bytes that [`Self::encode_into`] appends.
    #[must_use]
    pub fn size(&self) -> usize {
        let mut records = Vec::new();
        self.encode_into(&mut records);
        records.len()
    }
}

fn fields<T: FromBytes + KnownLayout + Immutable + Unaligned>(
    algorithm: Algorithm,
    record: &[u8],
) -> Result<&T, ConfigError> {
    let (found, needed) = (record.len(), size_of::<T>());
    match T::ref_from_prefix(record) {
        Ok((raw, _)) => Ok(raw),
        Err(_) => Err(ConfigError::Short { algorithm, found, needed }),
    }
}

fn push_record<T: IntoBytes + Immutable>(out: &mut Vec<u8>, raw: &T) {
    let payload = raw.as_bytes();
    debug_assert!(payload.len() % 4 == 2, "records keep each other aligned");
    let length = u16::try_from(payload.len()).expect("a record has at most 14 bytes");
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(payload);
}

/// Checks a field of a record against its range.
fn check(
    algorithm: Algorithm,
    field: &'static str,
    found: u32,
    (low, high): (u32, u32),
) -> Result<(), ConfigError> {
    if (low..=high).contains(&found) {
        return Ok(());
    }
    Err(ConfigError::Range { algorithm, field, found, low, high })
}

fn parse_lz4(raw: &RawLz4) -> Result<Lz4Config, ConfigError> {
    let most = u32::from(Lz4Config::MAX_PCLUSTER_BLOCKS);
    let blocks = raw.max_pclusterblks.get();
    check(Algorithm::Lz4, "max_pclusterblks", blocks.into(), (0, most))?;
    Ok(Lz4Config {
        max_distance: or_max_distance(raw.max_distance.get()),
        max_pcluster_blocks: blocks.max(1),
    })
}

fn parse_lzma(raw: &RawLzma) -> Result<LzmaConfig, ConfigError> {
    let dict_size = raw.dict_size.get();
    check(Algorithm::Lzma, "format", raw.format.get().into(), (0, 0))?;
    check(Algorithm::Lzma, "dict_size", dict_size, (4096, 8 << 20))?;
    Ok(LzmaConfig { dict_size })
}

fn parse_deflate(raw: &RawDeflate) -> Result<DeflateConfig, ConfigError> {
    check(Algorithm::Deflate, "windowbits", raw.windowbits.into(), (0, 15))?;
    Ok(DeflateConfig { window_bits: raw.windowbits })
}

fn parse_zstd(raw: &RawZstd) -> Result<ZstdConfig, ConfigError> {
    check(Algorithm::Zstd, "format", raw.format.into(), (0, 0))?;
    check(Algorithm::Zstd, "windowlog", raw.windowlog.into(), (0, 10))?;
    Ok(ZstdConfig { window_log: raw.windowlog + 10 })
}

#[cfg(test)]
mod tests {
    use std::vec;

    use proptest::prelude::*;

    use super::*;
    use crate::testing::hex;

    /// All four records of an image with pclusters of 16 KiB.
    fn all() -> (Configs, Vec<u8>) {
        let configs = Configs {
            lz4: Some(Lz4Config { max_distance: 65535, max_pcluster_blocks: 4 }),
            lzma: Some(LzmaConfig { dict_size: 65536 }),
            deflate: Some(DeflateConfig { window_bits: 15 }),
            zstd: Some(ZstdConfig { window_log: 17 }),
        };
        let bytes = "0e00 ffff 0400 00000000000000000000 0e00 00000100 0000 0000000000000000 \
                     0600 0f 0000000000 0600 00 07 00000000";
        (configs, hex(bytes))
    }

    #[test]
    fn reads_and_writes_records_of_another_tool() {
        let (configs, bytes) = all();
        assert_eq!(Configs::parse(AlgorithmSet::all(), &bytes), Ok(configs));
        assert_eq!(configs.algorithms(), AlgorithmSet::all());
        let mut written = vec![];
        configs.encode_into(&mut written);
        assert_eq!(written, bytes);
        assert_eq!(written.len(), configs.size());
    }

    #[test]
    fn only_declared_algorithms_have_records() {
        let zstd = hex("0600 00 09 00000000");
        let configs = Configs::parse(AlgorithmSet::ZSTD, &zstd).unwrap();
        assert_eq!(configs.zstd, Some(ZstdConfig { window_log: 19 }));
        assert_eq!(configs.algorithms(), AlgorithmSet::ZSTD);
        assert_eq!(Configs::parse(AlgorithmSet::empty(), &[]), Ok(Configs::default()));
    }

    #[test]
    fn longer_records_are_accepted_and_shorter_ones_told() {
        let long = hex("0f00 ffff0100 00000000000000000000 aa 00 00 00 0600 0a 0000000000");
        let set = AlgorithmSet::LZ4 | AlgorithmSet::DEFLATE;
        let deflate = Configs::parse(set, &long).unwrap().deflate;
        assert_eq!(deflate, Some(DeflateConfig { window_bits: 10 }));
        let short = Configs::parse(AlgorithmSet::LZ4, &hex("0d00 ffff0100 000000000000000000"));
        let algorithm = Algorithm::Lz4;
        assert_eq!(short, Err(ConfigError::Short { algorithm, found: 13, needed: 14 }));
        let cut = Configs::parse(AlgorithmSet::LZ4, &hex("0e00 ffff0100"));
        assert_eq!(cut, Err(ConfigError::Truncated { algorithm }));
        assert_eq!(Configs::parse(AlgorithmSet::LZ4, &[14]), cut);
    }

    #[test]
    fn fields_stay_in_their_ranges() {
        let (_, bytes) = all();
        let with = |position: usize, patch: &[u8]| {
            let mut bytes = bytes.clone();
            bytes[position..position + patch.len()].copy_from_slice(patch);
            Configs::parse(AlgorithmSet::all(), &bytes)
        };
        let field = |result| match result {
            Err(ConfigError::Range { field, found, .. }) => (field, found),
            other => panic!("{other:?}"),
        };
        assert_eq!(field(with(4, &[1, 1])), ("max_pclusterblks", 257));
        assert_eq!(field(with(18, &[255, 15, 0])), ("dict_size", 4095));
        assert_eq!(field(with(18, &[1, 0, 128])), ("dict_size", (8 << 20) + 1));
        assert_eq!(field(with(22, &[1])), ("format", 1));
        assert_eq!(field(with(34, &[16])), ("windowbits", 16));
        assert_eq!(field(with(42, &[1])), ("format", 1));
        assert_eq!(field(with(43, &[11])), ("windowlog", 11));
        let zeros = with(2, &[0; 4]).unwrap().lz4;
        assert_eq!(zeros, Some(Lz4Config { max_distance: 65535, max_pcluster_blocks: 1 }));
        assert_eq!(zeros, Some(Lz4Config::without_record(0)));
    }

    proptest! {
        #[test]
        fn records_come_back(
            present: [bool; 4],
            max_distance in 1_u16..,
            max_pcluster_blocks in 1_u16..=256,
            dict_size in 4096_u32..=8 << 20,
            window_bits in 0_u8..=15,
            window_log in 10_u8..=20,
        ) {
            let configs = Configs {
                lz4: present[0].then_some(Lz4Config { max_distance, max_pcluster_blocks }),
                lzma: present[1].then_some(LzmaConfig { dict_size }),
                deflate: present[2].then_some(DeflateConfig { window_bits }),
                zstd: present[3].then_some(ZstdConfig { window_log }),
            };
            let mut bytes = vec![];
            configs.encode_into(&mut bytes);
            prop_assert_eq!(bytes.len(), configs.size());
            prop_assert_eq!(Configs::parse(configs.algorithms(), &bytes), Ok(configs));
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..90), set: u16) {
            let _ = Configs::parse(AlgorithmSet::from_bits_retain(set), &bytes);
            let mut bytes = bytes;
            if let Some(length) = bytes.get_mut(..2) {
                length.copy_from_slice(&[14, 0]);
            }
            let _ = Configs::parse(AlgorithmSet::from_bits_retain(set), &bytes);
        }
    }
}
