//! Checks that the distances in an index table lead to the preceding and the following HEAD.
//!
//! Reading a file from its start follows only the distances ahead, so wrong distances back remain unnoticed until a
//! read starts in the middle. This checks each index.

use lith_format::{
    addr::Lcn,
    zmap::{IndexError, IndexTable, LclusterIndex, NonHead},
};
use lith_reader::Inode;
use lith_survey::Allowance;

use crate::{findings::Log, raw::Raw, rule::Rule};

/// An index table that is checked from its first index to its last.
pub(crate) struct Indexes<'a, 'b> {
    pub(crate) log: &'a Log<'a>,
    pub(crate) raw: &'a mut Raw<'b>,
    pub(crate) inode: &'a Inode,
    pub(crate) table: IndexTable,
    /// Lclusters of the file.
    pub(crate) count: u64,
}

/// What is known at an lcluster.
#[derive(Default)]
struct State {
    head: Option<u64>,
    /// The farthest lcluster that a NONHEAD since then gives for the next HEAD; an earlier HEAD contradicts it.
    reach: Option<u64>,
    /// A distance of 0 ahead was reported.
    zero_reported: bool,
}

impl Indexes<'_, '_> {
    /// Checks all indexes, as far as `allowance` grants them.
    pub(crate) fn check(mut self, allowance: &mut Allowance) {
        let mut state = State::default();
        for lcn in 0..self.count {
            let detail = "indexes overlap so much that the rest is not checked";
            if !self.log.is_granted(allowance.take(1), self.inode.nid, detail) {
                return;
            }
            // An index that can't be loaded is reported when the map is read.
            let Some(Ok(index)) = self.load(Lcn(lcn)) else { return };
            if let Err(detail) = self.step(&mut state, lcn, index) {
                return self.log.inode(Rule::IndexWrong, self.inode.nid, detail);
            }
        }
        if state.reach.is_some_and(|reach| reach > self.count) {
            let detail = format!("a distance leads beyond the {} lclusters", self.count);
            self.log.inode(Rule::IndexWrong, self.inode.nid, detail);
        }
    }

    fn step(&self, state: &mut State, lcn: u64, index: LclusterIndex) -> Result<(), String> {
        match index {
            LclusterIndex::Head(_) => {
                if state.reach.is_some_and(|reach| reach > lcn) {
                    return Err(format!("a distance ahead passes over the HEAD at lcluster {lcn}"));
                }
                *state = State { head: Some(lcn), reach: None, ..*state };
                Ok(())
            }
            LclusterIndex::NonHead(index) => self.check_nonhead(state, lcn, index),
        }
    }

    fn check_nonhead(&self, state: &mut State, lcn: u64, index: NonHead) -> Result<(), String> {
        let Some(head) = state.head else {
            return Err("the first lcluster is not a HEAD".to_owned());
        };
        let (NonHead { delta0, delta1, cblkcnt }, right) = (index, lcn - head);
        if delta0 == 0 || u64::from(delta0) > right {
            let detail = format!("lcluster {lcn} gives its HEAD as {delta0} back, not {right}");
            return Err(detail);
        }
        if cblkcnt.is_some() && right != 1 {
            return Err(format!("lcluster {lcn} states a CBLKCNT, but is not next to a HEAD"));
        }
        if delta1 == 0 && !state.zero_reported {
            state.zero_reported = true;
            let detail = format!("lcluster {lcn} gives the next HEAD as 0 ahead");
            self.log.inode(Rule::IndexZero, self.inode.nid, detail);
        }
        let reach = lcn + u64::from(delta1);
        state.reach = Some(state.reach.map_or(reach, |farthest| farthest.max(reach)));
        Ok(())
    }

    fn load(&mut self, lcn: Lcn) -> Option<Result<LclusterIndex, IndexError>> {
        let range = self.table.range(lcn).ok()?;
        let position = self.table.start().checked_add(range.start)?;
        let length = usize::try_from(range.end - range.start).ok()?;
        let bytes = self.raw.bytes(self.inode.space, position, length)?;
        Some(self.table.decode(&bytes, lcn))
    }
}
