//! What does a registry of containers have, and how is something put there? Defines [`Registry`].
//!
//! Requests are those of the OCI distribution API ([`session`]): with an anonymous token, or the user's login ([`logins`]), as the
//! registry demands ([`challenge`]). What is fetched by a digest has it, or is an error.

mod artifact;
mod challenge;
mod logins;
mod reference;
mod session;

use std::{
    io::{self, Read},
    sync::Arc,
};

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use ureq::{
    Body,
    http::{Method, Response, StatusCode, header::LOCATION},
};

use crate::{
    Address, Options, RemoteError,
    access::Access,
    client::{
        Client,
        failure::{refusal, text},
    },
    digest::{Verifying, digest_as, sha256_of},
    reader::ObjectReader,
    target::Target,
    version::Version,
};
use artifact::Found;
use session::{Call, Payload, Session};

pub use artifact::{Artifact, EROFS, Layer};
pub use logins::usual_login_files;
pub use reference::{Reference, is_reference};

/// Bytes of a manifest or an index: what registries take.
const DOCUMENT: u64 = 4 << 20;
/// Indexes inside one another; real ones have two.
const INDEXES: usize = 4;
/// The documents that are understood.
const ACCEPT: &str = "application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json, \
    application/vnd.docker.distribution.manifest.v2+json, application/vnd.docker.distribution.manifest.list.v2+json";

/// A repository of a registry.
#[derive(Clone, Debug)]
pub struct Registry {
    session: Arc<Session>,
    reference: Reference,
    options: Options,
}

/// A manifest or an index.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Document {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Their digest.
    pub digest: String,
}

/// What became of a blob that was to be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Upload {
    /// The registry has had it.
    Present,
    /// It was sent.
    Sent,
}

impl Registry {
    /// The repository of a reference, for fetching. Nothing is requested yet.
    ///
    /// # Errors
    /// [`RemoteError::Logins`] if the file with the login can't be used.
    pub fn open(reference: &Reference, options: &Options) -> Result<Self, RemoteError> {
        Self::new(reference, "pull", options)
    }

