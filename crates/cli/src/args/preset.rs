//! What does a preset stand for?

use clap::ValueEnum;
use lith::{
    builder::{Compression, Options},
    codec::{Compressor, LzmaEffort},
    format::kernel::{Capability, KernelVersion},
};

use super::extended::Extended;

/// A choice between time to build, size, and time to read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Preset {
    /// The quickest to build: `-z lz4`.
    Fast,
    /// Small, and quick to read: `-z lz4hc,12`.
    Balanced,
    /// Much smaller, slower to read: `-z lzma,2 -C 256K -E fragments,ztailpacking`, and from Linux 6.17 on `-m 16K -E
    /// 48bit,dot-omitted`.
    Small,
    /// As small as can be, whatever it takes to build and to read: `-z lzma,109,dictsize=8m -C 1M -E
    /// all-fragments,ztailpacking`, and from Linux 6.17 on `-m 16K --zD -E 48bit,dot-omitted`.
    Smallest,
}

/// What the small presets use.
const SMALL: &[Capability] = &[
    Capability::Lzma,
    Capability::BigPcluster,
    Capability::Fragments,
    Capability::Interlaced,
    Capability::Ztailpacking,
];
/// What they add where the kernel supports it: the 48-bit layout,
const WIDE: &[Capability] = &[Capability::Bits48, Capability::DotOmitted];
/// and compressed inodes.
const METADATA: &[Capability] = &[Capability::Metabox];

/// The least part of a file that compression must save, in percent, if nothing else is said.
pub(crate) const MIN_SAVING: u8 = 2;

impl Preset {
    /// The encoder, where the oldest kernel knows it.
    pub(crate) fn compressor(self, kernel: KernelVersion) -> Compressor {
        match self {
            Self::Fast => Compressor::Lz4,
            Self::Small if kernel.supports(SMALL) => Compressor::Lzma(LzmaEffort::new(2)),
            Self::Smallest if kernel.supports(SMALL) => Compressor::Lzma(LzmaEffort {
                extreme: true,
                dictionary: Some(8 << 20),
                ..LzmaEffort::new(9)
            }),
            Self::Balanced | Self::Small | Self::Smallest => Compressor::Lz4Hc { level: 12 },
        }
    }

    /// The pcluster size, if it is not what it would be anyway.
    pub(crate) fn pcluster(self, kernel: KernelVersion) -> Option<u32> {
        match self {
            Self::Small if kernel.supports(SMALL) => Some(256 << 10),
            Self::Smallest if kernel.supports(SMALL) => Some(1 << 20),
            _ => None,
        }
    }

    /// Bytes of a pcluster of inodes, if they are compressed. Larger ones gain hardly anything, and each look at an
    /// inode decompresses one.
    pub(crate) fn metadata_pcluster(self, kernel: KernelVersion) -> Option<u32> {
        let is_small = matches!(self, Self::Small | Self::Smallest);
        (is_small && kernel.supports(METADATA)).then_some(16 << 10)
    }

    /// Whether large directories lie in the packed inode.
    pub(crate) fn packs_directories(self, kernel: KernelVersion) -> bool {
        self == Self::Smallest && kernel.supports(METADATA)
    }

    /// All that it stands for.
    pub(crate) fn options(self, kernel: KernelVersion) -> Result<Options, String> {
        let compressor = self.compressor(kernel);
        let compression = |pcluster| Compression { compressor, pcluster, min_saving: MIN_SAVING };
        let metabox = self.metadata_pcluster(kernel);
        let mut options = Options::uncompressed();
        options.kernel = kernel;
        options.compression.files = Some(compression(self.pcluster(kernel)));
        options.compression.metabox = metabox.map(|pcluster| compression(Some(pcluster)));
        options.compression.pack_directories = self.packs_directories(kernel);
        Extended::parse(&[self.extended(kernel).to_owned()])?.apply(&mut options);
        Ok(options)
    }

    /// The words of `-E`.
    pub(crate) fn extended(self, kernel: KernelVersion) -> &'static str {
        match self {
            Self::Small if kernel.supports(WIDE) => "fragments,ztailpacking,48bit,dot-omitted",
            Self::Smallest if kernel.supports(WIDE) => {
                "all-fragments,ztailpacking,48bit,dot-omitted"
            }
            Self::Small if kernel.supports(SMALL) => "fragments,ztailpacking",
            Self::Smallest if kernel.supports(SMALL) => "all-fragments,ztailpacking",
            _ => "",
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::{Args, Command, FromArgMatches};

    use super::*;
    use crate::args::build::Build;

    #[test]
    fn every_preset_suits_every_kernel_and_is_what_build_makes_of_its_name() {
        for preset in Preset::value_variants() {
            for kernel in ["5.4", "5.10", "5.15", "6.1", "6.12", "6.15", "6.17", "7.0"] {
                let options = preset.options(kernel.parse().unwrap()).unwrap();
                options.check().unwrap_or_else(|error| panic!("{preset:?}, {kernel}: {error}"));
                let name = preset.to_possible_value().unwrap();
                let words =
                    ["lith", "source", "image", "--preset", name.get_name(), "--kernel", kernel];
                let command = Build::augment_args(Command::new("lith"));
                let build = command.try_get_matches_from(words).unwrap();
                let build = Build::from_arg_matches(&build).unwrap().options;
                let (found, expected) = (format!("{options:?}"), format!("{build:?}"));
                assert_eq!(found, expected, "{preset:?}, {kernel}");
            }
        }
    }
}
