//! How is an image stored in chunks that other versions of it have too? Defines [`Chunks`], which fetches such an image.
//!
//! Each chunk is a blob of a registry. An index, which is a blob too, says which ones follow each other ([`index`]); its digest is
//! that of the image's version. What is fetched has the digest of its chunk, or is an error.

mod cut;
mod index;
mod local;

use std::{
    collections::BTreeMap,
    fs::File,
    num::NonZeroUsize,
    ops::Range,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};

use lith_parallel::try_map;
use lith_system::FileAt;

use crate::{
    RemoteError,
    client::Client,
    digest::{digest_as, is_digest},
    store::failed,
    version::Version,
};

pub use cut::{ChunkSize, cut_chunks};
pub use index::{Chunk, ChunkIndex};
pub use local::LocalChunks;

/// Chunks that are fetched or sent at once.
pub(crate) const WORKERS: NonZeroUsize = NonZeroUsize::MIN.saturating_add(7);
/// Bytes of chunks that are fetched together, and those that are kept for what is read next.
const TOGETHER: u64 = 8 << 20;
/// How the name of a version begins that is the digest of an index.
const NAME: &str = "chunks";

/// Takes bytes with their position in the image.
type Take<'a> = dyn FnMut(u64, &[u8]) -> Result<(), RemoteError> + 'a;

/// An image in a registry that is stored in chunks.
#[derive(Debug)]
pub struct Chunks {
    /// For the index, in whose folder the chunks are.
    client: Client,
    /// Digest and size of the index.
    stored: (String, u64),
    /// Bytes of the image, if they are known.
    length: Option<u64>,
    index: OnceLock<ChunkIndex>,
    /// The last chunks of what was fetched, the latest first: what is read next starts in them.
    recent: Mutex<Vec<(Chunk, Arc<Vec<u8>>)>>,
}

/// Where a chunk came from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Obtained {
    /// The registry.
    Fetched,
    /// A local file.
    Copied,
}

impl Chunks {
    /// The image whose index `client` fetches; that has a digest and a size.
    pub(crate) fn new(client: Client, stored: (String, u64)) -> Self {
        let (index, recent) = (OnceLock::new(), Mutex::default());
        Self { client, stored, length: None, index, recent }
    }

    /// The digest and the size of the index in a version that [`Self::version`] has named; `None`: it is another one's.
    pub(crate) fn of_version(version: &Version) -> Option<(String, u64)> {
        let rest = version.etag.as_deref()?.strip_prefix(NAME)?.strip_prefix(':')?;
        let (size, digest) = rest.split_once(':')?;
        Some((is_digest(digest).then(|| digest.to_owned())?, size.parse().ok()?))
    }

    /// The same of a known length: the index is fetched when it is needed.
    pub(crate) fn of_length(mut self, length: u64) -> Self {
        self.length = Some(length);
        self
    }

    /// Fetches the index, unless it is here.
    ///
    /// # Errors
    /// [`RemoteError`] if it can't be fetched, or contradicts itself.
    pub fn index(&self) -> Result<&ChunkIndex, RemoteError> {
        if let Some(index) = self.index.get() {
            return Ok(index);
        }
        let (digest, size) = &self.stored;
        if *size > index::LARGEST {
            return Err(self.damaged("it is too long"));
        }
        let version = Version::pinned(digest, *size);
        let bytes = self.bytes(&self.client, &version)?;
        let index = ChunkIndex::parse(&bytes).map_err(|what| self.damaged(what))?;
        if self.length.is_some_and(|length| length != index.length()) {
            return Err(self.damaged("it is of another image"));
        }
        Ok(self.index.get_or_init(|| index))
    }

    /// Refuses an index with chunks that a manifest doesn't list, with the same size.
    pub(crate) fn check(&self, listed: &BTreeMap<String, u64>) -> Result<(), RemoteError> {
        let is_listed = |chunk: Chunk| listed.get(&chunk.digest()) == Some(&chunk.length);
        if self.index()?.chunks().all(is_listed) {
            return Ok(());
        }
        Err(self.damaged("the manifest lists another size of a chunk, or not all of them"))
    }

    fn damaged(&self, what: &str) -> RemoteError {
        let host = self.client.host().to_owned();
        RemoteError::Artifact { host, what: format!("the chunk index is damaged: {what}") }
    }

    /// The name of the version: that of the index.
    pub(crate) fn version(&self) -> Result<Version, RemoteError> {
        let (digest, size) = &self.stored;
        let length = self.length.map_or_else(|| self.index().map(ChunkIndex::length), Ok)?;
        Ok(Version::pinned(&format!("{NAME}:{size}:{digest}"), length))
    }

