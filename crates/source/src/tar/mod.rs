//! How does a tar become a tree?
//!
//! Members are read one by one ([`member`]) and added to a tree ([`place`]). Then the tree is copied in the order of its walk
//! ([`canonical`]), so that it does not depend on the order of members. Of several members with one path the last counts, as when a
//! tar is extracted.
//!
//! Directories without a member, the root included, have mode 0755, owner root and the time 1970-01-01. Owners are read by number, never
//! by name.

mod acl;
mod canonical;
mod contents;
mod decompress;
mod error;
mod header;
mod input;
mod member;
mod overrides;
mod packed;
mod pax;
mod place;
mod raw_copy;
mod sparse;
mod spool;
mod xattr;

use std::{
    fs::File,
    io::{self, Cursor, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
};

use lith_tree::InodeIndex;

use crate::{
    Data, Options, Source, SourceError,
    detect::{self, Compression, Looks, detect},
    error::cannot,
    layer::Layer,
    note::NoteKind,
};
use canonical::Canonical;
use contents::TarContents;
use member::{End, Members};

pub(crate) use decompress::decoder;
pub(crate) use error::In;
pub use error::{Damage, Part, Refusal, TarError};
pub(crate) use header::is_header;
pub(crate) use input::{Input, InputError, Region, Store, cannot_read};
pub(crate) use member::{Member, MemberKind, target};
pub(crate) use place::Placer;
pub(crate) use spool::{Spool, SpoolError, fill};

/// Reads a tar from a file, compressed or not. The data of an uncompressed tar in a regular file stay there; those of all others,
/// pipes included, are copied to a spool.
///
/// `path` is only the tar's name in errors.
///
/// # Errors
/// [`SourceError`] names the member that is corrupt, truncated or refused.
pub fn tar(mut file: File, path: &Path, options: &Options) -> Result<Source, SourceError> {
    let is_regular = lith_system::is_regular(&file).map_err(cannot("read the attributes", path))?;
    if !is_regular || options.raw_copy.is_some() {
        return tar_stream(file, path, options);
    }
    let start = file.stream_position().map_err(cannot("read", path))?;
    let head = first_bytes(&file, detect::NEEDED).map_err(cannot("read", path))?;
    match compression(&head, path)? {
        None => {
            let metadata = file.metadata().map_err(cannot("read the attributes", path))?;
            let length = metadata.len().saturating_sub(start);
            let input = Input::file(path, Region { file, start, length })?;
            Ok(read(Members::new(path, input, options), path, Placer::new(options))?.source)
        }
        Some(compression) => stream(file, Some(compression), path, options),
    }
}

/// Reads a tar, compressed or not, from a stream. The data of its members are copied to a spool.
///
/// `path` is only the tar's name in errors.
///
/// # Errors
/// [`SourceError`] names the member that is corrupt, truncated or refused.
pub fn tar_stream(
    mut reader: impl Read,
    path: &Path,
    options: &Options,
) -> Result<Source, SourceError> {
    let mut head = Vec::new();
    let start = reader.by_ref().take(detect::NEEDED as u64).read_to_end(&mut head);
    start.map_err(cannot("read", path))?;
    let compression = compression(&head, path)?;
    stream(Cursor::new(head).chain(reader), compression, path, options)
}

/// Up to `length` bytes of a file from its current position on, which does not change.
pub(crate) fn first_bytes(mut file: &File, length: usize) -> io::Result<Vec<u8>> {
    let (start, mut bytes) = (file.stream_position()?, Vec::new());
    file.take(length as u64).read_to_end(&mut bytes)?;
    file.seek(SeekFrom::Start(start))?;
    Ok(bytes)
}

/// The compression of a tar with these first bytes.
fn compression(head: &[u8], path: &Path) -> Result<Option<Compression>, SourceError> {
    let found = match detect(head) {
        Looks::Tar => return Ok(None),
        Looks::Compressed(compression) => return Ok(Some(compression)),
        Looks::Image => "an EROFS image, which can't be read as a tar",
        Looks::SquashFs => "a SquashFS image, which can't be read as a tar",
        Looks::Cpio => "a cpio archive, which can't be read as a tar",
        Looks::Zip => "a zip archive, which can't be read as a tar",
        Looks::Other(found) => found,
    };
    let path = path.to_owned();
    Err(SourceError::Unknown { path, found })
}

fn stream(
    reader: impl Read,
    compression: Option<Compression>,
    path: &Path,
    options: &Options,
) -> Result<Source, SourceError> {
    let reader: Box<dyn Read + '_> = match compression {
        None => Box::new(reader),
        Some(compression) => decoder(compression, reader).map_err(cannot("decompress", path))?,
    };
    decoded(reader, compression, path, options)
}

