//! Sends images to registries (`lith push`).

use std::{
    fs::{self, File},
    io::{self, BufReader, Cursor, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use anyhow::{Context, bail};
use lith::{
    bases,
    device::ReadAt,
    remote::{
        Artifact, Chunk, ChunkIndex, ChunkSize, Layer, Reference, Registry, Upload, cut_chunks,
        sha256_of,
    },
    verity::{find_appended, image_bytes, read_superblock},
};
use lith_report::number::{Bytes, Count};
use lith_system::FileAt;
use serde::Serialize;

use super::{device, remote, subject};
use crate::{
    args::{MessageArgs, location::Location, push::Push, remote::Keep},
    exit::Outcome,
    output::{
        self,
        error::Place,
        json,
        progress::{Bar, Position},
    },
};

/// Bytes that are read at once.
const BUFFER: usize = 1 << 20;

pub(crate) fn run(request: &Push, messages: MessageArgs) -> anyhow::Result<Outcome> {
    let Push { image, reference, config_file, chunks, client, devices, json } = request;
    device::refuse_pipe(image)?;
    let place = || Place(image).to_string();
    let name =
        Reference::parse(reference).with_context(|| Place(Path::new(reference)).to_string())?;
    let registry = Registry::open_for_sending(&name, &remote::options(&Keep::Usual)?)
        .with_context(|| Place(Path::new(reference)).to_string())?;
    let location = Location::new(image, devices.search());
    let primary = subject::primary(&location)?;
    let further = bases::find_for(&*primary, image, &location.search)?;
    if client.is_some() && !further.is_empty() {
        bail!("{}: containerd mounts no image with further devices", place());
    }
    let paths = further.iter().map(|found| &found.path).chain([image]);
    let size = chunks.map(|size| size.unwrap_or_else(|| usual_size(paths)));
    let (total, counter) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let bar = watch(messages, &counter, &total);
    let (mut layers, mut files) = (Vec::new(), Vec::new());
    for found in &further {
        let (file, layer) = Sendable::read(&found.path, size)?;
        let own = found.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let known = found.base.as_ref().and_then(|base| String::from_utf8(base.name.clone()).ok());
        layers.push(layer.as_device(&known.unwrap_or(own)));
        files.push(file);
    }
    let (file, layer) = Sendable::read(image, size)?;
    let layer = client.iter().fold(layer, |layer, client| layer.for_containerd(client.version()));
    files.push(file);
    let own = image.file_name().unwrap_or_default().to_string_lossy();
    let layer = with_hash_tree(layer.named(&own), &*primary, image).with_context(place)?;
    let all = files.iter().filter_map(|file| file.index.as_ref()).flat_map(ChunkIndex::chunks);
    let artifact = Artifact::new(layer, layers).with_chunks(all);
    total.store(files.iter().map(|file| file.length).sum(), Ordering::Relaxed);
    let config = config(&artifact, config_file.as_deref())?;
    let (config_digest, config_size) = sha256_of(&*config)?;
    let manifest = artifact.manifest((&config_digest, config_size))?;
    registry.check_size(&manifest).with_context(place)?;
    let send = || -> anyhow::Result<(Sent, String)> {
        send_bytes(&registry, (&config_digest, &config))?;
        let mut sent = Sent::default();
        for (layer, file) in artifact.layers().zip(&files) {
            let done = file.send(&registry, layer, (&counter, &mut sent));
            done.with_context(|| Place(&file.path).to_string())?;
        }
        Ok((sent, registry.put_manifest(&manifest)?))
    };
    let (done, digest) = send().with_context(|| name.to_string())?;
    drop(bar);
    let reference = format!("oci://{}/{}@{digest}", name.host(), name.repository());
    if *json {
        let Sent { sent, present } = done;
        return print(&Record { reference, digest, sent: sent.into(), present: present.into() });
    }
    let mut output = output::stdout()?;
    writeln!(output, "{reference}")?;
    if !messages.quiet {
        done.write_text(if size.is_some() { "blob" } else { "file" }, &mut output)?;
    }
    output::finish(output)
}

fn print(record: &Record) -> anyhow::Result<Outcome> {
    let mut output = output::stdout()?;
    json::write_pretty(&mut output, record)?;
    output::finish(output)
}

/// What was sent, as JSON has it.
#[derive(Serialize)]
struct Record {
    /// The name of the image by its digest.
    reference: String,
    digest: String,
    sent: Blobs,
    present: Blobs,
}

#[derive(Serialize)]
struct Blobs {
    bytes: u64,
    blobs: u64,
}

impl From<(u64, u64)> for Blobs {
    fn from((bytes, blobs): (u64, u64)) -> Self {
        Self { bytes, blobs }
    }
}

/// The size of chunks for files.
fn usual_size<'a>(paths: impl Iterator<Item = &'a PathBuf>) -> ChunkSize {
    // What can't be read is an error later.
    ChunkSize::usual(paths.map(|path| path.metadata().map_or(0, |found| found.len())).sum())
}

/// A file that is sent.
struct Sendable {
    path: PathBuf,
    length: u64,
    /// Its chunks, if it is sent in chunks.
    index: Option<ChunkIndex>,
}

impl Sendable {
    /// Reads a file, and finds the digests of what is sent.
    fn read(path: &Path, size: Option<ChunkSize>) -> anyhow::Result<(Self, Layer)> {
        let unreadable = || format!("{}: cannot read", Place(path));
        let Some(size) = size else {
            let (digest, length) = File::open(path).and_then(sha256_of).with_context(unreadable)?;
            let layer = Layer::image(digest, length);
            return Ok((Self { path: path.to_owned(), length, index: None }, layer));
        };
        let cut = File::open(path).and_then(|file| cut_chunks(file, size));
        let (index, digest) = cut.with_context(unreadable)?;
        let length = index.length();
        let layer = Layer::image(digest, length).in_chunks(sha256_of(&*index.to_bytes())?, size);
        Ok((Self { path: path.to_owned(), length, index: Some(index) }, layer))
    }

    fn send(
        &self,
        registry: &Registry,
        layer: &Layer,
        (counter, sent): (&Arc<AtomicU64>, &mut Sent),
    ) -> anyhow::Result<()> {
        let Some(index) = &self.index else {
            let upload = registry.upload((&layer.digest, layer.size), &|start| {
                let mut file = File::open(&self.path)?;
                file.seek(SeekFrom::Start(start))?;
                let file = BufReader::with_capacity(BUFFER, file);
                Ok(Box::new(Counting { reader: file, done: Arc::clone(counter) }))
            })?;
            sent.note(upload, layer.size);
            return Ok(());
        };
        let file = File::open(&self.path)?;
        let chunks: Vec<_> = index.distinct().into_iter().map(|(chunk, _)| chunk).collect();
        let all = Mutex::new(Sent::default());
        let read = |chunk: &Chunk| {
            let mut bytes = vec![0; usize::try_from(chunk.length).map_err(io::Error::other)?];
            file.read_exact_at(&mut bytes, chunk.start).map(|()| bytes)
        };
        registry.upload_chunks(&chunks, &read, &|upload, bytes| {
            counter.fetch_add(bytes, Ordering::Relaxed);
            all.lock().unwrap_or_else(PoisonError::into_inner).note(upload, bytes);
        })?;
        sent.add(&all.into_inner().unwrap_or_else(PoisonError::into_inner));
        sent.note(send_bytes(registry, (&layer.digest, &index.to_bytes()))?, layer.size);
        Ok(())
    }
}

fn send_bytes(registry: &Registry, (digest, bytes): (&str, &[u8])) -> anyhow::Result<Upload> {
    let upload = registry.upload((digest, bytes.len() as u64), &|start| {
        let mut bytes = Cursor::new(bytes);
        bytes.set_position(start);
        Ok(Box::new(bytes))
    });
    Ok(upload?)
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

    /// Prints it; `what` is what a blob is called.
    fn write_text(&self, what: &'static str, output: &mut dyn Write) -> io::Result<()> {
        for (name, (bytes, blobs)) in [("sent", self.sent), ("present", self.present)] {
            writeln!(output, "  {name:<9}{} in {}", Bytes(bytes), Count(blobs, what))?;
        }
        Ok(())
    }

    fn add(&mut self, other: &Self) {
        for (own, new) in [(&mut self.sent, other.sent), (&mut self.present, other.present)] {
            *own = (own.0 + new.0, own.1 + new.1);
        }
    }
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
