//! Images that a registry has in chunks: what is sent and fetched of several versions, reads of ranges, damaged indexes.
#![expect(clippy::indexing_slicing, reason = "a test may fail by panicking")]

use std::{
    fs::{self, File},
    io::Read,
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
};

use lith_device::ReadAt;
use lith_remote::{
    Artifact, Cache, Chunk, ChunkIndex, ChunkSize, Layer, LocalChunks, ObjectReader, Obtained,
    Options, Registry, RemoteDevice, RemoteError, Upload, cut_chunks, sha256_of,
};
use lith_testkit::registry::{self, Demand, digest};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::{
    hasty, object, read, reason,
    registry::{reference, upload},
};

const MIB: usize = 1 << 20;

fn size() -> ChunkSize {
    ChunkSize::new(64 << 10).unwrap()
}

/// An image of so many bytes.
fn first() -> Vec<u8> {
    object(8 * MIB + 5)
}

/// The same with bytes inserted, and others removed.
fn second() -> Vec<u8> {
    let old = first();
    [&old[..3 * MIB], b"new", &old[3 * MIB..6 * MIB], &old[6 * MIB + 10_000..]].concat()
}

/// Sends an image in chunks; returns the number of bytes of chunks that were sent.
fn push(registry: &Registry, image: &[u8]) -> u64 {
    let (index, all) = cut_chunks(image, size()).unwrap();
    let sent = AtomicU64::new(0);
    let chunks: Vec<Chunk> = index.distinct().into_iter().map(|(chunk, _)| chunk).collect();
    let read = |chunk: &Chunk| {
        let start = usize::try_from(chunk.start).unwrap();
        Ok(image[start..start + usize::try_from(chunk.length).unwrap()].to_vec())
    };
    let note = |upload, bytes| {
        sent.fetch_add(if upload == Upload::Sent { bytes } else { 0 }, Ordering::Relaxed);
    };
    registry.upload_chunks(&chunks, &read, &note).unwrap();
    put(registry, &index, (&all, &index.to_bytes()));
    sent.into_inner()
}

/// Puts a manifest of an image in these chunks, with the given digest and index.
fn put(registry: &Registry, chunks: &ChunkIndex, (all, index): (&str, &[u8])) {
    upload(registry, index).unwrap();
    let layer = Layer::image(all.to_owned(), chunks.length());
    let layer = layer.in_chunks(sha256_of(index).unwrap(), size()).named("x");
    let artifact = Artifact::new(layer, Vec::new()).with_chunks(chunks.chunks());
    let config = artifact.config(None).unwrap();
    upload(registry, &config).unwrap();
    let manifest = artifact.manifest((&digest(&config), config.len() as u64)).unwrap();
    registry.put_manifest(&manifest).unwrap();
}

fn sending(server: &registry::Registry) -> Registry {
    Registry::open_for_sending(&reference(server), &hasty()).unwrap()
}

/// Fetches what is under the name to a file, with the help of other files; returns how many bytes were fetched.
fn pull(server: &registry::Registry, to: &Path, local: &[&Path]) -> u64 {
    let registry = Registry::open(&reference(server), &hasty()).unwrap();
    let layer = registry.artifact().unwrap().image;
    assert!(layer.is_chunked());
    let chunks = registry.chunks(&layer).unwrap();
    let size = layer.chunk_size().unwrap();
    let local = local.iter().map(|path| LocalChunks::of(File::open(path).unwrap(), size).unwrap());
    let fetched = AtomicU64::new(0);
    let file = File::create(to).unwrap();
    let note = |obtained, bytes| {
        let bytes = if obtained == Obtained::Fetched { bytes } else { 0 };
        fetched.fetch_add(bytes, Ordering::Relaxed);
    };
    chunks.store((&file, to), &local.collect::<Vec<_>>(), &note).unwrap();
    assert_eq!(layer.plain_digest(), Some(&*digest(&fs::read(to).unwrap())));
    fetched.into_inner()
}

