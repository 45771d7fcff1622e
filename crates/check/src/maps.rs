//! Checks the map of each inode: its extents tile the file and are stored where data can be.

use lith_format::{
    addr::Pa,
    device_table::{DeviceMap, DevicePa},
    features::Incompat,
    inode::InodeData,
};
use lith_reader::{Extent, ExtentKind, File, Image, Inode, Place};
use lith_survey::{Allowance, Budget};

use crate::{
    classify::Reading,
    decode::Feed,
    findings::Log,
    footprint::Footprint,
    indexes::Indexes,
    ledger::{Ledger, Need},
    raw::Raw,
    rule::Rule,
    usage::Usage,
};

/// The checks of maps, and what they have found so far.
pub(crate) struct Maps<'a> {
    image: &'a Image,
    log: &'a Log<'a>,
    extents: Allowance,
    indexes: Allowance,
    pub(crate) ledger: Ledger,
    pub(crate) usage: Usage,
    /// Some map could not be read.
    pub(crate) incomplete: bool,
}

/// An inode whose map is checked.
struct Subject<'a, 'b> {
    inode: &'a Inode,
    interlaced: bool,
    /// Blocks of its pclusters.
    blocks: u64,
    /// Where the last pcluster ends.
    last: Option<DevicePa>,
    feed: Option<&'a mut Feed<'b>>,
}

impl<'a> Maps<'a> {
    pub(crate) fn new(image: &'a Image, log: &'a Log<'a>, budget: &Budget) -> Self {
        let (extents, indexes) = (budget.extents, budget.extents);
        let (ledger, usage) = (Ledger::new(image, budget.repeated), Usage::default());
        Self { image, log, extents, indexes, ledger, usage, incomplete: false }
    }

    /// Checks the map of an inode, and feeds its data to be decoded.
    pub(crate) fn check(
        &mut self,
        raw: Option<&mut Raw<'_>>,
        inode: &Inode,
        feed: Option<&mut Feed<'_>>,
    ) {
        let interlaced = raw.is_some_and(|raw| self.check_footprint(raw, inode));
        self.usage.see_inode(self.image, inode);
        if !inode.file_type.has_content() {
            return;
        }
        match self.image.file(inode) {
            Ok(file) => {
                let mut subject = Subject { inode, interlaced, blocks: 0, last: None, feed };
                if self.check_extents(&file, &mut subject) {
                    self.check_blocks(&subject);
                } else {
                    self.incomplete = true;
                }
            }
            Err(error) => {
                self.incomplete = true;
                self.log.error(Reading::MAP, &error);
            }
        }
    }

    /// Records the metadata that belongs to the inode; returns whether its PLAIN extents are interlaced.
    fn check_footprint(&mut self, raw: &mut Raw<'_>, inode: &Inode) -> bool {
        let footprint = Footprint::of(self.image, raw, inode);
        for feature in [Incompat::BITS_48, Incompat::BIG_PCLUSTER] {
            if footprint.needs.contains(feature) {
                self.usage.needs(feature, inode.nid);
            }
        }
        if footprint.reserved {
            self.log.inode(Rule::ReservedSet, inode.nid, "reserved bits of the map header are set");
        }
        if let Some(common) = self.ledger.add_inode(inode.space, footprint.range) {
            let detail = format!(
                "its metadata from byte {} to {} also belongs to another inode",
                common.start, common.end
            );
            self.log.inode(Rule::InodeOverlap, inode.nid, detail);
        }
        if let Some((table, count)) = footprint.indexes {
            Indexes { log: self.log, raw, inode, table, count }.check(&mut self.indexes);
        }
        footprint.interlaced
    }

    /// Returns whether the map was checked to its end.
    fn check_extents(&mut self, file: &File<'_>, subject: &mut Subject<'_, '_>) -> bool {
        let (mut at, nid) = (0, subject.inode.nid);
        for extent in file.extents() {
            let detail = "maps overlap so much that the rest is not checked";
            if !self.log.is_granted(self.extents.take(1), nid, detail) {
                return false;
            }
            let extent = match extent {
                Ok(extent) => extent,
                Err(error) => {
                    self.log.error(Reading::MAP, &error);
                    return false;
                }
            };
            if extent.la != at || extent.len == 0 {
                let detail = format!("the extent at {} should begin at {at}", extent.la);
                self.log.inode(Rule::MapDamaged, nid, detail);
                return false;
            }
            at = extent.end();
            self.check_extent(&extent, subject);
        }
        if at != file.size() {
            let detail = format!("extents end at {at} in a file of {} bytes", file.size());
            self.log.inode(Rule::MapDamaged, nid, detail);
        }
        at == file.size()
    }

    fn check_extent(&mut self, extent: &Extent, subject: &mut Subject<'_, '_>) {
        let inode = subject.inode;
        self.usage.see_extent(self.image, inode, extent);
        self.check_kind(extent, subject);
        match extent.place {
            Place::Nowhere => {}
            Place::Packed { offset } => self.check_fragment(inode, extent, offset),
            Place::Metadata { .. } => subject.feed(extent),
            Place::Device(at) => {
                if matches!(extent.kind, ExtentKind::Plain { .. } | ExtentKind::Compressed { .. }) {
                    subject.blocks += self.image.superblock().block.blocks_for(extent.plen);
                    self.check_neighbours(extent, at, subject);
                }
                self.check_place(extent, at, subject);
            }
        }
    }

