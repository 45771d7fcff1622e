//! Defines [`Summary`]: what an image's superblock and tables declare.

use std::ops::Range;

use lith_format::{
    compression::{Algorithm::Lz4, Configs},
    features::{Compat, Incompat},
    kernel::{self, Capability, KernelVersion, Reason, Target},
    superblock::Superblock,
};
use lith_reader::Image;
use serde::Serialize;
use uuid::Uuid;

use crate::{names, number::Bytes};

/// What an image's superblock and tables declare.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Summary {
    /// Bytes of the primary device.
    pub size: u64,
    /// Its UUID.
    pub uuid: String,
    /// The volume name.
    pub label: String,
    /// Bytes of a block.
    pub block_size: u32,
    /// Blocks of the primary device.
    pub blocks: u64,
    /// Inodes.
    pub inodes: u64,
    /// The root's NID.
    pub root_nid: u64,
    /// Seconds since 1970.
    pub made: i64,
    /// Its features.
    pub features: Features,
    /// The declared compression algorithms.
    pub algorithms: Vec<Algorithm>,
    /// Further devices.
    pub devices: Vec<DeviceSlot>,
    /// The images that follow on the primary device, if it is a patch that they are joined to.
    pub joined: Vec<JoinedBase>,
    /// The stretches that hold what is read first, if the image says where.
    pub read_first: Vec<Stretch>,
    /// Which kernels mount it.
    pub kernel: Kernel,
}

/// An image that follows another one on its device, which refers to it.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct JoinedBase {
    /// The file's name when it was referred to.
    pub name: String,
    /// Its UUID.
    pub uuid: String,
    /// Its first byte on the device.
    pub start: u64,
    /// Its bytes.
    pub bytes: u64,
}

/// A range of the primary device.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Stretch {
    /// Its first byte.
    pub start: u64,
    /// Its bytes.
    pub bytes: u64,
}

/// Features by name.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Features {
    /// Those that a kernel must support.
    pub incompat: Vec<&'static str>,
    /// Those that it may ignore.
    pub compat: Vec<&'static str>,
}

/// A compression algorithm.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Algorithm {
    /// Its name.
    pub name: &'static str,
    /// What its decoder must support, as text.
    pub needs: String,
}

/// A slot of the device table.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct DeviceSlot {
    /// The tag that identifies the device.
    pub tag: String,
    /// Its blocks.
    pub blocks: u64,
}

/// The release that was found not to read LZ4 without 0padding. 6.18 reads it; those between were not tried.
const WITHOUT_UNPADDED_LZ4: &str = "7.2";

/// Which kernels mount an image.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Kernel {
    /// The oldest one.
    pub oldest: String,
    /// The first release that is known not to read it any more; `None`: there is no such release.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused_since: Option<&'static str>,
    /// All that requires more than the first kernel with EROFS.
    pub reasons: Vec<Requirement>,
    /// The options that its configuration needs.
    pub configuration: Vec<&'static str>,
    /// Distributions whose kernel is new enough, and lacks one of these options.
    pub not_on: Vec<&'static str>,
}

/// Why a kernel must not be older.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Requirement {
    /// The first kernel that supports it.
    pub since: String,
    /// What requires that kernel.
    pub what: String,
}

impl Summary {
    /// The summary of `image`.
    #[must_use]
    pub fn new(image: &Image) -> Self {
        let sb = image.superblock();
        let slots = image.device_map().slots.iter();
        let devices = slots.map(|slot| DeviceSlot {
            tag: names::text(slot.tag()).into_owned(),
            blocks: slot.blocks,
        });
        let first = image.read_first().into_iter();
        let stretch =
            |range: Range<u64>| Stretch { start: range.start, bytes: range.end - range.start };
        Self {
            size: image.device_size(0),
            uuid: Uuid::from_bytes(sb.uuid).to_string(),
            label: names::text(sb.label()).into_owned(),
            block_size: sb.block.size(),
            blocks: sb.blocks,
            inodes: sb.inos,
            root_nid: sb.root_nid.0,
            made: sb.epoch.saturating_add(sb.build_time.into()),
            features: Features::new(sb),
            algorithms: algorithms(image.configs(), sb.block.size()),
            devices: devices.collect(),
            joined: joined(image),
            read_first: first.map(stretch).collect(),
            kernel: Kernel::new(sb),
        }
    }
}

