//! Defines the arguments that say how an image is compressed and laid out, and maps them to options.

use std::{ffi::OsString, path::PathBuf};

use clap::Args;
use lith::{
    builder::{ChunkForm, Chunks, Compression, Fragments, IndexForm, Options, Preset, Rule},
    codec::Compressor,
    composefs,
    format::{
        addr::BlockBits,
        compression::Algorithm,
        kernel::{Capability, KernelVersion, Target},
    },
};

use super::{
    extended, hints,
    rule::RuleArgument,
    value::{self, Compressors, Metadata, Size},
};

#[derive(Args, Debug)]
#[command(next_help_heading = "Compression and layout")]
pub(super) struct LayoutArguments {
    /// The defaults of -z, -C, -E and -m: fast (quick to build), balanced (small, and quick to read), small (much
    /// smaller, slower to read) or smallest (slow to build and to read) [default: balanced]
    #[arg(long, value_name = "NAME", hide_possible_values = true, value_parser = value::preset())]
    preset: Option<Preset>,

    /// The compression of files: none, lz4, lz4hc (levels 1 to 12), zstd (-7 to 22), deflate (1 to 12) or lzma (0 to 9,
    /// and 100 to 109 with more effort); dictsize=SIZE is the window of zstd and lzma, lc=, lp= and pb= tune lzma. Further
    /// algorithms for --compress-hints follow after colons
    #[arg(short = 'z', long, value_name = "ALGORITHM[,LEVEL][:...]")]
    pub(super) compress: Option<Compressors>,

    /// The largest pcluster, 4K to 1M: larger ones make smaller images, but small reads decompress more
    /// [default: 64K, or one block for a kernel that reads no more]
    #[arg(short = 'C', long, value_name = "SIZE")]
    pub(super) pcluster: Option<Size>,

    /// Another compression for files that match: `*.so=lz4`, `/usr/share=lzma,6,pcluster=1M`, `*.jpg=none`, or two
    /// algorithms, `*.so=lz4hc,12|zstd,9`, of which the second makes the pclusters that hold clearly more with it. The
    /// first rule that matches counts; can be repeated
    #[arg(long = "rule", value_name = "GLOB=ALGORITHM[,LEVEL][,pcluster=SIZE]")]
    rules: Vec<RuleArgument>,

    /// Further rules, after those of --rule, in the format of mkfs.erofs: in each line a pcluster size (0: no compression),
    /// optionally the number of an algorithm of -z, counted from 0, and a regular expression for paths without a leading
    /// slash
    #[arg(long, value_name = "FILE", value_parser = value::place())]
    compress_hints: Option<PathBuf>,

