//! Writes container images in the layout of OCI.

use std::{fs, io::Write, path::Path};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::super::common::{PAX, system_tar};

/// How a layer is stored.
#[derive(Clone, Copy)]
pub(super) enum Packed {
    Plain,
    Gzip,
    Zstd,
}

/// A layer: its descriptor, and the digest of its tar.
pub(super) struct Layer {
    descriptor: Value,
    pub(super) diff_id: String,
}

pub(super) fn digest(bytes: &[u8]) -> String {
    format!("sha256:{}", hex::encode(Sha256::digest(bytes)))
}

/// The tar of all that is in a directory.
pub(super) fn tar_of(directory: &Path) -> Vec<u8> {
    system_tar(directory, &PAX, &["."])
}

/// Adds a blob to a layout, and returns its descriptor.
pub(super) fn add(layout: &Path, bytes: &[u8]) -> Value {
    let digest = digest(bytes);
    let folder = layout.join("blobs/sha256");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join(digest.trim_start_matches("sha256:")), bytes).unwrap();
    json!({"mediaType": "application/octet-stream", "digest": digest, "size": bytes.len()})
}

pub(super) fn add_layer(layout: &Path, tar: &[u8], packed: Packed) -> Layer {
    let bytes = match packed {
        Packed::Plain => tar.to_vec(),
        Packed::Gzip => {
            let level = flate2::Compression::fast();
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), level);
            encoder.write_all(tar).unwrap();
            encoder.finish().unwrap()
        }
        Packed::Zstd => zstd::encode_all(tar, 1).unwrap(),
    };
    Layer { descriptor: add(layout, &bytes), diff_id: digest(tar) }
}

/// Adds a manifest with its configuration, and returns its descriptor.
pub(super) fn add_manifest(layout: &Path, layers: &[Layer], platform: (&str, &str)) -> Value {
    let diff_ids: Vec<&str> = layers.iter().map(|layer| &*layer.diff_id).collect();
    let config = json!({
        "os": platform.0,
        "architecture": platform.1,
        "config": {"Cmd": ["/bin/sh"]},
        "rootfs": {"type": "layers", "diff_ids": diff_ids},
    });
    let config = add(layout, config.to_string().as_bytes());
    let layers: Vec<&Value> = layers.iter().map(|layer| &layer.descriptor).collect();
    let manifest = json!({"schemaVersion": 2, "config": config, "layers": layers});
    let mut descriptor = add(layout, manifest.to_string().as_bytes());
    descriptor["platform"] = json!({"os": platform.0, "architecture": platform.1});
    descriptor
}

/// Gives a descriptor the name of an image.
pub(super) fn named(mut descriptor: Value, name: &str) -> Value {
    descriptor["annotations"] = json!({"org.opencontainers.image.ref.name": name});
    descriptor
}

/// Writes the index of a layout.
pub(super) fn finish(layout: &Path, manifests: &[Value]) {
    fs::write(layout.join("oci-layout"), r#"{"imageLayoutVersion":"1.0.0"}"#).unwrap();
    let index = json!({"schemaVersion": 2, "manifests": manifests});
    fs::write(layout.join("index.json"), index.to_string()).unwrap();
}
