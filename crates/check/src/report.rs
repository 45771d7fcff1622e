//! Defines [`Report`], the result of examining an image.

use std::{collections::BTreeMap, fmt};

use lith_format::addr::Nid;

use crate::{
    findings::{Collected, Subject},
    rule::{Rule, Severity},
};

/// A rule that is broken somewhere.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Finding {
    /// The rule.
    pub rule: Rule,
    /// The inode concerned; `None` for the image as a whole.
    pub nid: Option<Nid>,
    /// The path by which the inode was met first, from the root `/` on. A path that is too long begins with `...`.
    pub path: Option<Vec<u8>>,
    /// What was found, and what was expected.
    pub detail: String,
}

impl Finding {
    /// How bad it is.
    #[must_use]
    pub const fn severity(&self) -> Severity {
        self.rule.severity()
    }
}

impl fmt::Display for Finding {
    /// One line: rule, path, inode, detail. Control characters of the path are escaped.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.rule)?;
        if let Some(path) = &self.path {
            write!(f, "{}: ", escaped(path))?;
        }
        if let Some(nid) = self.nid {
            write!(f, "inode {nid}: ")?;
        }
        f.write_str(&self.detail)
    }
}

/// A path as text, with control characters and invalid UTF-8 escaped.
fn escaped(path: &[u8]) -> String {
    let mut text = String::new();
    for chunk in path.utf8_chunks() {
        for char in chunk.valid().chars() {
            if char.is_control() {
                text.extend(char.escape_default());
            } else {
                text.push(char);
            }
        }
        text.extend(chunk.invalid().escape_ascii().map(char::from));
    }
    text
}

/// How much was examined.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Counts {
    /// Inodes, the packed and the metabox inode included.
    pub inodes: u64,
    /// Directories among them.
    pub directories: u64,
    /// Regular files that have a name.
    pub files: u64,
    /// Symlinks.
    pub symlinks: u64,
    /// Bytes of those files; hard links count once.
    pub content_bytes: u64,
    /// Bytes that were read or decoded. Data that several files share counts once or twice, holes don't count.
    pub decoded_bytes: u64,
}

/// The findings about an image.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Report {
    /// The findings in the order of the examination; only the first ones if `truncated`.
    pub findings: Vec<Finding>,
    /// There were more findings than were kept. `by_rule` counts all.
    pub truncated: bool,
    /// How much was examined.
    pub counts: Counts,
    /// How often each rule is broken.
    pub by_rule: BTreeMap<Rule, u64>,
}

impl Report {
    /// The report about an image that can't be opened.
    pub(crate) fn of_unopened(collected: Collected) -> Self {
        let Collected { notes, by_rule, truncated } = collected;
        let findings = notes.into_values().map(|note| {
            let nid = match note.subject {
                Subject::Image => None,
                Subject::Inode(nid) | Subject::Entry { nid, .. } => Some(nid),
            };
            Finding { rule: note.rule, nid, path: None, detail: note.detail }
        });
        Self { findings: findings.collect(), truncated, by_rule, counts: Counts::default() }
    }

    /// Whether there are no findings.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.by_rule.is_empty()
    }

    /// Whether there are no findings, or only warnings.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.errors() == 0 && self.unsupported() == 0
    }

    /// How many findings of [`Severity::Error`] there are.
    #[must_use]
    pub fn errors(&self) -> u64 {
        self.count(Severity::Error)
    }

    /// How many findings of [`Severity::Unsupported`] there are.
    #[must_use]
    pub fn unsupported(&self) -> u64 {
        self.count(Severity::Unsupported)
    }

    /// How many findings of [`Severity::Warning`] there are.
    #[must_use]
    pub fn warnings(&self) -> u64 {
        self.count(Severity::Warning)
    }

    /// How many findings of a severity there are, including those that were not kept.
    #[must_use]
    pub fn count(&self, severity: Severity) -> u64 {
        let of_severity = self.by_rule.iter().filter(|(rule, _)| rule.severity() == severity);
        of_severity.map(|(_, count)| count).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_is_one_line_that_begins_with_its_rule() {
        let finding = Finding {
            rule: Rule::NlinkWrong,
            nid: Some(Nid(36)),
            path: Some(b"/a\n\xff/\xc3\xbc".to_vec()),
            detail: "i_nlink is 2".into(),
        };
        assert_eq!(finding.to_string(), "nlink-wrong: /a\\n\\xff/\u{fc}: inode 36: i_nlink is 2");
    }

    #[test]
    fn a_report_counts_by_severity() {
        let mut report = Report::default();
        assert!(report.is_clean() && report.is_sound());
        report.by_rule.insert(Rule::SbInos, 2);
        assert!(!report.is_clean() && report.is_sound());
        report.by_rule.insert(Rule::DirLoop, 3);
        report.by_rule.insert(Rule::MapUnsupported, 1);
        assert!(!report.is_sound());
        assert_eq!((report.errors(), report.unsupported(), report.warnings()), (3, 1, 2));
    }
}
