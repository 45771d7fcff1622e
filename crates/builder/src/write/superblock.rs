//! What does block 0 say of the image?

use super::Finished;
use crate::{
    BuildError, Digest, Identity, ImageId, IndexForm, Options,
    codings::Encoding,
    compress::Sources,
    data::{FileData, StoredFile},
    devices,
    options::algorithm_of,
    place::{Record, Records},
    plan::Plan,
};
use lith_format::{
    addr::BlockBits,
    compression::{Algorithm, Configs, DeflateConfig, Lz4Config, LzmaConfig, ZstdConfig},
    device_table::{DEVICE_SLOT_SIZE, DeviceSlot},
    features::{Compat, Incompat},
    inode::InodeForm,
    superblock::{
        EXT_SLOT_SIZE, SUPERBLOCK_POSITION, SUPERBLOCK_SIZE, Superblock, SuperblockError, checksum,
        checksummed_size,
    },
};
use lith_tree::Timestamp;
use uuid::Uuid;

/// Where the superblock ends, and the config records that may follow it.
fn records_end(options: &Options) -> u64 {
    let extension = if options.compression.metabox.is_some() { EXT_SLOT_SIZE } else { 0 };
    let records = configs(options, options.encodings()).map_or(0, |records| records.size());
    SUPERBLOCK_POSITION + (SUPERBLOCK_SIZE + extension + records) as u64
}

/// Where the table of long prefixes begins, which is in reach there however large the image grows.
fn prefix_table(options: &Options) -> u64 {
    records_end(options).next_multiple_of(4)
}

/// Where everything ends that the image begins with.
pub(crate) fn head_end(options: &Options, plan: &Plan) -> u64 {
    match early_shared_area(options, plan) {
        Some(start) => start + plan.xattrs.shared_area.len() as u64,
        None => devices_end(options, plan),
    }
}

/// Where the table of devices begins.
fn device_table(options: &Options, plan: &Plan) -> u64 {
    prefixes_end(options, plan).next_multiple_of(DEVICE_SLOT_SIZE as u64)
}

/// Where the table of devices ends, or what is before it if there is none.
fn devices_end(options: &Options, plan: &Plan) -> u64 {
    match plan.devices.len() {
        0 => prefixes_end(options, plan),
        count => device_table(options, plan) + devices::table_size(count),
    }
}

fn prefixes_end(options: &Options, plan: &Plan) -> u64 {
    match plan.xattrs.prefixes.encode().len() {
        0 => records_end(options),
        len => prefix_table(options) + len as u64,
    }
}

/// Where the shared attributes are, if they lie before the data.
pub(crate) fn early_shared_area(options: &Options, plan: &Plan) -> Option<u64> {
    let is_early = plan.is_far || options.compression.metabox.is_some();
    is_early.then(|| devices_end(options, plan).next_multiple_of(4))
}

