//! Writes compact tables.

use alloc::vec::Vec;

use super::{
    super::{
        header::{IndexLayout, MapHeader},
        index::{CBLKCNT, NONHEAD},
        locate::{CompactLayout, ENTRIES_2B, ENTRIES_4B, two_byte},
    },
    params::{EncodeParams, EncodedExtent},
    rules::{self, EncodeError, reserve},
    walk::{HeadStep, IndexWriter, NonHeadStep, saturated, walk},
};

/// Map header and compact packs of `extents`, whose pclusters are consecutive from `params.start`
/// on, for a table that begins `e_mod_32` (0, 8, 16 or 24) bytes beyond a multiple of 32. Inline data
/// follows the packs directly.
///
/// # Errors
/// [`EncodeError`] if the extents break a rule of the format or need full indexes.
pub fn encode_compact(
    extents: &[EncodedExtent],
    params: &EncodeParams,
    e_mod_32: u8,
) -> Result<Vec<u8>, EncodeError> {
    rules::check(extents, params)?;
    rules::check_addresses(extents, params)?;
    rules::check_compact(extents, params, e_mod_32)?;
    let total = params.block_bits.blocks_for(params.size);
    let layout = CompactLayout::new(e_mod_32, total, two_byte(params.block_bits));
    let mut out = reserve(layout.size().saturating_add(8))?;
    let header = params.header(IndexLayout::Compact, extents);
    out.extend_from_slice(&MapHeader::Indexes(header).encode(params.block_bits));
    let mut writer = CompactWriter::new(out, layout, params);
    walk(extents, params, header.advise, &mut writer);
    Ok(writer.finish())
}

/// Packs indexes bit by bit. `counter` is the block that the next pcluster is thought to begin at; its value
/// at the start of a pack is the pack's base.
struct CompactWriter {
    out: Vec<u8>,
    layout: CompactLayout,
    lobits: u8,
    big: bool,
    lcn: u64,
    /// Entries written to the current pack, and how many it holds.
    filled: u8,
    entries: u8,
    /// Bits not yet written, and how many.
    pending: u32,
    pending_bits: u8,
    counter: u32,
    base: u32,
    /// The index before this one is a HEAD, so its pcluster is not yet counted.
    after_head: bool,
    pack_has_head: bool,
}

impl CompactWriter {
    fn new(out: Vec<u8>, layout: CompactLayout, params: &EncodeParams) -> Self {
        // Only a file without extents in blocks may have a start beyond 32 bits: nothing is at it.
        let start = u32::try_from(params.start.0).unwrap_or(0);
        let counter = if params.big_pcluster { start } else { start.wrapping_sub(1) };
        Self {
            out,
            layout,
            lobits: params.block_bits.bits().max(12),
            big: params.big_pcluster,
            lcn: 0,
            filled: 0,
            entries: 0,
            pending: 0,
            pending_bits: 0,
            counter,
            base: counter,
            after_head: false,
            pack_has_head: false,
        }
    }

    /// Begins a pack if none is open.
    fn open_pack(&mut self) {
        if self.filled != 0 {
            return;
        }
        let in_2b = self.lcn >= self.layout.init && self.lcn - self.layout.init < self.layout.c2;
        self.entries = if in_2b { ENTRIES_2B } else { ENTRIES_4B };
        self.base = self.counter;
        self.pack_has_head = false;
    }

    fn push(&mut self, kind: u16, lo: u16) {
        let entry = u32::from(kind) << self.lobits | u32::from(lo);
        self.pending |= entry << self.pending_bits;
        self.pending_bits += if self.entries == ENTRIES_2B { 14 } else { 16 };
        while let (8.., [byte, ..]) = (self.pending_bits, self.pending.to_le_bytes()) {
            self.out.push(byte);
            self.pending >>= 8;
            self.pending_bits -= 8;
        }
        self.lcn += 1;
        self.filled += 1;
        if self.filled == self.entries {
            self.out.extend_from_slice(&self.base.to_le_bytes());
            self.filled = 0;
        }
    }

    fn finish(mut self) -> Vec<u8> {
        while self.filled != 0 {
            self.push(0, 0);
        }
        self.out
    }
}

impl IndexWriter for CompactWriter {
    fn head(&mut self, step: &HeadStep) {
        self.open_pack();
        if !self.big || self.after_head {
            self.counter = self.counter.wrapping_add(1);
        }
        if self.big && self.after_head && !self.pack_has_head {
            self.base = self.counter;
        }
        self.after_head = true;
        self.pack_has_head = true;
        self.push(step.kind.raw(), step.clusterofs);
    }

    fn nonhead(&mut self, step: &NonHeadStep) {
        self.open_pack();
        self.after_head = false;
        let lo = match step.cblkcnt {
            Some(blocks) => {
                self.counter = self.counter.wrapping_add(blocks.into());
                CBLKCNT | blocks
            }
            None if self.filled + 1 == self.entries => saturated(step.delta1),
            None => saturated(step.delta0),
        };
        self.push(NONHEAD, lo);
    }
}