#[test]
fn of_the_next_version_only_new_chunks_are_sent_and_fetched() {
    let (folder, server) =
        (tempfile::tempdir().unwrap(), registry::Registry::start(Demand::Token(None)));
    let [one, two, three] = ["1", "2", "3"].map(|name| folder.path().join(name));
    assert_eq!(push(&sending(&server), &first()), first().len() as u64);
    assert_eq!(pull(&server, &one, &[]), first().len() as u64);
    assert_eq!(fs::read(&one).unwrap(), first());
    let sent = push(&sending(&server), &second());
    assert!((1..MIB as u64).contains(&sent), "{sent}");
    assert_eq!(pull(&server, &two, &[&one]), sent);
    assert_eq!(fs::read(&two).unwrap(), second());
    // A file that changes after it was looked through gives no wrong bytes.
    fs::write(&one, vec![0; first().len()]).unwrap();
    assert_eq!(pull(&server, &three, &[&one]), second().len() as u64);
    assert_eq!(push(&sending(&server), &second()), 0);
}

#[test]
fn a_chunk_that_repeats_is_sent_and_fetched_once() {
    let (folder, server) =
        (tempfile::tempdir().unwrap(), registry::Registry::start(Demand::Nothing));
    let image = [&object(MIB)[..], &vec![0; 8 * MIB], &object(MIB)].concat();
    assert!(push(&sending(&server), &image) < 2 * MIB as u64);
    let to = folder.path().join("image");
    assert!(pull(&server, &to, &[]) < 2 * MIB as u64);
    assert_eq!(fs::read(&to).unwrap(), image);
    #[cfg(target_os = "linux")]
    {
        use std::os::unix::fs::MetadataExt;
        let on_disk = to.metadata().unwrap().blocks() * 512;
        assert!(on_disk < 4 * MIB as u64, "zeros are holes: {on_disk}");
    }
}

/// An index that names chunks, each with its length, in this order.
fn index_of(chunks: impl Iterator<Item = (u64, [u8; 32])>) -> Vec<u8> {
    let (mut entries, mut length, mut count) = (Vec::new(), 0_u64, 0_u32);
    for (size, digest) in chunks {
        entries.extend([length.to_le_bytes(), length.to_le_bytes()].concat());
        entries.extend(digest);
        length += size;
        count += 1;
    }
    let magic = cut_chunks(&b"x"[..], size()).unwrap().0.to_bytes()[..8].to_vec();
    let rest = [&[1, 32][..], &[0; 10]].concat();
    let head = [magic, length.to_le_bytes().to_vec(), count.to_le_bytes().to_vec(), rest];
    [head.concat(), entries].concat()
}

#[test]
fn an_index_can_not_make_much_of_a_few_chunks() {
    const LONGEST: usize = 16 * MIB;
    let server = registry::Registry::start(Demand::Nothing);
    let registry = sending(&server);
    // A registry need not have the chunks: their sizes are known before.
    let open = |chunk: Vec<u8>, times: usize| {
        let chunk = (chunk.len() as u64, <[u8; 32]>::from(Sha256::digest(&chunk)));
        let index = index_of(std::iter::repeat_n(chunk, times));
        let layer = Layer::image(digest(b"all"), 0);
        upload(&registry, &index).unwrap();
        let layer = layer.in_chunks(sha256_of(&*index).unwrap(), size());
        registry.chunks(&layer).map(|chunks| chunks.index().unwrap().clone())
    };
    // 256 GiB of 16 MiB, and of an attacker with smaller chunks.
    for (chunk, times) in [(object(LONGEST), 16_384), (object(256 << 10), 16_384)] {
        let error = open(chunk, times).unwrap_err().to_string();
        assert!(error.ends_with("a few chunks are repeated too often"), "{error}");
    }
    // 64 times are allowed, beside 1 GiB; zeros become holes.
    let allowed = open(object(LONGEST), 64 + 64).unwrap();
    assert_eq!((allowed.length(), allowed.written()), (2 << 30, 2 << 30));
    let zeros = open(vec![0; LONGEST], 16_384).unwrap();
    assert_eq!((zeros.length(), zeros.written()), (256 << 30, 0));
}

