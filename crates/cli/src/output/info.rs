//! How is an image as a whole described?

use std::{borrow::Cow, fmt};

use lith::{
    format::{
        compression::Configs,
        features::{Compat, Incompat},
        kernel::{self, Reason},
        superblock::Superblock,
    },
    reader::Image,
};
use serde::Serialize;
use uuid::Uuid;

use super::{attributes::Time, census::Contents, json, number::Bytes};

/// All that is told of an image.
#[derive(Serialize)]
pub(crate) struct Description<'a> {
    /// Bytes of the primary device.
    size: u64,
    uuid: String,
    label: Cow<'a, str>,
    block_size: u32,
    blocks: u64,
    inodes: u64,
    root_nid: u64,
    /// Seconds since 1970.
    made: i64,
    features: Features,
    algorithms: Vec<Algorithm>,
    devices: Vec<Device>,
    kernel: Kernel,
    #[serde(skip_serializing_if = "Option::is_none")]
    contents: Option<Contents>,
}

#[derive(Serialize)]
struct Features {
    incompat: Vec<&'static str>,
    compat: Vec<&'static str>,
}

#[derive(Serialize)]
struct Algorithm {
    name: &'static str,
    /// What its decoder must hold, in words.
    needs: String,
}

#[derive(Serialize)]
struct Device {
    tag: String,
    blocks: u64,
}

#[derive(Serialize)]
struct Kernel {
    oldest: String,
    reasons: Vec<Requirement>,
}

#[derive(Serialize)]
struct Requirement {
    since: String,
    what: String,
}

impl<'a> Description<'a> {
    /// Describes an image and what was counted in it.
    pub(crate) fn new(image: &'a Image, contents: Option<Contents>) -> Self {
        let sb = image.superblock();
        let slots = image.device_map().slots.iter();
        let devices = slots.map(|slot| Device {
            tag: String::from_utf8_lossy(slot.tag()).into_owned(),
            blocks: slot.blocks,
        });
        Self {
            size: image.device_size(0),
            uuid: Uuid::from_bytes(sb.uuid).to_string(),
            label: json::text(sb.label()),
            block_size: sb.block.size(),
            blocks: sb.blocks,
            inodes: sb.inos,
            root_nid: sb.root_nid.0,
            made: sb.epoch.saturating_add(sb.build_time.into()),
            features: Features::new(sb),
            algorithms: algorithms(image.configs(), sb.block.size()),
            devices: devices.collect(),
            kernel: Kernel::new(sb),
            contents,
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
        Self { oldest: kernel::min_kernel(sb).to_string(), reasons: reasons.collect() }
    }
}

impl fmt::Display for Description<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |names: &[&str]| if names.is_empty() { "none".into() } else { names.join(", ") };
        writeln!(f, "size        {} ({} bytes)", Bytes(self.size), self.size)?;
        writeln!(f, "UUID        {}", self.uuid)?;
        writeln!(f, "label       {:?}", self.label)?;
        writeln!(f, "made        {}", Time(self.made, 0))?;
        writeln!(f, "blocks      {} of {} bytes", self.blocks, self.block_size)?;
        writeln!(f, "inodes      {}, root NID {}", self.inodes, self.root_nid)?;
        writeln!(f, "features    {}", list(&self.features.incompat))?;
        writeln!(f, "compatible  {}", list(&self.features.compat))?;
        for Algorithm { name, needs } in &self.algorithms {
            writeln!(f, "algorithm   {name}: {needs}")?;
        }
        for (number, Device { tag, blocks }) in self.devices.iter().enumerate() {
            writeln!(f, "device {:<4} {blocks} blocks, tag {tag:?}", number + 1)?;
        }
        self.kernel.fmt(f)?;
        self.contents.as_ref().map_or(Ok(()), |contents| contents.fmt(f))
    }
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "mounts on   Linux {} and later", self.oldest)?;
        for Requirement { since, what } in &self.reasons {
            writeln!(f, "            {since}: {what}")?;
        }
        Ok(())
    }
}
