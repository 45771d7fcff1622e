//! Does the content of files have the digests that extended attributes hold?

use anyhow::Context;
use lith::{DigestState, check_digests, digest_name, tree::DisplayPath};

use super::words::Words;
use crate::{args, output::error::Place};

/// Compares all files of the image with their digests; says whether none is wrong.
pub(super) fn check(request: &Words) -> anyhow::Result<bool> {
    let image = request.image.open(request.no_checksum)?;
    let name = digest_name(&image).with_context(|| {
        let place = Place(&request.image.image);
        format!("{place}: no extended attributes with digests of files")
    })?;
    request.inform(&format!("verifying digests using xattr \"{}\"", DisplayPath(&name)));
    let findings = check_digests(&image, &name, args::workers(None));
    let mut is_well = true;
    for finding in findings.map_err(|error| request.image.about(error))? {
        let path = DisplayPath(&finding.path);
        match finding.state {
            DigestState::Missing if request.warns() => {
                eprintln!("<W> erofs: /{path}: no digest, so it is not verified");
            }
            DigestState::Right | DigestState::Missing => {}
            DigestState::Wrong => {
                eprintln!("<E> erofs: /{path}: the content has not the digest that it should have");
                is_well = false;
            }
            DigestState::Unknown => {
                eprintln!("<E> erofs: /{path}: the attribute holds no digest that is known");
                is_well = false;
            }
        }
    }
    Ok(is_well)
}
