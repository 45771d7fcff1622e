//! Defines [`Head`]: where the image's first bytes are, from the superblock to the first block of content.
//!
//! The superblock and its extension; the records of the algorithms; long prefixes of extended attributes, which are in
//! reach there however large the image grows; the device table; the notes on the images that follow, on what is read first and on how the image was made; shared extended attributes,
//! if no id could refer to them after the content.

use lith_format::{
    addr::BlockBits,
    compression::{
        Algorithm, AlgorithmSet, Configs, DeflateConfig, Lz4Config, LzmaConfig, ZstdConfig,
    },
    device_table::DEVICE_SLOT_SIZE,
    hot::HOT_NOTE_SIZE,
    joined::JOINED_HEADER_SIZE,
    notes::NOTE_ALIGNMENT,
    provenance::provenance_size,
    superblock::{EXT_SLOT_SIZE, SUPERBLOCK_POSITION, SUPERBLOCK_SIZE},
};

use super::xattrs::XattrPlan;
use crate::{
    Known, Options,
    coding::{Encoding, algorithm_of},
};

/// Byte positions in the image.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    /// Long prefixes of extended attributes, if they are not in the packed inode.
    pub(crate) prefixes: u64,
    /// The device table, if there is one.
    pub(crate) devices: u64,
    /// Shared extended attributes, if they precede the content: a table after much content would be out of reach. A metabox
    /// holds them itself.
    pub(crate) shared_xattrs: Option<u64>,
    /// The note on the images that follow on the device, if some do.
    pub(crate) joined: Option<u64>,
    /// The note on what is read first, if something is.
    pub(crate) hot: Option<u64>,
    /// The note on how the image was made, if it is requested.
    pub(crate) provenance: Option<u64>,
    /// Whether the superblock alone does not state the parameters of the algorithms.
    pub(crate) has_configs: bool,
    /// The end of everything.
    pub(crate) end: u64,
}

impl Head {
    /// The head of an image whose files may be stored by the encodings of the options, and in `known` pclusters; `has_hot`:
    /// something of it is read first.
    pub(crate) fn new(
        options: &Options,
        (known, has_hot): (&Known<'_>, bool),
        xattrs: &XattrPlan,
        devices: usize,
        is_far: bool,
    ) -> Self {
        let extension = if options.compression.metabox.is_some() { EXT_SLOT_SIZE } else { 0 };
        let has_configs = options.has_configs() || need_records(&known.configs);
        let records = if has_configs {
            configs(known.configs, options.encodings(), options.layout.block).size()
        } else {
            0
        };
        let records_end = SUPERBLOCK_POSITION + (SUPERBLOCK_SIZE + extension + records) as u64;
        let prefixes = records_end.next_multiple_of(4);
        let prefixes_end = match xattrs.prefixes.encode().len() {
            0 => records_end,
            len => prefixes + len as u64,
        };
        let slot = DEVICE_SLOT_SIZE as u64;
        let table = prefixes_end.next_multiple_of(slot);
        let note = known.note.len() as u64;
        let devices_end =
            if devices == 0 { prefixes_end } else { table + devices as u64 * slot + note };
        let joined = known.follows.map(|_| devices_end.next_multiple_of(NOTE_ALIGNMENT as u64));
        let joined_end =
            joined.map_or(devices_end, |start| start + JOINED_HEADER_SIZE as u64 + note);
        let hot = has_hot.then(|| joined_end.next_multiple_of(NOTE_ALIGNMENT as u64));
        let hot_end = hot.map_or(joined_end, |start| start + HOT_NOTE_SIZE as u64);
        let text = options.identity.provenance.as_ref();
        let provenance = text.map(|_text| hot_end.next_multiple_of(NOTE_ALIGNMENT as u64));
        let notes_end = match (provenance, text) {
            (Some(start), Some(text)) => start + provenance_size(text.len()) as u64,
            _ => hot_end,
        };
        let is_early = is_far && options.compression.metabox.is_none();
        let shared_xattrs = is_early.then(|| notes_end.next_multiple_of(4));
        let end = match shared_xattrs {
            Some(start) => start + xattrs.shared_area.len() as u64,
            None => notes_end,
        };
        Self { prefixes, devices: table, shared_xattrs, joined, hot, provenance, has_configs, end }
    }
}

/// Whether the superblock alone can't state these parameters: it can for LZ4 in pclusters of one block.
fn need_records(configs: &Configs) -> bool {
    let Configs { lz4, lzma, deflate, zstd } = configs;
    let is_big = lz4.is_some_and(|lz4| lz4.max_pcluster_blocks > 1);
    is_big || lzma.is_some() || deflate.is_some() || zstd.is_some()
}

/// The parameters of the algorithms that readers need: the maxima over those of known pclusters and `encodings`.
pub(crate) fn configs(
    known: Configs,
    encodings: impl Iterator<Item = Encoding>,
    block: BlockBits,
) -> Configs {
    encodings.fold(known, |configs, encoding| with_encoding(configs, encoding, block))
}

/// The parameters of some algorithms.
pub(crate) fn configs_of(configs: Configs, algorithms: AlgorithmSet) -> Configs {
    let Configs { lz4, lzma, deflate, zstd } = configs;
    Configs {
        lz4: lz4.filter(|_| algorithms.has(Algorithm::Lz4)),
        lzma: lzma.filter(|_| algorithms.has(Algorithm::Lzma)),
        deflate: deflate.filter(|_| algorithms.has(Algorithm::Deflate)),
        zstd: zstd.filter(|_| algorithms.has(Algorithm::Zstd)),
    }
}

fn with_encoding(mut configs: Configs, encoding: Encoding, block: BlockBits) -> Configs {
    let Encoding { compressor, pcluster } = encoding;
    let window = compressor.window(pcluster);
    let window_log = u8::try_from(window.ilog2()).expect("a logarithm of 32 bits fits a byte");
    match algorithm_of(compressor) {
        Algorithm::Lz4 => {
            let blocks = u16::try_from(pcluster / block.size());
            let blocks = blocks.expect("the options allow at most 256 blocks");
            let known = configs.lz4.map_or(0, |lz4| lz4.max_pcluster_blocks);
            let max_distance = Lz4Config::MAX_DISTANCE;
            let max_pcluster_blocks = blocks.max(known);
            configs.lz4 = Some(Lz4Config { max_distance, max_pcluster_blocks });
        }
        Algorithm::Lzma => {
            let known = configs.lzma.map_or(0, |lzma| lzma.dict_size);
            configs.lzma = Some(LzmaConfig { dict_size: window.max(known) });
        }
        Algorithm::Deflate => {
            let known = configs.deflate.map_or(0, |deflate| deflate.window_bits);
            configs.deflate = Some(DeflateConfig { window_bits: window_log.max(known) });
        }
        Algorithm::Zstd => {
            let known = configs.zstd.map_or(0, |zstd| zstd.window_log);
            configs.zstd = Some(ZstdConfig { window_log: window_log.max(known) });
        }
    }
    configs
}
