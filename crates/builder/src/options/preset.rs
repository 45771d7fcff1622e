//! Defines [`Preset`]: named choices between the time to build, the size, and the time to read.

use std::{fmt, str::FromStr};

use lith_codec::{Compressor, LzmaEffort};
use lith_format::{
    compression::Algorithm,
    kernel::{Capability, KernelVersion, Target},
};

use super::{Compression, Fragments, Options};

/// A choice between the time to build, the size, and the time to read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Preset {
    /// The quickest to build: LZ4.
    Fast,
    /// Small, and quick to read: zstd, or LZ4HC at its highest level for kernels without zstd, with
    /// fragments if the kernel reads them.
    #[default]
    Balanced,
    /// Much smaller, slower to read: LZMA in pclusters of 1 MiB, with fragments and ztailpacking,
    /// and if the kernel reads them a metabox and the 48-bit layout. For kernels without fragments
    /// the same as [`Balanced`](Self::Balanced).
    Small,
    /// As small as possible, slow to build and to read: LZMA with most effort in pclusters of 1 MiB,
    /// with all files in the packed inode and ztailpacking, and if the kernel reads them directories
    /// in the packed inode, a metabox and the 48-bit layout. For kernels without fragments the same
    /// as [`Balanced`](Self::Balanced).
    Smallest,
}

/// The highest level that hardly takes longer than the one before it: on five trees it takes half of the CPU time of
/// LZ4HC, and images are a fifth smaller.
const ZSTD: Compressor = Compressor::Zstd { level: 9, window: None };
/// The lowest level by which trees are about as small as SquashFS with XZ in blocks of 1 MiB, or smaller, at no more CPU time.
const SMALL_LZMA: Compressor = Compressor::Lzma(LzmaEffort::new(4));
/// What fragments use.
const FRAGMENTS: &[Capability] = &[Capability::Fragments, Capability::Interlaced];
/// What the small presets use besides without LZMA,
const SHARED: &[Capability] =
    &[Capability::PartialReferences, Capability::BigPcluster, Capability::Ztailpacking];
/// and with it,
const SMALL: &[Capability] = &[Capability::Lzma, Capability::BigPcluster, Capability::Ztailpacking];
/// and what they add where the kernel supports it: the 48-bit layout,
const WIDE: &[Capability] = &[Capability::Bits48, Capability::DotOmitted];
/// and compressed inodes.
const METABOX: &[Capability] = &[Capability::Metabox];
/// The size of a pcluster of inodes. Larger ones gain hardly anything, and each access to an inode decompresses one.
const METABOX_PCLUSTER: u32 = 16 << 10;

impl Preset {
    /// All presets, from the quickest build to the smallest image.
    pub const ALL: [Self; 4] = [Self::Fast, Self::Balanced, Self::Small, Self::Smallest];

    /// Its name in lower case.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fast => "fast",
            Self::Balanced => "balanced",
            Self::Small => "small",
            Self::Smallest => "smallest",
        }
    }

    /// The kernel from which on the preset uses everything that it can; `None` if that is the same for all.
    #[must_use]
    pub fn full_since(self) -> Option<KernelVersion> {
        let everything = [FRAGMENTS, SMALL, WIDE, METABOX].into_iter().flatten();
        match self {
            Self::Fast => None,
            Self::Balanced => Some(Capability::Zstd.since()),
            Self::Small | Self::Smallest => everything.map(|needed| needed.since()).max(),
        }
    }

    /// The kernel from which on a small preset is more than [`Balanced`](Self::Balanced); `None` for other presets.
    #[must_use]
    pub fn more_than_balanced_since(self) -> Option<KernelVersion> {
        let needed = [FRAGMENTS, SHARED, SMALL].into_iter().flatten();
        match self {
            Self::Fast | Self::Balanced => None,
            Self::Small | Self::Smallest => needed.map(|needed| needed.since()).max(),
        }
    }

    /// The options of an image that Linux `kernel` and later mount.
    #[must_use]
    pub fn options(self, kernel: KernelVersion) -> Options {
        self.choose(kernel, &Algorithm::ALL)
    }

    /// The options of an image that the kernels of a distribution mount. Without LZMA, the small presets are LZ4HC in
    /// pclusters of 1 MiB, with everything shared.
    #[must_use]
    pub fn options_for(self, target: &Target) -> Options {
        self.choose(target.kernel, target.algorithms)
    }

    fn choose(self, kernel: KernelVersion, algorithms: &[Algorithm]) -> Options {
        let mut options = Options::uncompressed();
        options.kernel = kernel;
        let packs = kernel.supports(FRAGMENTS) && kernel.supports(SHARED);
        let is_small = packs && kernel.supports(SMALL) && algorithms.contains(&Algorithm::Lzma);
        match self {
            Self::Fast => options.compression.files = Some(Compression::new(Compressor::Lz4)),
            Self::Small if is_small => {
                options.make_small(SMALL_LZMA, 1 << 20);
            }
            Self::Smallest if is_small => {
                let effort = LzmaEffort::new(9).extreme().with_dictionary(8 << 20);
                options.make_small(Compressor::Lzma(effort), 1 << 20);
                options.compression.fragments = Fragments::All;
                options.compression.pack_directories = options.compression.metabox.is_some();
            }
            Self::Small | Self::Smallest if packs && !algorithms.contains(&Algorithm::Lzma) => {
                options.make_small(Compressor::Lz4Hc { level: 12 }, 1 << 20);
                options.compression.fragments = Fragments::All;
                options.compression.dedupe = true;
            }
            Self::Balanced | Self::Small | Self::Smallest => {
                let has_zstd =
                    kernel.supports(&[Capability::Zstd]) && algorithms.contains(&Algorithm::Zstd);
                let compressor = if has_zstd { ZSTD } else { Compressor::Lz4Hc { level: 12 } };
                options.compression.files = Some(Compression::new(compressor));
                if kernel.supports(FRAGMENTS) {
                    options.compression.fragments = Fragments::Tails;
                }
            }
        }
        options
    }
}

