//! Checks an image (`lith check`).

use std::{borrow::Cow, collections::BTreeMap, io::Write, path::Path, sync::Arc};

use anyhow::Context;
use lith::{
    Image,
    bases::{self, Found},
    check::{self, Finding, Report, Severity},
    device::ReadAt,
    observer::Progress,
    reader,
};
use lith_report::number::{Bytes, Count};
use serde::Serialize;

use super::{
    digests::{self, Mismatch, MismatchRecord},
    subject::{self, Subject},
};
use crate::{
    args::{MessageArgs, check::Check, common::ImageArgs},
    exit::Outcome,
    output::{
        self, Stdout,
        address::shown,
        color,
        error::{Place, harmless},
        json,
        progress::Bar,
    },
};

pub(crate) fn run(request: &Check, messages: MessageArgs) -> anyhow::Result<Outcome> {
    if request.rules {
        return rules(request.json);
    }
    let path = request.image.image.as_path();
    let devices: Vec<Arc<dyn ReadAt>> =
        subject::devices(&request.image)?.into_iter().map(Arc::from).collect();
    if request.image.trust.root_hash.is_none() {
        check_bases(&request.image, &devices)?;
    }
    let progress = Arc::new(Progress::default());
    let bar = Bar::new(!messages.quiet, &progress);
    let report = check::check_devices(boxed(&devices), &request.options(), &*progress);
    drop(bar);
    let report = report.with_context(|| Place(path).to_string())?;
    // Of an image that is not sound, files can't be read.
    let mismatches = match outcome(&report) {
        Outcome::Success if request.digests => Some(mismatches(request)?),
        _ => None,
    };
    let mut output = output::stdout()?;
    if request.json {
        let wrong_digests = mismatches.as_ref();
        let wrong_digests = wrong_digests.map(|found| found.iter().map(Mismatch::record).collect());
        let record = CheckRecord { wrong_digests, ..CheckRecord::new(path, &report) };
        json::write_pretty(&mut output, &record)?;
    } else if !messages.quiet {
        write_text(path, &report, &mut output)?;
        write_mismatches(path, mismatches.as_deref(), &mut output)?;
    }
    output.flush()?;
    let has_wrong = mismatches.is_some_and(|found| !found.is_empty());
    Ok(if has_wrong { Outcome::Unsound } else { outcome(&report) })
}

/// Files whose content does not have the digest that it should have.
fn mismatches(request: &Check) -> anyhow::Result<Vec<Mismatch>> {
    digests::compare(&Subject::open(&request.image)?, request.workers.count())
}

fn write_mismatches(
    path: &Path,
    found: Option<&[Mismatch]>,
    output: &mut Stdout,
) -> anyhow::Result<()> {
    let Some(found) = found else { return Ok(()) };
    for mismatch in found {
        writeln!(output, "{}", mismatch.text())?;
    }
    let verdict = match found.len() as u64 {
        0 => "all digests of files are right".to_owned(),
        count => Count(count, "file").to_string() + " without a right digest",
    };
    writeln!(output, "{}: {verdict}", Place(path))?;
    Ok(())
}

/// Compares all bytes of an image's bases with what it says about them.
fn check_bases(image: &ImageArgs, devices: &[Arc<dyn ReadAt>]) -> anyhow::Result<()> {
    let Some(primary) = devices.first() else { return Ok(()) };
    let path = image.image.as_path();
    for Found { path, device, base } in bases::find_for(&**primary, path, &image.devices.search())?
    {
        base.map_or(Ok(()), |base| bases::check_digest(&device, &base, &path))?;
    }
    // What can't be opened is a finding.
    if let Ok(opened) = Image::open_with(boxed(devices), reader::Options::default()) {
        bases::check_joined(&opened, &**primary, path)?;
    }
    Ok(())
}

fn boxed(devices: &[Arc<dyn ReadAt>]) -> Vec<Box<dyn ReadAt>> {
    devices.iter().map(|device| Box::new(Arc::clone(device)) as Box<dyn ReadAt>).collect()
}

