//! Defines [`Coding`], how a file is compressed, and [`Used`], the encodings that an image uses.

use lith_codec::Compressor;
use lith_format::{
    compression::Algorithm,
    zmap::{EncodedExtent, HeadKind},
};

/// How a file is compressed, with all defaults resolved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Coding {
    pub(crate) compressor: Compressor,
    /// A compressor of another algorithm for some of the pclusters.
    pub(crate) second: Option<Compressor>,
    /// Bytes of the largest pcluster.
    pub(crate) pcluster: u32,
    /// The least part of a file that must be saved, in percent.
    pub(crate) min_saving: u8,
}

/// An encoder and the size of its pclusters, of which readers need the maxima.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Encoding {
    pub(crate) compressor: Compressor,
    /// Bytes of the largest pcluster.
    pub(crate) pcluster: u32,
}

/// The encoders of a file's `HEAD1` and `HEAD2` extents, if it has such extents.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Makers {
    pub(crate) head1: Option<Compressor>,
    pub(crate) head2: Option<Compressor>,
}

/// The encodings that some file or extra inode uses.
#[derive(Debug, Default)]
pub(crate) struct Used(Vec<Encoding>);

impl Used {
    /// Adds the encoders of a file's extents, and returns them. Of two encoders those count that made some pcluster.
    pub(crate) fn add(&mut self, coding: &Coding, extents: &[EncodedExtent]) -> Makers {
        let Coding { compressor, second, pcluster, .. } = *coding;
        let made = |kind| extents.iter().any(|extent| extent.kind == kind);
        let head1 = (second.is_none() || made(HeadKind::Head1)).then_some(compressor);
        let head2 = second.filter(|_| made(HeadKind::Head2));
        for compressor in head1.into_iter().chain(head2) {
            let encoding = Encoding { compressor, pcluster };
            if !self.0.contains(&encoding) {
                self.0.push(encoding);
            }
        }
        Makers { head1, head2 }
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Encoding> {
        self.0.iter().copied()
    }
}

/// The format's name for what an encoder writes.
pub(crate) const fn algorithm_of(compressor: Compressor) -> Algorithm {
    match compressor.algorithm() {
        lith_codec::Algorithm::Lz4 => Algorithm::Lz4,
        lith_codec::Algorithm::Lzma => Algorithm::Lzma,
        lith_codec::Algorithm::Deflate => Algorithm::Deflate,
        lith_codec::Algorithm::Zstd => Algorithm::Zstd,
    }
}