    /// Extended features, separated by commas; can be repeated
    #[arg(short = 'E', value_name = "FEATURE,...", allow_hyphen_values = true, long_help = format!(
        "Extended features, separated by commas; can be repeated\n\n\
        fragments (ends of files and small files share pclusters), all-fragments (all files do), ztailpacking (the \
        last pcluster of a file is inline), dedupe (repeated data is stored once), legacy-compress (full indexes); \
        for Linux {}, 48bit (compact inodes with times of their own, small indexes, images beyond 16 TiB) and \
        dot-omitted (directories without `.`). A leading `^` switches a feature off. The other features of \
        mkfs.erofs are accepted as well",
        Capability::Bits48.since()
    ))]
    extended: Vec<String>,

    #[arg(short = 'm', long, value_name = "SIZE[:ALGORITHM]", help = format!(
        "Compress metadata in pclusters of this size, like files unless an algorithm is given; for Linux {}",
        Capability::Metabox.since()
    ))]
    metadata: Option<Metadata>,

    /// Whether directories of more than a block are stored compressed in the packed inode; needs -m and fragments, not with --stream
    #[arg(long = "zD", value_name = "0|1", num_args = 0..=1, default_missing_value = "1", require_equals = true, value_parser = value::zero_or_one)]
    pack_directories: Option<bool>,

    /// The least saving by compression, in percent of a file; a file that saves less is stored uncompressed
    #[arg(long, value_name = "PERCENT", default_value_t = Compression::DEFAULT_MIN_SAVING, value_parser = value::percent)]
    pub(super) min_saving: u8,

    #[arg(long, value_name = "FORM", default_value = "compact", hide_possible_values = true, value_parser = value::index(), help = format!(
        "The index of compressed files: compact, full (about four times as large) or records (one for each \
        pcluster, for Linux {})",
        Capability::ExtentRecords.since()
    ))]
    index: IndexForm,

    /// Block size; a kernel mounts no blocks larger than its pages
    #[arg(short = 'b', long, value_name = "SIZE", default_value = "4K", value_parser = value::block)]
    block_size: BlockBits,

    /// Start the image at this byte of its file, and keep the bytes before it
    #[arg(long, value_name = "BYTES", default_value = "0", hide_default_value = true)]
    pub(super) offset: Size,

    /// Store the metadata before the content, so that the image can be listed, extracted or mounted (by FUSE) from a pipe while it
    /// arrives. Small files, which are stored together, come last
    #[arg(long, conflicts_with_all = ["bases", "composefs"])]
    stream: bool,

    /// Store files that are not compressed in chunks of this size, equal ones once; for all files -z none
    #[arg(long, value_name = "SIZE")]
    chunk_size: Option<Size>,

    /// Store chunks in this file instead of the image: a device that readers of the image need, too
    #[arg(long, value_name = "FILE", requires = "chunk_size", value_parser = value::place())]
    pub(super) blob: Option<PathBuf>,

    /// Store the content of files of more than 64 bytes in this folder, as objects that are named by their fs-verity digests, and
    /// make the image that mkcomposefs makes, byte for byte, which refers to them. As with that, each hard link in a directory
    /// becomes a file of its own
    #[arg(
        value_parser = value::place(),
        long,
        value_name = "OBJECTS",
        conflicts_with_all = [
            "bases", "blob", "block_size", "chunk_size", "cold", "compress", "compress_hints", "digests", "extended", "hot", "index",
            "kernel", "label", "metadata", "min_saving", "order", "pack_directories", "pcluster", "preset", "profiles", "provenance",
            "rules", "sort", "target", "uuid", "xattr_prefixes",
        ]
    )]
    pub(super) composefs: Option<PathBuf>,

    /// The version of the form of that image, 0 or 1 [default: 1 if there are whiteouts, otherwise 0, as with mkcomposefs]
    #[arg(long, value_name = "VERSION", requires = "composefs", hide_possible_values = true, value_parser = value::composefs_version())]
    pub(super) composefs_version: Option<composefs::Version>,

    #[arg(long = "xattr-prefix", value_name = "PREFIX", help = format!(
        "A prefix of xattr names to store once; for Linux {}, can be repeated",
        Capability::LongXattrPrefixes.since()
    ))]
    xattr_prefixes: Vec<OsString>,

    /// The oldest Linux that must mount the image, or `host` for the one that runs: features that it lacks are not used,
    /// and refused if requested [default: 6.1, or what the requested features need]
    #[arg(long, value_name = "VERSION", value_parser = value::kernel)]
    pub(super) kernel: Option<KernelVersion>,

    #[arg(long = "for", value_name = "NAME", conflicts_with = "kernel", value_parser = value::target(), hide_possible_values = true)]
    #[arg(help = format!(
        "The distribution whose kernel must mount the image, by its version and its configuration: {}",
        Target::ALL.iter().map(|target| target.name).collect::<Vec<_>>().join(", "),
    ))]
    pub(super) target: Option<Target>,
}

impl LayoutArguments {
    /// What kind of image is made: as the preset has it, unless an option says otherwise. Without compression of files
    /// nothing of the preset remains.
    pub(super) fn options(&self) -> Result<Options, String> {
        let kernel = self.target.map(|target| target.kernel).or(self.kernel);
        let kernel = kernel.unwrap_or(KernelVersion::DEFAULT);
        let preset = self.preset.unwrap_or_default();
        let preset = self
            .target
            .map_or_else(|| preset.options(kernel), |target| preset.options_for(&target));
        let files = self.files(&preset)?;
        let metabox = self.metabox(&preset, files)?;
        let rules = self.rules(&preset)?;
        let mut options = if files.is_some() { preset } else { Options::uncompressed() };
        options.kernel = kernel;
        options.layout.block = self.block_size;
        options.layout.metadata_first = self.stream;
        options.attributes.xattr_prefixes = xattr_prefixes(&self.xattr_prefixes);
        options.compression.files = files;
        options.compression.metabox = metabox;
        options.compression.rules = rules;
        options.compression.index = self.index;
        let chunks = |size: Size| Chunks { size: size.as_u32(), form: ChunkForm::default() };
        options.layout.chunks = self.chunk_size.map(chunks);
        extended::set(&mut options, &self.extended)?;
        let compression = &mut options.compression;
        let can_pack = compression.metabox.is_some()
            && compression.files.is_some()
            && compression.fragments != Fragments::None
            && !self.stream;
        compression.pack_directories =
            self.pack_directories.unwrap_or(compression.pack_directories && can_pack);
        Ok(options)
    }

    /// Whether the oldest kernel is chosen, and not to follow from what is requested.
    pub(super) fn names_kernel(&self) -> bool {
        self.kernel.is_some() || self.target.is_some()
    }

    /// That the preset means less for this kernel, if one of both was chosen.
    pub(super) fn preset_note(&self, kernel: KernelVersion) -> Option<String> {
        if let Some(target) = &self.target {
            return self.target_note(target);
        }
        let is_chosen = self.preset.is_some() || self.kernel.is_some();
        let preset = self.preset.unwrap_or_default();
        let full = preset.full_since().filter(|full| kernel < *full)?;
        if !is_chosen || self.compress.is_some() {
            return None;
        }
        Some(match preset.more_than_balanced_since().filter(|itself| kernel < *itself) {
            Some(itself) => format!(
                "for Linux {kernel} the preset {preset} is balanced; it makes much smaller images with --kernel {itself}, and the smallest with {full}"
            ),
            None => format!("the preset {preset} makes smaller images with --kernel {full}"),
        })
    }

