//! Which requests are sent, and who sees credentials.

use std::{
    sync::{Arc, Barrier},
    thread,
    time::Duration,
};

use lith_device::ReadAt;
use lith_remote::{RemoteDevice, RemoteError};
use lith_testkit::web::{Reply, Web};

use super::{hasty, object, read};

/// A MiB.
const MIB: usize = 1 << 20;

#[test]
fn all_bytes_are_those_of_the_object() {
    let bytes = object(3 * MIB + 77);
    let web = Web::of(bytes.clone());
    let device = RemoteDevice::open(&web.url("x"), &hasty()).unwrap();
    assert_eq!(device.size(), bytes.len() as u64);
    for (start, length) in
        [(0, 1), (MIB - 1, 2), (3 * MIB, 77), (5, 0), (70_000, MIB), (0, bytes.len())]
    {
        assert_eq!(read(&device, start, length).unwrap(), bytes[start..start + length], "{start}");
    }
    assert!(read(&device, bytes.len(), 1).is_err());
    assert!(device.read_at(&mut [0; 2], u64::MAX).is_err());
    let (found, traffic) = (web.requests().len() as u64, device.traffic());
    assert_eq!(traffic.requests, found);
    assert!(traffic.bytes < bytes.len() as u64 + (1 << 19), "{traffic:?}");
}

#[test]
fn a_read_takes_few_requests_and_few_bytes() {
    let bytes = object(64 * MIB);
    let web = Web::of(bytes.clone());
    let device = RemoteDevice::open(&web.url("x"), &hasty()).unwrap();
    assert_eq!(read(&device, 1024, 4096).unwrap(), bytes[1024..5120]);
    assert_eq!(web.requests().len(), 1, "the first bytes come with the length");
    assert_eq!(read(&device, 40 * MIB, 4096).unwrap(), bytes[40 * MIB..40 * MIB + 4096]);
    assert_eq!(device.traffic().requests, 2);
    assert!(device.traffic().bytes <= 256 << 10, "{:?}", device.traffic());
    // A sequence needs ever fewer of them.
    for at in (0..16 * MIB).step_by(128 << 10) {
        assert_eq!(read(&device, at, 128 << 10).unwrap(), bytes[at..at + (128 << 10)]);
    }
    assert!(device.traffic().requests <= 12, "{:?}", device.traffic());
    assert!(device.traffic().bytes <= 21 << 20, "{:?}", device.traffic());
}

#[test]
fn what_is_needed_soon_comes_by_itself() {
    let bytes = object(32 * MIB);
    let web = Web::of(bytes.clone());
    let device = RemoteDevice::open(&web.url("x"), &hasty()).unwrap();
    device.will_need(8 << 20, 8 << 20);
    assert_eq!(read(&device, 8 * MIB, 8 * MIB).unwrap(), bytes[8 * MIB..16 * MIB]);
    assert!(device.traffic().bytes <= (8 << 20) + (128 << 10), "{:?}", device.traffic());
    assert!(device.traffic().requests <= 5, "{:?}", device.traffic());
    // Nothing but that, although it goes on.
    let before = device.traffic().bytes;
    device.will_need(20 << 20, 200 << 10);
    assert_eq!(read(&device, 20 * MIB + 1, 1).unwrap(), bytes[20 * MIB + 1..][..1]);
    assert!(device.traffic().bytes <= before + (256 << 10), "{:?}", device.traffic());
}

#[test]
fn readers_of_the_same_bytes_wait_for_one_request() {
    let bytes = object(2 * MIB);
    let served = bytes.clone();
    let web = Web::start(move |request| {
        let mut reply = Reply::of(request, &served, "\"1\"");
        reply.delay = Duration::from_millis(100);
        reply
    });
    let device = RemoteDevice::open(&web.url("x"), &hasty()).unwrap();
    let barrier = Arc::new(Barrier::new(8));
    thread::scope(|scope| {
        for reader in 0..8 {
            let (device, bytes, barrier) = (&device, &bytes, Arc::clone(&barrier));
            scope.spawn(move || {
                barrier.wait();
                let start = MIB + reader * 1000;
                assert_eq!(read(device, start, 1000).unwrap(), bytes[start..start + 1000]);
            });
        }
    });
    assert_eq!(web.requests().len(), 2);
}

#[test]
fn every_request_after_the_first_is_conditional() {
    let web = Web::of(object(MIB));
    let device = RemoteDevice::open(&web.url("x"), &hasty()).unwrap();
    read(&device, 0, MIB).unwrap();
    let requests = web.requests();
    assert!(requests.len() >= 2);
    assert_eq!(requests[0].header("if-match"), None);
    assert!(requests[1..].iter().all(|request| request.header("if-match") == Some("\"1\"")));
    assert!(requests.iter().all(|request| request.header("accept-encoding") == Some("identity")));
}

#[test]
fn credentials_are_for_the_named_server_only() {
    let bytes = object(MIB);
    let store = Web::of(bytes.clone());
    let target = store.url("signed?key=1");
    let front = Web::start(move |_request| Reply::redirect(&target));
    let with_user = front.url("x").replace("http://", "http://me:secret@");
    let mut options = hasty();
    let by_address = RemoteDevice::open(&with_user, &options).unwrap();
    assert_eq!(read(&by_address, 0, MIB).unwrap(), bytes);
    options.authorization = Some("Bearer secret".to_owned());
    let by_option = RemoteDevice::open(&front.url("x"), &options).unwrap();
    assert_eq!(read(&by_option, 0, MIB).unwrap(), bytes);
    let seen: Vec<_> = front
        .requests()
        .iter()
        .map(|request| request.header("authorization").map(str::to_owned))
        .collect();
    // The target is remembered, so the server that redirects is asked once.
    assert_eq!(seen, [Some("Basic bWU6c2VjcmV0".to_owned()), Some("Bearer secret".to_owned())]);
    assert!(store.requests().iter().all(|request| request.header("authorization").is_none()));
    assert!(!format!("{by_address:?}{by_option:?}").contains("secret"));
}

#[test]
fn redirections_end() {
    let web = Web::start(|_request| Reply::redirect("/again"));
    let error = RemoteDevice::open(&web.url("x"), &hasty()).unwrap_err();
    assert!(matches!(error, RemoteError::Redirect { what: "too often", .. }), "{error}");
    let web = Web::start(|_request| Reply::redirect("file:///etc/passwd"));
    let error = RemoteDevice::open(&web.url("x"), &hasty()).unwrap_err();
    assert!(matches!(error, RemoteError::Redirect { .. }), "{error}");
}

#[test]
fn an_address_that_is_no_longer_valid_is_asked_for_again() {
    let bytes = object(2 * MIB);
    let served = bytes.clone();
    let store = Web::start(move |request| match request.path.as_str() {
        // The first address is good for one request.
        "/1" if request.header("if-match").is_some() => Reply::status(403),
        _ => Reply::of(request, &served, "\"1\""),
    });
    let targets = std::sync::Mutex::new(vec![store.url("2"), store.url("1")]);
    let front = Web::start(move |_request| {
        let mut targets = targets.lock().unwrap();
        Reply::redirect(&targets.pop().unwrap())
    });
    let device = RemoteDevice::open(&front.url("x"), &hasty()).unwrap();
    assert_eq!(read(&device, 0, 2 * MIB).unwrap(), bytes);
}
