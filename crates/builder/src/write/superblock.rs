//! What does block 0 say of the image?

use std::os::unix::fs::FileExt;

use lith_format::{
    addr::BlockBits,
    compression::{Algorithm, Configs, DeflateConfig, Lz4Config, LzmaConfig, ZstdConfig},
    features::{Compat, Incompat},
    superblock::{
        SUPERBLOCK_POSITION, SUPERBLOCK_SIZE, Superblock, SuperblockError, checksum,
        checksummed_size,
    },
};
use lith_tree::InodeIndex;

use super::Finished;
use crate::{
    BuildError, Digest, ImageId, Options, codings::Encoding, data::FileData, options::algorithm_of,
};

/// Bytes of the superblock and the config records that may follow it.
pub(crate) fn superblock_size(options: &Options) -> u64 {
    let records = configs(options, options.encodings());
    (SUPERBLOCK_SIZE + records.map_or(0, |records| records.size())) as u64
}

/// What a reader must know of the algorithms: the most that any of `encodings` asks for.
fn configs(options: &Options, encodings: impl Iterator<Item = Encoding>) -> Option<Configs> {
    let add = |configs, encoding| with_encoding(configs, encoding, options.block);
    options.has_configs().then(|| encodings.fold(Configs::default(), add))
}

fn with_encoding(mut configs: Configs, encoding: Encoding, block: BlockBits) -> Configs {
    let Encoding { compressor, pcluster } = encoding;
    let window = compressor.window(pcluster);
    let window_log = u8::try_from(window.ilog2()).unwrap_or(u8::MAX);
    match algorithm_of(compressor) {
        Algorithm::Lz4 => {
            // Options allow at most 256 blocks.
            let blocks = u16::try_from(pcluster / block.size()).unwrap_or(u16::MAX);
            let max_pcluster_blocks = configs.lz4.map_or(0, |c| c.max_pcluster_blocks).max(blocks);
            let max_distance = Lz4Config::MAX_DISTANCE;
            configs.lz4 = Some(Lz4Config { max_distance, max_pcluster_blocks });
        }
        Algorithm::Lzma => {
            let dict_size = configs.lzma.map_or(0, |c| c.dict_size).max(window);
            configs.lzma = Some(LzmaConfig { dict_size });
        }
        Algorithm::Deflate => configs.deflate = Some(DeflateConfig { window_bits: window_log }),
        Algorithm::Zstd => {
            let window_log = configs.zstd.map_or(0, |c| c.window_log).max(window_log);
            configs.zstd = Some(ZstdConfig { window_log });
        }
    }
    configs
}

/// Writes the superblock, with the checksum of block 0 as it is by now.
pub(crate) fn write_superblock(finished: &Finished<'_>, content: Digest) -> Result<(), BuildError> {
    let options = finished.sources.options;
    let mut head = superblock(finished, content).encode().map_err(|error| unencodable(&error))?;
    if let Some(configs) = configs(options, finished.used.iter()) {
        configs.encode_into(&mut head);
    }
    let failed = |action| move |source| BuildError::Output { action, source };
    finished.image.write_all_at(&head, SUPERBLOCK_POSITION).map_err(failed("write"))?;
    let mut bytes = vec![0; checksummed_size(options.block)];
    finished.image.read_exact_at(&mut bytes, SUPERBLOCK_POSITION).map_err(failed("read back"))?;
    let sum = checksum(&bytes, options.block).map_err(|error| unencodable(&error))?;
    finished
        .image
        .write_all_at(&sum.to_le_bytes(), SUPERBLOCK_POSITION + 4)
        .map_err(failed("write"))
}

fn unencodable(error: &SuperblockError) -> BuildError {
    BuildError::Encode { path: Vec::new(), part: "superblock", problem: error.to_string() }
}

fn has_inline(finished: &Finished<'_>) -> bool {
    finished.files.iter().any(|f| matches!(f.data, FileData::Compressed { inline: 1.., .. }))
}

fn superblock(finished: &Finished<'_>, content: Digest) -> Superblock {
    let Finished { sources, plan, placement, .. } = finished;
    let options = sources.options;
    let mut sb = Superblock::new(options.block);
    sb.compat = Compat::SB_CHKSUM | Compat::MTIME;
    sb.compat.set(Compat::XATTR_FILTER, plan.xattrs.is_used());
    sb.root_nid = placement.nid(InodeIndex::ROOT);
    let packed = sources.packed.get();
    sb.inos = (plan.order.len() + usize::from(packed.is_some())) as u64;
    sb.packed_nid = packed.map(|packed| placement.nid(packed.index));
    sb.incompat.set(Incompat::FRAGMENTS, packed.is_some());
    sb.incompat.set(Incompat::ZTAILPACKING, has_inline(finished));
    sb.blocks = placement.blocks;
    sb.epoch = plan.epoch.sec;
    sb.fixed_nsec = plan.epoch.nsec;
    sb.meta_blkaddr = placement.meta_blkaddr;
    sb.xattr_blkaddr = placement.xattr_blkaddr();
    sb.uuid = match options.id {
        ImageId::Fixed(uuid) => uuid,
        ImageId::FromContent => custom_uuid(content),
    };
    for (to, from) in sb.volume_name.iter_mut().zip(&options.label) {
        *to = *from;
    }
    let used = finished.used.iter();
    sb.algorithms = used.map(|encoding| algorithm_of(encoding.compressor)).collect();
    if !finished.used.is_empty() {
        sb.incompat |= Incompat::LZ4_0PADDING;
        if options.has_configs() {
            sb.incompat |= Incompat::COMPR_CFGS;
        } else {
            sb.lz4_max_distance = Lz4Config::MAX_DISTANCE;
        }
    }
    let chunked = |f: &crate::data::StoredFile| matches!(f.data, FileData::Chunked(_));
    sb.incompat.set(Incompat::CHUNKED_FILE, finished.files.iter().any(chunked));
    sb
}

/// A UUID of version 8, whose bits are free but for version and variant (RFC 9562, section 5.8).
const fn custom_uuid(digest: Digest) -> [u8; 16] {
    let free = !(0xf << 76 | 0x3 << 62);
    (digest.0 & free | 0x8 << 76 | 0x2 << 62).to_be_bytes()
}
