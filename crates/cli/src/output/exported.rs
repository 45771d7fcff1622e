//! Shows to programs what an export made (`lith extract --json`, `lith tar --json`).

use std::{borrow::Cow, path::Path};

use lith::{
    export,
    source::{Loss, Note, NoteKind},
};
use serde::Serialize;

use super::json;

/// What an export made.
#[derive(Serialize)]
pub(crate) struct Exported<'a> {
    output: Cow<'a, str>,
    /// Names made.
    names: u64,
    /// Bytes of content.
    bytes: u64,
    /// What could not be kept.
    skipped: Vec<String>,
    /// How much more, beyond those listed.
    skipped_more: u64,
    /// What of the image can't be read.
    lost: Vec<Damaged>,
}

/// A file that can't be read, or not all of it.
#[derive(Serialize)]
pub(crate) struct Damaged {
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    path_hex: Option<String>,
    /// Its bytes; `None`: nothing is known of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
    /// The bytes that can't be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    lost: Option<u64>,
    reason: String,
}

impl<'a> Exported<'a> {
    /// The record of an export to a path, with the lines about what it skipped.
    pub(crate) fn new(
        output: &'a Path,
        report: export::Report,
        skipped: Vec<String>,
        lost: Vec<Damaged>,
    ) -> Self {
        Self {
            output: output.to_string_lossy(),
            names: report.names,
            bytes: report.bytes,
            skipped_more: report.skipped.saturating_sub(skipped.len() as u64),
            skipped,
            lost,
        }
    }
}

impl From<&Loss> for Damaged {
    fn from(loss: &Loss) -> Self {
        let (path, path_hex) = json::path(&loss.path);
        let bytes = loss.ranges.iter().map(|range| range.end - range.start).sum();
        Self {
            path: path.into_owned(),
            path_hex,
            size: Some(loss.size),
            lost: Some(bytes),
            reason: loss.reason.clone(),
        }
    }
}

impl From<&Note> for Damaged {
    fn from(note: &Note) -> Self {
        let (path, path_hex) = json::path(&note.path);
        let reason = match &note.kind {
            NoteKind::Unreadable { reason, .. } => reason.clone(),
            _ => String::new(),
        };
        Self { path: path.into_owned(), path_hex, size: None, lost: None, reason }
    }
}
