//! Prints the content of files (`lith cat`).

use std::{io::Write, iter};

use lith::{
    format::file_type::FileType,
    reader::Inode,
    source::{Losses, read_what_is_there},
};

use super::{paths, salvage::Lost, subject::Subject};
use crate::{
    args::cat::Cat,
    exit::Outcome,
    output::{self, error::one_line},
};

/// Bytes per read: several extents of the largest pclusters.
const READ: u64 = 4 << 20;

/// Prints files; none if one of them does not exist.
pub(crate) fn run(request: &Cat) -> anyhow::Result<Outcome> {
    let subject = Subject::open(&request.image)?;
    let is_file = |file_type| file_type != FileType::Directory;
    let paths = paths::requested(&subject, &request.paths, is_file)?;
    let files = paths.iter().map(|path| Ok((path, find(&subject, path)?)));
    let files = files.collect::<anyhow::Result<Vec<_>>>()?;
    let mut output = output::stdout()?;
    let lost = Lost::default();
    for (path, inode) in files {
        if request.salvage.keep_going {
            print_rest(&subject, (path, &inode), &mut output, lost.losses())?;
        } else {
            print(&subject, path, &inode, &mut output)?;
        }
    }
    output::finish(output)?;
    Ok(lost.conclude())
}

/// Prints what can be read of the inode at a path, and zeros for the rest.
fn print_rest(
    subject: &Subject<'_>,
    (path, inode): (&[u8], &Inode),
    output: &mut impl Write,
    losses: &Losses,
) -> anyhow::Result<()> {
    let path = path.strip_prefix(b"/").unwrap_or(path);
    let file = match subject.image.file(inode) {
        Ok(file) => file,
        Err(error) => {
            let lost = iter::once(0..inode.size).collect();
            losses.add(path, inode.size, lost, one_line(&error));
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
            losses.add(path, file.size(), ranges, one_line(&error));
        }
        output.write_all(&buffer)?;
        position += length;
    }
    Ok(())
}

fn find(subject: &Subject<'_>, path: &[u8]) -> anyhow::Result<Inode> {
    let inode = subject.find(path, true)?;
    if inode.file_type == FileType::Directory {
        return Err(subject.refuse(path, "is a directory"));
    }
    Ok(inode)
}

/// Prints the content of the inode at `path`.
pub(crate) fn print(
    subject: &Subject<'_>,
    path: &[u8],
    inode: &Inode,
    output: &mut impl Write,
) -> anyhow::Result<()> {
    let file = subject.image.file(inode).map_err(|error| subject.about(path, error))?;
    let mut buffer = Vec::new();
    let mut position = 0;
    while position < file.size() {
        let length = (file.size() - position).min(READ);
        buffer.resize(usize::try_from(length)?, 0);
        file.read_at(&mut buffer, position).map_err(|error| subject.about(path, error))?;
        output.write_all(&buffer)?;
        position += length;
    }
    Ok(())
}
