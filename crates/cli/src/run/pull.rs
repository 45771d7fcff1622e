//! Fetches images from registries (`lith pull`).

use std::{
    borrow::Cow,
    fs::{self, File},
    io::{self, BufWriter, Read, Seek, Write},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use anyhow::Context;
use lith::{
    Hidden,
    remote::{
        Artifact, Chunks, Layer, LocalChunks, Obtained, Reference, Registry, RemoteError,
        Verifying, sha256_of,
    },
};
use lith_report::number::Bytes;
use serde::Serialize;

use super::remote;
use crate::{
    args::{MessageArgs, push::Pull, remote::Keep},
    exit::Outcome,
    output::{
        self, directory_of,
        error::Place,
        json,
        progress::{Bar, Position},
        signals::remove_files_on_signals,
    },
};

/// Bytes that are written at once.
const BUFFER: usize = 1 << 20;
/// Bytes that what has an unknown length leaves on the disk.
const RESERVE: u64 = 16 << 20;

pub(crate) fn run(request: &Pull, messages: MessageArgs) -> anyhow::Result<Outcome> {
    let Pull { reference, image, reuse, force, json } = request;
    let name =
        Reference::parse(reference).with_context(|| Place(Path::new(reference)).to_string())?;
    let options = remote::options(&Keep::Nowhere)?;
    let registry =
        Registry::open(&name, &options).with_context(|| Place(Path::new(reference)).to_string())?;
    let artifact = registry.artifact().with_context(|| name.to_string())?;
    let files = files(&artifact, image)?;
    if !force && !lith::is_replaceable(image, 0).with_context(|| Place(image).to_string())? {
        anyhow::bail!("{}: is no EROFS image, and not replaced without --force", Place(image));
    }
    let wanted = artifact.layers().map(|layer| Wanted::of(&registry, layer));
    let wanted = wanted.collect::<Result<Vec<_>, _>>().with_context(|| name.to_string())?;
    let done = Arc::new(AtomicU64::new(0));
    let (seen, total) = (Arc::clone(&done), wanted.iter().map(|wanted| wanted.length).sum());
    let bar = Bar::watch(!messages.quiet, move || Position {
        what: "fetching",
        done: seen.load(Ordering::Relaxed),
        total,
    });
    let mut pulled = Vec::new();
    for (wanted, path) in wanted.iter().zip(&files) {
        let place = Place(path).to_string();
        let is_image = path == image;
        if wanted.is_in(path) {
            pulled.push(Pulled::new(path, (wanted.length, 0), ", was there".to_owned()));
            continue;
        }
        if !force && !is_image && path.symlink_metadata().is_ok() {
            anyhow::bail!("{place}: is another file, and not replaced without --force");
        }
        let (bytes, fetched) = match &wanted.chunks {
            Some(chunks) => put_together(chunks, wanted.layer, (path, reuse), &done),
            None => fetch(&registry, wanted.layer, path, &done).map(|bytes| (bytes, bytes)),
        }
        .with_context(|| place.clone())?;
        let note = || format!(", of which {} were fetched", Bytes(fetched));
        let note = wanted.chunks.as_ref().map(|_| note()).unwrap_or_default();
        pulled.push(Pulled::new(path, (bytes, fetched), note));
    }
    drop(bar);
    let mut output = output::stdout()?;
    if *json {
        json::write_pretty(
            &mut output,
            &Record { image: image.to_string_lossy(), files: &pulled },
        )?;
    } else if !messages.quiet {
        for Pulled { path, bytes, note, .. } in &pulled {
            writeln!(output, "{}: {}{note}", Place(path), Bytes(*bytes))?;
        }
    }
    output::finish(output)
}

/// What was fetched, as JSON has it.
#[derive(Serialize)]
struct Record<'a> {
    image: Cow<'a, str>,
    files: &'a [Pulled<'a>],
}

/// A file that is there now.
#[derive(Serialize)]
struct Pulled<'a> {
    #[serde(skip)]
    path: &'a Path,
    #[serde(rename = "path")]
    shown: Cow<'a, str>,
    bytes: u64,
    fetched: u64,
    /// What is printed after its size.
    #[serde(skip)]
    note: String,
}

impl<'a> Pulled<'a> {
    fn new(path: &'a Path, (bytes, fetched): (u64, u64), note: String) -> Self {
        Self { path, shown: path.to_string_lossy(), bytes, fetched, note }
    }
}

/// The files of all layers: those of further devices are beside the image.
fn files(artifact: &Artifact, image: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let own =
        image.file_name().with_context(|| format!("{}: is no name of a file", Place(image)))?;
    let mut files: Vec<PathBuf> = Vec::new();
    for (index, layer) in artifact.devices.iter().enumerate() {
        let unnamed = || format!("{}.{}", own.to_string_lossy(), index + 1);
        let name = layer.name().map_or_else(unnamed, str::to_owned);
        let path = directory_of(image).join(&name);
        if *own == *name || files.contains(&path) {
            let name = Place(Path::new(&name)).to_string();
            anyhow::bail!(
                "{}: two of its files are called {name}; choose another name",
                Place(image)
            );
        }
        files.push(path);
    }
    files.push(image.to_owned());
    Ok(files)
}

/// A layer that is to become a file.
struct Wanted<'a> {
    layer: &'a Layer,
    /// The chunks of which it consists, if that is so.
    chunks: Option<Chunks>,
    /// Bytes of the file, or of what is fetched for it.
    length: u64,
}

