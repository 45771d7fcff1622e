//! Defines [`Artifact`]: an EROFS image with its further devices, as a manifest of a registry has them.
//!
//! Media types and annotations are those of the draft <https://github.com/erofs/erofs-image-spec>.

use std::{collections::BTreeMap, sync::Arc};

use lith_system::architecture;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    RemoteError,
    chunks::{Chunk, ChunkSize},
    digest::is_digest,
};

/// The media type of an EROFS image.
pub const EROFS: &str = "application/vnd.erofs";
/// A former name of that type in the draft, which containerd 2.3 knows.
const OLD: &str = "application/vnd.erofs.layer.v1";
/// The type that containerd 2.1 takes for a layer, by its start, and for an EROFS image, by its end.
const OLDEST: &str = "application/vnd.oci.image.layer.v1.erofs";
/// What follows the media type of an image that is compressed as a whole.
const ZSTD: &str = "+zstd";
/// The media type of a table of an image's chunks, which is not an image.
const CHUNKS: &str = "application/vnd.erofs.chunk-index.v1";
/// The media type of such a table in place of an image whose chunks are blobs of their own: the draft has none.
const CHUNKED: &str = "application/vnd.lith.chunked.v1";
/// The media type of these chunks.
const CHUNK: &str = "application/vnd.lith.chunk.v1";
/// The annotation with the size that chunks have on average.
const CHUNK_SIZE: &str = "vnd.lith.chunk-size";

pub(super) const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
pub(super) const CONFIG: &str = "application/vnd.oci.image.config.v1+json";

/// The annotation with the part that a layer has in an image.
const ROLE: &str = "org.erofs.role";
/// The part of a layer that is a further device.
const DEVICE: &str = "device";
/// The annotation with the name of a file.
const TITLE: &str = "org.opencontainers.image.title";
/// The annotation with the digest of a layer that is compressed as a whole.
const PLAIN_DIGEST: &str = "org.erofs.uncompressed-digest";
const ROOT: &str = "org.erofs.dmverity.root_digest";
const HASH_OFFSET: &str = "org.erofs.dmverity.hash_offset";
const HASH_BLOCK: &str = "org.erofs.dmverity.block_size";

/// Layers of one image without its chunks; more would be more devices than the format has.
const LAYERS: usize = 1024;

/// An EROFS image and its further devices.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Artifact {
    /// The image.
    pub image: Layer,
    /// Its further devices, in the order of its device table.
    pub devices: Vec<Layer>,
    /// The chunks of those that are stored in chunks, each once.
    chunks: Arc<BTreeMap<String, u64>>,
}

/// A blob that an image consists of.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Layer {
    /// Its media type.
    pub media_type: String,
    /// Its digest.
    pub digest: String,
    /// Its bytes.
    pub size: u64,
    /// What else is known of it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "or_none")]
    pub annotations: BTreeMap<String, String>,
    /// The chunks that the manifest lists, with their sizes.
    #[serde(skip)]
    listed: Option<Arc<BTreeMap<String, u64>>>,
}

/// A release of containerd, which knows other media types than the draft has now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Containerd {
    /// 2.1 and 2.2.
    V2_1,
    /// 2.3 and later.
    V2_3,
}

/// An index or a manifest, as far as it is used.
#[derive(Deserialize)]
struct Read {
    #[serde(default)]
    manifests: Option<Vec<Listed>>,
    #[serde(default)]
    layers: Option<Vec<Layer>>,
}

/// An image in an index.
#[derive(Deserialize)]
struct Listed {
    digest: String,
    #[serde(default)]
    platform: Option<Platform>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Platform {
    architecture: String,
    os: String,
    #[serde(rename = "os.features")]
    features: Vec<String>,
}

/// What a document under a name is.
pub(crate) enum Found {
    Artifact(Artifact),
    /// An index; the digest of the manifest that is for this machine.
    Further(String),
}

/// Some write `null` where there are none.
fn or_none<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, String>, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

impl Layer {
    /// An image in a file. Its digest is in the form `sha256:HEX`.
    #[must_use]
    pub fn image(digest: String, size: u64) -> Self {
        let (media_type, annotations) = (EROFS.to_owned(), BTreeMap::new());
        Self { media_type, digest, size, annotations, listed: None }
    }

