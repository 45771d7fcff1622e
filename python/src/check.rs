//! Examines images for defects (`lith.check`).

use std::{ffi::OsString, os::unix::ffi::OsStringExt};

use lith::check::{Options, check_devices};
use pyo3::prelude::*;

use crate::{error::of_work, image::Image, task};

/// A rule that is broken somewhere.
#[pyclass(frozen, get_all, module = "lith._lith")]
pub(crate) struct Finding {
    /// The stable id of the rule, as `data-undecodable`.
    rule: &'static str,
    /// `error`, `unsupported` or `warning`.
    severity: &'static str,
    /// The path by which the inode was met first, if an inode is concerned.
    path: Option<OsString>,
    /// The inode, if one is concerned.
    nid: Option<u64>,
    /// What was found, and what was expected.
    detail: String,
    text: String,
}

#[pymethods]
impl Finding {
    fn __str__(&self) -> &str {
        &self.text
    }

    fn __repr__(&self) -> String {
        format!("<Finding {}>", self.text)
    }
}

impl From<&lith::check::Finding> for Finding {
    fn from(finding: &lith::check::Finding) -> Self {
        Self {
            rule: finding.rule.id(),
            severity: finding.severity().name(),
            path: finding.path.clone().map(OsString::from_vec),
            nid: finding.nid.map(|nid| nid.0),
            detail: finding.detail.clone(),
            text: finding.to_string(),
        }
    }
}

/// The findings about an image.
#[pyclass(frozen, get_all, module = "lith._lith")]
pub(crate) struct Report {
    /// The findings in the order of the examination; only the first thousand.
    findings: Vec<Py<Finding>>,
    /// Whether there were more findings than were kept.
    truncated: bool,
    /// Whether there are no findings, or only warnings.
    sound: bool,
    /// Inodes that were examined.
    inodes: u64,
    /// Bytes that were read or decoded.
    decoded_bytes: u64,
}

#[pymethods]
impl Report {
    fn __repr__(&self) -> String {
        let verdict = if self.sound { "sound" } else { "not sound" };
        format!("<Report: {verdict}, {} findings>", self.findings.len())
    }
}

/// Examines an image for defects: its structure, and with `data` all its data.
#[pyfunction]
#[pyo3(signature = (image, *, data = true))]
pub(crate) fn check(image: &Bound<'_, Image>, data: bool) -> PyResult<Report> {
    let (py, image) = (image.py(), image.get());
    let devices = image.devices(py)?;
    let mut options = Options::default();
    options.data = data;
    let report = task::run(py, |progress| check_devices(devices, &options, progress))?;
    let report = report.map_err(|error| of_work(py, &error, image.name()))?;
    let findings = report.findings.iter().map(|finding| Py::new(py, Finding::from(finding)));
    Ok(Report {
        findings: findings.collect::<PyResult<_>>()?,
        truncated: report.truncated,
        sound: report.is_sound(),
        inodes: report.counts.inodes,
        decoded_bytes: report.counts.decoded_bytes,
    })
}
