//! What does a registry of containers have, and how is something put there? Defines [`Registry`].
//!
//! Requests are those of the OCI distribution API ([`session`]): with an anonymous token, or the user's login ([`logins`]), as the
//! registry demands ([`challenge`]). What is fetched by a digest has it, or is an error.

mod artifact;
mod challenge;
mod logins;
mod reference;
mod session;
mod unfinished;
mod upload;

use std::{io::Read, sync::Arc};

use ureq::http::{Method, StatusCode};

use crate::{
    Options, RemoteError,
    access::Access,
    chunks::Chunks,
    client::{Client, failure::refusal},
    digest::{Verifying, digest_as, is_digest, sha256_of},
    origin::Origin,
    reader::ObjectReader,
    target::Target,
    version::Version,
};
use session::{Call, Payload, Session, expect};

pub(crate) use artifact::Found;
pub use artifact::{Artifact, Containerd, EROFS, Layer};
#[cfg(feature = "fuzzing")]
pub(crate) use challenge::Challenge;
pub use logins::usual_login_files;
pub use reference::{Reference, is_reference};
pub use upload::Upload;

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

    /// An image that is stored in chunks. Its index is fetched.
    ///
    /// # Errors
    /// [`RemoteError`] if there is none, or it contradicts itself or the manifest.
    pub fn chunks(&self, layer: &Layer) -> Result<Chunks, RemoteError> {
        let client = Client::new(self.target(&layer.digest, layer.size)?, &self.options);
        let chunks = Chunks::new(client, (layer.digest.clone(), layer.size));
        let listed = layer.listed();
        listed.map_or_else(|| chunks.index().map(drop), |listed| chunks.check(listed))?;
        Ok(chunks)
    }

    /// What fetches an image or a further device of one.
    pub(crate) fn origin(&self, layer: &Layer) -> Result<Origin, RemoteError> {
        if layer.is_chunked() {
            return self.chunks(layer).map(Origin::Chunks);
        }
        layer.check_readable(self.host())?;
        Ok(Origin::object(self.target(&layer.digest, layer.size)?, &self.options))
    }

    /// What fetches a version that was opened before. No request is sent.
    pub(crate) fn origin_of(&self, version: &Version) -> Result<Origin, RemoteError> {
        if let Some((digest, size)) = Chunks::of_version(version) {
            let client = Client::new(self.target(&digest, size)?, &self.options);
            let chunks = Chunks::new(client, (digest, size)).of_length(version.length);
            return Ok(Origin::Chunks(chunks));
        }
        let digest = version.etag.as_deref().filter(|etag| is_digest(etag));
        let none = || RemoteError::wrong(self.host(), "the version that was opened has no digest");
        Ok(Origin::object(self.target(digest.ok_or_else(none)?, version.length)?, &self.options))
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
        let origin = Origin::object(self.target(digest, size)?, &self.options);
        Ok(ObjectReader::new(origin, Version::pinned(digest, size), 0))
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

    /// Refuses a manifest that registries wouldn't take.
    ///
    /// # Errors
    /// [`RemoteError::Artifact`] if it is too long.
    pub fn check_size(&self, manifest: &[u8]) -> Result<(), RemoteError> {
        if manifest.len() as u64 <= DOCUMENT {
            return Ok(());
        }
        let what = "a manifest of so many chunks would be longer than 4 MiB: take larger chunks";
        Err(artifact::artifact(self.host(), what))
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