    /// The same image in chunks, of which there is an index with a digest and a size.
    #[must_use]
    pub fn in_chunks(mut self, (digest, size): (String, u64), chunk: ChunkSize) -> Self {
        let own = std::mem::replace(&mut self.digest, digest);
        let fields = [(PLAIN_DIGEST, own), (CHUNK_SIZE, chunk.bytes().to_string())];
        self.annotations.extend(fields.map(|(name, value)| (name.to_owned(), value)));
        Self { media_type: CHUNKED.to_owned(), size, ..self }
    }

    /// The same with the media type that containerd knows.
    #[must_use]
    pub fn for_containerd(mut self, version: Containerd) -> Self {
        let media_type = match version {
            Containerd::V2_1 => OLDEST,
            Containerd::V2_3 => OLD,
        };
        media_type.clone_into(&mut self.media_type);
        self
    }

    /// Whether it is the index of an image in chunks.
    #[must_use]
    pub fn is_chunked(&self) -> bool {
        self.media_type == CHUNKED
    }

    /// The size that its chunks have on average, if that is known.
    #[must_use]
    pub fn chunk_size(&self) -> Option<ChunkSize> {
        ChunkSize::new(self.annotations.get(CHUNK_SIZE)?.parse().ok()?)
    }

    /// The chunks that the manifest lists, with their sizes.
    pub(super) fn listed(&self) -> Option<&BTreeMap<String, u64>> {
        self.listed.as_deref()
    }

    /// The same as a further device of another image, which knows it by this name.
    #[must_use]
    pub fn as_device(mut self, name: &str) -> Self {
        self.annotations.insert(ROLE.to_owned(), DEVICE.to_owned());
        self.named(name)
    }

    /// The same with the name of a file.
    #[must_use]
    pub fn named(mut self, name: &str) -> Self {
        self.annotations.insert(TITLE.to_owned(), name.to_owned());
        self
    }

    /// The same with what is known of its hash tree: root hash, position, and bytes of a block.
    #[must_use]
    pub fn with_hash_tree(mut self, root: &str, position: u64, block: u32) -> Self {
        let fields = [
            (ROOT, format!("sha256:{root}")),
            (HASH_OFFSET, position.to_string()),
            (HASH_BLOCK, block.to_string()),
        ];
        self.annotations.extend(fields.map(|(name, value)| (name.to_owned(), value)));
        self
    }

    /// The name of its file, if it has one that is in no folder and not hidden: what a registry sends must not become the
    /// configuration of a program.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        let name = self.annotations.get(TITLE)?;
        let is_plain = !name.is_empty()
            && name.len() <= 255
            && !name.contains(['/', '\\', '\0'])
            && !name.starts_with('.');
        is_plain.then_some(name)
    }

    /// The root hash of its hash tree, in hexadecimal digits.
    #[must_use]
    pub fn root_hash(&self) -> Option<&str> {
        self.annotations.get(ROOT).map(|root| root.strip_prefix("sha256:").unwrap_or(root))
    }

    /// Whether it is compressed as a whole, so that it can't be read at any position.
    #[must_use]
    pub fn is_compressed(&self) -> bool {
        self.media_type.ends_with(ZSTD)
    }

    /// The digest of what it is when it is neither compressed nor in chunks, if that is known.
    #[must_use]
    pub fn plain_digest(&self) -> Option<&str> {
        self.annotations.get(PLAIN_DIGEST).map(String::as_str).filter(|digest| is_digest(digest))
    }

    /// Refuses one that can't be read at any position.
    pub(crate) fn check_readable(&self, host: &str) -> Result<(), RemoteError> {
        if self.is_compressed() {
            let what = "the image is compressed as a whole; `lith pull` fetches it";
            return Err(artifact(host, what));
        }
        Ok(())
    }

    fn is_device(&self) -> bool {
        self.annotations.get(ROLE).is_some_and(|role| role == DEVICE)
    }

    fn is_image(&self) -> bool {
        let plain = self.media_type.strip_suffix(ZSTD).unwrap_or(&self.media_type);
        [EROFS, OLD, OLDEST].contains(&plain) || self.is_chunked()
    }
}

impl Artifact {
    /// An image with its further devices, in the order of its device table.
    #[must_use]
    pub fn new(image: Layer, devices: Vec<Layer>) -> Self {
        Self { image, devices, chunks: Arc::default() }
    }

