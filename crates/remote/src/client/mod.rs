//! Defines [`Client`], which fetches ranges of one object and repeats what fails.

pub(crate) mod agents;
mod content_range;
pub(crate) mod failure;
pub(crate) mod pace;
pub(crate) mod patience;

use std::{
    io::{self, Read},
    ops::Range,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use ureq::{
    Body,
    http::{
        Response, StatusCode,
        header::{AUTHORIZATION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE, LOCATION, RANGE},
    },
};

use crate::{
    Address, Options, RemoteError,
    access::{Access, renewed},
    target::Target,
    version::Version,
};
use agents::Agents;
pub(crate) use content_range::ContentRange;
use failure::{cut, failure, is_redirection, refusal, text};
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
    agents: Arc<Agents>,
    address: Address,
    access: Arc<dyn Access>,
    /// The only version that the address can ever have, if that is known.
    pinned: Option<Version>,
    /// Where the last redirection led to.
    target: Mutex<Option<Address>>,
    patience: Patience,
    counters: Arc<Counters>,
}

#[derive(Debug, Default)]
struct Counters {
    requests: AtomicU64,
    received: AtomicU64,
}

impl Client {
    pub(crate) fn new(target: Target, options: &Options) -> Self {
        let Target { address, access, pinned } = target;
        Self {
            agents: Arc::new(Agents::new(options.timeout)),
            address,
            access,
            pinned,
            target: Mutex::default(),
            patience: Patience::new(options),
            counters: Arc::default(),
        }
    }

    /// Another object in the same folder, which can't ever have another version. Connections and counts are common.
    pub(crate) fn neighbour(&self, name: &str, version: Version) -> Result<Self, RemoteError> {
        let own = self.address.secret_text();
        let folder = own.rsplit_once('/').map_or("", |(folder, _)| folder);
        Ok(Self {
            agents: Arc::clone(&self.agents),
            address: Address::parse(&format!("{folder}/{name}"))?,
            access: Arc::clone(&self.access),
            pinned: Some(version),
            target: Mutex::default(),
            patience: self.patience,
            counters: Arc::clone(&self.counters),
        })
    }

    pub(crate) fn host(&self) -> &str {
        self.address.host()
    }

    pub(crate) const fn address(&self) -> &Address {
        &self.address
    }

    /// The only version that the address can ever have, if that is known.
    pub(crate) const fn pinned(&self) -> Option<&Version> {
        self.pinned.as_ref()
    }

    pub(crate) const fn patience(&self) -> Patience {
        self.patience
    }

    /// Requests sent and bytes of bodies received so far.
    pub(crate) fn traffic(&self) -> (u64, u64) {
        let Counters { requests, received } = &*self.counters;
        (requests.load(Ordering::Relaxed), received.load(Ordering::Relaxed))
    }

