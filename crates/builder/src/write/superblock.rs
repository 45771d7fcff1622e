//! Writes the superblock, with the records of the algorithms, long prefixes and the device table.

use lith_format::{
    compression::Lz4Config,
    device_table::{DEVICE_SLOT_SIZE, DeviceSlot},
    features::{Compat, Incompat},
    hot::encode_hot_note,
    inode::InodeForm,
    joined::encode_joined_header,
    provenance::encode_provenance,
    superblock::{SUPERBLOCK_POSITION, Superblock, checksum, checksummed_size},
};
use lith_tree::{InodeIndex, Timestamp};
use uuid::Uuid;

use super::{devices, hot, image::Image};
use crate::{
    BuildError, Digest, ImageId, IndexForm,
    error::Unencodable,
    place::{SizedInode, SizedInodes},
    plan::{configs, configs_of},
    store::FileData,
};

/// Writes the superblock, if requested with the checksum of block 0 as it is by now.
pub(super) fn write(image: &Image<'_>) -> Result<(), BuildError> {
    let plan = image.geometry.plan;
    let options = plan.options;
    let devices = device_table(image)?;
    let content = match devices.len() {
        0 => image.content,
        _ => Digest::of_file(&[image.content, Digest::of_piece(&devices)]),
    };
    let joined = joined_note(image);
    let content = match &joined {
        Some(note) => Digest::of_file(&[content, Digest::of_piece(note)]),
        None => content,
    };
    let provenance = options.identity.provenance.as_deref();
    let content = match provenance {
        Some(text) => Digest::of_file(&[content, Digest::of_piece(text)]),
        None => content,
    };
    let encoded = superblock(image, content).encode();
    let mut head = encoded.map_err(|error| unencodable(Unencodable::Superblock(error)))?;
    if plan.head.has_configs {
        let used = &image.stored.used;
        let known = configs_of(image.geometry.input.known.configs, used.known);
        configs(known, used.iter(), options.layout.block).encode_into(&mut head);
    }
    let mut append = |position: u64, bytes: &[u8]| {
        let start = usize::try_from(position - SUPERBLOCK_POSITION).expect("the first blocks");
        head.resize(start, 0);
        head.extend_from_slice(bytes);
    };
    if has_plain_prefixes(image) {
        append(plan.head.prefixes, &plan.xattrs.prefixes.encode());
    }
    if !devices.is_empty() {
        let note = &image.geometry.input.known.note;
        append(plan.head.devices, &[devices.as_slice(), note].concat());
    }
    if let (Some(start), Some(note)) = (plan.head.joined, joined) {
        append(start, &note);
    }
    if let Some(start) = plan.head.hot {
        append(start, &encode_hot_note(&hot::stretches(image)));
    }
    if let Some((start, text)) = plan.head.provenance.zip(provenance) {
        append(start, &encode_provenance(text, start).expect("the plan refuses what is too long"));
    }
    let output = image.destination.image;
    let failed = |action| move |source| BuildError::Output { action, source };
    output.write_all_at(&head, SUPERBLOCK_POSITION).map_err(failed("write"))?;
    if !options.identity.checksum {
        return Ok(());
    }
    let block = options.layout.block;
    let mut bytes = vec![0; checksummed_size(block)];
    output.read_exact_at(&mut bytes, SUPERBLOCK_POSITION).map_err(failed("read back"))?;
    let sum = checksum(&bytes, block);
    let sum = sum.map_err(|error| unencodable(Unencodable::Superblock(error)))?;
    output.write_all_at(&sum.to_le_bytes(), SUPERBLOCK_POSITION + 4).map_err(failed("write"))
}

fn unencodable(source: Unencodable) -> BuildError {
    BuildError::Encode { path: Vec::new(), source }
}

/// The note of the images that follow on the device; `None`: none follow.
fn joined_note(image: &Image<'_>) -> Option<Vec<u8>> {
    let known = image.geometry.input.known;
    let (follows, position) = known.follows.zip(image.geometry.plan.head.joined)?;
    let header = encode_joined_header(follows.start, follows.count, position);
    let mut note = header.expect("the plan refuses what is too far");
    note.extend_from_slice(&known.note);
    Some(note)
}

/// The device table; empty if there is none.
fn device_table(image: &Image<'_>) -> Result<Vec<u8>, BuildError> {
    let wide = uses_wide(image);
    let mut table = Vec::new();
    for slot in slots(image) {
        let encoded = slot.encode_into(wide, &mut table);
        encoded.map_err(|error| unencodable(Unencodable::Devices(error)))?;
    }
    Ok(table)
}

fn slots(image: &Image<'_>) -> Vec<DeviceSlot> {
    let plan = image.geometry.plan;
    let block = plan.options.layout.block;
    let primary = image.placement.end / u64::from(block.size());
    let blob = image.destination.context.blob.map(|_| image.stored.blob_blocks);
    devices::slots(&plan.devices, (block, primary), blob)
}

/// The extra inode of that index, if the image has it.
fn extra(image: &Image<'_>, index: InodeIndex) -> Option<InodeIndex> {
    image.geometry.input.extra.iter().map(|extra| extra.index).find(|extra| *extra == index)
}

/// Whether there are long prefixes, outside of a packed inode.
fn has_plain_prefixes(image: &Image<'_>) -> bool {
    let plan = image.geometry.plan;
    let has_packed = extra(image, plan.packed).is_some();
    plan.xattrs.prefixes.count() > 0 && plan.has_plain_prefixes(has_packed)
}

fn has_inline(image: &Image<'_>) -> bool {
    image.stored.table.iter().any(|data| matches!(data, FileData::Compressed { inline: 1.., .. }))
}

