//! Sends images to registries (`lith push`).

use std::{
    fs::{self, File},
    io::{self, BufReader, Read, Write},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use anyhow::Context;
use lith::{
    bases,
    device::ReadAt,
    remote::{Artifact, Layer, Reference, Registry, Upload, sha256_of},
    verity::{find_appended, image_bytes, read_superblock},
};
use lith_report::number::{Bytes, Count};

use super::{remote, subject};
use crate::{
    args::{MessageArgs, location::Location, push::Push, remote::Keep},
    exit::Outcome,
    output::{
        self,
        error::Place,
        progress::{Bar, Position},
    },
};

/// Bytes that are read at once.
const BUFFER: usize = 1 << 20;

pub(crate) fn run(request: &Push, messages: MessageArgs) -> anyhow::Result<Outcome> {
    let Push { image, reference, config_file, devices } = request;
    let place = || Place(image).to_string();
    let name =
        Reference::parse(reference).with_context(|| Place(Path::new(reference)).to_string())?;
    let registry = Registry::open_for_sending(&name, &remote::options(&Keep::Nowhere)?)
        .with_context(|| Place(Path::new(reference)).to_string())?;
    let location = Location::new(image, devices.search());
    let primary = subject::primary(&location)?;
    let further = bases::find_for(&*primary, image, &location.search)?;
    let mut files: Vec<PathBuf> = further.iter().map(|found| found.path.clone()).collect();
    let (total, counter) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let bar = watch(messages, &counter, &total);
    let mut layers = Vec::new();
    for found in &further {
        let (digest, size) = digest_of(&found.path)?;
        let own = found.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let known = found.base.as_ref().and_then(|base| String::from_utf8(base.name.clone()).ok());
        layers.push(Layer::image(digest, size).as_device(&known.unwrap_or(own)));
    }
    let (digest, size) = digest_of(image)?;
    let own = image.file_name().unwrap_or_default().to_string_lossy();
    let layer = Layer::image(digest, size).named(&own);
    let layer = with_hash_tree(layer, &*primary, image).with_context(place)?;
    let artifact = Artifact::new(layer, layers);
    files.push(image.clone());
    total.store(artifact.layers().map(|layer| layer.size).sum(), Ordering::Relaxed);
    let config = config(&artifact, config_file.as_deref())?;
    let (config_digest, config_size) = sha256_of(&*config)?;
    let send = || -> anyhow::Result<(Sent, String)> {
        let open = || Ok(Box::new(&*config) as Box<dyn Read>);
        registry.upload((&config_digest, config_size), &open)?;
        let mut sent = Sent::default();
        for (layer, path) in artifact.layers().zip(&files) {
            let open = || -> io::Result<Box<dyn Read>> {
                let file = BufReader::with_capacity(BUFFER, File::open(path)?);
                Ok(Box::new(Counting { reader: file, done: Arc::clone(&counter) }))
            };
            let upload = registry.upload((&layer.digest, layer.size), &open);
            sent.note(upload.with_context(|| Place(path).to_string())?, layer.size);
        }
        let manifest = artifact.manifest((&config_digest, config_size))?;
        Ok((sent, registry.put_manifest(&manifest)?))
    };
    let (done, digest) = send().with_context(|| name.to_string())?;
    drop(bar);
    let mut output = output::stdout()?;
    let repository = format!("oci://{}/{}", name.host(), name.repository());
    writeln!(output, "{repository}@{digest}")?;
    if !messages.quiet {
        let line =
            |(bytes, files): (u64, u64)| format!("{} in {}", Bytes(bytes), Count(files, "file"));
        writeln!(output, "  sent     {}", line(done.sent))?;
        writeln!(output, "  present  {}", line(done.present))?;
    }
    output::finish(output)
}

/// Shows how many bytes of all were sent.
fn watch(messages: MessageArgs, done: &Arc<AtomicU64>, total: &Arc<AtomicU64>) -> Bar {
    let (done, total) = (Arc::clone(done), Arc::clone(total));
    Bar::watch(!messages.quiet, move || Position {
        what: "sending",
        done: done.load(Ordering::Relaxed),
        total: total.load(Ordering::Relaxed),
    })
}

/// What was sent, in bytes and files, and what was there already.
#[derive(Default)]
struct Sent {
    sent: (u64, u64),
    present: (u64, u64),
}

impl Sent {
    fn note(&mut self, upload: Upload, bytes: u64) {
        let (sum, count) = match upload {
            Upload::Sent => &mut self.sent,
            Upload::Present => &mut self.present,
        };
        *sum += bytes;
        *count += 1;
    }
}

fn digest_of(path: &Path) -> anyhow::Result<(String, u64)> {
    let read = File::open(path).and_then(sha256_of);
    read.with_context(|| format!("{}: cannot read", Place(path)))
}

/// The layer with what is known of the hash tree that follows the image, if one does. The root hash is computed from the image, whatever
/// the tree says.
fn with_hash_tree(layer: Layer, image: &dyn ReadAt, path: &Path) -> anyhow::Result<Layer> {
    let bytes = image_bytes(image)?;
    let Some(position) = find_appended(image, bytes)? else { return Ok(layer) };
    let superblock = read_superblock(image, position)?;
    // The draft has one size for both.
    let is_uniform = superblock.data_block == superblock.hash_block;
    let root = bases::identify(image, bytes, path)?.root.filter(|_| is_uniform);
    Ok(match root {
        Some(root) => {
            let root = lith::verity::RootHash(root).to_string();
            layer.with_hash_tree(&root, position, superblock.data_block)
        }
        None => layer,
    })
}

fn config(artifact: &Artifact, path: Option<&Path>) -> anyhow::Result<Vec<u8>> {
    let Some(path) = path else { return Ok(artifact.config(None)?) };
    let text = fs::read(path).with_context(|| format!("{}: cannot read", Place(path)))?;
    let config = artifact.config(Some(&text));
    config.with_context(|| format!("{}: is no configuration of a container image", Place(path)))
}

/// Counts what is read.
struct Counting<R> {
    reader: R,
    done: Arc<AtomicU64>,
}

impl<R: Read> Read for Counting<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let got = self.reader.read(buf)?;
        self.done.fetch_add(got as u64, Ordering::Relaxed);
        Ok(got)
    }
}
