//! Finds an image in a store: its configuration and its layers.

use serde::de::DeserializeOwned;

use super::{
    digest::Digest,
    document::{Config, Descriptor, DockerImage, Document},
    error::OciError,
    platform::Platform,
    store::Store,
};
use crate::{SourceError, limits};

/// An image in a store.
pub(super) struct StoredImage {
    /// Its configuration, a JSON document.
    pub(super) config: Vec<u8>,
    /// The lowest first.
    pub(super) layers: Vec<StoredLayer>,
}

/// A layer in a store.
#[derive(Debug)]
pub(super) struct StoredLayer {
    /// Where it is in the store.
    pub(super) name: String,
    /// Its digest and size as it is stored; `None`: only that of the tar is known.
    pub(super) stored: Option<(Digest, u64)>,
    /// The digest of the tar, uncompressed.
    pub(super) diff_id: Digest,
}

/// What is chosen of several images.
#[derive(Clone, Copy)]
pub(super) struct Choice<'a> {
    pub(super) name: Option<&'a str>,
    /// `None`: that of this machine, or the only one.
    pub(super) platform: Option<&'a Platform>,
}

/// Finds an image in a layout of OCI.
pub(super) fn of_layout(store: &Store, choice: Choice<'_>) -> Result<StoredImage, SourceError> {
    let index: Document = parse(store, "index.json", &store.document("index.json", None)?)?;
    let all = index.manifests.unwrap_or_default();
    let is_chosen = |one: &Descriptor| choice.name.is_none_or(|name| one.name() == Some(name));
    let mut chosen: Vec<Descriptor> = all.iter().filter(|one| is_chosen(one)).cloned().collect();
    // Images of one name are one for several platforms.
    chosen.dedup_by(|next, first| next.digest == first.digest);
    let has_one_name =
        chosen.iter().all(|one| one.name() == chosen.first().and_then(|first| first.name()));
    let are_alike = chosen.len() > 1 && chosen.iter().all(|one| one.platform.is_none());
    if chosen.is_empty() || !has_one_name || are_alike {
        let mut found: Vec<String> =
            all.iter().filter_map(Descriptor::name).map(str::to_owned).collect();
        found.dedup();
        let wanted = choice.name.map(str::to_owned);
        return Err(store.error(OciError::Name { wanted, found }));
    }
    let first = of_platform(store, &chosen, choice.platform)?;
    of_descriptor(store, &first, choice.platform)
}

/// Finds the image that a reference to a registry names.
pub(super) fn of_registry(store: &Store, choice: Choice<'_>) -> Result<StoredImage, SourceError> {
    let name = "the manifest".to_owned();
    descend(store, (name, store.named_manifest()?), choice.platform)
}

/// Finds the image of a descriptor.
fn of_descriptor(
    store: &Store,
    at: &Descriptor,
    platform: Option<&Platform>,
) -> Result<StoredImage, SourceError> {
    descend(store, manifest(store, at)?, platform)
}

/// Descends from an index or a manifest, with its name, to a manifest.
fn descend(
    store: &Store,
    (mut name, mut bytes): (String, Vec<u8>),
    platform: Option<&Platform>,
) -> Result<StoredImage, SourceError> {
    for _level in 0..=limits::OCI_INDEXES {
        let Document { manifests, config, layers } = parse(store, &name, &bytes)?;
        match (manifests, config, layers) {
            (Some(manifests), None, None) => {
                (name, bytes) = manifest(store, &of_platform(store, &manifests, platform)?)?;
            }
            (None, Some(config), Some(layers)) => {
                return of_manifest(store, &config, &layers, platform);
            }
            _ => return Err(store.error(OciError::Document(name))),
        }
    }
    Err(store.error(OciError::Nested))
}

/// The verified manifest or index that a descriptor refers to, with its name.
fn manifest(store: &Store, at: &Descriptor) -> Result<(String, Vec<u8>), SourceError> {
    let (digest, name) = place(store, at)?;
    let bytes = store.manifest(&name, &digest)?;
    check_size(store, at, &name, &bytes)?;
    Ok((name, bytes))
}

fn of_manifest(
    store: &Store,
    config: &Descriptor,
    layers: &[Descriptor],
    platform: Option<&Platform>,
) -> Result<StoredImage, SourceError> {
    let (digest, name) = place(store, config)?;
    let config = sized(store, config, (&name, &digest))?;
    let diff_ids = diff_ids(store, (&name, &config), platform)?;
    let stored = layers.iter().map(|layer| {
        let (digest, name) = place(store, layer)?;
        Ok((name, Some((digest, layer.size))))
    });
    let layers = together(store, stored.collect::<Result<_, SourceError>>()?, diff_ids)?;
    Ok(StoredImage { config, layers })
}

