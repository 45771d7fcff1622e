//! Which bytes of the devices belong to what?

use std::{collections::HashMap, ops::Range};

use lith_format::device_table::DevicePa;
use lith_reader::{Extent, ExtentKind, Image, Space};

use crate::{
    limits::{Allowance, Grant},
    ranges::{Met, Ranges},
};

/// Bytes of one device that hold data.
#[derive(Debug, Default)]
struct Data {
    used: Ranges,
    /// Those that more than one extent has.
    shared: Ranges,
}

/// All bytes that were seen to hold something.
#[derive(Debug)]
pub(crate) struct Ledger {
    /// By device.
    data: Vec<Data>,
    /// The superblock and what else is in no inode.
    tables: Ranges,
    /// Inodes and what follows them on the primary device.
    primary: Ranges,
    /// The same in the metabox.
    metabox: Ranges,
    /// How much was decoded of extents that others overlap, by device, start and stored bytes.
    decoded: HashMap<(u16, u64, u64), u64>,
    repeated: Allowance,
}

/// Whether the data of an extent has to be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Need {
    /// It has.
    Read,
    /// It was, for another extent.
    Known,
    /// It has, but there was too much of this kind for the first time.
    Exhausted,
    /// The same, but not for the first time.
    Refused,
}

impl Ledger {
    pub(crate) fn new(image: &Image, repeated: Allowance) -> Self {
        let devices = image.device_map().slots.len() + 1;
        Self {
            data: (0..devices).map(|_| Data::default()).collect(),
            tables: Ranges::default(),
            primary: Ranges::default(),
            metabox: Ranges::default(),
            decoded: HashMap::new(),
            repeated,
        }
    }

    /// Notes bytes of the primary device that belong to the image as a whole.
    pub(crate) fn add_table(&mut self, range: Range<u64>) {
        self.tables.insert(range, |_| ());
    }

    /// Notes an inode; returns the first bytes that belong to another one already.
    pub(crate) fn add_inode(&mut self, space: Space, range: Range<u64>) -> Option<Range<u64>> {
        let inodes = match space {
            Space::Primary => &mut self.primary,
            Space::Metabox => &mut self.metabox,
        };
        let mut first = None;
        inodes.insert(range, |common| {
            first.get_or_insert(common);
        });
        first
    }

    /// Notes the stored bytes of an extent.
    pub(crate) fn add_extent(&mut self, at: DevicePa, extent: &Extent) -> Need {
        let Some(data) = self.data.get_mut(usize::from(at.device)) else { return Need::Known };
        let range = at.pa.0..at.pa.0.saturating_add(extent.plen);
        let Data { used, shared } = data;
        let met = used.insert(range, |common| {
            shared.insert(common, |_| ());
        });
        match (met, extent.kind) {
            (Met::Nothing, _) => Need::Read,
            (Met::Whole, ExtentKind::Flat | ExtentKind::Chunk | ExtentKind::Plain { .. }) => {
                Need::Known
            }
            _ => self.need_again(at, extent),
        }
    }

    /// Whether bytes that were part of an extent before have to be decoded as this one.
    fn need_again(&mut self, at: DevicePa, extent: &Extent) -> Need {
        let key = (at.device, at.pa.0, extent.plen);
        if self.decoded.get(&key).is_some_and(|known| *known >= extent.len) {
            return Need::Known;
        }
        match self.repeated.take(extent.plen) {
            Grant::Given => {
                self.decoded.insert(key, extent.len);
                Need::Read
            }
            Grant::Ended => Need::Exhausted,
            Grant::Refused => Need::Refused,
        }
    }

    /// Whether several extents have the same bytes.
    pub(crate) fn has_shared(&self) -> bool {
        self.data.iter().any(|data| !data.shared.is_empty())
    }

    /// Of each device, the bytes that several extents have, or metadata and an extent.
    pub(crate) fn contested(&self) -> Vec<Ranges> {
        let mut contested: Vec<_> = self.data.iter().map(|data| data.shared.clone()).collect();
        if let (Some(first), Some(data)) = (contested.first_mut(), self.data.first()) {
            for metadata in [&self.tables, &self.primary] {
                for range in metadata.intersection(&data.used).iter() {
                    first.insert(range, |_| ());
                }
            }
        }
        contested
    }

    /// Whether bytes of the primary device are metadata.
    pub(crate) fn is_metadata(&self, range: &Range<u64>) -> bool {
        self.tables.intersects(range) || self.primary.intersects(range)
    }
}