impl Options {
    /// Chooses the smallest layouts that the target kernel reads.
    fn make_small(&mut self, compressor: Compressor, pcluster: u32) {
        let compression = |pcluster| {
            Some(Compression { pcluster: Some(pcluster), ..Compression::new(compressor) })
        };
        self.compression.files = compression(pcluster);
        self.compression.fragments = Fragments::Tails;
        self.compression.tail_packing = true;
        let is_wide = self.kernel.supports(WIDE);
        (self.layout.wide, self.layout.dot_omitted) = (is_wide, is_wide);
        if self.kernel.supports(METABOX) {
            self.compression.metabox = compression(METABOX_PCLUSTER);
        }
    }
}

/// The options of [`Preset::Balanced`] for [`KernelVersion::DEFAULT`].
impl Default for Options {
    fn default() -> Self {
        Preset::default().options(KernelVersion::DEFAULT)
    }
}

impl fmt::Display for Preset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A text is not the name of a [`Preset`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown preset {0:?}; known are fast, balanced, small and smallest")]
pub struct UnknownPreset(pub String);

impl FromStr for Preset {
    type Err = UnknownPreset;

    fn from_str(name: &str) -> Result<Self, UnknownPreset> {
        let known = Self::ALL.into_iter().find(|preset| preset.name() == name);
        known.ok_or_else(|| UnknownPreset(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_suits_every_kernel() {
        for preset in Preset::ALL {
            assert_eq!(preset.name().parse(), Ok(preset));
            for kernel in ["5.4", "5.10", "5.15", "6.1", "6.12", "6.15", "6.17", "7.0"] {
                let options = preset.options(kernel.parse().unwrap());
                options.check().unwrap_or_else(|error| panic!("{preset}, {kernel}: {error}"));
            }
        }
        assert!("tiny".parse::<Preset>().is_err());
    }

    #[test]
    fn a_distribution_without_lzma_has_small_presets_too() {
        for target in Target::ALL {
            for preset in Preset::ALL {
                let options = preset.options_for(target);
                options.check().unwrap_or_else(|error| panic!("{preset}, {target}: {error}"));
                for algorithm in options.algorithms() {
                    assert!(target.reads(algorithm), "{preset}, {target}: {algorithm}");
                }
            }
        }
        let debian = Preset::Small.options_for(&"debian-12".parse().unwrap()).compression;
        assert_eq!(debian.files.unwrap().compressor, Compressor::Lz4Hc { level: 12 });
        assert!(debian.dedupe && debian.fragments == Fragments::All);
    }

    #[test]
    fn small_presets_of_old_kernels_are_balanced() {
        assert_eq!(Preset::Balanced.more_than_balanced_since(), None);
        for preset in [Preset::Small, Preset::Smallest] {
            let files = |preset: Preset, kernel| preset.options(kernel).compression.files;
            let since = preset.more_than_balanced_since().unwrap();
            for kernel in ["5.4", "5.10", "5.15", "6.0", "6.1", "6.12", "7.0"] {
                let kernel: KernelVersion = kernel.parse().unwrap();
                let is_balanced = files(preset, kernel) == files(Preset::Balanced, kernel);
                assert_eq!(is_balanced, kernel < since, "{preset}, {kernel}");
            }
        }
    }

    #[test]
    fn the_default_is_zstd_where_the_kernel_reads_it() {
        let compressor =
            |kernel| Preset::Balanced.options(kernel).compression.files.unwrap().compressor;
        assert_eq!(compressor(KernelVersion::new(6, 10)), ZSTD);
        assert_eq!(compressor(KernelVersion::new(6, 9)), Compressor::Lz4Hc { level: 12 });
        assert_eq!(Preset::Balanced.full_since(), Some(KernelVersion::new(6, 10)));
    }

    #[test]
    fn the_default_packs_fragments_where_the_kernel_reads_them() {
        let fragments =
            |kernel| Preset::Balanced.options(kernel).compression.fragments != Fragments::None;
        assert!(fragments(KernelVersion::DEFAULT) && !fragments(KernelVersion::new(6, 0)));
        assert_eq!(Options::default().compression.fragments, Fragments::Tails);
    }
}
