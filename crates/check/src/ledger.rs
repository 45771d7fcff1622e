//! Defines [`Ledger`], which records what the bytes of each device hold and decides which extents are to be decoded.

use std::{collections::HashMap, ops::Range};

use lith_format::device_table::DevicePa;
use lith_reader::{Extent, ExtentKind, Image, Space};
use lith_survey::{Allowance, Grant, Part, RangeSet, tables};

/// Bytes of one device that hold data.
#[derive(Debug, Default)]
struct Data {
    used: RangeSet,
    /// Those that belong to several extents.
    shared: RangeSet,
}

/// All bytes that are known to hold something.
#[derive(Debug)]
pub(crate) struct Ledger {
    /// By device.
    data: Vec<Data>,
    /// The superblock and the tables that are in no inode.
    tables: RangeSet,
    /// Inodes on the primary device, with what follows them.
    primary: RangeSet,
    /// Inodes in the metabox, with what follows them.
    metabox: RangeSet,
    /// The longest decoded length of extents that overlap others, by device, start and stored bytes.
    decoded: HashMap<(u16, u64, u64), u64>,
    repeated: Allowance,
}

/// Whether the data of an extent must be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Need {
    /// It must be read.
    Read,
    /// It was read as another extent.
    Known,
    /// It must not be read: the budget for repeated reads is exhausted.
    Refused(Grant),
}

impl Ledger {
    /// A ledger that has the tables of `image`.
    pub(crate) fn new(image: &Image, repeated: Allowance) -> Self {
        let devices = image.device_map().slots.len() + 1;
        let mut ledger = Self {
            data: (0..devices).map(|_| Data::default()).collect(),
            tables: RangeSet::default(),
            primary: RangeSet::default(),
            metabox: RangeSet::default(),
            decoded: HashMap::new(),
            repeated,
        };
        for (_, range) in tables(image) {
            ledger.tables.add(range, (), |_| ());
        }
        ledger
    }

    /// Records an inode; returns the first bytes that another inode has already.
    pub(crate) fn add_inode(&mut self, space: Space, range: Range<u64>) -> Option<Range<u64>> {
        let inodes = match space {
            Space::Primary => &mut self.primary,
            Space::Metabox => &mut self.metabox,
        };
        let mut first = None;
        inodes.add(range, (), |part| {
            if let Part::Known(common) = part {
                first.get_or_insert(common);
            }
        });
        first
    }

    /// Records the stored bytes of an extent.
    pub(crate) fn add_extent(&mut self, at: DevicePa, extent: &Extent) -> Need {
        let Some(data) = self.data.get_mut(usize::from(at.device)) else { return Need::Known };
        let range = at.pa.0..at.pa.0.saturating_add(extent.plen);
        let Data { used, shared } = data;
        let new = used.add(range.clone(), (), |part| add_known(shared, part));
        let is_uncompressed =
            matches!(extent.kind, ExtentKind::Flat | ExtentKind::Chunk | ExtentKind::Plain { .. });
        match new {
            new if new == range.end - range.start => Need::Read,
            0 if is_uncompressed => Need::Known,
            _ => self.need_again(at, extent),
        }
    }

    /// Whether bytes that were part of an extent before must be decoded as this one.
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
            refusal => Need::Refused(refusal),
        }
    }

    /// Whether several extents have the same bytes.
    pub(crate) fn has_shared(&self) -> bool {
        self.data.iter().any(|data| !data.shared.is_empty())
    }

    /// Of each device, the bytes that several extents have, or metadata and an extent.
    pub(crate) fn contested(&self) -> Vec<RangeSet> {
        let mut contested: Vec<_> = self.data.iter().map(|data| data.shared.clone()).collect();
        if let (Some(first), Some(data)) = (contested.first_mut(), self.data.first()) {
            for metadata in [&self.tables, &self.primary] {
                let mut used = data.used.clone();
                for (range, ()) in metadata.iter() {
                    used.add(range, (), |part| add_known(first, part));
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

/// Adds bytes to `set` if they are known in another one.
fn add_known(set: &mut RangeSet, part: Part) {
    if let Part::Known(common) = part {
        set.add(common, (), |_| ());
    }
}
