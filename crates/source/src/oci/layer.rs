//! Reads a layer of an image, and verifies its bytes.

use std::io::{Cursor, Read};

use super::{
    digest::{Digest, Hashing},
    error::OciError,
    image::StoredLayer,
    store::{Blob, Store},
};
use crate::{
    Options, SourceError,
    detect::{self, Compression, Looks, detect},
    error::cannot,
    layer::Layer,
    tar::{self, Region},
};

/// Reads a layer as a tree with the whiteouts of overlayfs.
pub(super) fn read(
    store: &Store,
    layer: &StoredLayer,
    options: &Options,
) -> Result<Layer, SourceError> {
    let known = layer.stored.as_ref().map(|(digest, size)| (digest, *size));
    let blob = store.open(&layer.name, known)?;
    check_size(store, layer, &blob)?;
    let path = store.name(&layer.name);
    let failed = || cannot("read", &path);
    let mut head = Vec::new();
    let mut reader = blob.reader().map_err(failed())?;
    reader.by_ref().take(detect::NEEDED as u64).read_to_end(&mut head).map_err(failed())?;
    let looks = detect(&head);
    // It is fetched once.
    let whole = Cursor::new(head).chain(reader);
    match (looks, &blob) {
        (Looks::Compressed(compression), _) => {
            stream(store, layer, (whole, Some(compression)), options)
        }
        (Looks::Tar, Blob::File(region)) => {
            let region = region.again().map_err(failed())?;
            in_place(store, layer, region, options)
        }
        (Looks::Tar | Looks::Other("empty"), _) => stream(store, layer, (whole, None), options),
        (Looks::Image, _) => Err(SourceError::Unknown { path, found: "an EROFS image" }),
        (Looks::SquashFs, _) => Err(SourceError::Unknown { path, found: "a SquashFS image" }),
        (Looks::Cpio, _) => Err(SourceError::Unknown { path, found: "a cpio archive" }),
        (Looks::Zip, _) => Err(SourceError::Unknown { path, found: "a zip archive" }),
        (Looks::Other(found), _) => Err(SourceError::Unknown { path, found }),
    }
}

fn check_size(store: &Store, layer: &StoredLayer, blob: &Blob<'_>) -> Result<(), SourceError> {
    match &layer.stored {
        Some((_, expected)) if *expected != blob.size() => {
            let (name, found, expected) = (layer.name.clone(), blob.size(), *expected);
            Err(store.error(OciError::Size { name, found, expected }))
        }
        _ => Ok(()),
    }
}

/// Reads a layer that is not compressed. Its files are read in place later, and must not change.
fn in_place(
    store: &Store,
    layer: &StoredLayer,
    region: Region,
    options: &Options,
) -> Result<Layer, SourceError> {
    let stored = layer.stored.as_ref().map(|(digest, _)| digest);
    let other = stored.filter(|digest| **digest != layer.diff_id);
    for expected in [&layer.diff_id].into_iter().chain(other) {
        check(store, layer, Hashing::new(region.reader(), expected), expected)?;
    }
    tar::layer_in_place(region, &store.name(&layer.name), options)
}

/// Reads a layer from start to end, and keeps the data of its files.
fn stream(
    store: &Store,
    layer: &StoredLayer,
    (reader, compression): (impl Read, Option<Compression>),
    options: &Options,
) -> Result<Layer, SourceError> {
    let path = store.name(&layer.name);
    let stored = layer.stored.as_ref().map_or(&layer.diff_id, |(digest, _)| digest);
    let mut compressed = Hashing::new(reader, stored);
    let decoded: Box<dyn Read + '_> = match compression {
        None => Box::new(&mut compressed),
        Some(compression) => {
            tar::decoder(compression, &mut compressed).map_err(cannot("decompress", &path))?
        }
    };
    let mut decoded = Hashing::new(decoded, &layer.diff_id);
    let read = tar::layer_stream(&mut decoded, compression, &path, options)?;
    check(store, layer, decoded, &layer.diff_id)?;
    if layer.stored.is_some() {
        check(store, layer, compressed, stored)?;
    }
    Ok(read)
}

/// Reads to the end, and compares the digest.
fn check(
    store: &Store,
    layer: &StoredLayer,
    hashing: Hashing<impl Read>,
    expected: &Digest,
) -> Result<(), SourceError> {
    let found = hashing.mismatch().map_err(cannot("read", &store.name(&layer.name)))?;
    match found {
        None => Ok(()),
        Some(found) => Err(store.mismatch(&layer.name, &found, expected)),
    }
}