impl<'a> Wanted<'a> {
    fn of(registry: &Registry, layer: &'a Layer) -> Result<Self, RemoteError> {
        let chunks = layer.is_chunked().then(|| registry.chunks(layer)).transpose()?;
        let length = match &chunks {
            Some(chunks) => chunks.index()?.length(),
            None => layer.size,
        };
        Ok(Self { layer, chunks, length })
    }

    /// Whether a file is what is wanted.
    fn is_in(&self, path: &Path) -> bool {
        let expected = match self.chunks {
            Some(_) => self.layer.plain_digest(),
            None => Some(&*self.layer.digest),
        };
        let is_candidate = !self.layer.is_compressed()
            && path.metadata().is_ok_and(|found| found.is_file() && found.len() == self.length);
        let digest = || File::open(path).and_then(sha256_of).map(|(digest, _)| digest);
        is_candidate && digest().is_ok_and(|digest| Some(&*digest) == expected)
    }
}

/// Puts an image together from its chunks, of which other files may have some: the one that is replaced, and those that are given.
/// Returns its bytes, and how many were fetched.
fn put_together(
    chunks: &Chunks,
    layer: &Layer,
    (path, reuse): (&Path, &[PathBuf]),
    done: &AtomicU64,
) -> anyhow::Result<(u64, u64)> {
    let mut local = Vec::new();
    if let Some(size) = layer.chunk_size() {
        let read = |path: &Path| File::open(path).and_then(|file| LocalChunks::of(file, size));
        for path in reuse {
            local.push(read(path).with_context(|| format!("{}: cannot read", Place(path)))?);
        }
        // What can't be read is fetched.
        local.extend(path.is_file().then(|| read(path)).and_then(Result::ok));
    }
    make_file(path, |file, target| {
        check_room(file, chunks.index()?.written())?;
        let fetched = AtomicU64::new(0);
        chunks.store((file, target), &local, &|obtained, bytes| {
            done.fetch_add(bytes, Ordering::Relaxed);
            if obtained == Obtained::Fetched {
                fetched.fetch_add(bytes, Ordering::Relaxed);
            }
        })?;
        file.rewind()?;
        let (digest, bytes) = sha256_of(&*file)?;
        if layer.plain_digest().is_some_and(|expected| expected != digest) {
            anyhow::bail!("the chunks are sound, but together they don't have the image's digest");
        }
        Ok((bytes, fetched.into_inner()))
    })
}

/// Makes a file, also where a symbolic link leads, that gets its name when `write` has written all of it and it is on disk.
fn make_file<T>(
    path: &Path,
    write: impl FnOnce(&mut File, &Path) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let target = fs::canonicalize(path).unwrap_or_else(|_new| path.to_owned());
    remove_files_on_signals();
    let (mut file, hidden) = Hidden::create(&target)?;
    let written = write(&mut file, &target)?;
    file.sync_all()?;
    hidden.rename(&target)?;
    Ok(written)
}

/// Refuses what the disk has no room for, before anything is fetched: a registry says how long an image is.
fn check_room(file: &File, bytes: u64) -> anyhow::Result<()> {
    // Where it isn't known, writing fails later.
    match lith_system::free_space(file) {
        Ok(Some(free)) if free < bytes => {
            anyhow::bail!("it needs {}, and the disk has {} left", Bytes(bytes), Bytes(free))
        }
        _ => Ok(()),
    }
}

/// Fetches a layer to a file, which gets its name when all bytes are right and on disk. Returns the bytes that it has.
fn fetch(registry: &Registry, layer: &Layer, path: &Path, done: &AtomicU64) -> anyhow::Result<u64> {
    make_file(path, |file, _target| {
        let mut stored = Counting { reader: registry.verified(&layer.digest, layer.size)?, done };
        if !layer.is_compressed() {
            check_room(file, layer.size)?;
            return Ok(copy(&mut stored, file)?);
        }
        let mut decoder = zstd::Decoder::new(stored)?;
        let bytes = match layer.plain_digest() {
            Some(digest) => {
                decompress(&mut Verifying::new(&mut decoder, digest, registry.host()), file)?
            }
            None => decompress(&mut decoder, file)?,
        };
        // At the end the digest is compared.
        io::copy(&mut decoder.finish(), &mut io::sink())?;
        Ok(bytes)
    })
}

/// Copies all that a reader has.
fn copy(reader: &mut dyn Read, file: &File) -> io::Result<u64> {
    let mut file = BufWriter::with_capacity(BUFFER, file);
    let total = io::copy(reader, &mut file)?;
    file.flush().map(|()| total)
}

/// As [`copy`] where the length is unknown: the disk is not filled to its end.
fn decompress(reader: &mut dyn Read, file: &File) -> anyhow::Result<u64> {
    let mut total = 0;
    loop {
        let copied = copy(&mut reader.take(RESERVE), file)?;
        total += copied;
        if copied < RESERVE {
            return Ok(total);
        }
        check_room(file, RESERVE)?;
    }
}

/// Counts what is read.
struct Counting<'a, R> {
    reader: R,
    done: &'a AtomicU64,
}

impl<R: Read> Read for Counting<'_, R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let got = self.reader.read(buf)?;
        self.done.fetch_add(got as u64, Ordering::Relaxed);
        Ok(got)
    }
}
