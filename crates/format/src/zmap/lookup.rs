//! Maps the bytes of a file with an index table to its extents.

use super::error::{MapDamage, MapError};
use super::header::{Advise, IndexHeader, IndexLayout};
use super::index::{Head, HeadKind, LclusterIndex};
use super::mapped::{ExtentError, ExtentKind, Location, MappedExtent};
use super::{MAX_EXTENT_LEN, table::IndexSource};
use crate::addr::{BlockBits, La, Lcn};

/// The map of a file with an index table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IndexMap {
    header: IndexHeader,
    block: BlockBits,
    size: u64,
}

type Found = (Lcn, Head);

impl IndexMap {
    /// The map of a file of `size` bytes.
    #[must_use]
    pub const fn new(header: IndexHeader, block: BlockBits, size: u64) -> Self {
        Self { header, block, size }
    }

    /// The extent that holds byte `la` and all that follow. After the first extent each index is loaded at
    /// most once, in ascending order. Ends after an error.
    pub fn extents_from<S: IndexSource>(&self, source: S, la: La) -> Extents<S> {
        let at = if la.0 < self.size { Cursor::Byte(la) } else { Cursor::End };
        Extents { map: *self, source, at }
    }

    /// How many steps a search may take: one for each lcluster of the longest extent and, since a tail fragment
    /// can be longer, one for each 1024 lclusters, of which a sound table skips 2047 at a time.
    const fn step_limit(&self) -> u64 {
        let longest = MAX_EXTENT_LEN >> self.header.lcluster_bits;
        longest + (self.header.lclusters(self.size) >> 10) + 2
    }

    const fn start_of(&self, (lcn, head): Found) -> u64 {
        (lcn.0 << self.header.lcluster_bits).saturating_add(head.clusterofs as u64)
    }

    /// The HEAD of the extent that holds `la`, which is in the file.
    fn find_head<S: IndexSource>(
        &self,
        source: &mut S,
        la: La,
    ) -> Result<Found, MapError<S::Error>> {
        let mut lcn = self.header.lcn(la);
        let mut back = match source.load(lcn).map_err(MapError::Source)? {
            LclusterIndex::Head(head) if self.start_of((lcn, head)) <= la.0 => {
                return Ok((lcn, head));
            }
            LclusterIndex::Head(_) => 1,
            LclusterIndex::NonHead(index) => index.delta0,
        };
        for _ in 0..self.step_limit() {
            let target = lcn.0.checked_sub(back.into()).filter(|_| back != 0);
            lcn = Lcn(target.ok_or(MapDamage::BogusLookback { lcn, delta0: back })?);
            match source.load(lcn).map_err(MapError::Source)? {
                LclusterIndex::Head(head) => return Ok((lcn, head)),
                LclusterIndex::NonHead(index) => back = index.delta0,
            }
        }
        Err(MapDamage::Contradiction { lcn }.into())
    }

    /// The first HEAD after a HEAD at `lcn - 1`, where `index` is that of `lcn`; `None` at the file's end.
    fn next_head<S: IndexSource>(
        &self,
        source: &mut S,
        mut lcn: Lcn,
        mut index: Option<LclusterIndex>,
    ) -> Result<Option<Found>, MapError<S::Error>> {
        for _ in 0..self.step_limit() {
            let ahead = match index {
                None => return Ok(None),
                Some(LclusterIndex::Head(head)) => return Ok(Some((lcn, head))),
                // Images from before erofs-utils 1.0 may hold 0.
                Some(LclusterIndex::NonHead(index)) => u64::from(index.delta1).max(1),
            };
            lcn = Lcn(lcn.0.saturating_add(ahead));
            index = self.load_within(source, lcn)?;
        }
        Err(MapDamage::Contradiction { lcn }.into())
    }

    /// The index of `lcn`; `None` if the file ends before it.
    fn load_within<S: IndexSource>(
        &self,
        source: &mut S,
        lcn: Lcn,
    ) -> Result<Option<LclusterIndex>, MapError<S::Error>> {
        if lcn.0 >= self.header.lclusters(self.size) {
            return Ok(None);
        }
        source.load(lcn).map(Some).map_err(MapError::Source)
    }

