//! Writes LZ4 sequences, most of them without a branch.

use crate::Fit;
use crate::lz4opt::{LAST_LITERALS, literals_within, narrow};

pub(super) const MIN_MATCH: u32 = 4;
/// What a token cannot count by itself, of literals and of a match beyond the shortest.
const EXCESS: u32 = 15;
/// Literals of a usual sequence, which are copied all at once.
const USUAL_LITERALS: u32 = 32;
/// Lengths beyond the shortest match that take no second byte of excess.
const USUAL_MATCH: u32 = EXCESS + 255;
/// Free bytes that a usual sequence needs, those of what must follow it included.
const USUAL_ROOM: usize = 64;
/// Bytes that must be free for literals after any match, so that the last literals fit.
const MARGIN: u32 = 8;

/// One match.
pub(super) struct Sequence {
    pub(super) start: u32,
    pub(super) len: u32,
    pub(super) distance: u32,
}

/// An LZ4 block that grows.
pub(super) struct Block<'a> {
    input: &'a [u8],
    output: &'a mut [u8],
    written: u32,
    /// Position in the input after the last match.
    anchor: u32,
}

impl<'a> Block<'a> {
    pub(super) const fn new(input: &'a [u8], output: &'a mut [u8]) -> Self {
        Self { input, output, written: 0, anchor: 0 }
    }

    #[inline]
    pub(super) const fn anchor(&self) -> u32 {
        self.anchor
    }

    /// An offset that literals from the anchor on certainly do not reach.
    #[inline]
    pub(super) const fn reach(&self) -> u32 {
        self.anchor.wrapping_add(narrow(self.output.len()))
    }

    /// Appends a match, or as much of it as fits, with the literals before it; `false` if
    /// there is too little.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a sequence stays in registers")]
    pub(super) fn push(&mut self, sequence: &Sequence) -> bool {
        let literals = sequence.start.wrapping_sub(self.anchor);
        let more = sequence.len.wrapping_sub(MIN_MATCH);
        if let Some(written) = self.put_usual(literals, more, sequence.distance) {
            self.written = written;
            self.anchor = sequence.start.wrapping_add(sequence.len);
            return true;
        }
        // A copy, since what others can point to does not stay in registers.
        let mut rare = Block { output: &mut *self.output, ..*self };
        let fits = rare.put_any(literals, more, sequence.distance);
        (self.written, self.anchor) = (rare.written, rare.anchor);
        fits
    }

    /// Writes a sequence of moderate lengths; the bytes written then. `None` if it is not one, or
    /// near the end of the input or output.
    #[inline]
    fn put_usual(&mut self, literals: u32, more: u32, distance: u32) -> Option<u32> {
        if literals > USUAL_LITERALS || more >= USUAL_MATCH {
            return None;
        }
        let (from, to) = (self.anchor as usize, self.written as usize);
        let source: &[u8; USUAL_LITERALS as usize] =
            self.input.get(from..from + USUAL_LITERALS as usize)?.first_chunk()?;
        let free: &mut [u8; USUAL_ROOM] =
            self.output.get_mut(to..to + USUAL_ROOM)?.first_chunk_mut()?;
        let [token, free @ ..] = free;
        *token = byte(literals.min(EXCESS) << 4 | more.min(EXCESS));
        // If there is no excess, this byte is overwritten by what follows.
        *free.first_mut()? = byte(literals.wrapping_sub(EXCESS));
        let free = free.get_mut(usize::from(literals >= EXCESS)..)?;
        *free.first_chunk_mut()? = *source;
        let free = free.get_mut(literals as usize..)?;
        let [low, high, ..] = distance.to_le_bytes();
        *free.first_chunk_mut()? = [low, high, byte(more.wrapping_sub(EXCESS))];
        let excess = u32::from(literals >= EXCESS) + u32::from(more >= EXCESS);
        Some(self.written.wrapping_add(literals + 3 + excess))
    }

    /// Does the work of [`Block::push`] for any sequence.
    #[inline(never)]
    fn put_any(&mut self, literals: u32, more: u32, distance: u32) -> bool {
        let room = narrow(self.output.len()) - self.written;
        let before = literals + (literals + 255 - EXCESS) / 255 + 3;
        let Some(room) = room.checked_sub(before).filter(|&room| room > MARGIN) else {
            return false;
        };
        let most = (room - 1 - narrow(LAST_LITERALS)) * 255 + EXCESS - 1;
        let fits = more.min(most);
        let end = self.anchor + literals;
        self.put_literals(literals, fits);
        let [low, high, ..] = distance.to_le_bytes();
        self.put(low);
        self.put(high);
        self.put_excess(fits);
        self.anchor = end + MIN_MATCH + fits;
        true
    }

    /// Ends the block with all literals that fit.
    pub(super) fn finish(mut self) -> Fit {
        let rest = self.input.len().saturating_sub(self.anchor as usize);
        let room = self.output.len().saturating_sub(self.written as usize + 1);
        self.put_literals(narrow(rest.min(literals_within(room))), 0);
        Fit { consumed: self.anchor as usize, written: self.written as usize }
    }

    /// Writes a token and the literals from the anchor on, and moves the anchor after them.
    fn put_literals(&mut self, literals: u32, more: u32) {
        self.put(byte(literals.min(EXCESS) << 4 | more.min(EXCESS)));
        self.put_excess(literals);
        let (from, to, len) = (self.anchor as usize, self.written as usize, literals as usize);
        let source = self.input.get(from..from + len);
        if let (Some(source), Some(free)) = (source, self.output.get_mut(to..to + len)) {
            free.copy_from_slice(source);
        }
        self.anchor += literals;
        self.written += literals;
    }

    /// Writes what a length has beyond the token's share.
    fn put_excess(&mut self, len: u32) {
        let Some(mut rest) = len.checked_sub(EXCESS) else { return };
        while rest >= 255 {
            self.put(255);
            rest -= 255;
        }
        self.put(byte(rest));
    }

    fn put(&mut self, byte: u8) {
        if let Some(free) = self.output.get_mut(self.written as usize) {
            *free = byte;
        }
        self.written += 1;
    }
}

/// The low byte: of a number below 256, or of what will not be used.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "that is the point")]
const fn byte(number: u32) -> u8 {
    number as u8
}
