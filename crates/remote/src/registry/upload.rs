//! Sends blobs to a registry. What is cut off goes on from where the registry says that it ended.

use std::io::{self, Cursor};

use lith_parallel::try_map;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use ureq::{
    Body,
    http::{
        HeaderName, Method, Response, StatusCode,
        header::{LOCATION, RANGE},
    },
};

use super::{
    Registry,
    session::{Call, Open, Part, Payload, expect},
    unfinished::Unfinished,
};
use crate::{
    Address, RemoteError,
    chunks::{Chunk, WORKERS},
    client::failure::{refusal, text},
};

/// Blobs up to so many bytes are sent by one request, others in parts of so many, as registries may forget a part that is cut off.
const PART: u64 = 32 << 20;
/// The header in which a registry names the least bytes of a part.
const LEAST: HeaderName = HeaderName::from_static("oci-chunk-min-length");
/// Statuses of those who don't take this part, or take none from this user. The others of their kind take no parts at all.
const AS_WHOLE: [StatusCode; 2] = [StatusCode::UNAUTHORIZED, StatusCode::FORBIDDEN];

/// What became of a blob that was to be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Upload {
    /// The registry has had it.
    Present,
    /// It was sent.
    Sent,
}

/// Sends one blob, by as many requests as it takes.
struct Sender<'a> {
    registry: &'a Registry,
    /// Its digest, its bytes, and what opens it.
    blob: (&'a str, u64, &'a Open<'a>),
    begun: Option<Begun>,
    /// Whether the registry takes it by one request only.
    is_whole: bool,
    /// The most bytes that the registry has had of it.
    reached: u64,
    /// Where other processes go on.
    note: Unfinished,
}

/// An upload that the registry knows.
struct Begun {
    /// Where what follows is sent to.
    at: Address,
    /// Bytes that are there.
    position: u64,
    /// Bytes of a part.
    part: u64,
    /// Whether another process began it, and the registry has not said yet that it knows it.
    is_noted: bool,
}

impl Registry {
    /// Sends a blob of so many bytes, unless it is there. `open` opens it from a position on, perhaps several times. With a cache
    /// a long one goes on where another process was interrupted.
    ///
    /// # Errors
    /// [`RemoteError`] if it can't be read, or the registry doesn't take it.
    pub fn upload<'a>(
        &'a self,
        (digest, size): (&'a str, u64),
        open: &'a Open<'a>,
    ) -> Result<Upload, RemoteError> {
        if self.has(digest)? {
            return Ok(Upload::Present);
        }
        let note = Unfinished::of(self, digest, size > PART);
        let begun = note.read().map(|at| Begun { at, position: 0, part: PART, is_noted: true });
        let (is_whole, reached, blob) = (false, 0, (digest, size, open));
        let mut sender = Sender { registry: self, blob, begun, is_whole, reached, note };
        let sent = sender.send_patiently();
        if sent.as_ref().err().is_none_or(|error| !error.is_temporary()) {
            sender.note.forget();
        }
        sent.map(|()| Upload::Sent)
    }

    /// Sends chunks, several at once, but for those that are there. `read` reads one; `note` is called for each.
    ///
    /// # Errors
    /// As [`Self::upload`].
    pub fn upload_chunks(
        &self,
        chunks: &[Chunk],
        read: &(dyn Fn(&Chunk) -> io::Result<Vec<u8>> + Sync),
        note: &(dyn Fn(Upload, u64) + Sync),
    ) -> Result<(), RemoteError> {
        let send = |chunk: &Chunk| {
            let upload = self.upload((&chunk.digest(), chunk.length), &|start| {
                let mut bytes = Cursor::new(read(chunk)?);
                bytes.set_position(start);
                Ok(Box::new(bytes))
            })?;
            note(upload, chunk.length);
            Ok(())
        };
        try_map(chunks, WORKERS, || (), |(), chunk| send(chunk)).map(drop)
    }
}

