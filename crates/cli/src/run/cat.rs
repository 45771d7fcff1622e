//! Prints the content of files (`lith cat`).

use std::{io::Write, iter};

use lith::{
    format::file_type::FileType,
    source::{Losses, read_what_is_there},
};

use super::{
    paths,
    salvage::Lost,
    trees::{self, Opened, Verify},
    volume::Volume,
};
use crate::{
    args::cat::Cat,
    exit::Outcome,
    output::{self, error::one_line},
};

/// Bytes per read: several extents of the largest pclusters.
const READ: u64 = 4 << 20;

pub(crate) fn run(request: &Cat) -> anyhow::Result<Outcome> {
    let reading = (Verify::Ahead, request.salvage.on_error());
    match trees::open_any(&request.image, &request.objects, reading)? {
        Opened::Image(subject) => print_all(request, &*subject),
        Opened::Tree(subject) => print_all(request, &subject),
    }
}

/// Prints files; none if one of them does not exist.
fn print_all(request: &Cat, volume: &impl Volume) -> anyhow::Result<Outcome> {
    let is_file = |file_type| file_type != FileType::Directory;
    let paths = paths::requested(volume, &request.paths, is_file)?;
    let files = paths.iter().map(|path| Ok((path, find(volume, path)?)));
    let files = files.collect::<anyhow::Result<Vec<_>>>()?;
    let mut output = output::stdout()?;
    let lost = Lost::default();
    for (path, node) in files {
        if request.salvage.keep_going {
            print_rest(volume, (path, &node), &mut output, lost.losses())?;
        } else {
            print(volume, path, &node, &mut output)?;
        }
    }
    output::finish(output)?;
    Ok(lost.conclude())
}

/// Prints what can be read of the file at a path, and zeros for the rest.
fn print_rest<V: Volume>(
    volume: &V,
    (path, node): (&[u8], &V::Node),
    output: &mut impl Write,
    losses: &Losses,
) -> anyhow::Result<()> {
    let path = path.strip_prefix(b"/").unwrap_or(path);
    let file = match volume.content(node) {
        Ok(file) => file,
        Err(error) => {
            let size = volume.attributes(node).size;
            let lost = iter::once(0..size).collect();
            losses.add(path, size, lost, one_line(error.as_ref()));
            return Ok(());
        }
    };
    let mut buffer = Vec::new();
    let mut position = 0;
    while position < file.size() {
        let length = (file.size() - position).min(READ);
        buffer.resize(usize::try_from(length)?, 0);
        let read = |buf: &mut [u8], position| file.read_at(buf, position);
        if let Some((ranges, error)) = read_what_is_there(&mut buffer, position, &read) {
            losses.add(path, file.size(), ranges, one_line(error.as_ref()));
        }
        output.write_all(&buffer)?;
        position += length;
    }
    Ok(())
}

fn find<V: Volume>(volume: &V, path: &[u8]) -> anyhow::Result<V::Node> {
    let node = volume.find(path, true)?;
    if volume.attributes(&node).file_type == FileType::Directory {
        return Err(volume.refuse(path, "is a directory"));
    }
    Ok(node)
}

/// Prints the content of the file at `path`.
pub(crate) fn print<V: Volume>(
    volume: &V,
    path: &[u8],
    node: &V::Node,
    output: &mut impl Write,
) -> anyhow::Result<()> {
    let file = volume.content(node).map_err(|error| volume.at(path, error))?;
    let mut buffer = Vec::new();
    let mut position = 0;
    while position < file.size() {
        let length = (file.size() - position).min(READ);
        buffer.resize(usize::try_from(length)?, 0);
        file.read_at(&mut buffer, position).map_err(|error| volume.at(path, error))?;
        output.write_all(&buffer)?;
        position += length;
    }
    Ok(())
}