/// What a reader must know of the algorithms: the most that any of `encodings` asks for.
fn configs(options: &Options, encodings: impl Iterator<Item = Encoding>) -> Option<Configs> {
    let add = |configs, encoding| with_encoding(configs, encoding, options.layout.block);
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

/// Writes the superblock, if asked for with the checksum of block 0 as it is by now.
pub(crate) fn write_superblock(finished: &Finished<'_>, content: Digest) -> Result<(), BuildError> {
    let options = finished.sources.options;
    let devices = device_slots(finished)?;
    let content = match devices.len() {
        0 => content,
        _ => Digest::of_file(&[content, Digest::of_piece(&devices)]),
    };
    let mut head = superblock(finished, content).encode().map_err(|error| unencodable(&error))?;
    if let Some(configs) = configs(options, finished.used.iter()) {
        configs.encode_into(&mut head);
    }
    if has_plain_prefixes(finished) {
        let start = prefix_table(options) - SUPERBLOCK_POSITION;
        head.resize(usize::try_from(start).unwrap_or(head.len()), 0);
        head.extend_from_slice(&finished.plan.xattrs.prefixes.encode());
    }
    if !devices.is_empty() {
        let start = device_table(options, finished.plan) - SUPERBLOCK_POSITION;
        head.resize(usize::try_from(start).unwrap_or(head.len()), 0);
        head.extend_from_slice(&devices);
    }
    let failed = |action| move |source| BuildError::Output { action, source };
    finished.image.write_all_at(&head, SUPERBLOCK_POSITION).map_err(failed("write"))?;
    if !options.identity.checksum {
        return Ok(());
    }
    let mut bytes = vec![0; checksummed_size(options.layout.block)];
    finished.image.read_exact_at(&mut bytes, SUPERBLOCK_POSITION).map_err(failed("read back"))?;
    let sum = checksum(&bytes, options.layout.block).map_err(|error| unencodable(&error))?;
    finished
        .image
        .write_all_at(&sum.to_le_bytes(), SUPERBLOCK_POSITION + 4)
        .map_err(failed("write"))
}

fn unencodable(error: &SuperblockError) -> BuildError {
    BuildError::Encode { path: Vec::new(), part: "superblock", problem: error.to_string() }
}

/// The table of devices.
fn device_slots(finished: &Finished<'_>) -> Result<Vec<u8>, BuildError> {
    let wide = uses_wide(finished);
    let mut table = Vec::new();
    for slot in slots(finished) {
        slot.encode_into(wide, &mut table).map_err(|error| BuildError::Encode {
            path: Vec::new(),
            part: "device table",
            problem: error.to_string(),
        })?;
    }
    Ok(table)
}

fn slots(finished: &Finished<'_>) -> Vec<DeviceSlot> {
    let block = finished.sources.options.layout.block;
    let primary = finished.placement.end / u64::from(block.size());
    devices::slots(&finished.plan.devices, (block, primary), finished.blob)
}

/// Whether there are long prefixes, outside of the packed inode.
fn has_plain_prefixes(finished: &Finished<'_>) -> bool {
    let Sources { packed, options, .. } = finished.sources;
    let is_plain = packed.get().is_none() || options.has_plain_prefixes();
    finished.plan.xattrs.prefixes.count() > 0 && is_plain
}

fn has_inline(finished: &Finished<'_>) -> bool {
    finished.files.iter().any(|f| matches!(f.data, FileData::Compressed { inline: 1.., .. }))
}

fn superblock(finished: &Finished<'_>, content: Digest) -> Superblock {
    let Finished { sources, plan, placement, .. } = finished;
    let options = sources.options;
    let mut sb = Superblock::new(options.layout.block);
    sb.compat = Compat::MTIME;
    sb.compat.set(Compat::SB_CHKSUM, options.identity.checksum);
    sb.compat.set(Compat::XATTR_FILTER, options.attributes.xattr_filter && plan.xattrs.is_used());
    sb.xattr_prefix_count = plan.xattrs.prefixes.count();
    sb.incompat.set(Incompat::XATTR_PREFIXES, sb.xattr_prefix_count > 0);
    sb.ishare_xattr_prefix_id = plan.xattrs.prefixes.digest_number();
    sb.compat.set(Compat::ISHARE_XATTRS, sb.ishare_xattr_prefix_id.is_some());
    if has_plain_prefixes(finished) {
        sb.compat |= Compat::PLAIN_XATTR_PFX;
        // Within the first blocks.
        sb.xattr_prefix_start = u32::try_from(prefix_table(options) / 4).unwrap_or(u32::MAX);
    }
    sb.incompat.set(Incompat::BITS_48, uses_wide(finished));
    sb.root_nid = finished.root;
    let (packed, metabox) = (sources.packed.get(), sources.metabox.get());
    let nameless = usize::from(packed.is_some()) + usize::from(metabox.is_some());
    sb.inos = (plan.order.len() + nameless) as u64;
    sb.metabox_nid = metabox.map(|metabox| placement.nid(metabox.index));
    sb.incompat.set(Incompat::METABOX, metabox.is_some());
    sb.packed_nid = packed.map(|packed| placement.nid(packed.index));
    // Deduplication has the same bit.
    sb.incompat.set(Incompat::FRAGMENTS, packed.is_some() || finished.has_shared);
    sb.incompat.set(Incompat::ZTAILPACKING, has_inline(finished));
    sb.blocks = placement.image_end / u64::from(options.layout.block.size());
    sb.epoch = plan.epoch.sec;
    sb.fixed_nsec = plan.epoch.nsec;
    sb.build_time = plan.build_time;
    sb.meta_blkaddr = placement.meta_blkaddr;
    sb.xattr_blkaddr = placement.xattr_blkaddr();
    sb.uuid = uuid(&options.identity, content);
    for (to, from) in sb.volume_name.iter_mut().zip(&options.identity.label) {
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
    let chunked = |f: &StoredFile| matches!(f.data, FileData::Chunked { .. });
    sb.incompat.set(Incompat::CHUNKED_FILE, finished.files.iter().any(chunked));
    if !plan.devices.is_empty() {
        sb.incompat |= Incompat::DEVICE_TABLE;
        // There are no more, and the table lies behind the superblock.
        sb.extra_devices = u16::try_from(plan.devices.len()).unwrap_or(u16::MAX);
        let slot = device_table(options, plan) / DEVICE_SLOT_SIZE as u64;
        sb.devt_slotoff = u16::try_from(slot).unwrap_or(u16::MAX);
    }
    sb
}

/// The UUID of an image whose content has this digest.
fn uuid(identity: &Identity, content: Digest) -> [u8; 16] {
    match identity.id {
        ImageId::Fixed(uuid) => uuid,
        ImageId::Clear => [0; 16],
        ImageId::Random => *Uuid::new_v4().as_bytes(),
        ImageId::FromContent => custom_uuid(match identity.build_time {
            Some(time) => Digest::of_file(&[content, digest_of(time)]),
            None => content,
        }),
    }
}

/// Whether anything is as only the 48-bit layout has it.
fn uses_wide(finished: &Finished<'_>) -> bool {
    let Finished { sources, plan, files, .. } = finished;
    let has_own_time = |record: Record| {
        record.inode.form == InodeForm::Compact && record.inode.mtime != plan.epoch.sec
    };
    let has_records = |file: &StoredFile| {
        matches!(file.data, FileData::Compressed { index: IndexForm::Records, .. })
    };
    let has_metabox = sources.options.compression.metabox.is_some();
    let has_far_chunks =
        |file: &StoredFile| matches!(file.data, FileData::Chunked { format, .. } if format.wide());
    let is_far = |slot: DeviceSlot| slot.blocks.max(slot.uniaddr.0) > u32::MAX.into();
    let has_far_parts =
        plan.is_far || files.iter().any(has_far_chunks) || slots(finished).into_iter().any(is_far);
    let is_wide = plan.dot_omitted || has_far_parts || has_metabox || files.iter().any(has_records);
    plan.wide && (is_wide || Records::new(*sources, plan, files).iter().any(has_own_time))
}

fn digest_of(time: Timestamp) -> Digest {
    Digest(u128::from(time.sec.cast_unsigned()) << 32 | u128::from(time.nsec))
}

/// A UUID of version 8, whose bits are free but for version and variant (RFC 9562, section 5.8).
const fn custom_uuid(digest: Digest) -> [u8; 16] {
    let free = !(0xf << 76 | 0x3 << 62);
    (digest.0 & free | 0x8 << 76 | 0x2 << 62).to_be_bytes()
}
