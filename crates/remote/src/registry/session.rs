//! Defines [`Session`]: requests to one repository, with what the registry demands for them.

use std::{
    fmt,
    io::{self, Read},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;
use ureq::{
    Body, SendBody,
    http::{
        Method, Request, Response, StatusCode,
        header::{
            ACCEPT, AUTHORIZATION, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, LOCATION,
            WWW_AUTHENTICATE,
        },
        request::Builder,
    },
};

use super::{
    challenge::Challenge,
    logins::{self, Login},
    reference::{Reference, is_loopback},
};
use crate::{
    Address, Options, RemoteError,
    access::{Access, renewed},
    client::{
        agents::Agents,
        failure::{failure, is_redirection, refusal, text},
        patience::Patience,
    },
};

/// Redirections of one request.
const REDIRECTS: u32 = 8;
/// Bytes of the answer of a server of tokens; real ones have some thousand.
const TOKEN: u64 = 1 << 20;
/// How long a registry may take to store what was sent to it: it computes the digest first.
const STORING: Duration = Duration::from_secs(300);

/// Requests to one repository.
pub(crate) struct Session {
    agents: Agents,
    /// The address of the repository.
    base: Address,
    /// What tokens are for.
    scope: String,
    login: Option<Login>,
    /// The value of the header `Authorization`, once the registry has demanded one.
    header: Mutex<Option<String>>,
    patience: Patience,
}

/// A request.
pub(super) struct Call<'a> {
    pub(super) method: Method,
    pub(super) at: Address,
    /// The types that the answer may have; empty: any.
    pub(super) accept: &'a str,
    pub(super) payload: Payload<'a>,
}

/// What a request brings.
#[derive(Clone, Copy)]
pub(super) enum Payload<'a> {
    Nothing,
    /// Bytes with their type.
    Bytes(&'a str, &'a [u8]),
    /// Bytes of a blob, which are read again if the request is repeated.
    Part(Part<'a>),
}

/// Bytes of a blob.
#[derive(Clone, Copy)]
pub(super) struct Part<'a> {
    pub(super) start: u64,
    pub(super) length: u64,
    /// Whether the request says which bytes they are.
    pub(super) is_named: bool,
    pub(super) open: &'a Open<'a>,
}

/// Opens what is sent, from a position on.
pub(super) type Open<'a> = dyn Fn(u64) -> io::Result<Box<dyn Read + 'a>> + 'a;

#[derive(Deserialize, Default)]
#[serde(default)]
struct Token {
    token: Option<String>,
    access_token: Option<String>,
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("base", &self.base).finish_non_exhaustive()
    }
}

impl Session {
    /// A session with the user's login, if there is one. `actions` are what is going to be done.
    pub(super) fn new(
        reference: &Reference,
        actions: &str,
        options: &Options,
    ) -> Result<Self, RemoteError> {
        Ok(Self {
            agents: Agents::new(options.timeout),
            base: reference.address(&options.plain_registries)?,
            scope: format!("repository:{}:{actions}", reference.repository()),
            login: logins::find(&options.logins, &reference.accounts())?,
            header: Mutex::default(),
            patience: Patience::new(options),
        })
    }

    pub(super) fn host(&self) -> &str {
        self.base.host()
    }

    /// The address of the repository.
    pub(super) const fn base(&self) -> &Address {
        &self.base
    }

    /// An address below that of the repository.
    pub(super) fn address(&self, below: &str) -> Result<Address, RemoteError> {
        Address::parse(&format!("{}/{below}", self.base.secret_text()))
    }

    /// Sends a request until there is an answer that repeating it won't change. Returns that, and who gave it.
    pub(super) fn call(&self, call: &Call<'_>) -> Result<(Response<Body>, Address), RemoteError> {
        let mut patience = self.patience;
        loop {
            match self.try_call(call) {
                Ok(answer) => return Ok(answer),
                Err(error) => patience.wait(error)?,
            }
        }
    }

