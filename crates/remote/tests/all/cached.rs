//! The cache on disk.

use std::{
    fs::{self, File},
    os::unix::fs::{FileExt, PermissionsExt},
    path::Path,
};

use lith_device::ReadAt;
use lith_remote::{Cache, Options, RemoteDevice, RemoteError};
use lith_testkit::web::{Reply, Web};

use super::{hasty, object, read, reason};

const MIB: usize = 1 << 20;

fn keeping(folder: &Path, limit: usize) -> Options {
    let mut options = hasty();
    options.cache = Some(Cache::new(folder.join("cache"), limit as u64));
    options
}

/// The only file of a cache with this suffix.
fn file_of(folder: &Path, suffix: &str) -> std::path::PathBuf {
    let files = fs::read_dir(folder.join("cache")).unwrap().map(|entry| entry.unwrap().path());
    let mut found = files.filter(|path| path.extension().unwrap() == suffix);
    let first = found.next().unwrap();
    assert!(found.next().is_none());
    first
}

#[test]
fn what_was_read_is_there_without_the_server() {
    let (folder, bytes) = (tempfile::tempdir().unwrap(), object(2 * MIB + 3));
    let options = keeping(folder.path(), 100 * MIB);
    let web = Web::of(bytes.clone());
    let device = RemoteDevice::open(&web.url("x"), &options).unwrap();
    read(&device, MIB, 1000).unwrap();
    drop(device);
    let again = RemoteDevice::open(&web.url("x"), &options).unwrap();
    assert_eq!(read(&again, MIB, 1000).unwrap(), bytes[MIB..MIB + 1000]);
    assert_eq!(again.traffic().bytes, 1, "it is asked only whether it is the same");
    assert!(again.unreachable().is_none());
    drop(again);
    web.stop();
    let offline = RemoteDevice::open(&web.url("x"), &options).unwrap();
    assert!(offline.unreachable().is_some());
    assert_eq!(read(&offline, MIB, 1000).unwrap(), bytes[MIB..MIB + 1000]);
    assert!(matches!(
        reason(read(&offline, 0, bytes.len()).unwrap_err()),
        RemoteError::Unreachable { .. }
    ));
    assert!(RemoteDevice::open(&web.url("y"), &options).is_err());
    let mode = fs::metadata(folder.path().join("cache")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
}

#[test]
fn a_new_version_has_nothing_of_the_old_one() {
    let folder = tempfile::tempdir().unwrap();
    let options = keeping(folder.path(), 100 * MIB);
    let (old, new) = (object(MIB), object(MIB).iter().map(|byte| !byte).collect::<Vec<_>>());
    let served = std::sync::Arc::new(std::sync::Mutex::new((old.clone(), "\"1\"")));
    let of_web = std::sync::Arc::clone(&served);
    let web = Web::start(move |request| {
        let (object, etag) = &*of_web.lock().unwrap();
        Reply::of(request, object, etag)
    });
    let device = RemoteDevice::open(&web.url("x"), &options).unwrap();
    assert_eq!(read(&device, 0, MIB).unwrap(), old);
    *served.lock().unwrap() = (new.clone(), "\"2\"");
    let other = RemoteDevice::open(&web.url("x"), &options).unwrap();
    assert_eq!(read(&other, 0, MIB).unwrap(), new);
    assert_eq!(read(&device, 0, MIB).unwrap(), old);
    assert_eq!(options.cache.unwrap().list().unwrap().len(), 2);
}

#[test]
fn bytes_that_have_changed_on_disk_are_fetched_again() {
    let (folder, bytes) = (tempfile::tempdir().unwrap(), object(MIB));
    let options = keeping(folder.path(), 100 * MIB);
    let cache = options.cache.clone().unwrap();
    let web = Web::of(bytes.clone());
    let fill = || read(&RemoteDevice::open(&web.url("x"), &options).unwrap(), 0, MIB).unwrap();
    assert_eq!(fill(), bytes);
    let data = File::options().write(true).open(file_of(folder.path(), "data")).unwrap();
    data.write_all_at(b"damage", 300_000).unwrap();
    assert_eq!(fill(), bytes);
    data.write_all_at(b"damage", 700_000).unwrap();
    let verified = cache.verify().unwrap();
    assert_eq!((verified[0].units, verified[0].damaged), (16, 1));
    assert_eq!(cache.verify().unwrap()[0].damaged, 0);
    assert_eq!(cache.list().unwrap()[0].present, 15 << 16);
    // A file that was cut off, and one whose records were.
    data.set_len(100_000).unwrap();
    assert_eq!(fill(), bytes);
    let records = File::options().write(true).open(file_of(folder.path(), "map")).unwrap();
    for length in [4100, 4096, 100, 0] {
        records.set_len(length).unwrap();
        assert_eq!(fill(), bytes, "{length}");
    }
}

#[test]
fn the_limit_removes_what_was_not_used_for_long() {
    let (folder, bytes) = (tempfile::tempdir().unwrap(), object(MIB));
    let options = keeping(folder.path(), 7 * MIB / 2);
    let cache = options.cache.clone().unwrap();
    let web = Web::of(bytes.clone());
    let fill = |name: &str| {
        let device = RemoteDevice::open(&web.url(name), &options).unwrap();
        assert_eq!(read(&device, 0, MIB).unwrap(), bytes);
        device
    };
    let names = || -> Vec<String> {
        let list = cache.list().unwrap();
        list.iter().map(|object| object.address.rsplit('/').next().unwrap().to_owned()).collect()
    };
    let a = fill("a");
    drop((fill("b"), fill("c")));
    drop(fill("d"));
    // The oldest is open.
    assert_eq!(names(), ["d", "c", "a"]);
    assert!(cache.list().unwrap()[2].in_use && !cache.list().unwrap()[0].in_use);
    drop(a);
    let pruned = cache.prune_to(0).unwrap();
    assert_eq!((pruned.objects, pruned.left), (3, 0));
    assert!(pruned.bytes >= 3 << 20);
    // What is larger than the limit isn't kept.
    let small = keeping(folder.path(), MIB - 1);
    let device = RemoteDevice::open(&web.url("e"), &small).unwrap();
    assert_eq!(read(&device, 0, MIB).unwrap(), bytes);
    assert_eq!(cache.list().unwrap(), []);
}

#[test]
fn room_is_made_for_what_arrives() {
    let (folder, bytes) = (tempfile::tempdir().unwrap(), object(MIB));
    let options = keeping(folder.path(), 64 * MIB);
    let cache = options.cache.clone().unwrap();
    let web = Web::start(move |request| {
        let reply = Reply::of(request, &bytes, "\"1\"");
        match request.path.as_str() {
            "/claim" => reply.with("content-range", &format!("bytes 0-131071/{}", 63 * MIB)),
            _ => reply,
        }
    });
    for name in ["a", "b"] {
        let device = RemoteDevice::open(&web.url(name), &options).unwrap();
        read(&device, 0, MIB).unwrap();
    }
    let claiming = RemoteDevice::open(&web.url("claim"), &options).unwrap();
    assert_eq!(claiming.size(), 63 << 20);
    read(&claiming, MIB, 1).unwrap_err();
    assert_eq!(cache.list().unwrap().len(), 3, "a claim removes nothing");
    drop(claiming);
    // What is there already takes no further room when it is opened again.
    let small = keeping(folder.path(), 9 * MIB / 4);
    drop(RemoteDevice::open(&web.url("a"), &small).unwrap());
    let present: Vec<_> = cache.list().unwrap().into_iter().map(|object| object.present).collect();
    assert_eq!(present, [MIB as u64, 128 << 10, MIB as u64]);
}
