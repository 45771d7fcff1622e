//! How does a cpio archive become a tree?
//!
//! The formats are newc, in which the kernel's initramfs is, and crc, which is the same with checksums. Several archives can follow
//! one another with zeros between them, the last ones compressed; a member replaces an earlier one of the same path, as when the
//! kernel unpacks them. Names of one file have the same numbers of device and inode, and mostly only the last one has the data.
//!
//! Paths, directories without a member, and the order of inodes are as those of a tar ([`crate::tar`]).

mod error;
mod header;
mod member;

use std::{
    collections::HashMap,
    fs::File,
    io::{self, BufReader, Seek, SeekFrom},
    path::Path,
};

use lith_tree::InodeIndex;

use crate::{
    Options, Refusal, Source, SourceError,
    detect::Compression,
    error::cannot,
    note::NoteKind,
    tar::{self, Input, Placer, Region, Spool},
};
pub use error::{CpioDamage, CpioError};
use member::{End, FileKey, Members, Read, Stop};

/// Reads archives from the current position of a regular file on. Their data stay there, unless a compressed one is among them.
pub(crate) fn file(mut file: File, path: &Path, options: &Options) -> Result<Source, SourceError> {
    let start = file.stream_position().map_err(cannot("read", path))?;
    let metadata = file.metadata().map_err(cannot("read the attributes", path))?;
    let length = metadata.len().saturating_sub(start);
    let mut again = file.try_clone().map_err(cannot("open", path))?;
    let input = Input::file(path, Region { file, start, length })?;
    match read(Members::new(path, input, options), path, options) {
        Ok(source) => Ok(source),
        Err(Stop::Failed(error)) => Err(error),
        Err(Stop::Compressed) => {
            again.seek(SeekFrom::Start(start)).map_err(cannot("read", path))?;
            stream(Box::new(again), None, path, options)
        }
    }
}

/// Reads archives from a stream, which is decompressed already. The data of their members are copied to a spool.
pub(crate) fn stream<'a>(
    reader: Box<dyn io::Read + 'a>,
    compression: Option<Compression>,
    path: &'a Path,
    options: &'a Options,
) -> Result<Source, SourceError> {
    let spool = Spool::new(options.spool_dir.clone(), options.spool_memory);
    let reader = Box::new(BufReader::new(reader));
    let input = Input::stream(path, reader, compression, Some(spool));
    read(Members::new(path, input, options), path, options).map_err(|stop| match stop {
        Stop::Failed(error) => error,
        Stop::Compressed => unreachable!("only files stop there"),
    })
}

fn read(mut members: Members<'_>, path: &Path, options: &Options) -> Result<Source, Stop> {
    let refused = |member: Vec<u8>, source| {
        let source = CpioError::Refused { member: member.into(), source };
        Stop::Failed(SourceError::Cpio { path: path.to_owned(), source })
    };
    let mut placer = Placer::new(options);
    let mut files = HashMap::new();
    while let Some(read) = members.next()? {
        let name = read.member.path.clone();
        place(&mut placer, &mut files, read).map_err(|refusal| refused(name, refusal))?;
    }
    let End { trailing, unmarked, store } = members.finish();
    if trailing {
        placer.notes.add(NoteKind::TrailingData, b"");
    }
    if unmarked {
        placer.notes.add(NoteKind::NoEndMarker, b"");
    }
    let layer = tar::finish(placer, store, None);
    Ok(layer.map_err(|(member, refusal)| refused(member, refusal))?.source)
}

/// Adds a member, which is another name if its file is known.
fn place(
    placer: &mut Placer<'_>,
    files: &mut HashMap<FileKey, InodeIndex>,
    Read { member, file }: Read,
) -> Result<(), Refusal> {
    let Some(file) = file else {
        return placer.place(member);
    };
    let known = files.get(&file).copied();
    if let Some(known) = known.filter(|known| placer.is_same_file(*known, &member)) {
        return placer.place_again(member, known);
    }
    let path = member.path.clone();
    placer.place(member)?;
    files.extend(placer.find(&path).map(|inode| (file, inode)));
    Ok(())
}
