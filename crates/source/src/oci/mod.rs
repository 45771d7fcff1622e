//! How does a container image become a tree?
//!
//! An image is found in a layout of OCI, an archive or a registry ([`image`]), by its [`reference`](Reference). Its layers are read one by one
//! ([`layer`]), as tars on top of others: `.wh.` names become whiteouts of overlayfs. They are merged as all layers are
//! ([`merge_layers`]), and whiteouts are left out of the result. The bytes of all documents and layers are verified by their
//! digests before anything is returned.

mod digest;
mod document;
mod error;
mod image;
mod layer;
mod platform;
mod reference;
mod store;

use std::{io::Write, path::Path};

use lith_transform::{Excludes, strip_overlay};

use crate::{
    Data, Note, NoteKind, Options, Source, SourceError, TarEnd,
    error::cannot,
    layer::Layer,
    merge::{merge_layers, separate_layers},
};
use image::Choice;
use reference::{Form, Reference};
use store::Store;

pub use error::OciError;
pub use platform::{NoPlatform, Platform};
pub use reference::is_container;

/// Reads the image that `path` names if it has the form `oci:DIR[:TAG]`, `oci-archive:FILE[:TAG]`,
/// `docker-archive:FILE[:TAG]` or `docker://HOST/REPOSITORY:TAG`; `None`: it hasn't.
///
/// # Errors
/// [`SourceError::Oci`] if there is no such image, or bytes of it are not those of their digest; others if a layer can't be read.
pub(crate) fn container(path: &Path, options: &Options) -> Option<Result<Source, SourceError>> {
    Reference::new(path).map(|reference| read(&reference, options))
}

/// As [`container`], each layer as an image of its own has it, the lowest first: with whiteouts of overlayfs, and with the
/// attributes that its directories have of layers below. What is excluded is left out of each.
///
/// # Errors
/// As [`container`].
#[must_use]
pub fn container_layers(
    path: &Path,
    options: &Options,
) -> Option<Result<Vec<Source>, SourceError>> {
    let separate = |reference: Reference| {
        let mut separate = separate_layers(layers(&reference, options)?, options)?;
        for layer in &mut separate {
            proven(&mut layer.notes);
        }
        Ok(separate)
    };
    Reference::new(path).map(separate)
}

fn read(reference: &Reference, options: &Options) -> Result<Source, SourceError> {
    let mut merged = merge_layers(layers(reference, options)?, options)?;
    strip_overlay(&mut merged.tree);
    proven(&mut merged.notes);
    Ok(merged)
}

/// Removes notes of what may be missing at the end: the digest proves that nothing is.
fn proven(notes: &mut Vec<Note>) {
    notes.retain(|note| note.kind != NoteKind::NoEndMarker);
}

/// Reads the layers, and writes the configuration.
fn layers(reference: &Reference, options: &Options) -> Result<Vec<Layer>, SourceError> {
    let Reference { form, path, tag } = reference;
    let store = match form {
        Form::Layout => Store::directory(path),
        Form::Archive | Form::Docker => Store::archive(path, options)?,
        Form::Registry => Store::registry(path, options)?,
    };
    let choice = Choice { name: tag.as_deref(), platform: options.platform.as_ref() };
    let image = match form {
        Form::Layout | Form::Archive => image::of_layout(&store, choice)?,
        Form::Docker => image::of_docker(&store, choice)?,
        Form::Registry => image::of_registry(&store, choice)?,
    };
    let of_layer = layer_options(options, image.layers.len());
    let layers = lith_parallel::try_map(
        &image.layers,
        options.workers,
        || (),
        |(), stored| layer::read(&store, stored, &of_layer),
    )?;
    if let Some(copy) = &options.config_copy {
        write(copy, &image.config).map_err(cannot("write the configuration", copy))?;
    }
    Ok(layers)
}

/// How each layer is read: files are excluded when all are merged, because a layer can take what is excluded of one below.
fn layer_options(options: &Options, layers: usize) -> Options {
    let mut own = options.clone();
    own.exclude = Excludes::default();
    own.dereference_hard_links = false;
    own.aufs = true;
    own.data = Data::Take;
    own.tar_end = TarEnd::Anywhere;
    own.spool_memory = options.spool_memory / layers.max(1);
    own
}

/// Writes a file that has its name only when it is complete.
fn write(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let mut builder = tempfile::Builder::new();
    if let Some(permissions) = lith_system::permissions(0o666) {
        builder.permissions(permissions);
    }
    let mut file = builder.tempfile_in(parent.unwrap_or(Path::new(".")))?;
    file.write_all(bytes)?;
    file.persist(path)?;
    Ok(())
}
