//! Counts what was read, decoded and served since the image was opened.

use std::{
    fmt,
    sync::atomic::{AtomicU64, Ordering},
};

use crate::{cache::Origin, way::Way};

/// Defines [`Stats`] and its counters by one row for each number, with its name as text.
macro_rules! stats {
    ($($(#[doc = $doc:literal])* $name:ident $text:literal;)*) => {
        /// What was read, decoded and served so far.
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
        #[non_exhaustive]
        pub struct Stats {
            $($(#[doc = $doc])* pub $name: u64,)*
        }

        /// One line for each number, as `fetched 4096`.
        impl fmt::Display for Stats {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                $(writeln!(f, "{} {}", $text, self.$name)?;)*
                Ok(())
            }
        }

        /// The counters of [`Stats`], which any thread increases.
        #[derive(Debug, Default)]
        pub(crate) struct Counters {
            $($name: AtomicU64,)*
        }

        impl Counters {
            pub(crate) fn get(&self) -> Stats {
                Stats { $($name: self.$name.load(Ordering::Relaxed),)* }
            }
        }
    };
}

stats! {
    /// Reads of content from devices.
    fetches "fetches";
    /// Bytes of content read from devices, metadata not counted.
    fetched "fetched";
    /// Bytes that decoders returned.
    decoded "decoded";
    /// Bytes of files returned to callers.
    served "served";
    /// Extents found decoded in the cache.
    kept "kept";
    /// Extents that another thread was decoding when they were requested.
    shared "shared";
    /// Extents decoded into the caller's buffer ([`Way::Direct`]).
    direct "direct";
    /// Extents decoded into a buffer and copied ([`Way::Buffered`]).
    buffered "buffered";
    /// Extents decoded through a window ([`Way::Rolling`]).
    rolling "rolling";
    /// Extents decoded over their own stored bytes ([`Way::InPlace`]).
    in_place "in-place";
    /// Extents of these that were decoded before they were requested.
    ahead "ahead";
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
}

fn add(counter: &AtomicU64, count: usize) {
    counter.fetch_add(count as u64, Ordering::Relaxed);
}
