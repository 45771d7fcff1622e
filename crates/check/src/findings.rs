//! Defines [`Findings`], which collects findings from several threads in an order that does not depend on them.

use std::{
    cell::Cell,
    collections::BTreeMap,
    fmt::Display,
    sync::{Mutex, PoisonError},
};

use lith_format::addr::Nid;
use lith_survey::Grant;

use crate::rule::Rule;

/// Parts of the examination in the order in which they are reported.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Phase {
    /// Superblock, inodes, directories, maps.
    Structure,
    /// What is known only when all inodes were met.
    Whole,
    /// Extents that overlap.
    Overlap,
    /// Data that doesn't decode.
    Data,
}

/// A finding's position among all findings, the same for any number of threads.
pub(crate) type Order = (Phase, u64);

/// What a finding is about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Subject {
    /// The image as a whole.
    Image,
    /// An inode.
    Inode(Nid),
    /// A name in a directory, and the NID that it refers to.
    Entry { directory: Nid, name: Vec<u8>, nid: Nid },
}

/// A finding whose path is not known yet.
#[derive(Clone, Debug)]
pub(crate) struct Note {
    pub(crate) rule: Rule,
    pub(crate) subject: Subject,
    pub(crate) detail: String,
}

/// The findings so far: the first ones in order, up to a limit.
#[derive(Debug)]
pub(crate) struct Findings {
    limit: usize,
    collected: Mutex<Collected>,
}

/// The findings that were kept, and the counts of all.
#[derive(Debug, Default)]
pub(crate) struct Collected {
    pub(crate) notes: BTreeMap<Order, Note>,
    pub(crate) by_rule: BTreeMap<Rule, u64>,
    pub(crate) truncated: bool,
}

impl Findings {
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, collected: Mutex::default() }
    }

    pub(crate) fn add(&self, order: Order, note: Note) {
        let mut collected = self.collected.lock().unwrap_or_else(PoisonError::into_inner);
        *collected.by_rule.entry(note.rule).or_default() += 1;
        collected.notes.insert(order, note);
        if collected.notes.len() > self.limit {
            collected.notes.pop_last();
            collected.truncated = true;
        }
    }

    pub(crate) fn finish(self) -> Collected {
        self.collected.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The findings of one thread, numbered consecutively.
#[derive(Debug)]
pub(crate) struct Log<'a> {
    findings: &'a Findings,
    phase: Phase,
    next: Cell<u64>,
}

impl<'a> Log<'a> {
    /// A log whose findings are numbered from `first` on.
    pub(crate) const fn new(findings: &'a Findings, phase: Phase, first: u64) -> Self {
        Self { findings, phase, next: Cell::new(first) }
    }

    /// A log of another phase.
    pub(crate) const fn of_phase(&self, phase: Phase) -> Self {
        Self::new(self.findings, phase, 0)
    }

    pub(crate) fn add(&self, rule: Rule, subject: Subject, detail: impl Display) {
        let number = self.next.replace(self.next.get().saturating_add(1));
        let note = Note { rule, subject, detail: detail.to_string() };
        self.findings.add((self.phase, number), note);
    }

    pub(crate) fn inode(&self, rule: Rule, nid: Nid, detail: impl Display) {
        self.add(rule, Subject::Inode(nid), detail);
    }

    /// Whether work was granted. The first refusal is a finding: `detail` names the structures that overlap.
    pub(crate) fn is_granted(&self, grant: Grant, nid: Nid, detail: &str) -> bool {
        if grant == Grant::FirstRefusal {
            self.inode(Rule::WorkLimit, nid, detail);
        }
        grant == Grant::Given
    }

    pub(crate) fn image(&self, rule: Rule, detail: impl Display) {
        self.add(rule, Subject::Image, detail);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_findings_in_order_are_kept_and_all_are_counted() {
        let findings = Findings::new(3);
        let (late, early) =
            (Log::new(&findings, Phase::Data, 0), Log::new(&findings, Phase::Structure, 7));
        for number in 0..4 {
            late.image(Rule::DataUndecodable, number);
        }
        early.image(Rule::SbInos, "early");
        let collected = findings.finish();
        let details: Vec<_> = collected.notes.values().map(|note| note.detail.as_str()).collect();
        assert_eq!(details, ["early", "0", "1"]);
        assert!(collected.truncated);
        assert_eq!(collected.by_rule[&Rule::DataUndecodable], 4);
    }
}