    /// The same with the chunks of its layers.
    #[must_use]
    pub fn with_chunks(mut self, chunks: impl IntoIterator<Item = Chunk>) -> Self {
        let listed = chunks.into_iter().map(|chunk| (chunk.digest(), chunk.length));
        self.chunks = Arc::new(listed.collect());
        self
    }

    /// All blobs but for chunks, in the order in which a manifest has them.
    pub fn layers(&self) -> impl Iterator<Item = &Layer> {
        self.devices.iter().chain([&self.image])
    }

    /// The configuration of the image: one of a container image, changed so that it fits these layers, or as little as is
    /// allowed.
    ///
    /// # Errors
    /// [`serde_json::Error`] if the given one is no object of JSON.
    pub fn config(&self, given: Option<&[u8]>) -> serde_json::Result<Vec<u8>> {
        let mut config: serde_json::Map<String, Value> = match given {
            Some(text) => serde_json::from_slice(text)?,
            None => serde_json::Map::new(),
        };
        config.entry("architecture").or_insert_with(|| architecture().into());
        config.entry("os").or_insert_with(|| "linux".into());
        // The snapshotter of containerd 2.3 refuses images that need a feature.
        if [EROFS, CHUNKED].contains(&&*self.image.media_type) {
            let features = config.entry("os.features").or_insert_with(|| json!([]));
            if let Some(features) = features.as_array_mut()
                && !features.contains(&json!("erofs"))
            {
                features.push("erofs".into());
            }
        }
        // Its entries are about the layers that there were.
        config.remove("history");
        let digest = |layer: &Layer| match layer.plain_digest() {
            Some(plain) if layer.is_chunked() => plain.to_owned(),
            _ => layer.digest.clone(),
        };
        let digests: Vec<_> = self.layers().map(digest).collect();
        config.insert("rootfs".to_owned(), json!({ "type": "layers", "diff_ids": digests }));
        serde_json::to_vec(&config)
    }

    /// The manifest, of an image with a configuration.
    ///
    /// # Errors
    /// None: all of it is text and numbers.
    pub fn manifest(&self, (digest, size): (&str, u64)) -> serde_json::Result<Vec<u8>> {
        let chunks = self
            .chunks
            .iter()
            .map(|(digest, size)| json!({ "mediaType": CHUNK, "digest": digest, "size": size }));
        let layers = self.layers().map(serde_json::to_value);
        let layers: Result<Vec<_>, _> = chunks.map(Ok).chain(layers).collect();
        serde_json::to_vec(&json!({
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": { "mediaType": CONFIG, "digest": digest, "size": size },
            "layers": layers?,
        }))
    }

    /// What a document of a registry is.
    pub(crate) fn parse(bytes: &[u8], host: &str) -> Result<Found, RemoteError> {
        let damaged = |_error| artifact(host, "the manifest is damaged");
        let read: Read = serde_json::from_slice(bytes).map_err(damaged)?;
        match (read.manifests, read.layers) {
            (Some(manifests), None) => choose(&manifests, host).map(Found::Further),
            (None, Some(layers)) => Self::of_layers(layers, host).map(Found::Artifact),
            _ => Err(artifact(host, "it is neither an index nor a manifest")),
        }
    }

    fn of_layers(mut layers: Vec<Layer>, host: &str) -> Result<Self, RemoteError> {
        if !layers.iter().all(|layer| is_digest(&layer.digest)) {
            return Err(artifact(host, "the manifest is damaged"));
        }
        let mut chunks = BTreeMap::new();
        for Layer { digest, size, .. } in layers.extract_if(.., |layer| layer.media_type == CHUNK) {
            if chunks.insert(digest, size).is_some() {
                return Err(artifact(host, "the manifest lists a chunk twice"));
            }
        }
        if layers.len() > LAYERS {
            return Err(artifact(host, "the manifest is damaged"));
        }
        let chunks = Arc::new(chunks);
        for layer in layers.iter_mut().filter(|layer| layer.is_chunked()) {
            layer.listed = Some(Arc::clone(&chunks));
        }
        layers.retain(|layer| layer.media_type != CHUNKS);
        let is_usable = |layer: &&Layer| layer.is_image() && !layer.is_device();
        let images = layers.iter().filter(is_usable).count();
        match (images, layers.pop()) {
            (1, Some(image)) if is_usable(&&image) => {
                if layers.iter().any(|layer| !layer.is_device()) {
                    return Err(artifact(host, "it has layers beside an EROFS image"));
                }
                Ok(Self { image, devices: layers, chunks })
            }
            (0, _) => {
                let what = "it has no EROFS image; `lith build docker://...` makes one of a container image";
                Err(artifact(host, what))
            }
            (more, _) => Err(artifact(
                host,
                &format!("it has {more} EROFS images to be laid over one another"),
            )),
        }
    }
}

