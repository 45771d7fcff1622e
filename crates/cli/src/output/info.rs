//! Formats the facts about an image.

use std::fmt;

use lith_report::{Algorithm, DeviceSlot, Facts, Kernel, Requirement, Summary};

use super::{
    attributes::Time,
    contents::ContentsText,
    details::{DetailsText, EstimatesText},
    number::Bytes,
};

pub(crate) struct FactsText<'a>(pub(crate) &'a Facts);

impl fmt::Display for FactsText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Facts { summary, contents, details, presets, .. } = self.0;
        summary_text(f, summary)?;
        contents.as_ref().map_or(Ok(()), |contents| ContentsText(contents).fmt(f))?;
        details.as_ref().map_or(Ok(()), |details| DetailsText(details).fmt(f))?;
        presets.as_ref().map_or(Ok(()), |presets| EstimatesText(presets).fmt(f))
    }
}

fn summary_text(f: &mut fmt::Formatter<'_>, summary: &Summary) -> fmt::Result {
    let list = |names: &[&str]| if names.is_empty() { "none".into() } else { names.join(", ") };
    writeln!(f, "size        {} ({} bytes)", Bytes(summary.size), summary.size)?;
    writeln!(f, "UUID        {}", summary.uuid)?;
    writeln!(f, "label       {:?}", summary.label)?;
    writeln!(f, "made        {}", Time(summary.made, 0))?;
    writeln!(f, "blocks      {} of {} bytes", summary.blocks, summary.block_size)?;
    writeln!(f, "inodes      {}, root NID {}", summary.inodes, summary.root_nid)?;
    writeln!(f, "features    {}", list(&summary.features.incompat))?;
    writeln!(f, "compatible  {}", list(&summary.features.compat))?;
    for Algorithm { name, needs, .. } in &summary.algorithms {
        writeln!(f, "algorithm   {name}: {needs}")?;
    }
    for (number, DeviceSlot { tag, blocks, .. }) in summary.devices.iter().enumerate() {
        writeln!(f, "device {:<4} {blocks} blocks, tag {tag:?}", number + 1)?;
    }
    kernel_text(f, &summary.kernel)
}

fn kernel_text(f: &mut fmt::Formatter<'_>, kernel: &Kernel) -> fmt::Result {
    writeln!(f, "mounts on   Linux {} and later", kernel.oldest)?;
    for Requirement { since, what, .. } in &kernel.reasons {
        writeln!(f, "            {since}: {what}")?;
    }
    Ok(())
}
