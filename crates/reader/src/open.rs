//! Opens an image: reads its superblock, device table and special inodes, and checks them.

use std::{path::Path, sync::OnceLock};

use lith_device::{FileDevice, ReadAt};
use lith_format::{
    addr::Nid,
    compression::{Algorithm, ConfigError, Configs, Lz4Config},
    device_table::{DEVICE_SLOT_SIZE, DeviceMap, DeviceSlot},
    features::{Compat, Incompat},
    file_type::FileType,
    superblock::{
        EXT_SLOT_SIZE, SUPERBLOCK_POSITION, SUPERBLOCK_SIZE, Superblock, checksummed_size,
        verify_checksum,
    },
    xattr::PrefixTable,
};

use crate::{
    cache::Cache,
    devices::Devices,
    error::{Corruption, Error, Fault, OpenError},
    fetch::Pool,
    image::{Image, Options, Role, SpecialInode},
    map::Map,
    memory,
    metadata::Metadata,
    piece::Space,
    stats::Counters,
};

/// Bytes that hold the config records of every image seen.
const RECORDS: usize = 4096;
/// Bytes of four config records of the greatest length, each with its length field and padding.
const RECORDS_MAX: usize = 4 * (2 + 65535 + 3);

/// The least bytes of a shard of decoded extents, so that the longest extents that are kept fit; and the most shards.
const SHARD: usize = 7 << 20;
const SHARDS: usize = 16;

impl Image {
    /// Opens the image in a file or on a block device.
    ///
    /// # Errors
    /// [`Error::Open`] with the path.
    pub fn open_path(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let device = FileDevice::open(path).map_err(|error| OpenError::File(error).into());
        device.and_then(Self::open).map_err(|error: Error| error.opening(path))
    }

    /// Opens the image on `device`. Devices of its device table follow on the same device.
    ///
    /// # Errors
    /// [`Error::Open`] if there is no image or it can't be used; errors of reading its special inodes.
    pub fn open(device: impl ReadAt + 'static) -> Result<Self, Error> {
        Self::open_with(vec![Box::new(device)], Options::default())
    }

    /// Opens the image on the first of `devices`. The others are those of its device table in its order; there are none
    /// if these follow on the first.
    ///
    /// # Errors
    /// As [`Self::open`]; also if there are fewer or more devices than the table has.
    pub fn open_with(devices: Vec<Box<dyn ReadAt>>, options: Options) -> Result<Self, Error> {
        let limits = options.limits;
        let Some(primary) = devices.first() else {
            return Err(OpenError::DeviceCount { expected: 1, given: 0 }.into());
        };
        let superblock = read_superblock(primary, !options.any_checksum)?;
        let configs = read_configs(primary, &superblock)?;
        let map = read_device_map(primary, &superblock, devices.len() - 1)?;
        let decoded = limits.decoded_cache / 8 * 7;
        let shards = (decoded / SHARD).clamp(1, SHARDS);
        let mut image = Self {
            devices: Devices::new(devices, map, limits.metadata_cache),
            superblock,
            configs,
            packed: None,
            all_files: OnceLock::new(),
            metabox: None,
            prefixes: PrefixTable::default(),
            limits,
            metabox_pieces: Cache::new(limits.metadata_cache, 4),
            decoded: Cache::new(decoded, shards),
            stored: Cache::new(limits.decoded_cache - decoded, shards),
            pool: Pool::default(),
            counters: Counters::default(),
            way: options.way,
        };
        if options.whole_again {
            image.decoded.remember();
        }
        image.packed = image
            .superblock
            .packed_nid
            .map(|nid| special(&image, nid, Role::Packed))
            .transpose()?;
        image.metabox = image
            .superblock
            .metabox_nid
            .map(|nid| special(&image, nid, Role::Metabox))
            .transpose()?;
        image.prefixes = read_prefixes(&image)?;
        let root = image.root()?;
        if root.file_type != FileType::Directory {
            return Err(OpenError::Root { nid: root.nid }.into());
        }
        Ok(image)
    }
}

