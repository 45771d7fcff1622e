//! Defines [`Encoders`], the encoders that a worker keeps.

use lith_format::zmap::HeadKind;
use lith_tree::InodeIndex;

use super::pclusters::PclusterWriter;
use crate::{coding::Coding, limits::MOST_ENCODERS, plan::Plan};

/// The encoders of the codings that were used last, by their numbers.
#[derive(Debug, Default)]
pub(super) struct Encoders {
    /// The one that was used last at the end.
    kept: Vec<(usize, PclusterWriter)>,
    /// That of what is read first, once it was used.
    hot: Option<PclusterWriter>,
}

/// The encoders of one file.
pub(super) struct Pair<'e> {
    pub(super) own: &'e mut PclusterWriter,
    /// That of the file's bytes before a position.
    pub(super) hot: Option<(&'e mut PclusterWriter, u64)>,
}

impl Pair<'_> {
    /// The encoder of bytes that end at a position.
    pub(super) fn up_to(&mut self, end: u64) -> &mut PclusterWriter {
        match &mut self.hot {
            Some((writer, hot_end)) if end <= *hot_end => writer,
            _ => self.own,
        }
    }

    /// Bytes of a block.
    pub(super) fn block_size(&self) -> u32 {
        self.own.block_size()
    }
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

    /// The encoder of what is read first of a file, which may be that of the whole file.
    pub(super) fn of_hot(
        &mut self,
        plan: &Plan<'_>,
        inode: InodeIndex,
    ) -> Option<&mut PclusterWriter> {
        let (Some(hot), Some(own)) = (plan.hot_coding(inode), plan.coding(inode)) else {
            return self.of(plan, inode);
        };
        Some(self.hot.get_or_insert_with(|| new_hot(plan, hot, own)))
    }

    /// The encoders of a file whose bytes before a position, if there is one, are read first.
    pub(super) fn pair(
        &mut self,
        plan: &Plan<'_>,
        inode: InodeIndex,
        hot_end: Option<u64>,
    ) -> Option<Pair<'_>> {
        self.of(plan, inode)?;
        let hot = hot_end.zip(plan.hot_coding(inode)).zip(plan.coding(inode));
        let hot = hot.map(|((end, hot), own)| {
            (self.hot.get_or_insert_with(|| new_hot(plan, hot, own)), end)
        });
        self.kept.last_mut().map(|(_, own)| Pair { own, hot })
    }
}

/// The encoder of what is read first of files of a coding.
fn new_hot(plan: &Plan<'_>, hot: Option<&Coding>, own: &Coding) -> PclusterWriter {
    let block = plan.options.layout.block;
    let longest = plan.options.longest_extent();
    match hot {
        None => PclusterWriter::uncompressed(block),
        Some(coding) if coding.kind_in(own) == HeadKind::Head1 => {
            PclusterWriter::new(coding, block, longest)
        }
        Some(coding) => PclusterWriter::new(coding, block, longest).for_head2(),
    }
}