    /// As [`Self::call`], once.
    pub(super) fn call_once(
        &self,
        call: &Call<'_>,
    ) -> Result<(Response<Body>, Address), RemoteError> {
        self.try_call(call)
    }

    pub(super) const fn patience(&self) -> Patience {
        self.patience
    }

    fn try_call(&self, call: &Call<'_>) -> Result<(Response<Body>, Address), RemoteError> {
        let (mut at, mut is_renewed) = (call.at.clone(), false);
        for _ in 0..=REDIRECTS {
            let shown = self.authorization();
            let response = self.send(call, &at)?;
            let status = response.status();
            let is_own = at.has_origin_of(&self.base);
            if status == StatusCode::UNAUTHORIZED
                && is_own
                && !is_renewed
                && renewed(self, shown.as_deref(), &response)?
            {
                is_renewed = true;
                continue;
            }
            if let error @ RemoteError::Busy { .. } = refusal(&response, at.host()) {
                return Err(error);
            }
            if !is_redirection(status) || !matches!(call.payload, Payload::Nothing) {
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
        Err(RemoteError::Redirect { host: self.host().to_owned(), what: "too often" })
    }

    fn send(&self, call: &Call<'_>, at: &Address) -> Result<Response<Body>, RemoteError> {
        let mut request = Request::builder().method(call.method.clone()).uri(at.uri().clone());
        if !call.accept.is_empty() {
            request = request.header(ACCEPT, call.accept);
        }
        if let Some(value) = self.authorization().filter(|_| at.has_origin_of(&self.base)) {
            request = request.header(AUTHORIZATION, value);
        }
        match call.payload {
            Payload::Nothing => self.run(at, request, ()),
            Payload::Bytes(kind, bytes) => {
                let request =
                    if kind.is_empty() { request } else { request.header(CONTENT_TYPE, kind) };
                self.run(at, request, bytes)
            }
            Payload::Part(Part { start, length, is_named, open }) => {
                let request = request.header(CONTENT_TYPE, "application/octet-stream");
                let mut request = request.header(CONTENT_LENGTH, length);
                if is_named {
                    // Not as HTTP has this header: so the API of registries does.
                    let last = start.saturating_add(length).saturating_sub(1);
                    request = request.header(CONTENT_RANGE, format!("{start}-{last}"));
                }
                let local = |error| RemoteError::Local(Arc::new(error));
                let bytes = open(start).map_err(local)?.take(length);
                let mut reader = Watched { reader: bytes, error: None };
                let sent = self.run(at, request, SendBody::from_reader(&mut reader));
                reader.error.map_or(sent, |error| Err(local(error)))
            }
        }
    }

    fn run(
        &self,
        at: &Address,
        request: Builder,
        body: impl ureq::AsSendBody,
    ) -> Result<Response<Body>, RemoteError> {
        let agent = self.agents.of(at);
        let illegal = |_error| RemoteError::Address("it can't be part of a request");
        let request = request.body(body).map_err(illegal)?;
        let is_read = [Method::GET, Method::HEAD].contains(request.method());
        let sent = if is_read {
            agent.run(request)
        } else {
            let patient = agent.configure_request(request).timeout_per_read(Some(STORING));
            agent.run(patient.timeout_recv_response(Some(STORING)).build())
        };
        sent.map_err(|error| failure(error, at.host()))
    }

    fn header(&self) -> MutexGuard<'_, Option<String>> {
        self.header.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A token for this repository of the server that the registry names, or an anonymous one.
    fn token(&self, realm: &str, service: Option<&str>) -> Result<String, RemoteError> {
        let host = self.host();
        let realm = Address::parse(realm)
            .map_err(|_error| RemoteError::wrong(host, "it names no server of tokens"))?;
        let bare = |address: &Address| address.uri().host().unwrap_or_default().to_owned();
        let is_near = bare(&realm) == bare(&self.base) || is_loopback(&bare(&realm));
        if !realm.is_encrypted() && (self.base.is_encrypted() || !is_near) {
            return Err(RemoteError::wrong(host, "its server of tokens is not encrypted"));
        }
        let mut fields = vec![("scope", self.scope.as_str())];
        fields.extend(service.map(|service| ("service", service)));
        if let Some(Login::Refresh(token)) = &self.login {
            fields.extend([("grant_type", "refresh_token"), ("client_id", "lith")]);
            fields.push(("refresh_token", token));
        }
        let text = form(&fields);
        let sent = match &self.login {
            Some(Login::Refresh(_)) => {
                let kind = "application/x-www-form-urlencoded";
                let request = Request::builder().method(Method::POST).uri(realm.uri().clone());
                self.run(&realm, request.header(CONTENT_TYPE, kind), text.as_bytes())
            }
            login => {
                let all = realm.secret_text();
                let mark = if all.contains('?') { '&' } else { '?' };
                let at = Address::parse(&format!("{all}{mark}{text}"))?;
                let mut request = Request::builder().uri(at.uri().clone());
                if let Some(Login::Basic(value)) = login {
                    request = request.header(AUTHORIZATION, value);
                }
                self.run(&at, request, ())
            }
        };
        token_in(sent?, realm.host())
    }
}

impl Access for Session {
    fn authorization(&self) -> Option<String> {
        self.header().clone()
    }

    fn renew(&self, refused: &Response<Body>) -> Result<bool, RemoteError> {
        let challenges = refused.headers().get_all(WWW_AUTHENTICATE);
        let challenges = challenges.iter().filter_map(|value| value.to_str().ok());
        let mut challenges: Vec<_> = challenges.filter_map(Challenge::parse).collect();
        // A token is better than a password.
        challenges.sort_by_key(|challenge| *challenge == Challenge::Basic);
        let value = match (challenges.first(), &self.login) {
            (Some(Challenge::Basic), Some(Login::Basic(value))) => value.clone(),
            (Some(Challenge::Bearer { realm, service, .. }), _) => {
                format!("Bearer {}", self.token(realm, service.as_deref())?)
            }
            _ => return Ok(false),
        };
        let old = self.header().replace(value.clone());
        Ok(old != Some(value))
    }
}

fn token_in(response: Response<Body>, host: &str) -> Result<String, RemoteError> {
    if response.status() != StatusCode::OK {
        return Err(refusal(&response, host));
    }
    let none = || RemoteError::wrong(host, "it has no token");
    let bytes = response.into_body().into_with_config().limit(TOKEN).read_to_vec();
    let bytes = bytes.map_err(|_error| none())?;
    let found: Token = serde_json::from_slice(&bytes).map_err(|_secret| none())?;
    let token = found.token.or(found.access_token).ok_or_else(none)?;
    let is_legal = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic());
    if is_legal { Ok(token) } else { Err(none()) }
}

/// Fields as a query has them.
fn form(fields: &[(&str, &str)]) -> String {
    let field = |(name, value): &(&str, &str)| {
        format!("{name}={}", utf8_percent_encode(value, NON_ALPHANUMERIC))
    };
    fields.iter().map(field).collect::<Vec<_>>().join("&")
}

/// Refuses an answer with another status.
pub(super) fn expect(
    response: &Response<Body>,
    from: &Address,
    status: StatusCode,
) -> Result<(), RemoteError> {
    if response.status() == status { Ok(()) } else { Err(refusal(response, from.host())) }
}

/// Reads what is sent, and keeps the error by which that ends.
struct Watched<R> {
    reader: R,
    error: Option<io::Error>,
}

impl<R: Read> Read for Watched<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.reader.read(buf).map_err(|error| {
            let kind = error.kind();
            if kind != io::ErrorKind::Interrupted {
                self.error = Some(error);
            }
            kind.into()
        })
    }
}
