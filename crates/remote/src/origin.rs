//! Defines [`Origin`]: what fetches the bytes of an object, which is one on a server, or in chunks.

use std::ops::Range;

use crate::{
    Address, Options, RemoteError,
    chunks::Chunks,
    client::{Client, patience::Patience},
    target::Target,
    version::Version,
};

/// What fetches the bytes of an object.
#[derive(Debug)]
pub(crate) enum Origin {
    Object(Client),
    Chunks(Chunks),
}

impl Origin {
    /// One object.
    pub(crate) fn object(target: Target, options: &Options) -> Self {
        Self::Object(Client::new(target, options))
    }

    /// What sends requests.
    pub(crate) const fn client(&self) -> &Client {
        match self {
            Self::Object(client) => client,
            Self::Chunks(chunks) => chunks.client(),
        }
    }

    /// Where it is: with chunks, where their index is.
    pub(crate) const fn address(&self) -> &Address {
        self.client().address()
    }

    pub(crate) fn host(&self) -> &str {
        self.client().host()
    }

    pub(crate) const fn patience(&self) -> Patience {
        self.client().patience()
    }

    pub(crate) fn traffic(&self) -> (u64, u64) {
        self.client().traffic()
    }

    /// The only version that can ever be there, if that is known.
    pub(crate) fn pinned(&self) -> Result<Option<Version>, RemoteError> {
        match self {
            Self::Object(client) => Ok(client.pinned().cloned()),
            Self::Chunks(chunks) => chunks.version().map(Some),
        }
    }

    /// The first bytes, so many if there are as many, and the version that is there now.
    pub(crate) fn first(&self, bytes: u64) -> Result<(Version, Vec<u8>), RemoteError> {
        let Some(version) = self.pinned()? else { return self.client().first(bytes, false) };
        let mut start = Vec::new();
        self.fetch(0..version.length.min(bytes), &version, &mut |new| {
            start.extend_from_slice(new);
            Ok(())
        })?;
        Ok((version, start))
    }

    /// Fetches bytes of a version, and hands them out in order.
    pub(crate) fn fetch(
        &self,
        range: Range<u64>,
        version: &Version,
        take: &mut dyn FnMut(&[u8]) -> Result<(), RemoteError>,
    ) -> Result<(), RemoteError> {
        match self {
            Self::Object(client) => client.fetch(range, version, take),
            Self::Chunks(chunks) => {
                chunks.fetch(&range, &mut |position, bytes| take(inside(&range, position, bytes)))
            }
        }
    }
}

/// Those of bytes at a position that are in a range.
pub(crate) fn inside<'a>(range: &Range<u64>, position: u64, bytes: &'a [u8]) -> &'a [u8] {
    let place = |at: u64| {
        let place = usize::try_from(at.saturating_sub(position)).unwrap_or(usize::MAX);
        place.min(bytes.len())
    };
    bytes.get(place(range.start)..place(range.end)).unwrap_or_default()
}
