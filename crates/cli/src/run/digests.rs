//! Compares the content of files with the digests that their attributes record.

use std::{borrow::Cow, num::NonZeroUsize};

use anyhow::Context;
use lith::{DigestFinding, DigestState, check_digests, digest_name, tree::DisplayPath};
use lith_report::number::Count;
use serde::Serialize;

use super::{subject::Subject, trees::Opened};
use crate::output::{
    error::{Place, tell},
    json,
};

/// A file that does not have the digest that it should have.
#[derive(Debug)]
pub(crate) struct Mismatch(DigestFinding);

/// The same in JSON.
#[derive(Debug, Serialize)]
pub(crate) struct MismatchRecord<'a> {
    path: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path_hex: Option<String>,
    nid: u64,
    problem: &'static str,
}

/// All files of an image whose content does not match, or which have no digest.
pub(crate) fn compare(
    subject: &Subject<'_>,
    workers: NonZeroUsize,
) -> anyhow::Result<Vec<Mismatch>> {
    let name = digest_name(&subject.image);
    let name = name.with_context(|| format!("{}: has no digests of files", Place(subject.path)))?;
    let found = check_digests(&subject.image, &name, workers);
    let found = found.map_err(|error| subject.failed(error))?;
    Ok(found.into_iter().map(Mismatch).collect())
}

/// Prints the files whose digests are wrong or missing; it is an error if there are any.
pub(crate) fn require(opened: &Opened<'_>, workers: NonZeroUsize) -> anyhow::Result<()> {
    let subject = match opened {
        Opened::Image(subject) => subject,
        Opened::Tree(subject) => {
            anyhow::bail!("{}: only an EROFS image has digests of files", Place(subject.path))
        }
    };
    let (wrong, image) = (compare(subject, workers)?, Place(subject.path));
    for mismatch in &wrong {
        tell(format_args!("lith: {image}: {}", mismatch.text()));
    }
    match wrong.len() as u64 {
        0 => Ok(()),
        count => anyhow::bail!("{image}: {} without a right digest", Count(count, "file")),
    }
}

impl Mismatch {
    const fn problem(&self) -> &'static str {
        match self.0.state {
            DigestState::Missing => "it has no digest",
            DigestState::Unknown => "its digest has no known algorithm",
            DigestState::Wrong | DigestState::Right => "the content does not match its digest",
        }
    }

    /// One line.
    pub(crate) fn text(&self) -> String {
        let path = json::absolute(&self.0.path);
        format!("{}: inode {}: {}", DisplayPath(&path), self.0.nid, self.problem())
    }

    pub(crate) fn record(&self) -> MismatchRecord<'_> {
        let (path, path_hex) = json::path(&self.0.path);
        MismatchRecord { path, path_hex, nid: self.0.nid.0, problem: self.problem() }
    }
}
