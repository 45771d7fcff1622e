//! Derives from a superblock which kernels mount its image.

use alloc::vec::Vec;
use core::fmt;

use super::{capability::Capability, version::KernelVersion};
use crate::{
    addr::BlockBits,
    compression::Algorithm,
    features::{Feature, Incompat},
    superblock::Superblock,
};

/// One part of an image that older kernels don't support.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Requirement {
    /// The first kernel that supports it.
    pub since: KernelVersion,
    /// Which part of the image needs it.
    pub reason: Reason,
}

/// Why an image needs a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Reason {
    /// An incompatible feature bit is set.
    Feature(&'static Feature<Incompat>),
    /// A compression algorithm is declared.
    Algorithm(Algorithm),
    /// Blocks are smaller than 4 KiB.
    SmallBlocks(BlockBits),
    /// Blocks are smaller than 4 KiB and files are compressed.
    SmallCompressedBlocks(BlockBits),
    /// Blocks are larger than 4 KiB: only kernels with pages at least as large mount them.
    LargeBlocks(BlockBits),
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Feature(feature) => write!(f, "feature {}", feature.name),
            Self::Algorithm(algorithm) => write!(f, "algorithm {algorithm}"),
            Self::SmallBlocks(b) => write!(f, "blocks of {} bytes", b.size()),
            Self::SmallCompressedBlocks(b) => {
                write!(f, "compression in blocks of {} bytes", b.size())
            }
            Self::LargeBlocks(b) => {
                write!(f, "blocks of {} bytes need pages of that size", b.size())
            }
        }
    }
}

/// All parts of the image that need a kernel newer than [`KernelVersion::OLDEST`], and large blocks.
#[must_use]
pub fn requirements(sb: &Superblock) -> Vec<Requirement> {
    let features = sb.incompat.features().map(|f| (f.since, Reason::Feature(f)));
    let algorithms = sb.algorithms.iter_known().map(|a| (a.since(), Reason::Algorithm(a)));
    features
        .chain(algorithms)
        .filter(|(since, _)| *since > KernelVersion::OLDEST)
        .chain(block_requirement(sb))
        .map(|(since, reason)| Requirement { since, reason })
        .collect()
}

/// The oldest kernel that mounts the image, given the pages and options it needs.
#[must_use]
pub fn min_kernel(sb: &Superblock) -> KernelVersion {
    let needed = requirements(sb).into_iter().map(|r| r.since);
    needed.max().map_or(KernelVersion::OLDEST, |v| v.max(KernelVersion::OLDEST))
}

fn block_requirement(sb: &Superblock) -> Option<(KernelVersion, Reason)> {
    let block = sb.block;
    let compressed = !sb.algorithms.is_empty();
    match block.size() {
        4096 => None,
        4097.. => Some((KernelVersion::OLDEST, Reason::LargeBlocks(block))),
        _ if compressed => Some((
            Capability::SubPageCompressedBlocks.since(),
            Reason::SmallCompressedBlocks(block),
        )),
        _ => Some((Capability::SubPageBlocks.since(), Reason::SmallBlocks(block))),
    }
}
