//! Compares a finished image with its source.
//!
//! The image is read with the library's own reader. Metadata is compared with the tree; content with the digests that were
//! taken when the source was read, or, if it is on other devices, with its addresses there.

mod content;
mod known;
mod names;
mod places;

use std::{fs::File, iter, num::NonZeroUsize};

use lith_builder::{Built, Known, KnownParts};
use lith_device::{FileDevice, JoinedDevice, OffsetDevice, ReadAt};
use lith_format::addr::Nid;
use lith_observer::{Observer, Phase};
use lith_parallel::try_map;
use lith_reader::Image;
use lith_tree::{Filesystem, InodeIndex};

use crate::{Error, mismatch::Mismatch};
use content::Content;
use names::Names;

/// Of so many files that are only compared by their places on other devices one is read, too: a device that is not where the
/// image has it would spoil all of them.
const SAMPLED: usize = 256;

/// An image that is compared with its source.
pub(super) struct Verification<'a> {
    /// The files of the image and its devices.
    pub(super) devices: Vec<File>,
    /// Where the image starts in the first.
    pub(super) start: u64,
    /// Whether the files are one device, end to end.
    pub(super) is_joined: bool,
    pub(super) fs: Filesystem<'a>,
    pub(super) built: &'a Built,
    /// What is known of files that were not read.
    pub(super) known: &'a Known<'a>,
    /// Whether the image has the content of files.
    pub(super) has_content: bool,
    /// Whether some of the files that were not read are read on the devices that have them.
    pub(super) samples: bool,
    pub(super) workers: NonZeroUsize,
    pub(super) observer: &'a dyn Observer,
}

/// Compares an image with the source that it was built from.
pub(super) fn verify(verification: Verification<'_>) -> Result<(), Error> {
    let Verification {
        devices,
        start,
        is_joined,
        fs,
        built,
        known,
        has_content,
        samples,
        workers,
        observer,
    } = verification;
    observer.begin(Phase::Verifying);
    let image = &open(devices, start, is_joined)?;
    image.expect_all_files(workers);
    let names = Names::new(fs.tree, image, built.time).compare_all()?;
    let is_unread = |(index, _): &_| built.unread.binary_search(index).is_ok();
    let (unread, read): (Vec<_>, Vec<_>) = names.into_iter().partition(is_unread);
    if has_content {
        let compare = |file: &(InodeIndex, Nid)| match known.own.get(&file.0) {
            Some(KnownParts::Whole(stored)) => known::compare((fs, image), stored, *file),
            _ => places::compare(fs, image, *file),
        };
        try_map(&unread, workers, || (), |(), file| compare(file))?;
        if !unread.is_empty() {
            known::compare_packed(image, known, &known::in_packed(fs, known, &unread))?;
        }
        let sample: Vec<_> = unread.iter().step_by(SAMPLED).filter(|_| samples).collect();
        try_map(&sample, workers, || (), |(), file| known::compare_bytes((fs, image), **file))?;
    }
    Content { tree: fs.tree, image, digests: &built.digests, observer }.compare_all(&read, workers)
}

fn open(devices: Vec<File>, start: u64, is_joined: bool) -> Result<Image, Mismatch> {
    let starts = iter::once(start).chain(iter::repeat(0));
    let open = |(file, start)| {
        let device = FileDevice::new(file)?;
        Ok(Box::new(OffsetDevice::new(device, start)) as Box<dyn ReadAt>)
    };
    let devices: Result<Vec<_>, _> = devices.into_iter().zip(starts).map(open).collect();
    let mut devices = devices.map_err(Mismatch::Device)?;
    if is_joined {
        devices = vec![Box::new(JoinedDevice::new(devices))];
    }
    Image::open_with(devices, lith_reader::Options::default())
        .map_err(|source| Mismatch::Unreadable { path: Vec::new(), source })
}
