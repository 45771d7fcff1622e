//! Checks an image for fsck.erofs.

use anyhow::Context;
use lith::{
    check::{self, Finding, Options, Report, Severity},
    format::addr::Nid,
};

use super::arguments::Arguments;
use crate::output::error::{Place, harmless, tell};

/// Checks an image, or the inode `start` and everything below it; returns whether it is sound.
pub(super) fn run(request: &Arguments, start: Option<Nid>) -> anyhow::Result<bool> {
    let decodes = request.decodes();
    let mut options = Options::default();
    (options.data, options.start) = (decodes, start);
    options.checksum = !request.no_checksum;
    // Without decoding, the data of further devices is not needed.
    let devices =
        if decodes { request.image.devices() } else { request.image.devices_of_structure() };
    let devices = devices?;
    let report = check::check_devices(devices, &options, &());
    let report = report.with_context(|| Place(&request.image.image).to_string())?;
    print(request, &report);
    Ok(report.is_sound())
}

fn print(request: &Arguments, report: &Report) {
    let is_printed =
        |finding: &&Finding| finding.severity() != Severity::Warning || request.warns();
    for finding in report.findings.iter().filter(is_printed) {
        let level = if finding.severity() == Severity::Warning { "W" } else { "E" };
        tell(format_args!("<{level}> erofs: {}", harmless(&finding.to_string())));
    }
    if report.truncated {
        tell(format_args!("<W> erofs: there are more findings than these"));
    }
}