    /// What a small preset is for a distribution without LZMA.
    fn target_note(&self, target: &Target) -> Option<String> {
        let preset = self.preset.filter(|_| self.compress.is_none())?;
        let is_small = matches!(preset, Preset::Small | Preset::Smallest);
        let has_dedupe = is_small && preset.options_for(target).compression.dedupe;
        (has_dedupe && !target.reads(Algorithm::Lzma)).then(|| {
            let option = Algorithm::Lzma.kernel_option();
            format!(
                "{target} has no {option}: the preset {preset} is lz4hc in pclusters of 1 MiB, with everything shared"
            )
        })
    }

    /// Which options of its configuration a kernel needs, if there are distributions whose kernel is new enough and lacks one.
    pub(super) fn configuration_note(&self, options: &Options) -> Option<String> {
        if self.target.is_some() {
            return None;
        }
        let algorithms: Vec<_> = options.algorithms().collect();
        let lacks = |target: &&Target| algorithms.iter().any(|needed| !target.reads(*needed));
        let targets = Target::ALL.iter().filter(|target| target.kernel >= options.kernel);
        let lacking: Vec<_> = targets.filter(lacks).map(|target| target.name).collect();
        let needed = algorithms.iter().filter(|algorithm| **algorithm != Algorithm::Lz4);
        let mut needed: Vec<_> = needed.map(|algorithm| algorithm.kernel_option()).collect();
        needed.dedup();
        (!lacking.is_empty()).then(|| {
            let (needed, lacking) = (needed.join(" and "), lacking.join(", "));
            format!("mounts on kernels with {needed}: not on {lacking} (see --for)")
        })
    }

    fn files(&self, preset: &Options) -> Result<Option<Compression>, String> {
        let Some(compressor) = self.compressors(preset).first().copied() else {
            return match self.pcluster {
                Some(_) if self.rules.is_empty() => {
                    Err("--pcluster has no meaning without compression (-z none)".into())
                }
                _ => Ok(None),
            };
        };
        Ok(Some(Compression { compressor, ..self.default_compression(preset) }))
    }

    /// The preset's compression of files, with the pcluster size and the saving that are given.
    fn default_compression(&self, preset: &Options) -> Compression {
        let files = preset.compression.files.expect("every preset compresses files");
        let pcluster = self.pcluster.map(Size::as_u32).or(files.pcluster);
        Compression { pcluster, min_saving: self.min_saving, ..files }
    }

    /// The compressors that `-z` lists, or the preset's.
    fn compressors(&self, preset: &Options) -> Vec<Compressor> {
        let preset = || preset.compression.files.iter().map(|files| files.compressor).collect();
        self.compress.as_ref().map_or_else(preset, |all| all.0.clone())
    }

    /// The rules of --rule, followed by those of --compress-hints.
    fn rules(&self, preset: &Options) -> Result<Vec<Rule>, String> {
        let default = self.default_compression(preset);
        let mut rules: Vec<_> =
            self.rules.iter().cloned().map(|rule| rule.into_rule(default)).collect();
        if let Some(path) = &self.compress_hints {
            let context = hints::Context {
                compressors: &self.compressors(preset),
                default,
                block: self.block_size,
            };
            rules.extend(hints::read(path, &context)?);
        }
        Ok(rules)
    }

    /// The compression of inodes: that of -m, or the preset's with the compressor of files.
    fn metabox(
        &self,
        preset: &Options,
        files: Option<Compression>,
    ) -> Result<Option<Compression>, String> {
        let files = files.map(|files| files.compressor);
        let (compressor, pcluster) = match (self.metadata, preset.compression.metabox) {
            (Some(Metadata { pcluster, compressor }), _) => {
                let missing = "-m has no meaning without an algorithm, its own or that of -z";
                (Some(compressor.or(files).ok_or(missing)?), Some(pcluster.as_u32()))
            }
            (None, Some(metabox)) => {
                (files, metabox.pcluster.map(|size| size.max(self.block_size.size())))
            }
            (None, None) => (None, None),
        };
        let min_saving = self.min_saving;
        Ok(compressor.map(|compressor| Compression { compressor, pcluster, min_saving }))
    }
}

/// Refuses algorithms that the distribution's kernel doesn't read. What needs a newer kernel is refused by the options' own check.
pub(super) fn check_target(options: &Options, target: &Target) -> Result<(), String> {
    match options.algorithms().find(|algorithm| !target.reads(*algorithm)) {
        None => Ok(()),
        Some(algorithm) => {
            let (kernel, option) = (target.kernel, algorithm.kernel_option());
            Err(format!("{target} mounts no {algorithm}: its Linux {kernel} has no {option}"))
        }
    }
}

pub(crate) fn xattr_prefixes(prefixes: &[OsString]) -> Vec<Vec<u8>> {
    prefixes.iter().map(|prefix| prefix.as_encoded_bytes().to_vec()).collect()
}