/// Finds an image in an archive of `docker save`.
pub(super) fn of_docker(store: &Store, choice: Choice<'_>) -> Result<StoredImage, SourceError> {
    const LIST: &str = "manifest.json";
    let all: Vec<DockerImage> = parse(store, LIST, &store.document(LIST, None)?)?;
    let is_chosen = |image: &&DockerImage| {
        let has = |name: &str| image.repo_tags.iter().flatten().any(|tag| tag == name);
        choice.name.is_none_or(|name| has(name) || has(&format!("{name}:latest")))
    };
    let mut chosen = all.iter().filter(is_chosen);
    let (Some(image), None) = (chosen.next(), chosen.next()) else {
        let found = all.iter().flat_map(|image| image.repo_tags.iter().flatten().cloned());
        let wanted = choice.name.map(str::to_owned);
        return Err(store.error(OciError::Name { wanted, found: found.collect() }));
    };
    // The name is the digest, with or without an ending.
    let digits = image.config.rsplit('/').next().unwrap_or_default();
    let digest = Digest::sha256(digits.strip_suffix(".json").unwrap_or(digits));
    let config = store.document(&image.config, None)?;
    if let Some(digest) = &digest {
        store.check(&image.config, &config, digest)?;
    }
    let diff_ids = diff_ids(store, (&image.config, &config), choice.platform)?;
    let stored = image.layers.iter().map(|name| (name.clone(), None)).collect();
    let layers = together(store, stored, diff_ids)?;
    Ok(StoredImage { config, layers })
}

/// The image for a platform, or for this machine, or the only one.
fn of_platform(
    store: &Store,
    all: &[Descriptor],
    wanted: Option<&Platform>,
) -> Result<Descriptor, SourceError> {
    let is_image = |one: &&Descriptor| one.platform.as_ref().is_none_or(|p| !p.is_unknown());
    let images: Vec<&Descriptor> = all.iter().filter(is_image).collect();
    let platform = wanted.cloned().unwrap_or_else(Platform::host);
    let is_taken =
        |one: &&&Descriptor| one.platform.as_ref().is_some_and(|offered| platform.takes(offered));
    // The platform of an only one is known by its configuration at last.
    let only = || match *images {
        [one] if wanted.is_none() || one.platform.is_none() => Some(one),
        _ => None,
    };
    let found = images.iter().find(is_taken).copied().or_else(only);
    found.cloned().ok_or_else(|| {
        let offered = images.iter().filter_map(|one| one.platform.as_ref());
        let found = offered.map(Platform::to_string).collect();
        store.error(OciError::Platform { wanted: platform.to_string(), found })
    })
}

/// The digest of what a descriptor refers to, and where it is.
fn place(store: &Store, descriptor: &Descriptor) -> Result<(Digest, String), SourceError> {
    let text = &descriptor.digest;
    let digest: Digest = text.parse().map_err(|()| store.error(OciError::Digest(text.clone())))?;
    let path = digest.path();
    Ok((digest, path))
}

/// The verified document that a descriptor refers to.
fn sized(
    store: &Store,
    descriptor: &Descriptor,
    (name, digest): (&str, &Digest),
) -> Result<Vec<u8>, SourceError> {
    let bytes = store.document(name, Some((digest, descriptor.size)))?;
    check_size(store, descriptor, name, &bytes)?;
    Ok(bytes)
}

fn check_size(
    store: &Store,
    descriptor: &Descriptor,
    name: &str,
    bytes: &[u8],
) -> Result<(), SourceError> {
    let (found, expected) = (bytes.len() as u64, descriptor.size);
    if found == expected {
        return Ok(());
    }
    Err(store.error(OciError::Size { name: name.to_owned(), found, expected }))
}

/// The diff ids in a configuration, which must be for a platform.
fn diff_ids(
    store: &Store,
    (name, bytes): (&str, &[u8]),
    wanted: Option<&Platform>,
) -> Result<Vec<Digest>, SourceError> {
    let config: Config = parse(store, name, bytes)?;
    if let Some(wanted) = wanted.filter(|wanted| !wanted.takes(&config.platform)) {
        let (wanted, found) = (wanted.to_string(), vec![config.platform.to_string()]);
        return Err(store.error(OciError::Platform { wanted, found }));
    }
    let digest = |text: String| text.parse().map_err(|()| store.error(OciError::Digest(text)));
    config.rootfs.diff_ids.into_iter().map(digest).collect()
}

/// Joins the layers of a manifest and those of a configuration.
fn together(
    store: &Store,
    stored: Vec<(String, Option<(Digest, u64)>)>,
    diff_ids: Vec<Digest>,
) -> Result<Vec<StoredLayer>, SourceError> {
    if stored.len() != diff_ids.len() {
        let (layers, diff_ids) = (stored.len(), diff_ids.len());
        return Err(store.error(OciError::Layers { layers, diff_ids }));
    }
    let layer = |((name, stored), diff_id)| StoredLayer { name, stored, diff_id };
    Ok(stored.into_iter().zip(diff_ids).map(layer).collect())
}

fn parse<T: DeserializeOwned>(store: &Store, name: &str, bytes: &[u8]) -> Result<T, SourceError> {
    let failed = |source| store.error(OciError::Json { name: name.to_owned(), source });
    serde_json::from_slice(bytes).map_err(failed)
}
