//! Uploads that are cut off go on where the registry says that they ended.

use std::{
    io,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use lith_remote::{Cache, Options, Reference, Registry, RemoteError, Upload};
use lith_testkit::{
    cutting::Cutting,
    place::names,
    registry::{self, Demand, Held, digest},
    web::Request,
};

use super::{object, registry::upload};

const MIB: usize = 1 << 20;

fn at(host: &str) -> Registry {
    changed(host, |_options| ())
}

/// As [`at`], with other options.
fn changed(host: &str, change: impl FnOnce(&mut Options)) -> Registry {
    let reference = Reference::parse(&format!("oci://{host}/box:1")).unwrap();
    let options = Options::with(|options| {
        options.timeout = Duration::from_secs(5);
        options.delay = Duration::from_millis(100);
        change(options);
    });
    Registry::open_for_sending(&reference, &options).unwrap()
}

/// Sends through a proxy that cuts off connections; returns the requests that the server has seen.
fn sent_through(
    server: &registry::Registry,
    bytes: &[u8],
    (allowed, times): (usize, usize),
) -> Vec<Request> {
    let proxy = Cutting::start(&server.host(), allowed, times);
    assert_eq!(upload(&at(&proxy.host()), bytes).unwrap(), Upload::Sent);
    assert_eq!(proxy.left(), 0, "the proxy has cut off what it should");
    assert_eq!(server.change(|held| held.blobs.remove(&digest(bytes))).unwrap(), bytes);
    server.requests()
}

fn count(requests: &[Request], method: &str) -> usize {
    requests.iter().filter(|request| request.method == method).count()
}

/// How often it was requested what there is of an upload.
fn statuses(requests: &[Request]) -> usize {
    let is_status =
        |request: &&Request| request.method == "GET" && request.path.contains("/blobs/uploads/");
    requests.iter().filter(is_status).count()
}

/// Bytes of all bodies.
fn bodies(requests: &[Request]) -> usize {
    requests.iter().map(|request| request.body.len()).sum()
}

#[test]
fn long_blobs_are_sent_in_parts() {
    let (server, bytes) = (registry::Registry::start(Demand::Token(None)), object(70 * MIB));
    assert_eq!(upload(&at(&server.host()), &bytes).unwrap(), Upload::Sent);
    let requests = server.requests();
    assert_eq!((count(&requests, "PATCH"), count(&requests, "PUT")), (3, 1));
    assert_eq!(bodies(&requests), bytes.len());
    assert_eq!(server.change(|held| held.blobs[&digest(&bytes)].clone()), bytes);
    assert_eq!(upload(&at(&server.host()), &bytes).unwrap(), Upload::Present);
}

#[test]
fn what_has_arrived_is_not_sent_again() {
    for length in [8 * MIB, 70 * MIB] {
        let (server, bytes) = (registry::Registry::start(Demand::Nothing), object(length));
        let requests = sent_through(&server, &bytes, (3 * MIB, 2));
        assert_eq!(count(&requests, "POST"), 1);
        assert!(count(&requests, "GET") >= 2);
        assert!(bodies(&requests) < length + MIB, "{}", bodies(&requests));
    }
}

/// What the registry has seen of a blob of 100 MiB, whose upload one process gave up and another one takes up.
fn taken_up(change: impl FnOnce(&mut Held)) -> Vec<Request> {
    let (server, bytes) = (registry::Registry::start(Demand::Token(None)), object(100 * MIB));
    let folder = tempfile::tempdir().unwrap();
    let notes = || names(&folder.path().join("uploads"));
    // One cut: after a first part, within the second one.
    let proxy = Cutting::start(&server.host(), 40 * MIB, 1);
    let process = || {
        changed(&proxy.host(), |options| {
            options.tries = 1;
            options.cache = Some(Cache::new(folder.path().to_owned(), 1 << 30));
        })
    };
    upload(&process(), &bytes).unwrap_err();
    assert_eq!(notes().len(), 1);
    server.change(change);
    assert_eq!(upload(&process(), &bytes).unwrap(), Upload::Sent);
    assert_eq!(server.change(|held| held.blobs.remove(&digest(&bytes))).unwrap(), bytes);
    assert_eq!(notes(), Vec::<String>::new());
    server.requests()
}

#[test]
fn another_process_goes_on_with_an_upload() {
    let requests = taken_up(|_held| ());
    assert_eq!((count(&requests, "POST"), statuses(&requests)), (1, 1));
    assert!(bodies(&requests) < 101 * MIB, "{}", bodies(&requests));
}

#[test]
fn an_upload_that_is_unknown_by_now_begins_anew() {
    let changes: [fn(&mut Held); 2] =
        [|held| held.uploads.clear(), |held| held.is_without_status = true];
    for change in changes {
        let requests = taken_up(change);
        assert_eq!((count(&requests, "POST"), statuses(&requests)), (2, 1));
        assert!(bodies(&requests) >= 132 * MIB, "{}", bodies(&requests));
    }
}

#[test]
fn an_upload_with_other_bytes_is_not_tried_for_ever() {
    let (server, bytes) = (registry::Registry::start(Demand::Nothing), object(70 * MIB));
    let folder = tempfile::tempdir().unwrap();
    let process = || {
        changed(&server.host(), |options| {
            options.cache = Some(Cache::new(folder.path().to_owned(), 1 << 30));
        })
    };
    let is_other = AtomicBool::new(true);
    let send = || {
        let open = |start: u64| -> io::Result<Box<dyn io::Read>> {
            let mut bytes = bytes.clone();
            // A file that changes while it is sent.
            bytes[start.try_into().unwrap_or(0)] ^= u8::from(is_other.load(Ordering::Relaxed));
            let mut reader = io::Cursor::new(bytes);
            reader.set_position(start);
            Ok(Box::new(reader))
        };
        process().upload((&digest(&bytes), bytes.len() as u64), &open)
    };
    assert!(matches!(send().unwrap_err(), RemoteError::Refused { .. }));
    is_other.store(false, Ordering::Relaxed);
    assert_eq!(send().unwrap(), Upload::Sent);
}

#[test]
fn many_cuts_are_survived_as_long_as_bytes_arrive() {
    // More cuts than tries in a row.
    let (server, bytes) = (registry::Registry::start(Demand::Nothing), object(16 * MIB));
    let requests = sent_through(&server, &bytes, (MIB, 12));
    assert_eq!(count(&requests, "POST"), 1);
    assert!(bodies(&requests) < bytes.len() + 2 * MIB, "{}", bodies(&requests));
}

#[test]
fn an_upload_that_the_registry_has_forgotten_begins_anew() {
    let (server, bytes) = (registry::Registry::start(Demand::Nothing), object(8 * MIB));
    server.change(|held| held.is_forgetful = true);
    let requests = sent_through(&server, &bytes, (3 * MIB, 2));
    assert!(bodies(&requests) > bytes.len() + 5 * MIB);
}

#[test]
fn a_registry_without_parts_gets_all_by_one_request() {
    let (server, bytes) = (registry::Registry::start(Demand::Nothing), object(40 * MIB));
    server.change(|held| held.is_without_parts = true);
    let requests = sent_through(&server, &bytes, (3 * MIB, 1));
    assert!(count(&requests, "PATCH") >= 1);
    assert_eq!(requests.last().unwrap().body.len(), bytes.len());
}

#[test]
fn an_answer_that_is_lost_is_no_reason_to_send_again() {
    let (server, bytes) = (registry::Registry::start(Demand::Nothing), object(MIB));
    // The blob arrives, but the connection ends before the answer.
    let requests = sent_through(&server, &bytes, (MIB, 1));
    assert!(bodies(&requests) < 2 * MIB, "{}", bodies(&requests));
}

#[test]
fn a_link_that_lets_nothing_through_is_an_error() {
    let (server, bytes) = (registry::Registry::start(Demand::Nothing), object(MIB));
    let proxy = Cutting::start(&server.host(), 0, 1000);
    let error = upload(&at(&proxy.host()), &bytes).unwrap_err();
    assert!(matches!(error, RemoteError::Unreachable { .. }), "{error}");
}