/// Reads a tar from a stream that is decompressed already.
pub(crate) fn decoded<'a>(
    mut reader: Box<dyn Read + 'a>,
    compression: Option<Compression>,
    path: &'a Path,
    options: &'a Options,
) -> Result<Source, SourceError> {
    let spool = (options.data == Data::Take)
        .then(|| Spool::new(options.spool_dir.clone(), options.spool_memory));
    if let Some(copy) = &options.raw_copy {
        let file = File::create(copy).map_err(cannot("create", copy))?;
        reader = Box::new(raw_copy::copying(reader, file, copy));
    }
    let input = Input::stream(path, reader, compression, spool);
    Ok(read(Members::new(path, input, options), path, Placer::new(options))?.source)
}

/// Reads an uncompressed tar, which is a layer on top of others, in a part of a file, where the data of its members stay.
pub(crate) fn layer_in_place(
    region: Region,
    path: &Path,
    options: &Options,
) -> Result<Layer, SourceError> {
    let input = Input::file(path, region)?;
    read(Members::new(path, input, options), path, Placer::layer(options))
}

/// As [`layer_in_place`], from a stream, which is decompressed already. The data of its members are copied to a spool.
pub(crate) fn layer_stream<'a>(
    reader: impl Read + 'a,
    compression: Option<Compression>,
    path: &'a Path,
    options: &'a Options,
) -> Result<Layer, SourceError> {
    let spool = Spool::new(options.spool_dir.clone(), options.spool_memory);
    let input = Input::stream(path, Box::new(reader), compression, Some(spool));
    read(Members::new(path, input, options), path, Placer::layer(options))
}

fn read(
    mut members: Members<'_>,
    path: &Path,
    mut placer: Placer<'_>,
) -> Result<Layer, SourceError> {
    let options = placer.options;
    let refused = |member: Vec<u8>, source| SourceError::Tar {
        path: path.to_owned(),
        source: TarError::Refused { member: member.into(), source },
    };
    while let Some(member) = members.next()? {
        let name = member.path.clone();
        placer.place(member).map_err(|refusal| refused(name, refusal))?;
    }
    let End { trailing, unmarked, store, length } = members.finish()?;
    if trailing {
        placer.notes.add(NoteKind::TrailingData, b"");
    }
    if unmarked {
        placer.notes.add(NoteKind::NoEndMarker, b"");
    }
    let referred = (options.data == Data::Refer).then_some(length);
    let layer = finish(placer, store, referred);
    let layer = layer.map_err(|(member, refusal)| refused(member, refusal))?;
    Ok(Layer { name: path.to_owned(), ..layer })
}

/// Makes a layer without a name of all members of an archive, whose data are in `store`; `referred` is the length of the archive if
/// an image is to refer to it.
pub(crate) fn finish(
    mut placer: Placer<'_>,
    store: Store,
    referred: Option<u64>,
) -> Result<Layer, (Vec<u8>, Refusal)> {
    placer.finish()?;
    let Canonical { tree, stored, numbers } =
        canonical::canonical(&placer.tree, &placer.stored, placer.options)
            .map_err(|(member, error)| (member, Refusal::Tree(error)))?;
    let contents = Box::new(TarContents { store, stored, maps: placer.maps, referred });
    let number = |inode: InodeIndex| numbers.get(inode.index()).copied().flatten();
    Ok(Layer {
        source: Source { tree, contents, notes: placer.notes.into_vec() },
        borrowed: placer.borrowed.renumbered(number),
        has_opaque_root: true,
        name: PathBuf::new(),
    })
}
