//! Finds stretches of files that repeat others, and stores nothing.
//!
//! All content is divided into stretches, and runs of stretches that occurred before are compared byte by byte. Bytes
//! that equal others, which precede them in the order of storing, become a [`Repeat`]; and where the others start, a new
//! pcluster starts: a cut. Storing then refers to the pclusters of the others.

mod find;
mod marks;

use std::collections::HashSet;

use lith_tree::InodeIndex;

use self::find::{Finder, Limits};
pub(crate) use self::marks::{Mark, Repeat, Repeats};
use super::passes::{Scanner, Task};
use crate::BuildError;

/// Finds what repeats in files that are stored in blocks of their own, if the options request that.
pub(super) fn find_repeats(
    scanner: &Scanner<'_>,
    files: &[InodeIndex],
    sparse: &HashSet<InodeIndex>,
) -> Result<Repeats, BuildError> {
    let Scanner { input, plan, .. } = *scanner;
    let coding = files.iter().find_map(|inode| plan.coding(*inode));
    let Some(coding) = coding.filter(|_| plan.options.compression.dedupe) else {
        return Ok(Repeats::default());
    };
    let content = files.iter().map(|inode| input.size(*inode)).sum();
    let limits = Limits::new(coding, plan.segment, content);
    let is_long = |inode: &InodeIndex| {
        let least = plan.longest_fragment(*inode).max(limits.least);
        plan.coding(*inode).is_some() && input.size(*inode) > least && !sparse.contains(inode)
    };
    let long: Vec<_> = files.iter().copied().filter(is_long).collect();
    let found = scanner.scan(Task::Stretches { bits: limits.stretch_bits }, &long)?;
    Ok(Finder::new(scanner, &found, limits).find()?)
}