    fn check_kind(&self, extent: &Extent, subject: &Subject<'_, '_>) {
        let (nid, Extent { la, len, plen, .. }) = (subject.inode.nid, *extent);
        let block = self.image.superblock().block;
        match (extent.kind, extent.place) {
            (ExtentKind::Compressed { partial: false, .. }, Place::Device(_))
                if len < plen && extent.end() != subject.inode.size =>
            {
                let detail = format!("the extent at {la} has {len} bytes in a pcluster of {plen}");
                self.log.inode(Rule::ExtentNotSmaller, nid, detail);
            }
            (ExtentKind::Plain { .. }, Place::Metadata { .. })
                if subject.interlaced && block.within(la) != 0 =>
            {
                let detail = format!("the inline extent at {la} is plain in an interlaced inode");
                self.log.inode(Rule::InterlacedInline, nid, detail);
            }
            _ => {}
        }
    }

    fn check_fragment(&self, inode: &Inode, extent: &Extent, offset: u64) {
        let size = self.image.packed_inode().map_or(0, |packed| packed.size);
        let is_packed = self.image.packed_inode().is_some_and(|packed| packed.nid == inode.nid);
        let inside = offset.checked_add(extent.len).is_some_and(|end| end <= size);
        if is_packed || !inside {
            let len = extent.len;
            let detail = if is_packed {
                "a fragment in the packed inode itself".to_owned()
            } else {
                format!("a fragment of {len} bytes at {offset} of the packed inode's {size} bytes")
            };
            self.log.inode(Rule::FragmentOutside, inode.nid, detail);
        }
    }

    fn check_place(&mut self, extent: &Extent, at: DevicePa, subject: &mut Subject<'_, '_>) {
        let (nid, end) = (subject.inode.nid, self.end_of_device(at.device));
        if at.pa.0.checked_add(extent.plen).is_none_or(|after| after > end) {
            let detail = format!(
                "the extent at {} has {} bytes at {} of device {}, which has {end}",
                extent.la, extent.plen, at.pa, at.device
            );
            self.log.inode(Rule::ExtentOutside, nid, detail);
            return;
        }
        match self.ledger.add_extent(at, extent) {
            Need::Read => subject.feed(extent),
            Need::Known => {}
            Need::Refused(grant) => {
                let detail = "extents overlap so much that no more of them are decoded";
                self.log.is_granted(grant, nid, detail);
            }
        }
    }

    /// Linux compares the addresses of two pclusters on their devices before it reads them at once, not which files these are.
    fn check_neighbours(&self, extent: &Extent, at: DevicePa, subject: &mut Subject<'_, '_>) {
        let size = u64::from(self.image.superblock().block.size());
        let end =
            at.pa.0.checked_add(extent.plen).and_then(|end| end.checked_next_multiple_of(size));
        let last = subject.last.take();
        subject.last = end.map(|end| DevicePa { device: at.device, pa: Pa(end) });
        if last.is_some_and(|last| last.device != at.device && last.pa == at.pa) {
            let detail = format!(
                "the extent at {} is at {} of device {}, where that before it ends on another",
                extent.la, at.pa, at.device
            );
            self.log.inode(Rule::ExtentsAdjoin, subject.inode.nid, detail);
        }
    }

    /// The end of a device in bytes, limited by its slot of the device table.
    fn end_of_device(&self, device: u16) -> u64 {
        let (size, map) = (self.image.device_size(device), self.image.device_map());
        let slot = usize::from(device).checked_sub(1).and_then(|index| map.slots.get(index));
        slot.map_or(size, |slot| size.min(slot_size(map, slot.blocks)))
    }

    fn check_blocks(&self, subject: &Subject<'_, '_>) {
        let InodeData::Compressed { blocks } = subject.inode.data else { return };
        // A shared pcluster counts for the file that it was written for.
        let may_share = self.image.superblock().incompat.contains(Incompat::DEDUPE);
        if blocks > subject.blocks || (blocks < subject.blocks && !may_share) {
            let detail = format!("i_blocks is {blocks}, but {} blocks were found", subject.blocks);
            self.log.inode(Rule::InodeBlocks, subject.inode.nid, detail);
        }
    }
}

/// Bytes of `blocks` blocks of a device.
pub(crate) const fn slot_size(map: &DeviceMap, blocks: u64) -> u64 {
    blocks.saturating_mul(map.block.size() as u64)
}

impl Subject<'_, '_> {
    fn feed(&mut self, extent: &Extent) {
        if let Some(feed) = &mut self.feed {
            let may_cut = matches!(extent.kind, ExtentKind::Flat | ExtentKind::Chunk);
            feed.add(self.inode, extent.la..extent.end(), may_cut);
        }
    }
}