    /// The extent of a HEAD that starts within the file, and the next HEAD that does too.
    fn extent<S: IndexSource>(
        &self,
        source: &mut S,
        found: Found,
    ) -> Result<(MappedExtent, Option<Found>), MapError<S::Error>> {
        let (lcn, head) = found;
        let follower = Lcn(lcn.0.saturating_add(1));
        let index = self.load_within(source, follower)?;
        let next = self.next_head(source, follower, index)?;
        let next = next.filter(|&next| self.start_of(next) < self.size);
        let la = La(self.start_of(found));
        let end = next.map_or(self.size, |next| self.start_of(next));
        let location = match self.tail(&head).filter(|_| end == self.size) {
            Some(tail) => tail,
            None if head.hole => Location::Hole,
            None => {
                let blocks = self.blocks(head.kind, follower, index)?;
                self.blocks_at(&head, la, blocks)?
            }
        };
        let kind = self.kind(head.kind, location);
        let llen = end.saturating_sub(la.0);
        let extent = MappedExtent { la, llen, location, kind, partial: head.partial };
        Ok((extent.checked(self.block)?, next))
    }

    /// Where the last extent is if not in blocks.
    fn tail(&self, head: &Head) -> Option<Location> {
        let IndexHeader { layout, advise, idata_size, .. } = self.header;
        if advise.contains(Advise::FRAGMENT) {
            let high = if layout == IndexLayout::Full { head.blkaddr.0 } else { 0 };
            let offset = high << 32 | u64::from(self.header.fragment_off_lo);
            return Some(Location::Fragment { offset });
        }
        (idata_size != 0).then_some(Location::Inline { plen: idata_size.into() })
    }

    /// Blocks of the pcluster of a HEAD; `index` is that of `follower`, the lcluster after it.
    fn blocks<E>(
        &self,
        kind: HeadKind,
        follower: Lcn,
        index: Option<LclusterIndex>,
    ) -> Result<u16, MapError<E>> {
        if !self.header.advise.big_pcluster(kind) {
            return Ok(1);
        }
        match index {
            None | Some(LclusterIndex::Head(_)) => Ok(1),
            Some(LclusterIndex::NonHead(index)) => match index.cblkcnt {
                None => Err(MapDamage::MissingCblkcnt { lcn: follower }.into()),
                Some(0) => Err(MapDamage::ZeroCblkcnt { lcn: follower }.into()),
                Some(blocks) => Ok(blocks),
            },
        }
    }

    fn blocks_at(&self, head: &Head, la: La, blocks: u16) -> Result<Location, ExtentError> {
        let pa = head.blkaddr.to_pa(self.block).ok_or(ExtentError::AddressOverflow { la })?;
        Ok(Location::Blocks { pa, plen: u32::from(blocks) << self.block.bits() })
    }

    /// Inline data is never rotated, whatever the header has: kernels that rotate it misread it.
    fn kind(&self, kind: HeadKind, location: Location) -> ExtentKind {
        match kind {
            HeadKind::Plain => ExtentKind::Plain {
                interlaced: self.header.advise.contains(Advise::INTERLACED)
                    && matches!(location, Location::Blocks { .. }),
            },
            HeadKind::Head1 => ExtentKind::Compressed { algorithm: self.header.head1 },
            HeadKind::Head2 => ExtentKind::Compressed { algorithm: self.header.head2 },
        }
    }
}

/// The extents of a file in order.
#[derive(Clone, Debug)]
pub struct Extents<S> {
    map: IndexMap,
    source: S,
    at: Cursor,
}

#[derive(Clone, Copy, Debug)]
enum Cursor {
    Byte(La),
    Head(Found),
    End,
}

impl<S: IndexSource> Extents<S> {
    fn step(&mut self) -> Result<Option<MappedExtent>, MapError<S::Error>> {
        let (extent, next) = match core::mem::replace(&mut self.at, Cursor::End) {
            Cursor::End => return Ok(None),
            Cursor::Head(found) => self.map.extent(&mut self.source, found)?,
            Cursor::Byte(la) => {
                let found = self.map.find_head(&mut self.source, la)?;
                let (extent, next) = self.map.extent(&mut self.source, found)?;
                if la >= extent.end() {
                    return Err(MapDamage::Contradiction { lcn: self.map.header.lcn(la) }.into());
                }
                (extent, next)
            }
        };
        self.at = next.map_or(Cursor::End, Cursor::Head);
        Ok(Some(extent))
    }
}

impl<S: IndexSource> Iterator for Extents<S> {
    type Item = Result<MappedExtent, MapError<S::Error>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.step().transpose()
    }
}

impl<S: IndexSource> core::iter::FusedIterator for Extents<S> {}
