//! Compares two trees in every byte, attribute, name and link.

use std::num::NonZeroUsize;

use lith::tree::{Aspects, DiffOptions, Difference, Filesystem, diff};

/// The most differences that are printed.
const TOLD: usize = 20;

/// Ends the test if two trees differ in anything; `what` names them.
pub fn assert_same(left: Filesystem<'_>, right: Filesystem<'_>, what: &str) {
    assert_same_but_for(left, right, Aspects::empty(), what);
}

/// Ends the test if two trees differ in anything but these aspects.
pub fn assert_same_but_for(
    left: Filesystem<'_>,
    right: Filesystem<'_>,
    ignore: Aspects,
    what: &str,
) {
    let found = differences(left, right, ignore);
    let told: Vec<_> =
        found.iter().take(TOLD).map(|difference| format!("  {difference}\n")).collect();
    assert!(found.is_empty(), "{what}: {} differences\n{}", found.len(), told.concat());
}

/// All differences but those of some aspects.
#[must_use]
pub fn differences(
    left: Filesystem<'_>,
    right: Filesystem<'_>,
    ignore: Aspects,
) -> Vec<Difference> {
    let mut found = Vec::new();
    let options = DiffOptions::with(|options| {
        options.ignore = ignore;
        options.workers = NonZeroUsize::new(2).unwrap();
    });
    diff(left, right, &options, &(), &mut |difference| found.push(difference)).unwrap();
    found
}
