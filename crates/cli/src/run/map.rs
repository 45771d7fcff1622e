//! Shows a file's extents (`lith map`).

use std::{borrow::Cow, io::Write};

use lith::{reader::Inode, tree::DisplayPath};
use lith_report::number::{Count, Share};
use serde::Serialize;

use super::{subject::Subject, volume::Volume};
use crate::{
    args::map::Map,
    exit::Outcome,
    output::{self, Stdout, extents::ExtentRecord, json},
};

/// What `map --json` prints.
#[derive(Serialize)]
struct MapRecord<'a> {
    path: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path_hex: Option<String>,
    nid: u64,
    size: u64,
    extents: Vec<ExtentRecord>,
}

pub(crate) fn run(request: &Map) -> anyhow::Result<Outcome> {
    let subject = Subject::open(&request.image)?;
    let path = request.path.as_encoded_bytes();
    let inode = subject.find(path, false)?;
    let mut output = output::stdout()?;
    if request.json {
        json::write_line(&mut output, &record(&subject, path, &inode)?)?;
    } else {
        table(&subject, path, &inode, &mut output)?;
    }
    output::finish(output)
}

fn record<'a>(
    subject: &Subject<'_>,
    path: &'a [u8],
    inode: &Inode,
) -> anyhow::Result<MapRecord<'a>> {
    let about = |error| subject.about(path, error);
    let mut extents = Vec::new();
    for extent in subject.image.extents(inode).map_err(about)? {
        extents.push(ExtentRecord::from(&extent.map_err(about)?));
    }
    let (path, path_hex) = json::path(path);
    Ok(MapRecord { path, path_hex, nid: inode.nid.0, size: inode.size, extents })
}

fn table(
    subject: &Subject<'_>,
    path: &[u8],
    inode: &Inode,
    output: &mut Stdout,
) -> anyhow::Result<()> {
    let about = |error| subject.about(path, error);
    let extents = subject.image.extents(inode).map_err(about)?;
    let size = inode.size;
    writeln!(output, "{}: NID {}, {}", DisplayPath(path), inode.nid, Count(size, "byte"))?;
    writeln!(output, "{}", ExtentRecord::HEADING)?;
    let (mut number, mut stored) = (0, 0_u64);
    for extent in extents {
        let extent = extent.map_err(about)?;
        writeln!(output, "{number:>5}: {}", ExtentRecord::from(&extent))?;
        number += 1;
        stored = stored.saturating_add(extent.plen);
    }
    let share = Share(stored, size);
    writeln!(output, "{}, {} stored, {share}", Count(number, "extent"), Count(stored, "byte"))?;
    Ok(())
}
