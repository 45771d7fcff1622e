//! Defines the JSON documents of container images, as far as they are used.

use std::collections::HashMap;

use serde::Deserialize;

use super::platform::Platform;

/// The annotation of a descriptor with the name of its image.
const NAME: &str = "org.opencontainers.image.ref.name";

/// What refers to a blob.
#[derive(Clone, Deserialize, Debug)]
pub(super) struct Descriptor {
    pub(super) digest: String,
    pub(super) size: u64,
    #[serde(default)]
    pub(super) platform: Option<Platform>,
    #[serde(default)]
    annotations: Option<HashMap<String, String>>,
}

impl Descriptor {
    /// The name of the image, among those of a layout.
    pub(super) fn name(&self) -> Option<&str> {
        self.annotations.as_ref()?.get(NAME).map(String::as_str)
    }
}

/// An index or a manifest.
#[derive(Deserialize, Debug)]
pub(super) struct Document {
    /// Of an index.
    #[serde(default)]
    pub(super) manifests: Option<Vec<Descriptor>>,
    /// Of a manifest.
    #[serde(default)]
    pub(super) config: Option<Descriptor>,
    /// Of a manifest, the lowest first.
    #[serde(default)]
    pub(super) layers: Option<Vec<Descriptor>>,
}

/// The configuration of an image.
#[derive(Deserialize, Debug)]
pub(super) struct Config {
    #[serde(flatten)]
    pub(super) platform: Platform,
    pub(super) rootfs: Rootfs,
}

/// The layers in a configuration.
#[derive(Deserialize, Debug)]
pub(super) struct Rootfs {
    /// The digests of the uncompressed layers, the lowest first.
    pub(super) diff_ids: Vec<String>,
}

/// An image in the `manifest.json` of `docker save`.
#[derive(Deserialize, Debug)]
#[serde(rename_all = "PascalCase")]
pub(super) struct DockerImage {
    pub(super) config: String,
    #[serde(default)]
    pub(super) repo_tags: Option<Vec<String>>,
    pub(super) layers: Vec<String>,
}