impl Summary {
    /// Names LZ4 without 0padding, which the superblock may not declare at all.
    pub(super) fn name_unpadded_lz4(&mut self) {
        self.kernel.refused_since = Some(WITHOUT_UNPADDED_LZ4);
        self.algorithms.retain(|algorithm| algorithm.name != "lz4");
        let needs = "without 0padding, pclusters of one block".to_owned();
        self.algorithms.insert(0, Algorithm { name: "lz4", needs });
        let option = Lz4.kernel_option();
        if !self.kernel.configuration.contains(&option) {
            self.kernel.configuration.push(option);
        }
    }
}

impl Features {
    fn new(sb: &Superblock) -> Self {
        let incompat = Incompat::features(sb.incompat).map(|feature| feature.name);
        let compat = Compat::features(sb.compat).map(|feature| feature.name);
        Self { incompat: incompat.collect(), compat: compat.collect() }
    }
}

/// The images that follow; none if what is said of them is damaged, which a check finds.
fn joined(image: &Image) -> Vec<JoinedBase> {
    let Ok(Some(joined)) = image.joined() else { return Vec::new() };
    let ranges = joined.ranges(image.superblock().block).unwrap_or_default();
    let all = ranges.iter().zip(&joined.bases).map(|(range, base)| JoinedBase {
        name: names::text(&base.name).into_owned(),
        uuid: Uuid::from_bytes(base.uuid).to_string(),
        start: range.start,
        bytes: base.bytes,
    });
    all.collect()
}

fn algorithms(configs: &Configs, block: u32) -> Vec<Algorithm> {
    let lz4 = configs.lz4.map(|lz4| {
        let pcluster = u64::from(lz4.max_pcluster_blocks) * u64::from(block);
        let (distance, pcluster) = (lz4.max_distance, Bytes(pcluster));
        ("lz4", format!("pclusters of at most {pcluster}, matches at most {distance} bytes away"))
    });
    let lzma = configs
        .lzma
        .map(|lzma| ("lzma", format!("a dictionary of {}", Bytes(lzma.dict_size.into()))));
    let deflate =
        configs.deflate.map(|deflate| ("deflate", format!("window bits {}", deflate.window_bits)));
    let zstd = configs.zstd.map(|zstd| {
        let window = 1_u64.checked_shl(zstd.window_log.into()).unwrap_or(u64::MAX);
        ("zstd", format!("a window of {}", Bytes(window)))
    });
    let all = [lz4, lzma, deflate, zstd].into_iter().flatten();
    all.map(|(name, needs)| Algorithm { name, needs }).collect()
}

impl Kernel {
    fn new(sb: &Superblock) -> Self {
        let mut requirements = kernel::requirements(sb);
        requirements.sort_by_key(|requirement| std::cmp::Reverse(requirement.since));
        let reasons = requirements.iter().map(|requirement| Requirement {
            since: requirement.since.to_string(),
            what: match requirement.reason {
                Reason::Feature(feature) => format!("feature {}", feature.name),
                other => other.to_string(),
            },
        });
        let oldest = kernel::min_kernel(sb);
        let algorithms: Vec<_> = sb.algorithms.iter_known().collect();
        let mut configuration = vec!["CONFIG_EROFS_FS"];
        // Indexes need the option also where no extent is compressed.
        let has_indexes = sb.incompat.contains(Incompat::LZ4_0PADDING) || !algorithms.is_empty();
        configuration.extend(has_indexes.then_some(Lz4.kernel_option()));
        let others = algorithms.iter().filter(|algorithm| **algorithm != Lz4);
        configuration.extend(others.map(|algorithm| algorithm.kernel_option()));
        let lacks = |target: &&Target| algorithms.iter().any(|needed| !target.reads(*needed));
        let targets = Target::ALL.iter().filter(|target| target.kernel >= oldest);
        let not_on = targets.filter(lacks).map(|target| target.name).collect();
        let (oldest, reasons) = (oldest.to_string(), reasons.collect());
        Self { oldest, refused_since: None, reasons, configuration, not_on }
    }

    /// Adds what the superblock should have declared, and did not.
    pub(super) fn require_undeclared(&mut self, capability: Capability) {
        let since = capability.since();
        if self.oldest.parse().is_ok_and(|oldest: KernelVersion| oldest < since) {
            self.oldest = since.to_string();
        }
        let what =
            format!("{capability}, undeclared: older kernels mount the image and fail there");
        self.reasons.insert(0, Requirement { since: since.to_string(), what });
    }
}
