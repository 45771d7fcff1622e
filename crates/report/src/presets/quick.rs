//! Defines [`quick()`]: options whose images cost little, and are larger by about the same factor everywhere.

use lith_builder::{Compression, Options};
use lith_codec::Compressor;
use lith_format::kernel::Capability;

/// The same options with quick encoders in pclusters of the same size, so that files share and lie as with the options
/// themselves; `None` if these are quick already.
pub(super) fn quick(options: &Options) -> Option<Options> {
    let mut quick = options.clone();
    let compression = &mut quick.compression;
    let all = compression.files.iter_mut().chain(&mut compression.metabox);
    let mut is_other = false;
    let mut has_zstd = false;
    for Compression { compressor, .. } in all {
        let by = encoder(*compressor);
        is_other |= by != *compressor;
        has_zstd |= matches!(by, Compressor::Zstd { .. });
        *compressor = by;
    }
    if has_zstd {
        quick.kernel = quick.kernel.max(Capability::Zstd.since());
    }
    is_other.then_some(quick)
}

/// The quick encoder whose output is most like that of another: in large pclusters one that finds what is far apart.
const fn encoder(compressor: Compressor) -> Compressor {
    match compressor {
        Compressor::Lz4 | Compressor::Lz4Hc { .. } => Compressor::Lz4,
        Compressor::Zstd { window, .. } => Compressor::Zstd { level: 1, window },
        _ => Compressor::Zstd { level: 3, window: None },
    }
}
