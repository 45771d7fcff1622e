//! Compares the content of files with the digests in their extended attributes, for fsck.erofs.

use anyhow::Context;
use lith::{DigestState, check_digests, digest_name, tree::DisplayPath};

use super::arguments::Arguments;
use crate::{
    args,
    output::error::{Place, tell},
};

/// Compares all files of the image with their digests; returns whether all digests are known and right.
pub(super) fn check(request: &Arguments) -> anyhow::Result<bool> {
    let image = request.image.open(request.no_checksum)?;
    let name = digest_name(&image).with_context(|| {
        let place = Place(&request.image.image);
        format!("{place}: no extended attributes with digests of files")
    })?;
    request.inform(&format!("verifying digests using xattr \"{}\"", DisplayPath(&name)));
    let findings = check_digests(&image, &name, args::workers(None));
    let mut is_sound = true;
    for finding in findings.map_err(|error| request.image.about(error))? {
        let path = DisplayPath(&finding.path);
        match finding.state {
            DigestState::Missing if request.warns() => {
                tell(format_args!("<W> erofs: /{path}: not verified: it has no digest"));
            }
            DigestState::Right | DigestState::Missing => {}
            DigestState::Wrong => {
                tell(format_args!("<E> erofs: /{path}: the content does not match its digest"));
                is_sound = false;
            }
            DigestState::Unknown => {
                tell(format_args!(
                    "<E> erofs: /{path}: the attribute has no digest of a known algorithm"
                ));
                is_sound = false;
            }
        }
    }
    Ok(is_sound)
}
