//! Checks where an image says that its bases follow it on its device.

use std::ops::Range;

use lith_reader::Image;

use crate::{findings::Log, ledger::Ledger, rule::Rule};

/// The bytes of the primary device that belong to bases which follow the image; empty if none do, or not where it says.
pub(crate) fn check(image: &Image, log: &Log<'_>) -> Range<u64> {
    let joined = match image.joined() {
        Ok(Some(joined)) => joined,
        Ok(None) => return 0..0,
        Err(error) => {
            log.image(Rule::BasesMisplaced, error);
            return 0..0;
        }
    };
    let size = image.device_size(0);
    let ranges = joined.ranges(image.superblock().block).unwrap_or_default();
    let (Some(first), Some(last)) = (ranges.first(), ranges.last()) else {
        let detail = format!("bases from block {} on would end beyond all addresses", joined.start);
        log.image(Rule::BasesMisplaced, detail);
        return 0..0;
    };
    let all = first.start..last.end;
    let head = joined.position.saturating_add(joined.size as u64);
    if all.end > size {
        let detail = format!("bases end at byte {}; there are {size} bytes", all.end);
        log.image(Rule::BasesMisplaced, detail);
        return 0..0;
    }
    if all.start < head {
        let detail = format!("bases begin at byte {}, in the image's head", all.start);
        log.image(Rule::BasesMisplaced, detail);
        return 0..0;
    }
    all
}

/// Checks that the image has no metadata where its bases are.
pub(crate) fn check_own(bases: &Range<u64>, ledger: &Ledger, log: &Log<'_>) {
    if !bases.is_empty() && ledger.is_metadata(bases) {
        let Range { start, end } = bases;
        let detail = format!("bytes {start} to {end} belong to bases, and metadata is there");
        log.image(Rule::BasesMisplaced, detail);
    }
}
