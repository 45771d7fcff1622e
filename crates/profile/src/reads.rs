//! Finds what a profile reads first of an image.

use std::collections::HashSet;

use lith_survey::FirstReads;

use crate::{
    locations::Locations,
    profile::{Access, Profile},
};

/// What it takes to read what a profile names, in its order, from an image.
#[must_use]
pub fn first_reads(profile: &Profile, locations: &Locations) -> FirstReads {
    let (mut used, mut missing, mut ranges) = (0, HashSet::new(), Vec::new());
    for entry in profile.entries() {
        let Some(size) = locations.size(&entry.path) else {
            missing.insert(&entry.path);
            continue;
        };
        let Access::Read { start, end } = entry.access else { continue };
        let range = start..end.min(size);
        if !range.is_empty() {
            used += range.end - range.start;
            ranges.extend(locations.stored(&entry.path, &range));
        }
    }
    let mut found = FirstReads::new(ranges);
    (found.used, found.missing) = (used, missing.len() as u64);
    found
}
