//! Formats the space in an image by folder, type, file and device.

use std::io::{self, Write};

use lith::tree::DisplayPath;
use lith_report::{
    Details, Device, EqualFiles, EqualGroup, Estimates, Folder, LargeFile, Sums,
    number::{Bytes, Count, Share},
};

/// Rows and levels of folders that are shown; JSON has more.
const ROWS: usize = 40;
const LEVELS: usize = 3;
/// Folders with less than one part in this many of the bytes are not shown.
const SMALL: u64 = 200;

/// Writes the space by folder, type, file and device.
pub(super) fn details_text(f: &mut dyn Write, details: &Details) -> io::Result<()> {
    heading(f, "folder")?;
    folder(f, &details.folders, "/", (&details.folders.all, LEVELS))?;
    heading(f, "type")?;
    for sums in details.types.iter().take(ROWS) {
        row(f, &sums.all, &sums.name)?;
    }
    let rest = details.types.get(ROWS..).unwrap_or_default();
    if !rest.is_empty() {
        let mut all = Sums::default();
        for sums in rest {
            all.add(&sums.all);
        }
        row(f, &all, &Count(rest.len() as u64, "other type").to_string())?;
    }
    if details.packed_rest > 0 {
        let rest = Bytes(details.packed_rest);
        writeln!(f, "and {rest} in the packed inode that no file uses")?;
    }
    largest(f, "largest files", &details.largest.by_bytes)?;
    largest(f, "files that take most", &details.largest.by_stored)?;
    writeln!(f, "\nstored once instead of several times")?;
    let duplicates = &details.duplicates;
    for (what, repeats) in [
        ("hard links", duplicates.hard_links),
        ("equal files", duplicates.whole_files),
        ("files in part", duplicates.parts),
    ] {
        writeln!(f, "{what:<14} {:>9} {:>16} bytes", repeats.count, repeats.bytes)?;
    }
    details.equal_files.as_ref().map_or(Ok(()), |found| equal(f, found))?;
    details.devices_map.iter().try_for_each(|device| map(f, device))
}

/// Writes the row of the folder `path`, and those of larger folders in it of so many levels.
fn folder(
    f: &mut dyn Write,
    outer: &Folder,
    path: &str,
    (whole, levels): (&Sums, usize),
) -> io::Result<()> {
    row(f, &outer.all, path)?;
    let is_large =
        |sums: &Sums| sums.bytes > whole.bytes / SMALL || sums.stored > whole.stored / SMALL;
    let inside = outer.folders.iter().filter(|inner| levels > 0 && is_large(&inner.all));
    for inner in inside {
        let path = format!("{path}{}/", DisplayPath(&inner.name.0));
        folder(f, inner, &path, (whole, levels - 1))?;
    }
    Ok(())
}

fn heading(f: &mut dyn Write, what: &str) -> io::Result<()> {
    writeln!(f, "\n{:>9} {:>16} {:>16} {:>9}  {what}", "files", "bytes", "stored", "share")
}

fn row(f: &mut dyn Write, sums: &Sums, name: &str) -> io::Result<()> {
    let Sums { files, bytes, stored, .. } = *sums;
    let share = Share(stored, bytes).to_string();
    writeln!(f, "{files:>9} {bytes:>16} {stored:>16} {share:>9}  {name}")
}

fn largest(f: &mut dyn Write, what: &str, files: &[LargeFile]) -> io::Result<()> {
    writeln!(f, "\n{:>16} {:>16} {:>9}  {what}", "bytes", "stored", "share")?;
    for LargeFile { path, bytes, stored, .. } in files {
        let (path, share) = (DisplayPath(&path.0), Share(*stored, *bytes).to_string());
        writeln!(f, "{bytes:>16} {stored:>16} {share:>9}  {path}")?;
    }
    Ok(())
}

fn equal(f: &mut dyn Write, found: &EqualFiles) -> io::Result<()> {
    let EqualFiles { copies, bytes, stored, not_compared, largest, .. } = found;
    writeln!(f, "\nequal files stored several times")?;
    writeln!(f, "further copies {copies:>9} {bytes:>16} bytes, stored in {stored}")?;
    if *not_compared > 0 {
        writeln!(f, "not compared   {not_compared:>9}")?;
    }
    for EqualGroup { files, stored, paths, .. } in largest {
        let shown: Vec<_> = paths.iter().map(|path| DisplayPath(&path.0).to_string()).collect();
        let more = if paths.len() as u64 == *files { "" } else { " ..." };
        writeln!(f, "{files:>9} {stored:>16}  {}{more}", shown.join(" "))?;
    }
    Ok(())
}

fn map(f: &mut dyn Write, device: &Device) -> io::Result<()> {
    let what = match device.number {
        0 => "space in the image".to_owned(),
        number => format!("space on device {number}"),
    };
    writeln!(f, "\n{:>9} {:>16} {:>9}  {what}", "regions", "bytes", "share")?;
    for sums in &device.classes {
        let share = Share(sums.bytes, device.size).to_string();
        writeln!(f, "{:>9} {:>16} {share:>9}  {}", sums.regions, sums.bytes, sums.class.name())?;
    }
    Ok(())
}

/// Writes the estimated sizes of the image with other presets.
pub(super) fn estimates_text(f: &mut dyn Write, estimates: &Estimates) -> io::Result<()> {
    let Estimates { sample_bytes, is_whole, now, own, presets, .. } = estimates;
    let how = match is_whole {
        true => "built".to_owned(),
        false => format!("estimated from {} of content", Bytes(*sample_bytes)),
    };
    writeln!(f, "\n{:>16} {:>9}  preset, {how}", "image", "of now")?;
    for estimate in presets {
        let share = Share(estimate.image, *now).to_string();
        let is_own = if own.as_ref() == Some(&estimate.name) { " (as it is)" } else { "" };
        writeln!(f, "{:>16} {share:>9}  {}{is_own}", estimate.image, estimate.name)?;
    }
    Ok(())
}