impl Sender<'_> {
    /// Sends it, by as many requests as it takes.
    fn send_patiently(&mut self) -> Result<(), RemoteError> {
        let mut patience = self.registry.session.patience();
        loop {
            let before = self.reached;
            let Err(error) = self.send() else { return Ok(()) };
            if self.reached > before {
                patience = self.registry.session.patience();
            }
            patience.wait(error)?;
        }
    }

    /// Sends what the registry doesn't have yet, until a request fails.
    fn send(&mut self) -> Result<(), RemoteError> {
        let (digest, size, open) = self.blob;
        if let Some(begun) = &self.begun {
            // The request that failed may have done its work, or a part of it.
            let found = match self.status(begun) {
                // Some registries have no better answer for what they don't know.
                Err(RemoteError::Busy { .. }) if begun.is_noted => None,
                found => found?,
            };
            self.begun = found.filter(|found| !self.is_whole || found.position == 0);
            if self.begun.is_none() && self.registry.has(digest)? {
                return Ok(());
            }
        }
        loop {
            let begun = match self.begun.take() {
                Some(begun) => begun,
                None => self.begin()?,
            };
            self.reached = self.reached.max(begun.position);
            let Begun { position, part, .. } = begun;
            let is_last =
                position == size || position == 0 && (self.is_whole || size <= part.max(PART));
            let begun = self.begun.insert(begun);
            if is_last {
                return Self::finish(self.registry, begun, self.blob);
            }
            self.note.write(&begun.at);
            let length = part.min(size - position);
            let part = Part { start: position, length, is_named: true, open };
            self.begun = self.send_part(part)?;
        }
    }

    /// Begins an upload.
    fn begin(&self) -> Result<Begun, RemoteError> {
        let session = &self.registry.session;
        let at = session.address("blobs/uploads/")?;
        let payload = Payload::Bytes("", &[]);
        let (response, from) =
            session.call(&Call { method: Method::POST, at, accept: "", payload })?;
        expect(&response, &from, StatusCode::ACCEPTED)?;
        let nowhere = || RemoteError::wrong(from.host(), "it doesn't say where a blob is sent to");
        let at = next(&response, &from)?.ok_or_else(nowhere)?;
        let least = text(&response, LEAST).and_then(|least| least.parse().ok());
        Ok(Begun { at, position: 0, part: least.unwrap_or(0).max(PART), is_noted: false })
    }

    /// What the registry has of an upload; `None`: it knows none.
    fn status(&self, begun: &Begun) -> Result<Option<Begun>, RemoteError> {
        let (at, payload) = (begun.at.clone(), Payload::Nothing);
        let call = Call { method: Method::GET, at, accept: "", payload };
        let (response, from) = self.registry.session.call_once(&call)?;
        if ![StatusCode::NO_CONTENT, StatusCode::ACCEPTED].contains(&response.status()) {
            return Ok(None);
        }
        let at = next(&response, &from)?.unwrap_or_else(|| begun.at.clone());
        let position = position(&response).filter(|position| *position <= self.blob.1);
        Ok(position.map(|position| Begun { at, position, part: begun.part, is_noted: false }))
    }

    /// Sends a part. Returns how it goes on; `None`: anew, as the registry takes no parts.
    fn send_part(&mut self, part: Part<'_>) -> Result<Option<Begun>, RemoteError> {
        let Some(begun) = &self.begun else { return Ok(None) };
        let (at, payload) = (begun.at.clone(), Payload::Part(part));
        let call = Call { method: Method::PATCH, at, accept: "", payload };
        // What fails is repeated from where it ended.
        let (response, from) = self.registry.session.call_once(&call)?;
        match response.status() {
            StatusCode::ACCEPTED => {
                let at = next(&response, &from)?.unwrap_or_else(|| begun.at.clone());
                let end = part.start.saturating_add(part.length);
                let position = position(&response).unwrap_or(end);
                if position <= part.start || position > end {
                    let what = "it has taken other bytes than were sent";
                    return Err(RemoteError::wrong(from.host(), what));
                }
                Ok(Some(Begun { at, position, part: begun.part, is_noted: false }))
            }
            status @ StatusCode::RANGE_NOT_SATISFIABLE => {
                let (host, status) = (from.host().to_owned(), status.to_string());
                Err(RemoteError::Busy { host, status, after: None })
            }
            status if status.is_client_error() && !self.is_whole && !AS_WHOLE.contains(&status) => {
                self.is_whole = true;
                Ok(None)
            }
            _ => Err(refusal(&response, from.host())),
        }
    }

    /// Sends all of a blob, or that all of it was sent.
    fn finish<'a>(
        registry: &Registry,
        begun: &Begun,
        (digest, size, open): (&str, u64, &'a Open<'a>),
    ) -> Result<(), RemoteError> {
        let all = begun.at.secret_text();
        let mark = if all.contains('?') { '&' } else { '?' };
        let digest = utf8_percent_encode(digest, NON_ALPHANUMERIC);
        let at = Address::parse(&format!("{all}{mark}digest={digest}"))?;
        let payload = match begun.position {
            0 => Payload::Part(Part { start: 0, length: size, is_named: false, open }),
            _ => Payload::Bytes("", &[]),
        };
        let call = Call { method: Method::PUT, at, accept: "", payload };
        let (response, from) = registry.session.call_once(&call)?;
        expect(&response, &from, StatusCode::CREATED)
    }
}

/// Where the next request of an upload goes to, if an answer says so.
fn next(response: &Response<Body>, from: &Address) -> Result<Option<Address>, RemoteError> {
    let Some(location) = text(response, LOCATION) else { return Ok(None) };
    let nowhere = |_error| RemoteError::wrong(from.host(), "it sends a blob to no web address");
    let at = from.join(location).map_err(nowhere)?;
    if from.is_encrypted() && !at.is_encrypted() {
        let what = "to an address without encryption";
        return Err(RemoteError::Redirect { host: from.host().to_owned(), what });
    }
    Ok(Some(at))
}

/// How many bytes of an upload are there, as an answer says: `0-99` is 100 bytes. `0-0` is none: nobody sends a single byte.
fn position(response: &Response<Body>) -> Option<u64> {
    let range = text(response, RANGE)?.trim();
    let last = range.strip_prefix("bytes=").unwrap_or(range).strip_prefix("0-")?;
    let last: u64 = last.parse().ok()?;
    if last == 0 { Some(0) } else { last.checked_add(1) }
}