#[test]
fn ranges_are_read_by_chunks_and_kept() {
    let server = registry::Registry::start(Demand::Token(None));
    let image = first();
    push(&sending(&server), &image);
    let (folder, name) = (tempfile::tempdir().unwrap(), reference(&server).to_string());
    let mut options = hasty();
    options.cache = Some(Cache::new(folder.path().to_owned(), 1 << 30));
    let opened = RemoteDevice::open(&name, &options).unwrap();
    assert_eq!(opened.size(), image.len() as u64);
    let before = opened.traffic().bytes;
    assert_eq!(read(&opened, 5 * MIB + 7, 5000).unwrap(), image[5 * MIB + 7..][..5000]);
    let fetched = opened.traffic().bytes - before;
    assert!((1..768 << 10).contains(&fetched), "{fetched}");
    drop(opened);
    let again = RemoteDevice::open(&name, &options).unwrap();
    let before = again.traffic().requests;
    assert_eq!(read(&again, 5 * MIB + 7, 5000).unwrap(), image[5 * MIB + 7..][..5000]);
    assert_eq!(again.traffic().requests, before);
    // In sequence hardly a chunk is fetched twice.
    let sequential = RemoteDevice::open(&name, &hasty()).unwrap();
    for at in (0..image.len()).step_by(10_000) {
        let length = 10_000.min(image.len() - at);
        assert_eq!(read(&sequential, at, length).unwrap(), image[at..at + length], "{at}");
    }
    let fetched = sequential.traffic().bytes;
    assert!(fetched < image.len() as u64 * 5 / 4, "{fetched}");
    let (start, mut rest) = ObjectReader::open(&name, 5000, &hasty()).unwrap();
    let mut all = start;
    assert_eq!(all.len(), 5000);
    rest.read_to_end(&mut all).unwrap();
    assert_eq!(all, image);
}

#[test]
fn every_order_of_reads_gives_the_same_bytes() {
    let server = registry::Registry::start(Demand::Nothing);
    push(&sending(&server), &second());
    let (image, opened) =
        (second(), RemoteDevice::open(&reference(&server).to_string(), &hasty()).unwrap());
    let mut random = fastrand::Rng::with_seed(7);
    for _ in 0..200 {
        let start = random.usize(..image.len());
        let length = random.usize(..300_000).min(image.len() - start);
        assert_eq!(read(&opened, start, length).unwrap(), image[start..start + length], "{start}");
    }
    assert!(opened.traffic().bytes < 3 * image.len() as u64, "{:?}", opened.traffic());
}

#[test]
fn what_was_opened_in_chunks_is_read_on_after_its_name_is_that_of_another_image() {
    let server = registry::Registry::start(Demand::Token(None));
    push(&sending(&server), &first());
    let (folder, name) = (tempfile::tempdir().unwrap(), reference(&server).to_string());
    let mut options = hasty();
    options.cache = Some(Cache::new(folder.path().to_owned(), 1 << 30));
    let opened = RemoteDevice::open(&name, &options).unwrap();
    server.change(|held| held.manifests.clear());
    push(&sending(&server), &second());
    let resumed = RemoteDevice::resume(&name, &hasty(), opened.kept().unwrap()).unwrap();
    let version = opened.version().to_string().parse().unwrap();
    let elsewhere = RemoteDevice::open_version(&name, &version, &hasty()).unwrap();
    for (device, at) in [(resumed, 4 * MIB), (elsewhere, 7 * MIB), (opened, 6 * MIB)] {
        assert_eq!(device.size(), first().len() as u64);
        assert_eq!(read(&device, at, 5000).unwrap(), first()[at..at + 5000]);
    }
    let moved = RemoteDevice::open(&name, &options).unwrap();
    assert_eq!(read(&moved, 4 * MIB, 5000).unwrap(), second()[4 * MIB..][..5000]);
}

/// Damages a chunk.
type Change = fn(&mut Vec<u8>);

/// Why the image can't be opened.
fn refused(server: &registry::Registry, options: &Options) -> RemoteError {
    RemoteDevice::open(&reference(server).to_string(), options).unwrap_err()
}

