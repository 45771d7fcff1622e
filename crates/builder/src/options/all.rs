//! Defines [`Options`]: what kind of image is built. They decide every byte of it, together with the source.

use lith_format::kernel::{Capability, KernelVersion};

use super::{
    attributes::AttributeOptions, compression::CompressionOptions, data::DataImport,
    identity::Identity, layout::LayoutOptions,
};
use crate::BuildError;

/// What kind of image is built. The default is [`Preset::Balanced`] for [`KernelVersion::DEFAULT`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// Which bytes of files the image holds.
    pub data: DataImport,
    /// How inodes and extended attributes are stored.
    pub attributes: AttributeOptions,
    /// How files, the packed inode and metadata are compressed.
    pub compression: CompressionOptions,
    /// Where and in which units blocks are stored.
    pub layout: LayoutOptions,
    /// The oldest kernel that must be able to mount the image.
    pub kernel: KernelVersion,
    /// What the superblock says about the image as a whole.
    pub identity: Identity,
}

impl Options {
    /// An image without compression.
    #[must_use]
    pub fn uncompressed() -> Self {
        Self {
            data: DataImport::Full,
            attributes: AttributeOptions::default(),
            compression: CompressionOptions::default(),
            layout: LayoutOptions::default(),
            kernel: KernelVersion::DEFAULT,
            identity: Identity::default(),
        }
    }

    /// The same options with a change.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// Refuses a capability that the target kernel doesn't have.
    pub(crate) fn require(&self, needs: Capability) -> Result<(), BuildError> {
        self.require_for(needs, || needs.to_string())
    }

    /// The same where the error names the thing more precisely.
    pub(super) fn require_for(
        &self,
        needs: Capability,
        what: impl FnOnce() -> String,
    ) -> Result<(), BuildError> {
        if self.kernel.supports(&[needs]) {
            return Ok(());
        }
        Err(BuildError::Kernel { what: what(), needs: needs.since(), kernel: self.kernel })
    }
}
