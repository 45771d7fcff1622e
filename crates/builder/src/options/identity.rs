//! Defines [`Identity`]: what the superblock says about the image as a whole.

use lith_tree::Timestamp;

use crate::BuildError;

/// Where an image's UUID comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ImageId {
    /// A digest of the image's content: equal images have equal UUIDs, different images different ones.
    #[default]
    FromContent,
    /// All zeros.
    Clear,
    /// Random: two builds of one source differ.
    Random,
    /// These bytes.
    Fixed([u8; 16]),
}

/// What the superblock says about the image as a whole.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Identity {
    /// The UUID.
    pub id: ImageId,
    /// The volume name, at most 15 bytes.
    pub label: Vec<u8>,
    /// The build time. `None`: the time that most inodes have, so that as many as possible are compact.
    pub build_time: Option<Timestamp>,
    /// Whether the superblock has a checksum.
    pub checksum: bool,
    /// How the image was made, for a note outside of the tree; see [`lith_format::provenance`].
    pub provenance: Option<Vec<u8>>,
}

impl Default for Identity {
    fn default() -> Self {
        Self {
            id: ImageId::FromContent,
            label: Vec::new(),
            build_time: None,
            checksum: true,
            provenance: None,
        }
    }
}

impl Identity {
    pub(super) fn check(&self) -> Result<(), BuildError> {
        if self.label.len() > 15 || self.label.contains(&0) {
            return Err(BuildError::Option {
                option: "label",
                found: String::from_utf8_lossy(&self.label).into_owned(),
                expected: "at most 15 bytes without NUL".into(),
            });
        }
        Ok(())
    }
}
