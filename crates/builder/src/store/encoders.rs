//! Defines [`Encoders`], the encoders that a worker keeps.

use lith_tree::InodeIndex;

use super::pclusters::PclusterWriter;
use crate::{limits::MOST_ENCODERS, plan::Plan};

/// The encoders of the codings that were used last, by their numbers.
#[derive(Debug, Default)]
pub(super) struct Encoders {
    /// The one that was used last at the end.
    kept: Vec<(usize, PclusterWriter)>,
}

impl Encoders {
    /// The encoder of a file; `None` if it is stored uncompressed.
    pub(super) fn of(&mut self, plan: &Plan<'_>, inode: InodeIndex) -> Option<&mut PclusterWriter> {
        let coding = plan.coding(inode)?;
        let number = plan.coding_number(inode);
        let kept = if let Some(at) = self.kept.iter().position(|(other, _)| *other == number) {
            self.kept.remove(at)
        } else {
            if self.kept.len() == MOST_ENCODERS {
                self.kept.remove(0);
            }
            let longest = plan.options.longest_extent();
            (number, PclusterWriter::new(coding, plan.options.layout.block, longest))
        };
        self.kept.push(kept);
        self.kept.last_mut().map(|(_, writer)| writer)
    }
}
