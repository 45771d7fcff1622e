//! How is what belongs to an image laid out?

use lith_format::{kernel::Capability, xattr::body_size_of, zmap::MAX_EXTENT_LEN};

use super::{Fragments, Options};
use crate::{BuildError, codings::Coding};

/// Which form inodes have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InodeForm {
    /// The smallest that says all.
    #[default]
    Smallest,
    /// 32 bytes each. All have the image's time; a file that has no room in them otherwise is refused.
    Compact,
    /// 64 bytes each.
    Extended,
}

impl Options {
    /// Says which choice of layout can't be, if one can't.
    pub(super) fn check_layout(&self) -> Result<(), BuildError> {
        let may_pack = self.longest_fragment() > 0 && self.xattr_prefix_count() > 0;
        if self.plain_xattr_prefixes && may_pack {
            self.require(Capability::PlainXattrPrefixes)?;
        }
        let most = body_size_of(u16::MAX);
        if self.root_xattr_size > most {
            return Err(BuildError::Option {
                option: "size of the root's extended attributes",
                found: self.root_xattr_size.to_string(),
                expected: format!("at most {most} bytes"),
            });
        }
        if self.alignment == 0 || self.size_alignment == 0 {
            return Err(BuildError::Option {
                option: "alignment",
                found: "to 0 blocks".into(),
                expected: "at least 1".into(),
            });
        }
        self.check_extents()
    }

    fn check_extents(&self) -> Result<(), BuildError> {
        let block = self.block.size();
        if let Some(most) = self.max_extent.filter(|most| *most < block) {
            return Err(BuildError::Option {
                option: "extent size",
                found: most.to_string(),
                expected: format!("at least a block, {block}"),
            });
        }
        let Some(size) = self.packed_pcluster else { return Ok(()) };
        if self.fragments == Fragments::None {
            return Err(BuildError::Option {
                option: "pcluster size of the packed inode",
                found: size.to_string(),
                expected: "it needs fragments".into(),
            });
        }
        self.check_pcluster(size)
    }

    /// How the packed inode is compressed, if not as files are.
    pub(crate) fn packed_coding(&self) -> Option<Coding> {
        let coding = self.coding(self.compression.as_ref()?);
        let pcluster = self.packed_pcluster.filter(|_| self.fragments != Fragments::None)?;
        Some(Coding { pcluster, ..coding })
    }

    /// Chunks begin at multiples of so many blocks: of 1 if they are smaller than what files are aligned to.
    pub(crate) fn chunk_alignment(&self) -> u64 {
        let bytes = u64::from(self.alignment) * u64::from(self.block.size());
        let has_room = self.chunks.is_some_and(|chunks| u64::from(chunks.size) >= bytes);
        if has_room { self.alignment.into() } else { 1 }
    }

    /// The most bytes that an extent decodes to.
    pub(crate) fn longest_extent(&self) -> u64 {
        self.max_extent.map_or(MAX_EXTENT_LEN, |most| MAX_EXTENT_LEN.min(most.into()))
    }

    /// Whether an inode's time may give way to the image's, so that it is compact.
    pub(crate) fn ignores_mtime(&self) -> bool {
        self.ignore_mtime || self.inode_form == InodeForm::Compact
    }
}
