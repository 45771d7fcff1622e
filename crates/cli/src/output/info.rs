//! Formats the facts about an image as text.

use std::io::{self, Write};

use lith::format::superblock::Superblock;
use lith_report::{
    Algorithm, Contents, DeviceSlot, Facts, JoinedBase, Requirement, Summary, Tally,
    number::{Bytes, Count, Share},
};

use uuid::Uuid;

use super::{
    attributes::{Time, Zone},
    details::{details_text, estimates_text},
};

/// Writes the facts.
pub(crate) fn facts_text(f: &mut dyn Write, facts: &Facts) -> io::Result<()> {
    let Facts { summary, contents, details, presets, .. } = facts;
    summary_text(f, summary)?;
    contents.as_ref().map_or(Ok(()), |contents| contents_text(f, contents))?;
    details.as_ref().map_or(Ok(()), |details| details_text(f, details))?;
    presets.as_ref().map_or(Ok(()), |presets| estimates_text(f, presets))
}

/// Writes what a superblock says of an image that can't be opened, in a file of so many bytes.
pub(crate) fn superblock_text(
    f: &mut dyn Write,
    superblock: &Superblock,
    bytes: u64,
) -> io::Result<()> {
    let Superblock { block, blocks, inos, root_nid, .. } = superblock;
    let size = blocks.saturating_mul(block.size().into());
    writeln!(f, "size        {} ({bytes} bytes)", Bytes(bytes))?;
    if size > bytes {
        let missing = size - bytes;
        writeln!(f, "missing     {} ({missing} bytes) of the primary device", Bytes(missing))?;
    }
    writeln!(f, "UUID        {}", Uuid::from_bytes(superblock.uuid))?;
    writeln!(f, "label       {:?}", String::from_utf8_lossy(superblock.label()))?;
    writeln!(f, "blocks      {blocks} of {} bytes", block.size())?;
    writeln!(f, "inodes      {inos}, root NID {root_nid}")
}

fn summary_text(f: &mut dyn Write, summary: &Summary) -> io::Result<()> {
    let list = |names: &[&str]| if names.is_empty() { "none".into() } else { names.join(", ") };
    writeln!(f, "size        {} ({} bytes)", Bytes(summary.size), summary.size)?;
    writeln!(f, "UUID        {}", summary.uuid)?;
    writeln!(f, "label       {:?}", summary.label)?;
    writeln!(f, "epoch       {}", Time(summary.made, 0, Zone::Utc))?;
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
    for JoinedBase { name, uuid, start, bytes, .. } in &summary.joined {
        writeln!(f, "followed by {name:?}, UUID {uuid}: {bytes} bytes from byte {start} on")?;
    }
    if !summary.read_first.is_empty() {
        let bytes = summary.read_first.iter().map(|stretch| stretch.bytes).sum();
        let stretches = Count(summary.read_first.len() as u64, "range");
        writeln!(f, "read first  {} in {stretches}", Bytes(bytes))?;
    }
    writeln!(f, "mounts on   Linux {} and later", summary.kernel.oldest)?;
    if let Some(since) = summary.kernel.refused_since {
        writeln!(f, "            not on Linux {since}, which reads no lz4 without 0padding")?;
    }
    for Requirement { since, what, .. } in &summary.kernel.reasons {
        writeln!(f, "            {since}: {what}")?;
    }
    writeln!(f, "configured  {}", summary.kernel.configuration.join(", "))?;
    if !summary.kernel.not_on.is_empty() {
        writeln!(f, "            not on {}", summary.kernel.not_on.join(", "))?;
    }
    Ok(())
}

fn contents_text(f: &mut dyn Write, contents: &Contents) -> io::Result<()> {
    let kinds = contents.kinds.iter().map(|(kind, count)| match kind.name() {
        "directory" if *count != 1 => format!("{count} directories"),
        name => Count(*count, name).to_string(),
    });
    writeln!(f, "\nholds       {}", kinds.collect::<Vec<_>>().join(", "))?;
    let (names, compact) = (contents.names, contents.compact_inodes);
    let (names, compact) = (Count(names, "name"), Count(compact, "compact inode"));
    let with_xattrs = contents.inodes_with_xattrs;
    write!(f, "            {names} below the root; ")?;
    writeln!(f, "{compact}, {with_xattrs} with extended attributes")?;
    let (bytes, stored) = (Bytes(contents.bytes), Bytes(contents.stored));
    let share = Share(contents.stored, contents.bytes);
    writeln!(f, "content     {bytes}, stored in {stored}: {share}")?;
    let (extents, bytes, stored, share) = ("extents", "bytes", "stored", "share");
    writeln!(f, "\nstored as   {extents:>10} {bytes:>16} {stored:>16} {share:>9}")?;
    for (name, Tally { extents, bytes, stored, .. }) in &contents.data {
        let share = Share(*stored, *bytes).to_string();
        writeln!(f, "{name:<11} {extents:>10} {bytes:>16} {stored:>16} {share:>9}")?;
    }
    Ok(())
}
