//! Defines [`Coding`], how a file is compressed, and [`Used`], the encodings that an image uses.

use lith_codec::Compressor;
use lith_format::{
    compression::{Algorithm, AlgorithmSet},
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

impl Coding {
    /// The encoder of its HEAD1 extents.
    const fn encoding(&self) -> Encoding {
        Encoding { compressor: self.compressor, pcluster: self.pcluster }
    }

    /// How extents of this coding start in a file of another: those of equal algorithms alike.
    pub(crate) fn kind_in(&self, file: &Self) -> HeadKind {
        let is_same = algorithm_of(self.compressor) == algorithm_of(file.compressor);
        if is_same { HeadKind::Head1 } else { HeadKind::Head2 }
    }
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
pub(crate) struct Used {
    /// Those of which some pcluster is compressed.
    own: Vec<Encoding>,
    /// Whether some inode has a compressed layout, be it for uncompressed extents or a fragment only.
    pub(crate) has_layouts: bool,
    /// Whether some map header announces pclusters of several blocks, which readers refuse without the feature.
    pub(crate) announces_big: bool,
    /// The algorithms of pclusters that other devices hold.
    pub(crate) known: AlgorithmSet,
}

/// The algorithms of a file's `HEAD1` and `HEAD2` extents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Heads {
    pub(crate) head1: Option<Algorithm>,
    pub(crate) head2: Option<Algorithm>,
}

impl Heads {
    /// Those of a coding.
    pub(crate) fn of(coding: &Coding) -> Self {
        let head2 = coding.second.map(algorithm_of);
        Self { head1: Some(algorithm_of(coding.compressor)), head2 }
    }

    /// How an extent starts that is stored by an algorithm, or uncompressed. A head that is free gets the algorithm;
    /// `None`: no head is free.
    pub(crate) fn kind(&mut self, algorithm: Option<Algorithm>) -> Option<HeadKind> {
        let Some(algorithm) = algorithm else { return Some(HeadKind::Plain) };
        if *self.head1.get_or_insert(algorithm) == algorithm {
            return Some(HeadKind::Head1);
        }
        (*self.head2.get_or_insert(algorithm) == algorithm).then_some(HeadKind::Head2)
    }
}

impl Used {
    /// Adds the encoders of a file's extents, and returns those that its index names: the only one, or of two those that
    /// made some pcluster. An image declares only encoders that made some. What is `hot` of the file may have a coding of
    /// its own.
    pub(crate) fn add(
        &mut self,
        coding: &Coding,
        hot: Option<&Coding>,
        extents: &[EncodedExtent],
    ) -> Makers {
        let of = |kind| extents.iter().filter(move |extent| extent.kind == kind);
        let has = |kind| of(kind).next().is_some();
        // The extent of a fragment has no blocks: its pclusters are those of the packed inode.
        let made = |kind| of(kind).any(|extent| extent.blocks > 0);
        let of_hot = |kind| hot.filter(|hot| hot.kind_in(coding) == kind).map(Coding::encoding);
        let first = coding.encoding();
        let second = coding.second.map(|compressor| Encoding { compressor, ..first });
        let second = second.or(of_hot(HeadKind::Head2));
        let head1 =
            [Some(first), of_hot(HeadKind::Head1)].into_iter().filter(|_| made(HeadKind::Head1));
        let head2 = second.filter(|_| made(HeadKind::Head2));
        for encoding in head1.flatten().chain(head2) {
            if !self.own.contains(&encoding) {
                self.own.push(encoding);
            }
        }
        let compressor = |encoding: Encoding| encoding.compressor;
        Makers {
            head1: (second.is_none() || has(HeadKind::Head1)).then_some(compressor(first)),
            head2: second.filter(|_| has(HeadKind::Head2)).map(compressor),
        }
    }

    /// The algorithms of all compressed pclusters.
    pub(crate) fn algorithms(&self) -> AlgorithmSet {
        self.iter()
            .map(|encoding| AlgorithmSet::from(algorithm_of(encoding.compressor)))
            .collect::<AlgorithmSet>()
            | self.known
    }

    /// The encodings of the image's own pclusters.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Encoding> {
        self.own.iter().copied()
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
