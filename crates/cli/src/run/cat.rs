//! Prints the content of files (`lith cat`).

use std::io::Write;

use lith::{format::file_type::FileType, reader::Inode};

use super::{paths, subject::Subject};
use crate::{args::cat::Cat, exit::Outcome, output};

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
    for (path, inode) in files {
        print(&subject, path, &inode, &mut output)?;
    }
    output::finish(output)
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
