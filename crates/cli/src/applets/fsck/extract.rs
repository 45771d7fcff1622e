//! Extracts an image for fsck.erofs.

use std::{
    os::unix::ffi::OsStrExt,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use anyhow::Context;
use lith::{
    export::{
        self, Existing, ExportObserver, ExtractOptions, Owners, Permissions, Selection, Skipped,
        What,
    },
    format::file_type::FileType,
    observer::Observer,
    reader::Image,
    source::{self, Source},
    tree::Name,
};
use rustix::process::geteuid;

use super::arguments::Arguments;
use crate::{
    args,
    output::{
        error::{self, Place},
        skips::Skips,
    },
};

/// Extracts an image, or the file that the arguments name and everything below it, to `destination`; prints errors
/// under the program's `name`. Returns whether there are none.
pub(super) fn run(name: &str, request: &Arguments, destination: &Path) -> anyhow::Result<bool> {
    let image = Arc::new(request.image.open(request.no_checksum)?);
    let (source, selection, directory) = part(request, image, destination)?;
    let follower = Follower::default();
    let fs = source.filesystem();
    let extracted = export::extract(fs, &selection, directory, &options(request), &follower);
    let Follower { skips, failed } = follower;
    if request.warns() || failed.load(Ordering::Relaxed) {
        skips.print(name);
    }
    if let Err(error) = extracted {
        error::print(name, &error.into());
        return Ok(false);
    }
    Ok(!failed.into_inner())
}

/// The source, its selected files and the directory to extract them into, so that the named file, of any type, is
/// extracted as `destination` itself.
fn part<'a>(
    request: &Arguments,
    image: Arc<Image>,
    destination: &'a Path,
) -> anyhow::Result<(Source, Selection, &'a Path)> {
    let start = request.file.find(&request.image, &image)?;
    let place = request.image.image.as_path();
    let in_image = || Place(place).to_string();
    let xattrs = request.extraction.xattrs;
    let options = source::Options::with(|options| options.xattrs = xattrs);
    if start.file_type == FileType::Directory {
        let source = source::image_below(image, &start, place, &options).with_context(in_image)?;
        return Ok((source, Selection::all(), destination));
    }
    let name = destination.file_name().map(|name| Name::new(name.as_bytes()));
    let name = name
        .and_then(Result::ok)
        .with_context(|| format!("{}: the file to extract is no directory", Place(destination)))?;
    let named = (&start, name.clone());
    let source = source::image_file(image, named, place, &options).with_context(in_image)?;
    let selection = Selection::paths(&source.tree, [name.as_bytes()])?;
    let parent = destination.parent().filter(|parent| !parent.as_os_str().is_empty());
    Ok((source, selection, parent.unwrap_or(Path::new("."))))
}

fn options(request: &Arguments) -> ExtractOptions {
    let extraction = &request.extraction;
    let keeps = extraction.preserve.permissions.unwrap_or_else(|| geteuid().is_root());
    ExtractOptions::with(|options| {
        options.existing = if extraction.overwrite { Existing::Overwrite } else { Existing::Fill };
        options.owners = match extraction.preserve.owner {
            Some(true) => Owners::Keep,
            Some(false) => Owners::Own,
            None => Owners::Auto,
        };
        options.permissions = if keeps { Permissions::Keep } else { Permissions::Masked };
        (options.xattrs, options.workers) = (extraction.xattrs, args::workers(None));
    })
}

/// Collects what could not be kept, and whether it should have been.
#[derive(Default)]
struct Follower {
    skips: Skips,
    failed: AtomicBool,
}

impl Observer for Follower {}

impl ExportObserver for Follower {
    fn skipped(&self, skipped: &Skipped) {
        if is_failure(&skipped.what, geteuid().is_root()) {
            self.failed.store(true, Ordering::Relaxed);
        }
        self.skips.skipped(skipped);
    }
}

/// Whether the extracting user has the right to set this, so that skipping it is a failure.
fn is_failure(what: &What, is_root: bool) -> bool {
    match what {
        What::Xattr(name) => is_root || name.starts_with(b"user."),
        What::Device => is_root,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_root_must_keep_everything() {
        let xattr = |name: &[u8]| What::Xattr(name.into());
        for (what, as_root, as_user) in [
            (xattr(b"user.note"), true, true),
            (xattr(b"security.selinux"), true, false),
            (What::Device, true, false),
            (What::Owner, false, false),
            (What::SetId, false, false),
        ] {
            assert_eq!((is_failure(&what, true), is_failure(&what, false)), (as_root, as_user));
        }
    }
}
