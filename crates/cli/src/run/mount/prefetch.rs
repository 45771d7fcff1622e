//! Reads ahead what is read first of an image, before it is mounted.

use std::{fs::File, io, iter, ops::Range};

use lith::reader::Image;
use rustix::fs::{Advice, fadvise};

use crate::{
    args::mount::{Mount, Prefetch, Settings},
    run::subject,
};

/// The kernel reads no more at once than its read-ahead is, which is seldom less.
const STEP: u64 = 128 << 10;

/// Begins to read into memory what is requested; the device is busy with it when this returns. It is an offer: what can't be
/// read is for the mount to report.
pub(super) fn prefetch(request: &Mount, settings: &Settings) {
    if let Ok(file) = File::open(&request.image.image)
        && let Ok(ranges) = ranges(request, settings)
    {
        for range in ranges {
            let _offered = ahead(&file, settings.offset, range);
        }
    }
}

/// The ranges of the image, in bytes.
fn ranges(request: &Mount, settings: &Settings) -> anyhow::Result<Vec<Range<u64>>> {
    if request.prefetch == Prefetch::None {
        return Ok(Vec::new());
    }
    let devices = subject::open_all(&request.location(settings))?;
    let image = Image::open_with(devices, lith::reader::Options::default())?;
    Ok(match request.prefetch {
        Prefetch::All => iter::once(0..image.device_size(0)).collect(),
        _ => image.read_first(),
    })
}

fn ahead(file: &File, offset: u64, range: Range<u64>) -> io::Result<()> {
    let mut start = range.start;
    while start < range.end {
        let len = STEP.min(range.end - start);
        fadvise(file, offset.saturating_add(start), len.try_into().ok(), Advice::WillNeed)?;
        start += len;
    }
    Ok(())
}
