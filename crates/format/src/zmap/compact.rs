//! Reads the packs of a compact table.

use core::ops::Range;

use super::header::{Advise, IndexHeader};
use super::index::{CBLKCNT, Head, HeadKind, IndexError, LclusterIndex, NonHead};
use super::locate::{CompactLayout, ENTRIES_2B, ENTRIES_4B};
use crate::addr::{Blkaddr, BlockBits, Lcn};

/// The compact packs of one file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct CompactTable {
    lcluster_size: u64,
    lobits: u8,
    big: bool,
    layout: CompactLayout,
}

/// Where an lcluster's entry stands: its pack's first byte in the table, its number in the pack, and how
/// many entries the pack holds.
struct Place {
    start: u64,
    entry: u8,
    entries: u8,
}

impl CompactTable {
    /// The table of a file of `file_size` bytes that begins `e_mod_32` bytes beyond a multiple of 32.
    pub(super) fn new(
        header: &IndexHeader,
        block: BlockBits,
        file_size: u64,
        e_mod_32: u8,
    ) -> Result<Self, IndexError> {
        let two_byte = header.advise.contains(Advise::COMPACTED_2B);
        let layout = CompactLayout::new(e_mod_32, block.blocks_for(file_size), two_byte);
        let lcluster_bits = header.lcluster_bits;
        let width = if layout.c2 != 0 { (32, 12) } else { (8, 14) };
        if lcluster_bits > width.1 {
            return Err(IndexError::PackWidth { bytes: width.0, lcluster_bits });
        }
        Ok(Self {
            lcluster_size: header.lcluster_size(),
            lobits: lcluster_bits.max(12),
            big: header.advise.contains(Advise::BIG_PCLUSTER_1),
            layout,
        })
    }

    /// Bytes of the table.
    pub(super) const fn size(&self) -> u64 {
        self.layout.size()
    }

    fn place(&self, lcn: Lcn) -> Result<Place, IndexError> {
        let CompactLayout { init, c2, .. } = self.layout;
        let total = self.layout.total();
        if lcn.0 >= total {
            return Err(IndexError::BeyondTable { lcn, total });
        }
        // Block counts stay below 2^55, so nothing here overflows.
        let (run_start, index, entries) = match lcn.0 {
            k if k < init => (0, k, ENTRIES_4B),
            k if k - init < c2 => (4 * init, k - init, ENTRIES_2B),
            k => (4 * init + 2 * c2, k - init - c2, ENTRIES_4B),
        };
        let per_pack = u64::from(entries);
        let start = run_start + index / per_pack * pack_size(entries);
        let [entry, ..] = (index % per_pack).to_le_bytes();
        Ok(Place { start, entry, entries })
    }

    /// Which bytes of the table hold the pack of `lcn`.
    pub(super) fn range(&self, lcn: Lcn) -> Result<Range<u64>, IndexError> {
        let place = self.place(lcn)?;
        Ok(place.start..place.start + pack_size(place.entries))
    }

    /// The index of `lcn` from the bytes at its range.
    pub(super) fn decode(&self, bytes: &[u8], lcn: Lcn) -> Result<LclusterIndex, IndexError> {
        let place = self.place(lcn)?;
        let pack = Pack::new(bytes, place.entries, self.lobits).ok_or(IndexError::Short {
            lcn,
            expected: pack_size(place.entries),
            found: bytes.len(),
        })?;
        let (kind, clusterofs) = pack.entry(place.entry);
        let Some(kind) = kind else {
            return self.nonhead(&pack, place.entry, lcn);
        };
        if u64::from(clusterofs) >= self.lcluster_size {
            return Err(IndexError::BogusClusterofs { lcn, clusterofs, size: self.lcluster_size });
        }
        let blocks = if self.big {
            pack.blocks_before_big(place.entry)
                .map_err(|delta0| IndexError::MissingCblkcnt { lcn, delta0 })?
        } else {
            pack.heads_up_to(place.entry)
        };
        let blkaddr = Blkaddr(u64::from(pack.base) + u64::from(blocks));
        Ok(LclusterIndex::Head(Head { kind, clusterofs, blkaddr, partial: false, hole: false }))
    }