fn superblock(image: &Image<'_>, content: Digest) -> Superblock {
    let Image { geometry, stored, placement, .. } = *image;
    let plan = geometry.plan;
    let options = plan.options;
    let mut sb = Superblock::new(options.layout.block);
    sb.compat = Compat::MTIME;
    sb.compat.set(Compat::SB_CHKSUM, options.identity.checksum);
    sb.compat.set(Compat::XATTR_FILTER, options.attributes.xattr_filter && plan.xattrs.is_used());
    sb.xattr_prefix_count = plan.xattrs.prefixes.count();
    sb.incompat.set(Incompat::XATTR_PREFIXES, sb.xattr_prefix_count > 0);
    sb.ishare_xattr_prefix_id = plan.xattrs.prefixes.digest_number();
    sb.compat.set(Compat::ISHARE_XATTRS, sb.ishare_xattr_prefix_id.is_some());
    if has_plain_prefixes(image) {
        sb.compat |= Compat::PLAIN_XATTR_PFX;
        let start = u32::try_from(plan.head.prefixes / 4);
        sb.xattr_prefix_start = start.expect("prefixes are within the first blocks");
    } else if sb.xattr_prefix_count > 0 {
        sb.xattr_prefix_start = image.prefixes_start;
    }
    sb.incompat.set(Incompat::BITS_48, uses_wide(image));
    sb.root_nid = image.root;
    let (packed, metabox) = (extra(image, plan.packed), extra(image, plan.metabox()));
    sb.inos = (plan.order.len() + image.geometry.input.extra.len()) as u64;
    sb.metabox_nid = metabox.map(|metabox| placement.nid(metabox));
    sb.incompat.set(Incompat::METABOX, metabox.is_some());
    let boxes_shared = metabox.is_some() && plan.xattrs.shared_count > 0;
    sb.compat.set(Compat::SHARED_EA_IN_METABOX, boxes_shared);
    sb.packed_nid = packed.map(|packed| placement.nid(packed));
    // Deduplication has the same bit.
    sb.incompat.set(Incompat::FRAGMENTS, packed.is_some() || stored.has_shared);
    sb.incompat.set(Incompat::ZTAILPACKING, has_inline(image));
    let own = placement.image_end / u64::from(options.layout.block.size());
    sb.blocks = geometry.input.known.follows.map_or(own, |follows| follows.end);
    sb.epoch = plan.epoch.sec;
    sb.fixed_nsec = plan.epoch.nsec;
    sb.build_time = plan.build_time;
    sb.meta_blkaddr = placement.meta_blkaddr;
    sb.xattr_blkaddr = placement.xattr_blkaddr();
    sb.uuid = uuid(image, content);
    for (to, from) in sb.volume_name.iter_mut().zip(&options.identity.label) {
        *to = *from;
    }
    set_algorithms(&mut sb, image);
    let is_chunked = |data| matches!(data, FileData::Chunked { .. });
    sb.incompat.set(Incompat::CHUNKED_FILE, stored.table.iter().any(is_chunked));
    if !plan.devices.is_empty() {
        sb.incompat |= Incompat::DEVICE_TABLE;
        let count = u16::try_from(plan.devices.len());
        sb.extra_devices = count.expect("the plan refuses more devices");
        let slot = u16::try_from(plan.head.devices / DEVICE_SLOT_SIZE as u64);
        sb.devt_slotoff = slot.expect("the table is within the first blocks");
    }
    sb
}

fn set_algorithms(sb: &mut Superblock, image: &Image<'_>) {
    let used = &image.stored.used;
    sb.algorithms = used.algorithms();
    if !used.has_layouts {
        return;
    }
    sb.incompat |= Incompat::LZ4_0PADDING;
    if image.geometry.plan.head.has_configs {
        let has_configs = used.announces_big || !sb.algorithms.is_empty();
        sb.incompat.set(Incompat::COMPR_CFGS, has_configs);
    } else {
        sb.lz4_max_distance = Lz4Config::MAX_DISTANCE;
    }
}

/// Whether any part of the image needs the 48-bit layout.
fn uses_wide(image: &Image<'_>) -> bool {
    let Image { geometry, stored, .. } = *image;
    let plan = geometry.plan;
    let has_own_time = |sized: SizedInode| {
        sized.inode.form == InodeForm::Compact && sized.inode.mtime != plan.epoch.sec
    };
    let needs_wide = |data| match data {
        FileData::Compressed { index: IndexForm::Records, .. } => true,
        FileData::Chunked { format, .. } => format.wide(),
        _ => false,
    };
    let is_far = |slot: DeviceSlot| slot.blocks.max(slot.uniaddr.0) > u32::MAX.into();
    let options = plan.options;
    let is_wide = options.layout.dot_omitted
        || options.compression.metabox.is_some()
        || plan.is_far
        || stored.table.iter().any(needs_wide)
        || slots(image).into_iter().any(is_far);
    let inodes = SizedInodes { geometry, files: &stored.table };
    plan.wide && (is_wide || inodes.with_names(&[]).any(has_own_time))
}

/// The UUID, which follows from the content unless the options give one.
fn uuid(image: &Image<'_>, content: Digest) -> [u8; 16] {
    let identity = &image.geometry.plan.options.identity;
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

fn digest_of(time: Timestamp) -> Digest {
    Digest(u128::from(time.sec.cast_unsigned()) << 32 | u128::from(time.nsec))
}

/// A UUID of version 8, whose bits are free except version and variant (RFC 9562, section 5.8).
const fn custom_uuid(digest: Digest) -> [u8; 16] {
    let free = !(0xf << 76 | 0x3 << 62);
    (digest.0 & free | 0x8 << 76 | 0x2 << 62).to_be_bytes()
}