    pub(crate) const fn client(&self) -> &Client {
        &self.client
    }

    /// All bytes of a blob, which have its digest.
    fn bytes(&self, client: &Client, version: &Version) -> Result<Vec<u8>, RemoteError> {
        let mut bytes = Vec::new();
        client.fetch(0..version.length, version, &mut |new| {
            bytes.extend_from_slice(new);
            Ok(())
        })?;
        let expected = version.etag.as_deref().unwrap_or_default();
        let found = digest_as(expected, &bytes);
        if found != expected {
            let (host, expected) = (self.client.host().to_owned(), expected.to_owned());
            return Err(RemoteError::Mismatch { host, found, expected });
        }
        Ok(bytes)
    }

    /// Fetches a chunk.
    fn chunk(&self, chunk: &Chunk) -> Result<Vec<u8>, RemoteError> {
        let digest = chunk.digest();
        let version = Version::pinned(&digest, chunk.length);
        self.bytes(&self.client.neighbour(&digest, version.clone())?, &version)
    }

    /// Fetches the chunks that have any of these bytes, and hands them out in order.
    pub(crate) fn fetch(&self, bytes: &Range<u64>, take: &mut Take<'_>) -> Result<(), RemoteError> {
        let mut wanted = self.index()?.covering(bytes).peekable();
        while wanted.peek().is_some() {
            let (mut together, mut length) = (Vec::new(), 0);
            while let Some(next) = wanted.next_if(|_| length < TOGETHER) {
                length += next.length;
                together.push(next);
            }
            let fetched = try_map(&together, WORKERS, || (), |(), chunk| self.obtain(chunk))?;
            for (chunk, bytes) in together.iter().zip(&fetched) {
                take(chunk.start, bytes)?;
            }
            let ends = together.into_iter().zip(fetched);
            ends.rev().take(1).for_each(|(chunk, bytes)| self.remember(chunk, bytes));
        }
        Ok(())
    }

    fn obtain(&self, chunk: &Chunk) -> Result<Arc<Vec<u8>>, RemoteError> {
        let known = self.recent().iter().find(|(other, _)| other.sha256 == chunk.sha256).cloned();
        known.map_or_else(|| self.chunk(chunk).map(Arc::new), |(_, bytes)| Ok(bytes))
    }

    fn remember(&self, chunk: Chunk, bytes: Arc<Vec<u8>>) {
        let mut recent = self.recent();
        recent.retain(|(other, _)| other.sha256 != chunk.sha256);
        recent.insert(0, (chunk, bytes));
        let mut sum = 0;
        let mut fits = |(chunk, _): &(Chunk, _)| {
            sum += chunk.length;
            sum <= TOGETHER || sum == chunk.length
        };
        let kept = recent.iter().take_while(|chunk| fits(chunk)).count();
        recent.truncate(kept);
    }

    fn recent(&self) -> MutexGuard<'_, Vec<(Chunk, Arc<Vec<u8>>)>> {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes the image to a new file, which has a path for errors; zeros become holes. Chunks that a local file has are not
    /// fetched. `note` is called for each place of one, with its number of bytes.
    ///
    /// # Errors
    /// [`RemoteError`] if a chunk can't be fetched or written.
    pub fn store(
        &self,
        (file, path): (&File, &Path),
        local: &[LocalChunks],
        note: &(dyn Fn(Obtained, u64) + Sync),
    ) -> Result<(), RemoteError> {
        let failed = |source| failed(path.to_owned(), source);
        let written = |(chunk, places): &(Chunk, Vec<u64>)| {
            let known = local.iter().find_map(|local| local.read(chunk));
            let (bytes, obtained) = match known {
                Some(bytes) => (bytes, Obtained::Copied),
                None => (self.chunk(chunk)?, Obtained::Fetched),
            };
            let (mut obtained, holds_zeros) = (obtained, bytes.iter().all(|byte| *byte == 0));
            for place in places {
                if !holds_zeros {
                    file.write_all_at(&bytes, *place).map_err(failed)?;
                }
                note(obtained, chunk.length);
                obtained = Obtained::Copied;
            }
            Ok(())
        };
        let index = self.index()?;
        file.set_len(index.length()).map_err(failed)?;
        let distinct = index.distinct();
        try_map(&distinct, WORKERS, || (), |(), chunk| written(chunk)).map(drop)
    }
}