#[test]
fn a_chunk_with_other_bytes_is_an_error_and_the_others_are_read() {
    let server = registry::Registry::start(Demand::Nothing);
    push(&sending(&server), &first());
    let index = cut_chunks(&*first(), size()).unwrap().0;
    let chunk = index.chunks().find(|chunk| chunk.start > 4 * MIB as u64).unwrap();
    let at = usize::try_from(chunk.start).unwrap();
    let changes: [Change; 3] =
        [|bytes| bytes[100] ^= 1, |bytes| bytes.truncate(bytes.len() - 1), |bytes| bytes.push(0)];
    for change in changes {
        server.change(|held| change(held.blobs.get_mut(&chunk.digest()).unwrap()));
        let opened = RemoteDevice::open(&reference(&server).to_string(), &hasty()).unwrap();
        let error = reason(read(&opened, at + 10, 10).unwrap_err());
        let is_expected =
            matches!(error, RemoteError::Mismatch { .. } | RemoteError::Changed { .. });
        assert!(is_expected, "{error}");
        assert_eq!(read(&opened, MIB, 10).unwrap(), first()[MIB..MIB + 10]);
        server.change(|held| {
            let right = first()[at..at + usize::try_from(chunk.length).unwrap()].to_vec();
            held.blobs.insert(chunk.digest(), right);
        });
    }
    server.change(|held| held.blobs.remove(&chunk.digest()));
    let opened = RemoteDevice::open(&reference(&server).to_string(), &hasty()).unwrap();
    let error = reason(read(&opened, at + 10, 10).unwrap_err());
    assert!(matches!(error, RemoteError::Refused { .. }), "{error}");
}

#[test]
fn indexes_and_manifests_that_contradict_themselves_are_refused() {
    let server = registry::Registry::start(Demand::Nothing);
    push(&sending(&server), &first());
    let (index, all) = cut_chunks(&*first(), size()).unwrap();
    let sound = index.to_bytes();
    let with = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = sound.clone();
        change(&mut bytes);
        put(&sending(&server), &index, (&all, &bytes));
        refused(&server, &hasty()).to_string()
    };
    assert!(with(&|bytes| bytes[0] ^= 1).contains("it is none"));
    assert!(with(&|bytes| bytes.truncate(1000)).contains("another length"));
    assert!(with(&|bytes| bytes.extend([0; 48])).contains("another length"));
    // Chunks that are not listed, and one with another length than the list says.
    assert!(with(&|bytes| bytes[48] ^= 1).contains("not all of them"));
    assert!(with(&|bytes| bytes[8] ^= 1).contains("another size"));
    let swapped = |bytes: &mut Vec<u8>| bytes[32 + 48..32 + 3 * 48].rotate_left(48);
    assert!(with(&swapped).contains("out of order"));
    put(&sending(&server), &index, (&all, &sound));
    assert!(RemoteDevice::open(&reference(&server).to_string(), &hasty()).is_ok());

    let manifest = server.change(|held| held.manifests["box:1"].clone());
    let change = |change: &dyn Fn(&mut Vec<Value>)| {
        let mut document: Value = serde_json::from_slice(&manifest.1).unwrap();
        change(document["layers"].as_array_mut().unwrap());
        let new = (manifest.0.clone(), document.to_string().into_bytes());
        server.change(|held| held.manifests.insert("box:1".to_owned(), new));
        refused(&server, &hasty()).to_string()
    };
    assert!(change(&|layers| layers.push(layers[0].clone())).contains("chunk twice"));
    assert!(change(&|layers| drop(layers.remove(0))).contains("not all of them"));
    assert!(change(&|layers| layers[0]["size"] = 1.into()).contains("another size"));
    assert!(change(&|layers| layers[0]["digest"] = "sha256:0".into()).contains("damaged"));
    assert!(change(&|layers| drop(layers.pop())).contains("no EROFS image"));
    let last = sound.len() as u64;
    let size_of_index =
        |size: u64| change(&|layers| layers.last_mut().unwrap()["size"] = size.into());
    assert!(size_of_index(u64::MAX).contains("too long"));
    assert!(!size_of_index(last - 1).is_empty() && !size_of_index(last + 1).is_empty());
    // The index has another digest than the manifest says.
    server.change(|held| {
        held.manifests.insert("box:1".to_owned(), manifest.clone());
        held.blobs.get_mut(&digest(&sound)).unwrap()[40] ^= 1;
    });
    assert!(matches!(refused(&server, &hasty()), RemoteError::Mismatch { .. }));
}
