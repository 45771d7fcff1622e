//! Defines [`Client`], which fetches ranges of one object and repeats what fails.

mod agents;
mod content_range;
mod patience;

use std::{
    io::{self, Read},
    ops::Range,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use ureq::{
    Body,
    http::{
        HeaderName, Response, StatusCode,
        header::{
            AUTHORIZATION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE, LOCATION, RANGE,
            RETRY_AFTER,
        },
    },
};

use crate::{Address, Options, RemoteError, address::Credentials, version::Version};
use agents::Agents;
use content_range::ContentRange;
use patience::Patience;

/// Redirections of one request.
const REDIRECTS: u32 = 8;

/// Bytes per read of a body.
const READ: usize = 64 << 10;

/// Takes bytes as they arrive.
type Take<'a> = dyn FnMut(&[u8]) -> Result<(), RemoteError> + 'a;

/// Fetches ranges of one object.
#[derive(Debug)]
pub(crate) struct Client {
    agents: Agents,
    address: Address,
    credentials: Option<Credentials>,
    /// Where the last redirection led to.
    target: Mutex<Option<Address>>,
    patience: Patience,
    requests: AtomicU64,
    received: AtomicU64,
}

impl Client {
    pub(crate) fn new(
        address: Address,
        credentials: Option<Credentials>,
        options: &Options,
    ) -> Self {
        Self {
            agents: Agents::new(options.timeout),
            address,
            credentials,
            target: Mutex::default(),
            patience: Patience::new(options),
            requests: AtomicU64::new(0),
            received: AtomicU64::new(0),
        }
    }

    pub(crate) fn host(&self) -> &str {
        self.address.host()
    }

    /// Requests sent and bytes of bodies received so far.
    pub(crate) fn traffic(&self) -> (u64, u64) {
        (self.requests.load(Ordering::Relaxed), self.received.load(Ordering::Relaxed))
    }

    /// The version that is there now, and its first bytes: so many, or all if it has fewer. With `once` nothing is repeated.
    pub(crate) fn first(&self, bytes: u64, once: bool) -> Result<(Version, Vec<u8>), RemoteError> {
        let mut patience = if once { self.patience.once() } else { self.patience };
        let (mut found, mut start) = (None, Vec::new());
        loop {
            let range = start.len() as u64..bytes;
            let mut keep = |new: &[u8]| {
                start.extend_from_slice(new);
                Ok(())
            };
            self.part(&range, &mut found, &mut keep).or_else(|error| patience.wait(error))?;
            let is_all = |version: &mut Version| version.length.min(bytes) == start.len() as u64;
            if let Some(version) = found.take_if(is_all) {
                return Ok((version, start));
            }
        }
    }

    /// Fetches bytes of a version, and hands them out in order as they arrive.
    pub(crate) fn fetch(
        &self,
        range: Range<u64>,
        version: &Version,
        take: &mut Take<'_>,
    ) -> Result<(), RemoteError> {
        let (mut at, mut patience) = (range.start, self.patience);
        let mut version = Some(version.clone());
        while at < range.end {
            let before = at;
            let mut count = |new: &[u8]| {
                at += new.len() as u64;
                take(new)
            };
            let done = self.part(&(before..range.end), &mut version, &mut count);
            let progress = at > before;
            if progress {
                patience = self.patience;
            }
            match done {
                Ok(()) if !progress => {
                    return Err(RemoteError::wrong(self.host(), "it has no bytes"));
                }
                Ok(()) => {}
                Err(error) => patience.wait(error)?,
            }
        }
        Ok(())
    }

    /// Fetches bytes from the start of a range on, maybe fewer than it has. They are of a version, which is found if there is
    /// none yet.
    fn part(
        &self,
        range: &Range<u64>,
        version: &mut Option<Version>,
        take: &mut Take<'_>,
    ) -> Result<(), RemoteError> {
        let (response, from) = self.request(range, version.as_ref())?;
        let host = from.host();
        let has = check_status(&response, (range, version.as_ref()), host)?;
        let there = Version::of(response.headers(), has.length, host)?;
        if *version.get_or_insert_with(|| there.clone()) != there {
            return Err(RemoteError::Changed { host: host.to_owned() });
        }
        let is_inside = has.bytes.start == range.start && has.bytes.end <= range.end;
        let length = has.bytes.end - has.bytes.start;
        let told = text(&response, CONTENT_LENGTH).map(str::parse::<u64>);
        if !is_inside || told.is_some_and(|told| told != Ok(length)) {
            return Err(RemoteError::wrong(host, "other bytes than were requested"));
        }
        self.body(response, (length, host), take)
    }

    /// Hands out the bytes of a body, which must have so many.
    fn body(
        &self,
        response: Response<Body>,
        (mut missing, host): (u64, &str),
        take: &mut Take<'_>,
    ) -> Result<(), RemoteError> {
        let mut body = response.into_body().into_reader();
        let mut buffer = vec![0; READ];
        loop {
            let length = match body.read(&mut buffer) {
                Ok(length) => length,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                // Whatever the reason: the rest is requested again, by another connection.
                Err(_) if missing > 0 => {
                    return Err(RemoteError::Cut { host: host.to_owned(), missing });
                }
                Err(_) => return Ok(()),
            };
            let bytes = buffer.get(..length).unwrap_or_default();
            let left = missing.checked_sub(length as u64);
            self.received.fetch_add(length as u64, Ordering::Relaxed);
            missing = left.ok_or_else(|| RemoteError::wrong(host, "more bytes than it named"))?;
            if length == 0 && missing > 0 {
                return Err(RemoteError::Cut { host: host.to_owned(), missing });
            }
            // The end is read as well, as the connection can be used again then.
            if length == 0 {
                return Ok(());
            }
            take(bytes)?;
        }
    }

    /// Sends a request, also to where it is redirected. Returns the answer, and who gave it.
    fn request(
        &self,
        range: &Range<u64>,
        version: Option<&Version>,
    ) -> Result<(Response<Body>, Address), RemoteError> {
        let known = self.target().clone();
        let Some(known) = known else {
            return self.request_at(self.address.clone(), range, version);
        };
        // An address that a server redirects to may be valid for some time only.
        match self.request_at(known, range, version) {
            Ok((response, at)) if !is_gone(response.status()) => Ok((response, at)),
            Ok(_) | Err(_) => {
                *self.target() = None;
                self.request_at(self.address.clone(), range, version)
            }
        }
    }

    fn target(&self) -> std::sync::MutexGuard<'_, Option<Address>> {
        self.target.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn request_at(
        &self,
        mut at: Address,
        range: &Range<u64>,
        version: Option<&Version>,
    ) -> Result<(Response<Body>, Address), RemoteError> {
        for _ in 0..=REDIRECTS {
            let response = self.send(&at, range, version)?;
            if !is_redirection(response.status()) {
                let target = (at != self.address).then(|| at.clone());
                *self.target() = target;
                return Ok((response, at));
            }
            let redirect = |what| RemoteError::Redirect { host: at.host().to_owned(), what };
            let location = text(&response, LOCATION).ok_or_else(|| redirect("to nowhere"))?;
            let next = at.join(location).map_err(|_error| redirect("to no web address"))?;
            if at.is_encrypted() && !next.is_encrypted() {
                return Err(redirect("to an address without encryption"));
            }
            at = next;
        }
        let host = self.host().to_owned();
        Err(RemoteError::Redirect { host, what: "too often" })
    }

    fn send(
        &self,
        at: &Address,
        range: &Range<u64>,
        version: Option<&Version>,
    ) -> Result<Response<Body>, RemoteError> {
        let last = range.end.saturating_sub(1).max(range.start);
        let request = self.agents.of(at).get(at.uri().clone());
        let mut request = request.header(RANGE, format!("bytes={}-{last}", range.start));
        if let Some((name, value)) = version.and_then(Version::condition) {
            request = request.header(name, value);
        }
        if let Some(Credentials(value)) = &self.credentials
            && at.has_origin_of(&self.address)
        {
            request = request.header(AUTHORIZATION, value);
        }
        self.requests.fetch_add(1, Ordering::Relaxed);
        request.call().map_err(|error| failure(error, at.host()))
    }
}

/// The range that an answer has, if it has one.
fn check_status(
    response: &Response<Body>,
    (range, version): (&Range<u64>, Option<&Version>),
    host: &str,
) -> Result<ContentRange, RemoteError> {
    let (status, host) = (response.status(), host.to_owned());
    let name = || status.to_string();
    match status {
        StatusCode::PARTIAL_CONTENT => {}
        StatusCode::OK => return Err(RemoteError::NoRanges { host }),
        StatusCode::RANGE_NOT_SATISFIABLE if version.is_none() && range.start == 0 => {
            return Err(RemoteError::wrong(&host, "it is empty"));
        }
        StatusCode::PRECONDITION_FAILED | StatusCode::RANGE_NOT_SATISFIABLE => {
            return Err(RemoteError::Changed { host });
        }
        StatusCode::NOT_IMPLEMENTED => {
            return Err(RemoteError::Refused { host, status: name() });
        }
        StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS => {
            return Err(RemoteError::Busy { host, status: name(), after: after(response) });
        }
        _ if status.is_server_error() => {
            return Err(RemoteError::Busy { host, status: name(), after: after(response) });
        }
        _ => return Err(RemoteError::Refused { host, status: name() }),
    }
    if text(response, CONTENT_ENCODING).is_some_and(|encoding| encoding != "identity") {
        return Err(RemoteError::wrong(&host, "it is encoded"));
    }
    let range = text(response, CONTENT_RANGE).and_then(ContentRange::parse);
    range.ok_or_else(|| RemoteError::wrong(&host, "it doesn't say which bytes it has"))
}

fn text(response: &Response<Body>, name: HeaderName) -> Option<&str> {
    response.headers().get(name)?.to_str().ok()
}

/// After how long a server wants the next request.
fn after(response: &Response<Body>) -> Option<Duration> {
    text(response, RETRY_AFTER)?.trim().parse().ok().map(Duration::from_secs)
}

fn is_redirection(status: StatusCode) -> bool {
    [301, 302, 303, 307, 308].contains(&status.as_u16())
}

/// Whether an address is no longer valid.
fn is_gone(status: StatusCode) -> bool {
    [400, 401, 403, 404, 410].contains(&status.as_u16())
}

/// Why no answer arrived. Errors that may hold an address are replaced by a fixed text.
fn failure(error: ureq::Error, host: &str) -> RemoteError {
    let host = host.to_owned();
    let unreachable =
        |source| RemoteError::Unreachable { host: host.clone(), source: Arc::new(source) };
    match error {
        ureq::Error::Io(error) if error.kind() == io::ErrorKind::InvalidData => {
            RemoteError::Untrusted { host, reason: error.to_string() }
        }
        ureq::Error::Rustls(error) => RemoteError::Untrusted { host, reason: error.to_string() },
        ureq::Error::Tls(reason) => RemoteError::Untrusted { host, reason: reason.to_owned() },
        ureq::Error::Io(error) => unreachable(error),
        ureq::Error::Timeout(_) => unreachable(io::ErrorKind::TimedOut.into()),
        ureq::Error::HostNotFound => unreachable(io::Error::other("there is no such host")),
        ureq::Error::Protocol(_) => unreachable(io::Error::other("its answer is not HTTP")),
        _ => unreachable(io::Error::other("the connection failed")),
    }
}
