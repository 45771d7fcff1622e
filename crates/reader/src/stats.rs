//! Counts what was read, decoded and served since the image was opened.

use std::{
    fmt,
    sync::atomic::{AtomicU64, Ordering},
};

use crate::{cache::Origin, way::Way};

/// What was read, decoded and served so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Stats {
    /// Reads of content from devices.
    pub fetches: u64,
    /// Bytes of content read from devices, metadata not counted.
    pub fetched: u64,
    /// Bytes that decoders returned.
    pub decoded: u64,
    /// Bytes of files returned to callers.
    pub served: u64,
    /// Extents found decoded in the cache.
    pub kept: u64,
    /// Extents that another thread was decoding when they were requested.
    pub shared: u64,
    /// Extents decoded into the caller's buffer ([`Way::Direct`]).
    pub direct: u64,
    /// Extents decoded into a buffer and copied ([`Way::Buffered`]).
    pub buffered: u64,
    /// Extents decoded through a window ([`Way::Rolling`]).
    pub rolling: u64,
    /// Extents decoded over their own stored bytes ([`Way::InPlace`]).
    pub in_place: u64,
    /// Extents of these that were decoded before they were requested.
    pub ahead: u64,
}

/// One line for each number, as `fetched 4096`.
impl fmt::Display for Stats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = [
            ("fetches", self.fetches),
            ("fetched", self.fetched),
            ("decoded", self.decoded),
            ("served", self.served),
            ("kept", self.kept),
            ("shared", self.shared),
            ("direct", self.direct),
            ("buffered", self.buffered),
            ("rolling", self.rolling),
            ("in-place", self.in_place),
            ("ahead", self.ahead),
        ];
        all.iter().try_for_each(|(name, number)| writeln!(f, "{name} {number}"))
    }
}

/// The counters of [`Stats`], which any thread increases.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    fetches: AtomicU64,
    fetched: AtomicU64,
    decoded: AtomicU64,
    served: AtomicU64,
    kept: AtomicU64,
    shared: AtomicU64,
    direct: AtomicU64,
    buffered: AtomicU64,
    rolling: AtomicU64,
    in_place: AtomicU64,
    ahead: AtomicU64,
}

impl Counters {
    pub(crate) fn fetch(&self, bytes: usize) {
        add(&self.fetches, 1);
        add(&self.fetched, bytes);
    }

    pub(crate) fn serve(&self, bytes: usize) {
        add(&self.served, bytes);
    }

    pub(crate) fn decode(&self, way: Way, bytes: usize) {
        add(&self.decoded, bytes);
        let counter = match way {
            Way::Direct => &self.direct,
            Way::Buffered => &self.buffered,
            Way::Rolling => &self.rolling,
            Way::InPlace => &self.in_place,
        };
        add(counter, 1);
    }

    pub(crate) fn ahead(&self) {
        add(&self.ahead, 1);
    }

    /// Counts an extent that was not decoded for its reader.
    pub(crate) fn found(&self, origin: Origin) {
        match origin {
            Origin::Cached => add(&self.kept, 1),
            Origin::Awaited => add(&self.shared, 1),
            Origin::Loaded => {}
        }
    }

    pub(crate) fn get(&self) -> Stats {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Stats {
            fetches: get(&self.fetches),
            fetched: get(&self.fetched),
            decoded: get(&self.decoded),
            served: get(&self.served),
            kept: get(&self.kept),
            shared: get(&self.shared),
            direct: get(&self.direct),
            buffered: get(&self.buffered),
            rolling: get(&self.rolling),
            in_place: get(&self.in_place),
            ahead: get(&self.ahead),
        }
    }
}

fn add(counter: &AtomicU64, count: usize) {
    counter.fetch_add(count as u64, Ordering::Relaxed);
}