/// Reads only the superblock, also of an image that can't be opened because more of it is damaged or missing. Its
/// checksum counts if `verify` is set.
///
/// # Errors
/// [`OpenError`] if there is none, or it is damaged itself.
pub fn read_superblock(device: &dyn ReadAt, verify: bool) -> Result<Superblock, OpenError> {
    let bytes = read_up_to(device, SUPERBLOCK_POSITION, SUPERBLOCK_SIZE + EXT_SLOT_SIZE)?;
    let superblock = Superblock::parse(&bytes)?;
    if verify && superblock.compat.contains(Compat::SB_CHKSUM) {
        let size = checksummed_size(superblock.block);
        let covered = read_up_to(device, SUPERBLOCK_POSITION, size)?;
        verify_checksum(&covered, superblock.block)?;
    }
    Ok(superblock)
}

fn read_configs(device: &dyn ReadAt, sb: &Superblock) -> Result<Configs, OpenError> {
    if !sb.incompat.contains(Incompat::COMPR_CFGS) {
        let lz4 = sb.algorithms.has(Algorithm::Lz4);
        let lz4 = lz4.then(|| Lz4Config::without_record(sb.lz4_max_distance));
        return Ok(Configs { lz4, ..Configs::default() });
    }
    let position = SUPERBLOCK_POSITION + sb.size() as u64;
    let records = read_up_to(device, position, RECORDS)?;
    match Configs::parse(sb.algorithms, &records) {
        Err(ConfigError::Truncated { .. }) => {
            let records = read_up_to(device, position, RECORDS_MAX)?;
            Ok(Configs::parse(sb.algorithms, &records)?)
        }
        parsed => Ok(parsed?),
    }
}

fn read_device_map(
    device: &dyn ReadAt,
    sb: &Superblock,
    given: usize,
) -> Result<DeviceMap, OpenError> {
    let expected = usize::from(sb.extra_devices);
    if given != 0 && given != expected {
        return Err(OpenError::DeviceCount { expected, given });
    }
    let table = read_up_to(device, sb.device_table_position(), expected * DEVICE_SLOT_SIZE)?;
    let wide = sb.incompat.contains(Incompat::BITS_48);
    let slots = DeviceSlot::parse_all(&table, sb.extra_devices, wide)?;
    Ok(DeviceMap { block: sb.block, slots, flat: given == 0 && expected != 0 })
}

fn special(image: &Image, nid: Nid, role: Role) -> Result<SpecialInode, Error> {
    let inode = image.inode(nid)?;
    if inode.file_type != FileType::Regular {
        return Err(Fault::from(Corruption::NotAFile { role: role.name() }).of(nid));
    }
    let map = Map::of(image, &inode).map_err(|fault| fault.of(nid))?;
    Ok(SpecialInode { inode, map, role })
}

fn read_prefixes(image: &Image) -> Result<PrefixTable, Error> {
    let sb = &image.superblock;
    if !sb.incompat.contains(Incompat::XATTR_PREFIXES) {
        return Ok(PrefixTable::default());
    }
    let (count, position) = (sb.xattr_prefix_count, sb.xattr_prefix_position());
    let size = PrefixTable::max_size(count);
    let plain = sb.compat.contains(Compat::PLAIN_XATTR_PFX);
    let holder = [&image.metabox, &image.packed].into_iter().flatten().next().filter(|_| !plain);
    let bytes = match holder {
        Some(special) => {
            let rest = special.inode.size.saturating_sub(position);
            let mut bytes = vec![0; size.min(memory::length(rest))];
            let read = special.content(image).read(&mut bytes, position);
            read.map(|()| bytes)
        }
        None => image.read_metadata_up_to(Space::Primary, position, size),
    };
    let nid = holder.map_or(sb.root_nid, |special| special.inode.nid);
    let bytes = bytes.map_err(|fault| fault.of(nid))?;
    Ok(PrefixTable::parse(&bytes, count).map_err(OpenError::from)?)
}

/// The bytes from `position` on to the device's end, at most `length`.
fn read_up_to(device: &dyn ReadAt, position: u64, length: usize) -> Result<Vec<u8>, OpenError> {
    let rest = memory::length(device.size().saturating_sub(position));
    let mut bytes = vec![0; length.min(rest)];
    if !bytes.is_empty() {
        device.read_at(&mut bytes, position)?;
    }
    Ok(bytes)
}