/// The only EROFS image of an index, or that for this machine.
fn choose(all: &[Listed], host: &str) -> Result<String, RemoteError> {
    let has = |listed: &&Listed| {
        let platform = listed.platform.as_ref();
        platform.is_some_and(|platform| platform.features.iter().any(|name| name == "erofs"))
    };
    let is_own = |listed: &&Listed| {
        let platform = listed.platform.as_ref();
        platform.is_some_and(|own| own.os == "linux" && own.architecture == architecture())
    };
    let found: Vec<_> = all.iter().filter(has).collect();
    let chosen = match (&*found, all) {
        ([one], _) => Some(*one),
        ([], [one]) => Some(one),
        (several, _) => several.iter().copied().find(|listed| is_own(listed)),
    };
    match chosen.filter(|one| is_digest(&one.digest)) {
        Some(one) => Ok(one.digest.clone()),
        None => Err(artifact(host, "it has no EROFS image for this machine")),
    }
}

pub(super) fn artifact(host: &str, what: &str) -> RemoteError {
    RemoteError::Artifact { host: host.to_owned(), what: what.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunks::cut_chunks;

    fn digest(digit: u8) -> String {
        format!("sha256:{}", digit.to_string().repeat(64))
    }

    fn two() -> Artifact {
        let base = Layer::image(digest(1), 10).as_device("base.erofs");
        let image = Layer::image(digest(2), 20).named("x.erofs").with_hash_tree("ab", 16, 4096);
        Artifact::new(image, vec![base])
    }

    fn reason(result: Result<Found, RemoteError>) -> String {
        result.err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn a_manifest_is_what_it_was_made_of() {
        let manifest = two().manifest((&digest(3), 5)).unwrap();
        let Ok(Found::Artifact(found)) = Artifact::parse(&manifest, "h") else { panic!("none") };
        assert_eq!(found, two());
        assert_eq!(found.image.root_hash(), Some("ab"));
        assert_eq!(found.devices[0].name(), Some("base.erofs"));
        let value: Value = serde_json::from_slice(&manifest).unwrap();
        // The draft has devices first, and the image last.
        assert_eq!(value["layers"][0]["annotations"]["org.erofs.role"], "device");
        assert_eq!(value["layers"][1]["annotations"]["org.erofs.dmverity.hash_offset"], "16");
    }

    #[test]
    fn what_containerd_is_sent_has_its_types_and_needs_no_feature() {
        for (version, expected) in [(Containerd::V2_1, OLDEST), (Containerd::V2_3, OLD)] {
            let artifact =
                Artifact::new(Layer::image(digest(2), 20).for_containerd(version), Vec::new());
            let config: Value = serde_json::from_slice(&artifact.config(None).unwrap()).unwrap();
            assert_eq!(config.get("os.features"), None);
            assert_eq!(config["rootfs"]["diff_ids"], json!([digest(2)]));
            let manifest = artifact.manifest((&digest(3), 5)).unwrap();
            let value: Value = serde_json::from_slice(&manifest).unwrap();
            assert_eq!(value["layers"][0]["mediaType"], expected);
            let Ok(Found::Artifact(found)) = Artifact::parse(&manifest, "h") else {
                panic!("none")
            };
            assert_eq!(found, artifact);
        }
    }

    #[test]
    fn a_manifest_lists_chunks_before_the_indexes_of_their_images() {
        let size = ChunkSize::new(64 << 10).unwrap();
        let image = Layer::image(digest(2), 20).in_chunks((digest(4), 80), size).named("x.erofs");
        let base = Layer::image(digest(1), 10).as_device("base.erofs");
        let (index, _) = cut_chunks(&[7; 20][..], size).unwrap();
        let made = Artifact::new(image, vec![base]).with_chunks(index.chunks());
        let manifest = made.manifest((&digest(3), 5)).unwrap();
        let value: Value = serde_json::from_slice(&manifest).unwrap();
        let [chunk, base, image] = value["layers"].as_array().unwrap().as_slice() else {
            panic!("{value}")
        };
        let sha256 = index.chunks().next().unwrap().digest();
        assert_eq!(*chunk, json!({ "mediaType": CHUNK, "digest": sha256, "size": 20 }));
        assert_eq!(base["digest"], digest(1));
        assert_eq!((&image["mediaType"], &image["size"]), (&json!(CHUNKED), &json!(80)));
        assert_eq!(image["annotations"]["org.erofs.uncompressed-digest"], digest(2));
        assert_eq!(image["annotations"]["vnd.lith.chunk-size"], "65536");
        let Ok(Found::Artifact(found)) = Artifact::parse(&manifest, "h") else { panic!("none") };
        assert_eq!(found.image.listed().unwrap().get(&sha256), Some(&20));
        assert!(!found.devices[0].is_chunked() && found.image.chunk_size() == Some(size));
        let config: Value = serde_json::from_slice(&made.config(None).unwrap()).unwrap();
        assert_eq!(config["rootfs"]["diff_ids"], json!([digest(1), digest(2)]));
    }

    #[test]
    fn a_configuration_keeps_what_it_says_of_running() {
        let given =
            br#"{"config":{"Cmd":["sh"]},"os":"linux","architecture":"arm64","history":[{}],
            "rootfs":{"type":"layers","diff_ids":["sha256:00"]}}"#;
        let config: Value = serde_json::from_slice(&two().config(Some(given)).unwrap()).unwrap();
        assert_eq!(config["config"]["Cmd"][0], "sh");
        assert_eq!(config["architecture"], "arm64");
        assert_eq!(config["os.features"], json!(["erofs"]));
        assert_eq!(config["rootfs"]["diff_ids"], json!([digest(1), digest(2)]));
        assert!(config.get("history").is_none());
        assert!(two().config(Some(b"[]")).is_err());
    }

    #[test]
    fn what_is_no_single_image_is_refused() {
        let layer = |kind: &str, role: &str| json!({ "mediaType": kind, "digest": digest(1), "size": 1, "annotations": { ROLE: role } });
        let manifest = |layers: Value| {
            let text = json!({ "schemaVersion": 2, "layers": layers }).to_string();
            reason(Artifact::parse(text.as_bytes(), "h"))
        };
        assert_eq!(manifest(json!([layer(EROFS, ""), layer(CHUNKS, "")])), "");
        assert_eq!(manifest(json!([layer("x/any", DEVICE), layer(EROFS, "")])), "");
        assert!(
            manifest(json!([layer(EROFS, "overlay-lower"), layer(EROFS, "")])).contains("2 EROFS")
        );
        assert!(manifest(json!([layer("x/tar", "")])).contains("no EROFS image"));
        assert!(manifest(json!([layer(EROFS, DEVICE)])).contains("no EROFS image"));
        assert!(manifest(json!([layer("x/tar", ""), layer(EROFS, "")])).contains("beside"));
        assert!(manifest(json!([])).contains("no EROFS image"));
        for text in ["", "[]", "{}", r#"{"layers":[{"mediaType":"x","digest":"../x","size":1}]}"#] {
            assert!(!reason(Artifact::parse(text.as_bytes(), "h")).is_empty(), "{text}");
        }
    }

    #[test]
    fn names_of_files_are_in_no_folder_and_not_hidden() {
        for (name, expected) in [
            ("a", true),
            ("a.b", true),
            (".profile", false),
            ("../a", false),
            ("..\\a", false),
            ("..", false),
            ("", false),
            ("/a", false),
        ] {
            assert_eq!(Layer::image(digest(1), 1).named(name).name().is_some(), expected, "{name}");
        }
    }

    #[test]
    fn of_an_index_the_erofs_image_is_taken() {
        let listed = |digit, features: &[&str]| {
            let platform =
                json!({ "os": "linux", "architecture": architecture(), "os.features": features });
            json!({ "digest": digest(digit), "platform": platform })
        };
        let index = |all: &[Value]| {
            Artifact::parse(json!({ "manifests": all }).to_string().as_bytes(), "h")
        };
        let Ok(Found::Further(found)) = index(&[listed(1, &[]), listed(2, &["erofs"])]) else {
            panic!("none")
        };
        assert_eq!(found, digest(2));
        assert!(reason(index(&[listed(1, &[]), listed(2, &[])])).contains("for this machine"));
    }
}
