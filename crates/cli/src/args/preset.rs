//! What does a preset stand for?

use clap::ValueEnum;
use lith::{
    codec::{Compressor, LzmaEffort},
    format::kernel::KernelVersion,
};

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

/// The first kernel that reads LZMA and everything else that the small presets use.
const SMALL_SINCE: KernelVersion = KernelVersion::new(6, 1);
/// The first kernel that reads the 48-bit layout.
const WIDE_SINCE: KernelVersion = KernelVersion::new(6, 15);
/// The first kernel that reads compressed inodes.
const METADATA_SINCE: KernelVersion = KernelVersion::new(6, 17);

impl Preset {
    /// The encoder, where the oldest kernel knows it.
    pub(crate) fn compressor(self, kernel: KernelVersion) -> Compressor {
        match self {
            Self::Fast => Compressor::Lz4,
            Self::Small if kernel >= SMALL_SINCE => Compressor::Lzma(LzmaEffort::new(2)),
            Self::Smallest if kernel >= SMALL_SINCE => Compressor::Lzma(LzmaEffort {
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
            Self::Small if kernel >= SMALL_SINCE => Some(256 << 10),
            Self::Smallest if kernel >= SMALL_SINCE => Some(1 << 20),
            _ => None,
        }
    }

    /// Bytes of a pcluster of inodes, if they are compressed. Larger ones gain hardly anything, and each look at an
    /// inode decompresses one.
    pub(crate) fn metadata_pcluster(self, kernel: KernelVersion) -> Option<u32> {
        let is_small = matches!(self, Self::Small | Self::Smallest);
        (is_small && kernel >= METADATA_SINCE).then_some(16 << 10)
    }

    /// Whether large directories lie in the packed inode.
    pub(crate) fn packs_directories(self, kernel: KernelVersion) -> bool {
        self == Self::Smallest && kernel >= METADATA_SINCE
    }

    /// The words of `-E`.
    pub(crate) fn extended(self, kernel: KernelVersion) -> &'static str {
        match self {
            Self::Small if kernel >= WIDE_SINCE => "fragments,ztailpacking,48bit,dot-omitted",
            Self::Smallest if kernel >= WIDE_SINCE => {
                "all-fragments,ztailpacking,48bit,dot-omitted"
            }
            Self::Small if kernel >= SMALL_SINCE => "fragments,ztailpacking",
            Self::Smallest if kernel >= SMALL_SINCE => "all-fragments,ztailpacking",
            _ => "",
        }
    }
}

#[cfg(test)]
mod tests {
    use lith::builder::{Compression, Options};

    use super::*;
    use crate::args::extended::Extended;

    #[test]
    fn every_preset_suits_every_kernel() {
        for preset in Preset::value_variants() {
            for kernel in [(5, 4), (5, 10), (5, 15), (6, 1), (6, 12), (6, 15), (6, 17), (7, 0)] {
                let kernel = KernelVersion::new(kernel.0, kernel.1);
                let mut options = Options { kernel, ..Options::default() };
                let (compressor, pcluster) = (preset.compressor(kernel), preset.pcluster(kernel));
                options.compression = Some(Compression { compressor, pcluster, min_saving: 2 });
                let pcluster = preset.metadata_pcluster(kernel);
                let metabox = |_| Some(Compression { compressor, pcluster, min_saving: 2 });
                options.metabox = pcluster.and_then(metabox);
                options.pack_directories = preset.packs_directories(kernel);
                let words = [preset.extended(kernel).to_owned()];
                Extended::parse(&words).unwrap().apply(&mut options);
                options.check().unwrap_or_else(|error| panic!("{preset:?}, {kernel}: {error}"));
            }
        }
    }
}
