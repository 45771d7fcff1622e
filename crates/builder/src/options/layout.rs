//! How is what belongs to an image laid out?

use lith_format::xattr::body_size_of;

use super::{Options, PLAIN_PREFIXES_SINCE};
use crate::BuildError;

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
        let may_pack = self.longest_fragment() > 0 && !self.xattr_prefixes.is_empty();
        if self.plain_xattr_prefixes && may_pack {
            self.require(PLAIN_PREFIXES_SINCE, || {
                "a long prefix of extended attributes outside of the packed inode".into()
            })?;
        }
        let most = body_size_of(u16::MAX);
        if self.root_xattr_size > most {
            return Err(BuildError::Option {
                option: "size of the root's extended attributes",
                found: self.root_xattr_size.to_string(),
                expected: format!("at most {most} bytes"),
            });
        }
        Ok(())
    }

    /// Whether an inode's time may give way to the image's, so that it is compact.
    pub(crate) fn ignores_mtime(&self) -> bool {
        self.ignore_mtime || self.inode_form == InodeForm::Compact
    }
}