    /// As [`Self::open`], for sending too.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_for_sending(reference: &Reference, options: &Options) -> Result<Self, RemoteError> {
        Self::new(reference, "pull,push", options)
    }

    fn new(reference: &Reference, actions: &str, options: &Options) -> Result<Self, RemoteError> {
        let session = Arc::new(Session::new(reference, actions, options)?);
        Ok(Self { session, reference: reference.clone(), options: options.clone() })
    }

    /// The registry's host.
    #[must_use]
    pub fn host(&self) -> &str {
        self.session.host()
    }

    /// The manifest or index that the reference names.
    ///
    /// # Errors
    /// [`RemoteError`] if there is none, or it is another one than that of the digest.
    pub fn document(&self) -> Result<Document, RemoteError> {
        self.document_called(self.reference.name(), self.reference.digest())
    }

    /// The manifest or index with a digest.
    ///
    /// # Errors
    /// As [`Self::document`].
    pub fn document_of(&self, digest: &str) -> Result<Document, RemoteError> {
        self.document_called(digest, Some(digest))
    }

    fn document_called(&self, name: &str, digest: Option<&str>) -> Result<Document, RemoteError> {
        let at = self.session.address(&format!("manifests/{name}"))?;
        let call = Call { method: Method::GET, at, accept: ACCEPT, payload: Payload::Nothing };
        let (response, from) = self.session.call(&call)?;
        if response.status() != StatusCode::OK {
            return Err(refusal(&response, from.host()));
        }
        let bytes = response.into_body().into_with_config().limit(DOCUMENT).read_to_vec();
        let too_large =
            |_error| RemoteError::wrong(from.host(), "the manifest is not complete, or too large");
        let bytes = bytes.map_err(too_large)?;
        let found = digest_as(digest.unwrap_or("sha256:"), &bytes);
        match digest {
            Some(expected) if *expected != found => {
                let (host, expected) = (self.host().to_owned(), expected.to_owned());
                Err(RemoteError::Mismatch { host, found, expected })
            }
            _ => Ok(Document { bytes, digest: found }),
        }
    }

    /// The EROFS image that the reference names.
    ///
    /// # Errors
    /// [`RemoteError`] if there is none, or something else.
    pub fn artifact(&self) -> Result<Artifact, RemoteError> {
        self.artifact_and_digest().map(|(artifact, _)| artifact)
    }

    /// As [`Self::artifact`], with the digest of its manifest.
    ///
    /// # Errors
    /// As [`Self::artifact`].
    pub fn artifact_and_digest(&self) -> Result<(Artifact, String), RemoteError> {
        let mut document = self.document()?;
        for _ in 0..INDEXES {
            match Artifact::parse(&document.bytes, self.host())? {
                Found::Artifact(artifact) => return Ok((artifact, document.digest)),
                Found::Further(digest) => document = self.document_of(&digest)?,
            }
        }
        Err(artifact::artifact(self.host(), "its indexes are nested too often"))
    }

    /// Where a blob is.
    pub(crate) fn target(&self, digest: &str, size: u64) -> Result<Target, RemoteError> {
        let address = self.session.address(&format!("blobs/{digest}"))?;
        let access = Arc::clone(&self.session) as Arc<dyn Access>;
        Ok(Target { address, access, pinned: Some(Version::pinned(digest, size)) })
    }

    /// Reads a blob of so many bytes from start to end. They are not compared with the digest.
    ///
    /// # Errors
    /// [`RemoteError::Address`] if the digest has an impossible form.
    pub fn blob(&self, digest: &str, size: u64) -> Result<ObjectReader, RemoteError> {
        let client = Client::new(self.target(digest, size)?, &self.options);
        Ok(ObjectReader::new(client, Version::pinned(digest, size), 0))
    }

    /// As [`Self::blob`]; the end is an error if the bytes have another digest.
    ///
    /// # Errors
    /// As [`Self::blob`].
    pub fn verified(&self, digest: &str, size: u64) -> Result<impl Read + use<>, RemoteError> {
        Ok(Verifying::new(self.blob(digest, size)?, digest, self.host()))
    }

    pub(crate) const fn options(&self) -> &Options {
        &self.options
    }

    /// Whether a blob is there.
    ///
    /// # Errors
    /// [`RemoteError`] if the registry doesn't say so.
    pub fn has(&self, digest: &str) -> Result<bool, RemoteError> {
        let at = self.session.address(&format!("blobs/{digest}"))?;
        let call = Call { method: Method::HEAD, at, accept: "", payload: Payload::Nothing };
        let (response, from) = self.session.call(&call)?;
        match response.status() {
            StatusCode::OK => Ok(true),
            StatusCode::NOT_FOUND => Ok(false),
            _ => Err(refusal(&response, from.host())),
        }
    }

    /// Sends a blob of so many bytes, unless it is there. `open` opens it, perhaps several times.
    ///
    /// # Errors
    /// [`RemoteError`] if it can't be read, or the registry doesn't take it.
    pub fn upload<'a>(
        &self,
        (digest, size): (&str, u64),
        open: &'a (dyn Fn() -> io::Result<Box<dyn Read + 'a>> + 'a),
    ) -> Result<Upload, RemoteError> {
        if self.has(digest)? {
            return Ok(Upload::Present);
        }
        let mut patience = self.session.patience();
        loop {
            match self.send_blob((digest, size), open) {
                Ok(()) => return Ok(Upload::Sent),
                Err(error) => patience.wait(error)?,
            }
        }
    }

    fn send_blob<'a>(
        &self,
        (digest, size): (&str, u64),
        open: &'a (dyn Fn() -> io::Result<Box<dyn Read + 'a>> + 'a),
    ) -> Result<(), RemoteError> {
        let at = self.session.address("blobs/uploads/")?;
        let nothing = Payload::Bytes("", &[]);
        let call = Call { method: Method::POST, at, accept: "", payload: nothing };
        let (response, from) = self.session.call(&call)?;
        expect(&response, &from, StatusCode::ACCEPTED)?;
        let nowhere = || RemoteError::wrong(from.host(), "it doesn't say where a blob is sent to");
        let location = text(&response, LOCATION).ok_or_else(nowhere)?;
        let at = from.join(location).map_err(|_error| nowhere())?;
        if from.is_encrypted() && !at.is_encrypted() {
            let what = "to an address without encryption";
            return Err(RemoteError::Redirect { host: from.host().to_owned(), what });
        }
        let all = at.secret_text();
        let mark = if all.contains('?') { '&' } else { '?' };
        let digest = utf8_percent_encode(digest, NON_ALPHANUMERIC);
        let at = Address::parse(&format!("{all}{mark}digest={digest}"))?;
        let payload = Payload::Reader(size, open);
        let call = Call { method: Method::PUT, at, accept: "", payload };
        // Where it was to be sent to may be valid for one try.
        let (response, from) = self.session.call_once(&call)?;
        expect(&response, &from, StatusCode::CREATED)
    }

    /// Puts a manifest under the reference's name.
    ///
    /// # Errors
    /// [`RemoteError`] if the registry doesn't take it.
    pub fn put_manifest(&self, manifest: &[u8]) -> Result<String, RemoteError> {
        let (digest, _) =
            sha256_of(manifest).map_err(|error| RemoteError::Local(Arc::new(error)))?;
        let name = self.reference.name();
        if self.reference.digest().is_some_and(|name| name != digest) {
            let (host, expected) = (self.host().to_owned(), name.to_owned());
            return Err(RemoteError::Mismatch { host, found: digest, expected });
        }
        let at = self.session.address(&format!("manifests/{name}"))?;
        let payload = Payload::Bytes(artifact::MANIFEST, manifest);
        let call = Call { method: Method::PUT, at, accept: "", payload };
        let (response, from) = self.session.call(&call)?;
        expect(&response, &from, StatusCode::CREATED)?;
        Ok(digest)
    }
}

fn expect(
    response: &Response<Body>,
    from: &Address,
    status: StatusCode,
) -> Result<(), RemoteError> {
    if response.status() == status { Ok(()) } else { Err(refusal(response, from.host())) }
}
