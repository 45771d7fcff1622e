//! How much was read, decoded and served since the image was opened?

use std::sync::atomic::{AtomicU64, Ordering};

use crate::{cache::Origin, way::Way};

/// What reading an image took so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stats {
    /// Reads of content from devices.
    pub fetches: u64,
    /// Bytes of content read from devices, metadata not counted.
    pub fetched: u64,
    /// Bytes that decoders gave.
    pub decoded: u64,
    /// Bytes of files that callers got.
    pub served: u64,
    /// Extents found decoded.
    pub kept: u64,
    /// Extents that another thread was decoding when they were asked for.
    pub shared: u64,
    /// Extents decoded into the caller's buffer ([`Way::Direct`]).
    pub direct: u64,
    /// Extents decoded into a buffer and copied ([`Way::Buffered`]).
    pub buffered: u64,
    /// Extents decoded through a window ([`Way::Rolling`]).
    pub rolling: u64,
    /// Extents decoded over their own stored bytes ([`Way::InPlace`]).
    pub in_place: u64,
}

/// The same while it is counted, by any thread.
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

    /// Counts an extent that was not decoded for its reader.
    pub(crate) fn found(&self, origin: Origin) {
        match origin {
            Origin::Kept => add(&self.kept, 1),
            Origin::Shared => add(&self.shared, 1),
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
        }
    }
}

fn add(counter: &AtomicU64, count: usize) {
    counter.fetch_add(count as u64, Ordering::Relaxed);
}
