//! Prints the table of a file's extents as dump.erofs does.

use std::io::Write;

use lith::{
    format::{
        addr::BlockBits,
        chunk::ChunkFormat,
        inode::{InodeData, Layout},
    },
    reader::{Error, Extent, ExtentKind, Image, Inode, Place},
};

use crate::output::Stdout;

/// Prints the table of a file's extents and returns the number of its rows.
///
/// The inner error is one of the image, the outer one is of the output.
pub(super) fn write(
    image: &Image,
    inode: &Inode,
    output: &mut Stdout,
) -> anyhow::Result<Result<u64, Error>> {
    writeln!(output, "\n Ext:   logical offset   |  length :     physical offset    |  length")?;
    let mut count = 0;
    if !inode.file_type.has_content() {
        return Ok(Ok(count));
    }
    let extents = match image.extents(inode) {
        Ok(extents) => extents,
        Err(error) => return Ok(Err(error)),
    };
    let block = image.superblock().block;
    for extent in extents {
        let extent = match extent {
            Ok(extent) => extent,
            Err(error) => return Ok(Err(error)),
        };
        for row in rows(inode, &extent, block) {
            row.write(count, output)?;
            count += 1;
        }
    }
    Ok(Ok(count))
}

/// A row of the table; positions and lengths are bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Row {
    la: u64,
    llen: u64,
    pa: u64,
    plen: u64,
    device: u16,
}

impl Row {
    fn write(&self, number: u64, output: &mut Stdout) -> anyhow::Result<()> {
        let Self { la, llen, pa, plen, device } = *self;
        let (end, stored_end) = (la.saturating_add(llen), pa.saturating_add(plen));
        write!(output, "{number:>4}: {la:>8}..{end:>8} | {llen:>7} : ")?;
        write!(output, "{pa:>10}..{stored_end:>10} | {plen:>7}")?;
        match device {
            0 => writeln!(output)?,
            _ => writeln!(output, "  # device {device}")?,
        }
        Ok(())
    }
}

/// The rows of an extent: one for each chunk of a chunk-based file, otherwise one.
///
/// As in erofs-utils, the last block or chunk is shown in full, even where it exceeds the size of the file.
fn rows(inode: &Inode, extent: &Extent, block: BlockBits) -> Vec<Row> {
    let (device, pa) = match extent.place {
        _ if matches!(extent.kind, ExtentKind::Hole | ExtentKind::Fragment) => (0, 0),
        Place::Nowhere | Place::Packed { .. } => (0, 0),
        Place::Device(at) => (at.device, at.pa.0),
        Place::Metadata { position, .. } => (0, position),
    };
    let stored = match extent.kind {
        ExtentKind::Hole | ExtentKind::Fragment => 0,
        _ => extent.plen,
    };
    let whole = Row { la: extent.la, llen: extent.len, pa, plen: stored, device };
    match inode.data {
        InodeData::Chunked(format) => chunks(whole, format, inode.size, block),
        _ if extent.kind == ExtentKind::Flat && inode.layout == Layout::FlatPlain => {
            let length = block.align_up(extent.len).unwrap_or(extent.len);
            vec![Row { llen: length, plen: length, ..whole }]
        }
        _ => vec![whole],
    }
}

/// Splits contiguous chunks, which the reader joins to one extent, into a row for each.
fn chunks(run: Row, format: ChunkFormat, size: u64, block: BlockBits) -> Vec<Row> {
    let chunk = format.chunk_size(block).max(1);
    let mut rows = Vec::new();
    let mut at = 0;
    while at < run.llen {
        let la = run.la.saturating_add(at);
        let rest = size.saturating_sub(la);
        let llen = chunk.min(block.align_up(rest).unwrap_or(rest)).max(1);
        let is_stored = run.plen > 0;
        let pa = if is_stored { run.pa.saturating_add(at) } else { 0 };
        rows.push(Row { la, llen, pa, plen: if is_stored { llen } else { 0 }, ..run });
        at = at.saturating_add(llen);
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contiguous_chunks_are_shown_one_by_one() {
        let format = ChunkFormat::new(0, true, false).unwrap();
        let run = Row { la: 0, llen: 5001, pa: 24576, plen: 5001, device: 1 };
        let rows = chunks(run, format, 5001, BlockBits::DEFAULT);
        let row = |la, pa| Row { la, llen: 4096, pa, plen: 4096, device: 1 };
        assert_eq!(rows, [row(0, 24576), row(4096, 28672)]);
        let hole = Row { plen: 0, pa: 0, device: 0, ..run };
        let rows = chunks(hole, format, 5001, BlockBits::DEFAULT);
        assert!(rows.iter().all(|row| (row.pa, row.plen, row.llen) == (0, 0, 4096)));
    }
}
