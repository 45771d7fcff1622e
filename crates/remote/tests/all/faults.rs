//! What servers and links do wrong gives no wrong byte.

use std::{
    io::Read,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use lith_device::ReadAt;
use lith_remote::{Options, Reference, Registry, RemoteDevice, RemoteError};
use lith_testkit::web::{Reply, Request, Web};

use super::{hasty, object, read, reason};

const MIB: usize = 1 << 20;

/// Serves an object; a function changes all answers but the first, which it gets with their number.
fn changed(
    object: Vec<u8>,
    change: impl Fn(usize, &Request, Reply) -> Reply + Send + Sync + 'static,
) -> Web {
    let count = AtomicUsize::new(0);
    Web::start(move |request| {
        let reply = Reply::of(request, &object, "\"1\"");
        match count.fetch_add(1, Ordering::Relaxed) {
            0 => reply,
            number => change(number, request, reply),
        }
    })
}

/// Why an object can't be opened.
fn refusal(answer: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> RemoteError {
    let web = Web::start(answer);
    RemoteDevice::open(&web.url("x"), &hasty()).unwrap_err()
}

#[test]
fn a_link_that_is_cut_hundreds_of_times_gives_every_byte_once() {
    let bytes = object(12 * MIB + 5);
    let cuts = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&cuts);
    let web = changed(bytes.clone(), move |number, _request, mut reply| {
        counted.fetch_add(1, Ordering::Relaxed);
        // Also within the first unit, and before the first byte.
        reply.cut = Some(number.wrapping_mul(7919) % 24_007 * (number % 3));
        reply
    });
    let mut options = hasty();
    options.tries = 10;
    let device = RemoteDevice::open(&web.url("x"), &options).unwrap();
    for at in (0..bytes.len()).step_by(200_000) {
        let length = 200_000.min(bytes.len() - at);
        assert_eq!(read(&device, at, length).unwrap(), bytes[at..at + length], "{at}");
    }
    assert!(cuts.load(Ordering::Relaxed) >= 200, "{cuts:?}");
}

#[test]
fn a_busy_server_is_asked_again_but_not_forever() {
    let bytes = object(MIB);
    for status in [429, 500, 502, 503, 504, 408] {
        let web = changed(bytes.clone(), move |number, _request, reply| {
            // Whatever it demands, the wait is bounded.
            if number % 4 > 0 { Reply::status(status).with("retry-after", "86400") } else { reply }
        });
        let device = RemoteDevice::open(&web.url("x"), &hasty()).unwrap();
        assert_eq!(read(&device, 0, MIB).unwrap(), bytes, "{status}");
        let always = refusal(move |_request| Reply::status(status));
        assert!(matches!(always, RemoteError::Busy { .. }), "{always}");
    }
}

#[test]
fn a_server_that_hangs_is_left() {
    let web = changed(object(MIB), |_number, _request, mut reply| {
        reply.delay = Duration::from_secs(3);
        reply
    });
    let mut options = hasty();
    (options.timeout, options.tries) = (Duration::from_millis(200), 2);
    let device = RemoteDevice::open(&web.url("x"), &options).unwrap();
    let start = Instant::now();
    let error = reason(read(&device, MIB - 1, 1).unwrap_err());
    assert!(matches!(error, RemoteError::Unreachable { .. }), "{error}");
    assert!(start.elapsed() < Duration::from_secs(3), "{:?}", start.elapsed());
}

/// Options that give a server 300 ms for 16 KiB, twice.
fn impatient() -> Options {
    let mut options = hasty();
    (options.timeout, options.tries) = (Duration::from_millis(300), 2);
    options
}

#[test]
fn a_server_that_drips_is_left() {
    let drip = |mut reply: Reply| {
        reply.drip = Some((1, Duration::from_millis(20)));
        reply
    };
    let web = changed(object(MIB), move |_number, _request, reply| drip(reply));
    let device = RemoteDevice::open(&web.url("x"), &impatient()).unwrap();
    let start = Instant::now();
    let error = reason(read(&device, MIB - 1, 1).unwrap_err());
    assert!(matches!(error, RemoteError::Slow { .. }), "{error}");
    // A blob that is read from start to end, as pulls do.
    let bytes = object(MIB);
    let web = Web::start(move |request| drip(Reply::of(request, &bytes, "\"1\"")));
    let reference = Reference::parse(&web.url("box:1").replace("http:", "oci:")).unwrap();
    let registry = Registry::open(&reference, &impatient()).unwrap();
    let digest = format!("sha256:{}", "0".repeat(64));
    let mut blob = registry.blob(&digest, MIB as u64).unwrap();
    let error = blob.read_to_end(&mut Vec::new()).unwrap_err();
    assert!(error.to_string().contains("too slowly"), "{error}");
    assert_eq!(web.requests().len(), 2, "few bytes at each try are no reason for further ones");
    // And its manifest.
    assert!(matches!(registry.document().unwrap_err(), RemoteError::Wrong { .. }));
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
}

#[test]
fn a_link_that_is_slow_but_steady_is_enough() {
    let bytes = object(2 * MIB);
    let web = changed(bytes.clone(), |_number, _request, mut reply| {
        reply.drip = Some((16 << 10, Duration::from_millis(10)));
        reply
    });
    let device = RemoteDevice::open(&web.url("x"), &impatient()).unwrap();
    let start = Instant::now();
    assert_eq!(read(&device, MIB, MIB).unwrap(), bytes[MIB..]);
    assert!(start.elapsed() > Duration::from_millis(600), "it takes several times that of 16 KiB");
    assert_eq!(web.requests().len(), 2);
}

#[test]
fn an_object_that_changes_is_refused() {
    let new = |request: &Request, length: usize, etag: &str| {
        let other: Vec<u8> = object(length).iter().map(|byte| !byte).collect();
        // A server that ignores conditions.
        let mut request = request.clone();
        request.headers.retain(|(name, _)| name != "if-match");
        Reply::of(&request, &other, etag)
    };
    let changes: [fn(&Request) -> Reply; 3] = [
        |_request| Reply::status(412),
        |request| Reply::of(request, &object(MIB), "\"2\""),
        |request| Reply::of(request, &object(MIB + 1), "\"1\""),
    ];
    for change in changes {
        let web = changed(object(MIB), move |_number, request, _reply| change(request));
        let device = RemoteDevice::open(&web.url("x"), &hasty()).unwrap();
        let error = reason(read(&device, MIB / 2, MIB / 2).unwrap_err());
        assert!(matches!(error, RemoteError::Changed { .. }), "{error}");
        // What is here already is of the version that was opened.
        assert_eq!(read(&device, 0, 128 << 10).unwrap(), object(128 << 10));
    }
    for (length, etag) in [(MIB, "\"2\""), (MIB + 1, "\"1\""), (MIB, "W/\"1\"")] {
        let web = changed(object(MIB), move |_number, request, _reply| new(request, length, etag));
        let device = RemoteDevice::open(&web.url("x"), &hasty()).unwrap();
        let error = reason(read(&device, MIB / 2, MIB / 2).unwrap_err());
        assert!(
            matches!(error, RemoteError::Changed { .. } | RemoteError::NoVersion { .. }),
            "{error}"
        );
    }
}

#[test]
fn answers_that_contradict_themselves_are_refused() {
    type Change = fn(Reply) -> Reply;
    let changes: [Change; 7] = [
        |reply| reply.with("content-range", "bytes 0-65535/1048576"),
        |reply| reply.with("content-range", "bytes 524288-1048576/1048577"),
        |reply| reply.with("content-range", "nonsense"),
        |reply| reply.with("content-encoding", "gzip"),
        |mut reply| {
            // More bytes than the range, without a length.
            reply.headers.retain(|(name, _)| *name != "content-length");
            reply.body.extend_from_slice(&[7; 1000]);
            reply.cut = Some(reply.body.len());
            reply
        },
        |mut reply| {
            reply.body.truncate(1000);
            reply.with("content-length", "1000")
        },
        |mut reply| {
            reply.headers.retain(|(name, _)| *name != "content-range");
            reply
        },
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let web = changed(object(MIB), move |_number, _request, reply| change(reply));
        let device = RemoteDevice::open(&web.url("x"), &hasty()).unwrap();
        let error = reason(read(&device, MIB / 2, MIB / 2).unwrap_err());
        let is_refused = matches!(error, RemoteError::Wrong { .. } | RemoteError::Changed { .. });
        assert!(is_refused, "{number}: {error}");
        assert_eq!(read(&device, 0, 1000).unwrap(), object(1000));
    }
}

#[test]
fn a_server_may_send_less_than_a_range() {
    let bytes = object(MIB);
    let served = bytes.clone();
    let web = changed(bytes.clone(), move |_number, request, _reply| {
        let mut request = request.clone();
        let range = request.range().unwrap();
        let end = range.end.min(range.start + 10_000);
        request.headers.retain(|(name, _)| name != "range");
        request.headers.push(("range".to_owned(), format!("bytes={}-{}", range.start, end - 1)));
        Reply::of(&request, &served, "\"1\"")
    });
    let device = RemoteDevice::open(&web.url("x"), &hasty()).unwrap();
    assert_eq!(read(&device, 0, MIB).unwrap(), bytes);
}

#[test]
fn a_server_that_sends_a_byte_at_each_request_is_left() {
    let bytes = object(MIB);
    let short = move |request: &Request| {
        let mut request = request.clone();
        let start = request.range().map_or(0, |range| range.start);
        request.headers.retain(|(name, _)| name != "range");
        request.headers.push(("range".to_owned(), format!("bytes={start}-{start}")));
        Reply::of(&request, &bytes, "\"1\"")
    };
    let served = short.clone();
    let web = changed(object(MIB), move |_number, request, _reply| served(request));
    let options = hasty();
    let device = RemoteDevice::open(&web.url("x"), &options).unwrap();
    let error = reason(read(&device, MIB - 2000, 1000).unwrap_err());
    assert!(matches!(error, RemoteError::Cut { .. }), "{error}");
    assert_eq!(web.requests().len(), 1 + options.tries as usize);
    // The first bytes, and a blob that is read from start to end.
    let web = Web::start(short.clone());
    assert!(RemoteDevice::open(&web.url("x"), &options).is_err());
    assert_eq!(web.requests().len(), options.tries as usize);
    let web = Web::start(short);
    let reference = Reference::parse(&web.url("box:1").replace("http:", "oci:")).unwrap();
    let registry = Registry::open(&reference, &options).unwrap();
    let digest = format!("sha256:{}", "0".repeat(64));
    let mut blob = registry.blob(&digest, MIB as u64).unwrap();
    let error = blob.read_to_end(&mut Vec::new()).unwrap_err();
    assert!(error.to_string().contains("too few"), "{error}");
    assert!(web.requests().len() <= options.tries as usize);
}

#[test]
fn what_can_not_be_read_lazily_is_refused_with_a_reason() {
    let whole = refusal(|_request| {
        Reply { body: object(1000), ..Reply::status(200) }.with("content-length", "1000")
    });
    assert!(whole.to_string().contains("sends no ranges"), "{whole}");
    let nameless = |etag: &'static str| {
        refusal(move |request| {
            let mut reply = Reply::of(request, &object(1000), etag);
            reply.headers.retain(|(name, value)| *name != "etag" || !value.is_empty());
            reply
        })
    };
    assert!(matches!(nameless(""), RemoteError::NoVersion { .. }));
    assert!(matches!(nameless("W/\"1\""), RemoteError::NoVersion { .. }));
    let missing = refusal(|_request| Reply::status(404));
    assert!(missing.to_string().contains("404"), "{missing}");
    let empty = refusal(|request| Reply::of(request, &[], "\"1\""));
    assert!(empty.to_string().contains("empty"), "{empty}");
}

#[test]
fn a_length_is_not_believed() {
    let web = Web::start(|request| {
        let reply = Reply::of(request, &object(MIB), "\"1\"");
        reply.with("content-range", "bytes 0-131071/18446744073709551615")
    });
    let device = RemoteDevice::open(&web.url("x"), &hasty()).unwrap();
    assert_eq!(read(&device, 0, 1000).unwrap(), object(1000));
    device.will_need(0, u64::MAX);
    for position in [MIB as u64, u64::MAX - 2] {
        let error = reason(device.read_at(&mut [0], position).unwrap_err());
        let is_refused = matches!(error, RemoteError::Wrong { .. } | RemoteError::Changed { .. });
        assert!(is_refused, "{error}");
    }
}

#[test]
fn errors_hold_no_secret() {
    let options = hasty();
    let error =
        RemoteDevice::open("http://me:secret@127.0.0.1:9/x?key=secret", &options).unwrap_err();
    assert!(!format!("{error} {error:?}").contains("secret"), "{error:?}");
}
