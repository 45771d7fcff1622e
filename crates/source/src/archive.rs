//! Reads an archive of any type, compressed or not. Defines [`archive`] and [`archive_stream`].

use std::{
    fs::File,
    io::{Cursor, Read},
    path::Path,
};

use crate::{
    Data, Options, Source, SourceError, cpio,
    detect::{self, Compression, Looks, detect},
    error::cannot,
    tar, zip,
};

/// Reads a tar or a cpio archive from a file, compressed or not, or a zip archive. The data of an uncompressed tar or cpio archive in a
/// regular file stay there; those of all others, pipes included, are copied to a spool.
///
/// `path` is only the archive's name in errors.
///
/// # Errors
/// [`SourceError`] names the member that is corrupt, truncated or refused.
pub fn archive(file: File, path: &Path, options: &Options) -> Result<Source, SourceError> {
    if is_for_tars(options) {
        return tar(file, path, options);
    }
    if !lith_system::is_regular(&file).map_err(cannot("read the attributes", path))? {
        return archive_stream(file, path, options);
    }
    let start = tar::first_bytes(&file, detect::NEEDED).map_err(cannot("read", path))?;
    match detect(&start) {
        Looks::Cpio => cpio::file(file, path, options),
        Looks::Zip => zip::file(file, path, options),
        Looks::Compressed(compression) => compressed(file, compression, path, options),
        _ => tar(file, path, options),
    }
}

/// Reads a tar or a cpio archive, compressed or not, from a stream. The data of its members are copied to a spool.
///
/// `path` is only the archive's name in errors.
///
/// # Errors
/// [`SourceError`] names the member that is corrupt, truncated or refused.
pub fn archive_stream(
    mut reader: impl Read,
    path: &Path,
    options: &Options,
) -> Result<Source, SourceError> {
    if is_for_tars(options) {
        return tar::tar_stream(reader, path, options);
    }
    let start = start(&mut reader, None, path)?;
    let looks = detect(&start);
    let whole = Cursor::new(start).chain(reader);
    match looks {
        Looks::Cpio => cpio::stream(Box::new(whole), None, path, options),
        Looks::Compressed(compression) => compressed(whole, compression, path, options),
        _ => tar::tar_stream(whole, path, options),
    }
}

/// Whether options are of tars only, in which images can refer to data.
fn is_for_tars(options: &Options) -> bool {
    options.raw_copy.is_some() || options.data != Data::Take
}

fn compressed(
    reader: impl Read,
    compression: Compression,
    path: &Path,
    options: &Options,
) -> Result<Source, SourceError> {
    let decoder = tar::decoder(compression, reader);
    let mut decoder = decoder.map_err(cannot("decompress", path))?;
    let start = start(&mut decoder, Some(compression), path)?;
    let is_cpio = detect(&start) == Looks::Cpio;
    let whole = Box::new(Cursor::new(start).chain(decoder));
    if is_cpio {
        cpio::stream(whole, Some(compression), path, options)
    } else {
        tar::decoded(whole, Some(compression), path, options)
    }
}

/// The first bytes of a stream, by which its type is detected.
fn start(
    reader: &mut impl Read,
    compression: Option<Compression>,
    path: &Path,
) -> Result<Vec<u8>, SourceError> {
    let mut start = vec![0; detect::NEEDED];
    let got = tar::fill(reader, &mut start);
    start.truncate(got.map_err(|source| tar::cannot_read(path, compression, source))?);
    Ok(start)
}
