//! Which encoders does a worker keep?

use lith_tree::InodeIndex;

use super::{Sources, pclusters::PclusterWriter};

/// The most encoders that a worker keeps. Some need a hundred times as much memory as a pcluster, and files of one kind
/// mostly lie together.
const MOST_KEPT: usize = 3;

/// The writers of the codings that came up last, by their numbers.
#[derive(Debug, Default)]
pub(super) struct Writers {
    /// The last used one at the end.
    kept: Vec<(usize, PclusterWriter)>,
}

impl Writers {
    /// The writer for a file; nothing if it is stored plain.
    pub(super) fn of(
        &mut self,
        sources: Sources<'_>,
        inode: InodeIndex,
    ) -> Option<&mut PclusterWriter> {
        let coding = sources.coding(inode)?;
        let number = sources.codings.number(inode);
        let kept = if let Some(at) = self.kept.iter().position(|(other, _)| *other == number) {
            self.kept.remove(at)
        } else {
            if self.kept.len() == MOST_KEPT {
                self.kept.remove(0);
            }
            let longest = sources.options.longest_extent();
            (number, PclusterWriter::new(coding, sources.options.layout.block, longest))
        };
        self.kept.push(kept);
        self.kept.last_mut().map(|(_, writer)| writer)
    }
}
