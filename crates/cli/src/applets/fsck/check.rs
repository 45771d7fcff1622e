//! How does fsck.erofs find out whether an image is sound?

use anyhow::Context;
use lith::{
    check::{self, Finding, Options, Report, Severity},
    format::addr::Nid,
};

use super::{Done, words::Words};
use crate::output::error::{Place, harmless};

/// The last line about an image that is not sound.
pub(super) const UNSOUND: &str = "Found some filesystem corruption";

/// Checks an image, or what is below an inode of it.
pub(super) fn run(request: &Words, start: Option<Nid>) -> anyhow::Result<Done> {
    let decodes = request.decodes();
    let mut options = Options::default();
    (options.data, options.start) = (decodes, start);
    options.checksum = !request.no_checksum;
    let devices =
        if decodes { request.image.devices() } else { request.image.devices_of_structure() };
    let devices = devices?;
    let report = check::check_devices(devices, &options, &());
    let report = report.with_context(|| Place(&request.image.image).to_string())?;
    tell(request, &report);
    let is_well = report.is_sound();
    let verdict = if is_well { "No errors found" } else { UNSOUND };
    Ok(Done { is_well, verdict })
}

fn tell(request: &Words, report: &Report) {
    let is_told = |finding: &&Finding| finding.severity() != Severity::Warning || request.warns();
    for finding in report.findings.iter().filter(is_told) {
        let level = if finding.severity() == Severity::Warning { "W" } else { "E" };
        eprintln!("<{level}> erofs: {}", harmless(&finding.to_string()));
    }
    if report.truncated {
        eprintln!("<W> erofs: there are more findings than these");
    }
}