/// Lists all rules.
fn rules(as_json: bool) -> anyhow::Result<Outcome> {
    let mut output = output::stdout()?;
    for rule in check::Rule::ALL {
        let (id, severity, description) = (rule.id(), rule.severity().name(), rule.description());
        if as_json {
            json::write_line(&mut output, &RuleRecord { rule: id, severity, description })?;
        } else {
            writeln!(output, "{id:<24} {severity:<11} {description}")?;
        }
    }
    output::finish(output)
}

/// A line of `check --rules --json`.
#[derive(Serialize)]
struct RuleRecord {
    rule: &'static str,
    severity: &'static str,
    description: &'static str,
}

fn outcome(report: &Report) -> Outcome {
    match (report.errors(), report.unsupported()) {
        (0, 0) => Outcome::Success,
        (0, _) => Outcome::Undecided,
        _ => Outcome::Unsound,
    }
}

fn write_text(path: &Path, report: &Report, output: &mut Stdout) -> anyhow::Result<()> {
    for finding in &report.findings {
        writeln!(output, "{}", harmless(&finding.to_string()))?;
    }
    let printed = report.findings.len() as u64;
    let all: u64 = report.by_rule.values().sum();
    if report.truncated {
        writeln!(output, "{} more", Count(all.saturating_sub(printed), "finding"))?;
    }
    let verdict = match outcome(report) {
        Outcome::Success => "sound",
        Outcome::Undecided => "unknown whether sound",
        _ => "not sound",
    };
    let (inodes, decoded) = (report.counts.inodes, report.counts.decoded_bytes);
    let style = if outcome(report) == Outcome::Success { color::GOOD } else { color::BAD };
    write!(output, "{}: {}", Place(path), color::painted(style, verdict))?;
    let (errors, unsupported) = (report.errors(), report.unsupported());
    for (count, what) in
        [(errors, "error"), (unsupported, "unsupported use"), (report.warnings(), "warning")]
    {
        if count > 0 {
            write!(output, ", {}", Count(count, what))?;
        }
    }
    writeln!(output, " ({}, {} of data)", Count(inodes, "inode"), Bytes(decoded))?;
    Ok(())
}

/// What `check --json` prints.
#[derive(Serialize)]
struct CheckRecord<'a> {
    image: Cow<'a, str>,
    sound: bool,
    errors: u64,
    unsupported: u64,
    warnings: u64,
    counts: CountsRecord,
    by_rule: BTreeMap<&'static str, u64>,
    truncated: bool,
    findings: Vec<FindingRecord<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    wrong_digests: Option<Vec<MismatchRecord<'a>>>,
}

#[derive(Serialize)]
struct CountsRecord {
    inodes: u64,
    directories: u64,
    files: u64,
    symlinks: u64,
    content_bytes: u64,
    decoded_bytes: u64,
}

#[derive(Serialize)]
struct FindingRecord<'a> {
    rule: &'static str,
    severity: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path_hex: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    nid: Option<u64>,
    detail: &'a str,
}

impl<'a> CheckRecord<'a> {
    fn new(path: &'a Path, report: &'a Report) -> Self {
        let counts = report.counts;
        Self {
            image: shown(path).to_string_lossy().into_owned().into(),
            sound: report.is_sound(),
            errors: report.errors(),
            unsupported: report.unsupported(),
            warnings: report.warnings(),
            counts: CountsRecord {
                inodes: counts.inodes,
                directories: counts.directories,
                files: counts.files,
                symlinks: counts.symlinks,
                content_bytes: counts.content_bytes,
                decoded_bytes: counts.decoded_bytes,
            },
            by_rule: report.by_rule.iter().map(|(rule, count)| (rule.id(), *count)).collect(),
            truncated: report.truncated,
            findings: report.findings.iter().map(FindingRecord::from).collect(),
            wrong_digests: None,
        }
    }
}

impl<'a> From<&'a Finding> for FindingRecord<'a> {
    fn from(finding: &'a Finding) -> Self {
        let path = finding.path.as_deref();
        Self {
            rule: finding.rule.id(),
            severity: Severity::name(finding.severity()),
            path: path.map(json::text),
            path_hex: path.and_then(json::hex_unless_text),
            nid: finding.nid.map(|nid| nid.0),
            detail: &finding.detail,
        }
    }
}