    /// The version that is there now, and its first bytes: so many, or all if it has fewer. With `once` nothing is repeated.
    pub(crate) fn first(&self, bytes: u64, once: bool) -> Result<(Version, Vec<u8>), RemoteError> {
        let mut patience = if once { self.patience.once() } else { self.patience };
        let (mut found, mut start) = (None, Vec::new());
        loop {
            let range = start.len() as u64..bytes;
            let mut keep = |new: &[u8]| {
                patience.renew(new.len());
                start.extend_from_slice(new);
                Ok(())
            };
            let done = self.part(&range, &mut found, &mut keep);
            let is_all = |version: &mut Version| version.length.min(bytes) == start.len() as u64;
            if let Some(version) = found.take_if(is_all) {
                return Ok((version, start));
            }
            let at = start.len() as u64;
            match done {
                Ok(()) => patience.short(at - range.start, bytes - at, self.host())?,
                Err(error) => patience.wait(error)?,
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
                patience.renew(new.len());
                take(new)
            };
            let done = self.part(&(before..range.end), &mut version, &mut count);
            match done {
                Ok(()) if at == before => {
                    return Err(RemoteError::wrong(self.host(), "it has no bytes"));
                }
                Ok(()) => patience.short(at - before, range.end - at, self.host())?,
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
        let (response, from, length) = self.begin(range, version)?;
        self.body(response, (length, from.host()), take)
    }

    /// Requests bytes from the start of a range on. Returns the answer, who gave it, and how many bytes it has.
    pub(crate) fn begin(
        &self,
        range: &Range<u64>,
        version: &mut Option<Version>,
    ) -> Result<(Response<Body>, Address, u64), RemoteError> {
        let (response, from) = self.request(Some(range), version.as_ref())?;
        let host = from.host();
        let has = match &version {
            Some(version) if is_all(&response, range, version) => {
                ContentRange { bytes: range.clone(), length: version.length }
            }
            _ => check_status(&response, (range, version.as_ref()), host)?,
        };
        let there = match &version {
            Some(pinned) if self.pinned.is_some() => {
                Version { length: has.length, ..pinned.clone() }
            }
            _ => Version::of(response.headers(), has.length, host)?,
        };
        if *version.get_or_insert_with(|| there.clone()) != there {
            return Err(RemoteError::Changed { host: host.to_owned() });
        }
        let is_inside = has.bytes.start == range.start && has.bytes.end <= range.end;
        let length = has.bytes.end - has.bytes.start;
        let told = text(&response, CONTENT_LENGTH).map(str::parse::<u64>);
        if !is_inside || told.is_some_and(|told| told != Ok(length)) {
            return Err(RemoteError::wrong(host, "other bytes than were requested"));
        }
        Ok((response, from, length))
    }

    /// Requests the whole object, of whichever version. Returns the answer, how many bytes it has if it says so, and its host.
    pub(crate) fn whole(&self) -> Result<(Response<Body>, Option<u64>, String), RemoteError> {
        let (response, from) = self.request(None, None)?;
        let host = from.host();
        if response.status() != StatusCode::OK {
            return Err(refusal(&response, host));
        }
        if is_encoded(&response) {
            return Err(RemoteError::wrong(host, "it is encoded"));
        }
        let length = text(&response, CONTENT_LENGTH).and_then(|length| length.parse().ok());
        Ok((response, length, host.to_owned()))
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
                Err(error) if missing > 0 => return Err(cut(&error, host, missing)),
                Err(_) => return Ok(()),
            };
            let bytes = buffer.get(..length).unwrap_or_default();
            let left = missing.checked_sub(length as u64);
            self.counters.received.fetch_add(length as u64, Ordering::Relaxed);
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

    /// Sends a request for a range, or for all, also to where it is redirected. Returns the answer, and who gave it.
    fn request(
        &self,
        range: Option<&Range<u64>>,
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
        range: Option<&Range<u64>>,
        version: Option<&Version>,
    ) -> Result<(Response<Body>, Address), RemoteError> {
        let mut is_renewed = false;
        for _ in 0..=REDIRECTS {
            let shown = self.access.authorization();
            let response = self.send(&at, range, version)?;
            if response.status() == StatusCode::UNAUTHORIZED
                && !is_renewed
                && at.has_origin_of(&self.address)
                && renewed(&*self.access, shown.as_deref(), &response)?
            {
                is_renewed = true;
                continue;
            }
            if !is_redirection(response.status()) {
                let target = (at != self.address).then(|| at.clone());
                *self.target() = target;
                return Ok((response, at));
            }
            let redirect = |what| RemoteError::Redirect { host: at.host().to_owned(), what };
            let Some(location) = text(&response, LOCATION) else {
                return Err(match refusal(&response, at.host()) {
                    region @ RemoteError::Region { .. } => region,
                    _ => redirect("to nowhere"),
                });
            };
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
        range: Option<&Range<u64>>,
        version: Option<&Version>,
    ) -> Result<Response<Body>, RemoteError> {
        let is_own = at.has_origin_of(&self.address);
        let signed = (*at == self.address).then(|| self.access.signed()).flatten();
        let uri = signed.as_ref().unwrap_or(at).uri().clone();
        let mut request = self.agents.of(at).get(uri);
        if let Some(range) = range {
            let last = range.end.saturating_sub(1).max(range.start);
            request = request.header(RANGE, format!("bytes={}-{last}", range.start));
        }
        let version = version.filter(|_| self.pinned.is_none());
        if let Some((name, value)) = version.and_then(Version::condition) {
            request = request.header(name, value);
        }
        if let Some(value) = self.access.authorization().filter(|_| is_own) {
            request = request.header(AUTHORIZATION, value);
        }
        self.counters.requests.fetch_add(1, Ordering::Relaxed);
        request.call().map_err(|error| failure(error, at.host()))
    }
}

/// Whether an answer has a whole object of a known version, as was requested. Some servers answer so.
fn is_all(response: &Response<Body>, range: &Range<u64>, version: &Version) -> bool {
    let length = text(response, CONTENT_LENGTH).and_then(|length| length.parse().ok());
    response.status() == StatusCode::OK
        && *range == (0..version.length)
        && length == Some(version.length)
        && !is_encoded(response)
}

/// Whether the body of an answer is not the object itself.
fn is_encoded(response: &Response<Body>) -> bool {
    text(response, CONTENT_ENCODING).is_some_and(|encoding| encoding != "identity")
}

/// The range that an answer has, if it has one.
fn check_status(
    response: &Response<Body>,
    (range, version): (&Range<u64>, Option<&Version>),
    host: &str,
) -> Result<ContentRange, RemoteError> {
    match response.status() {
        StatusCode::PARTIAL_CONTENT => {}
        StatusCode::OK => return Err(RemoteError::NoRanges { host: host.to_owned() }),
        StatusCode::RANGE_NOT_SATISFIABLE if version.is_none() && range.start == 0 => {
            return Err(RemoteError::wrong(host, "it is empty"));
        }
        StatusCode::PRECONDITION_FAILED | StatusCode::RANGE_NOT_SATISFIABLE => {
            return Err(RemoteError::Changed { host: host.to_owned() });
        }
        _ => return Err(refusal(response, host)),
    }
    if is_encoded(response) {
        return Err(RemoteError::wrong(host, "it is encoded"));
    }
    let range = text(response, CONTENT_RANGE).and_then(ContentRange::parse);
    range.ok_or_else(|| RemoteError::wrong(host, "it doesn't say which bytes it has"))
}

/// Whether an address is no longer valid.
fn is_gone(status: StatusCode) -> bool {
    [400, 401, 403, 404, 410].contains(&status.as_u16())
}