    fn nonhead(&self, pack: &Pack<'_>, entry: u8, lcn: Lcn) -> Result<LclusterIndex, IndexError> {
        let (_, lo) = pack.entry(entry);
        let delta1 = pack.delta1(entry);
        if lo & CBLKCNT != 0 {
            if !self.big {
                return Err(IndexError::UnexpectedCblkcnt { lcn });
            }
            let cblkcnt = Some(lo & (CBLKCNT - 1));
            return Ok(LclusterIndex::NonHead(NonHead { delta0: 1, delta1, cblkcnt }));
        }
        let delta0 = if entry + 1 == pack.entries { pack.last_delta0() } else { lo };
        Ok(LclusterIndex::NonHead(NonHead { delta0, delta1, cblkcnt: None }))
    }
}

const fn pack_size(entries: u8) -> u64 {
    if entries == ENTRIES_2B { 32 } else { 8 }
}

struct Pack<'a> {
    bits: &'a [u8],
    base: u32,
    entries: u8,
    entry_bits: u8,
    lobits: u8,
}

impl<'a> Pack<'a> {
    fn new(bytes: &'a [u8], entries: u8, lobits: u8) -> Option<Self> {
        let pack = bytes.get(..usize::try_from(pack_size(entries)).ok()?)?;
        let base = u32::from_le_bytes(*pack.last_chunk()?);
        let entry_bits = if entries == ENTRIES_2B { 14 } else { 16 };
        Some(Self { bits: pack, base, entries, entry_bits, lobits })
    }

    /// The kind (`None` for NONHEAD) and the low bits of entry `j`.
    fn entry(&self, j: u8) -> (Option<HeadKind>, u16) {
        let bit = usize::from(j) * usize::from(self.entry_bits);
        // The base's four bytes follow the last entry, so the window never leaves the pack.
        let window = self.bits.get(bit / 8..).and_then(<[u8]>::first_chunk);
        let entry = window.map_or(0, |window| u32::from_le_bytes(*window)) >> (bit % 8);
        let lo = entry & ((1 << self.lobits) - 1);
        let [raw, ..] = (entry >> self.lobits).to_le_bytes();
        let [low, high, ..] = lo.to_le_bytes();
        (HeadKind::from_raw(raw.into()), u16::from_le_bytes([low, high]))
    }

    /// The distance to the next HEAD from the NONHEAD at entry `j`.
    fn delta1(&self, j: u8) -> u16 {
        for k in j..self.entries {
            let (kind, lo) = self.entry(k);
            let ahead = u16::from(k - j);
            if kind.is_some() {
                return ahead;
            }
            if k + 1 == self.entries {
                return if lo & CBLKCNT != 0 { ahead + 1 } else { ahead + lo };
            }
        }
        0
    }

    /// The distance to the HEAD from the NONHEAD that is the last entry: its own bits hold delta1.
    fn last_delta0(&self) -> u16 {
        match self.entry(self.entries.saturating_sub(2)) {
            (Some(_), _) => 1,
            (None, lo) if lo & CBLKCNT != 0 => 2,
            (None, lo) => lo + 1,
        }
    }

    /// Without big pclusters: how many HEADs stand in the pack up to entry `j`, a HEAD; one before the pack
    /// counts for nothing.
    fn heads_up_to(&self, j: u8) -> u32 {
        let mut heads = 1;
        let mut i = i32::from(j);
        while i > 0 {
            i -= 1;
            if let (None, lo) = self.at(i) {
                i -= i32::from(lo);
            }
            if i >= 0 {
                heads += 1;
            }
        }
        heads
    }

    /// With big pclusters: how many blocks the pclusters occupy that the pack counts before entry `j`, a HEAD.
    /// Fails with the distance that stands where a CBLKCNT must.
    fn blocks_before_big(&self, j: u8) -> Result<u32, u16> {
        let mut blocks = 0;
        let mut i = i32::from(j);
        while i > 0 {
            i -= 1;
            match self.at(i) {
                (Some(_), _) => blocks += 1,
                (None, lo) if lo & CBLKCNT != 0 => {
                    blocks += u32::from(lo & (CBLKCNT - 1));
                    i -= 1;
                }
                (None, lo) if lo < 2 => return Err(lo),
                (None, lo) => i -= i32::from(lo) - 2,
            }
        }
        Ok(blocks)
    }

    fn at(&self, i: i32) -> (Option<HeadKind>, u16) {
        self.entry(u8::try_from(i).unwrap_or(0))
    }
}
