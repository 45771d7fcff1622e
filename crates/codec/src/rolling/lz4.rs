//! Decodes the bytes of an LZ4 stream that follow others that are not wanted.

use super::window::{BUFFER, REACH, SPARE};

/// Bytes of a match that are copied at a time.
const COPY: usize = 32;
/// Bytes from a short sequence's token on that are read: those of its literals, copied in full, its offset and one
/// byte of its match's length among them.
const SHORT: usize = 1 + 16 + 3;
/// The value of a length's four bits that means that more follows.
const MORE: usize = 15;
/// The shortest match.
const MIN_MATCH: usize = 4;

/// A stream on its way through the window.
struct Rolling<'a> {
    /// Up to [`REACH`] bytes of history, then what was decoded since the window moved.
    buffer: &'a mut [u8; BUFFER],
    /// The end of what is decoded.
    at: usize,
    /// The end of what was passed on.
    passed: usize,
    /// Bytes still to be dropped.
    skip: usize,
    /// What is still to be filled.
    output: &'a mut [u8],
    /// Bytes still to be decoded.
    left: usize,
}

/// Fills `output` with the bytes after the first `skip` of the stream; the number of bytes decoded, fewer than both
/// only if the stream holds no more, or `None` if it is corrupt.
pub(super) fn decompress_rolling(
    input: &[u8],
    skip: usize,
    output: &mut [u8],
    buffer: &mut [u8],
) -> Option<usize> {
    let buffer = buffer.first_chunk_mut()?;
    let wanted = skip.checked_add(output.len())?;
    let mut rolling = Rolling { buffer, at: 0, passed: 0, skip, output, left: wanted };
    rolling.run(input)?;
    rolling.pass_on();
    Some(wanted - rolling.left)
}

impl Rolling<'_> {
    fn run(&mut self, mut input: &[u8]) -> Option<()> {
        while self.left > 0 {
            input = self.short_sequences(input);
            let (token, rest) = input.split_first()?;
            let (literals, rest) = length(usize::from(token >> 4), rest)?;
            let (literals, rest) = rest.split_at_checked(literals)?;
            self.literals(literals)?;
            if rest.is_empty() || self.left == 0 {
                break;
            }
            let (offset, rest) = rest.split_first_chunk()?;
            let (matched, rest) = length(usize::from(token & 15), rest)?;
            let matched = matched.checked_add(MIN_MATCH)?;
            self.copy(usize::from(u16::from_le_bytes(*offset)), matched)?;
            input = rest;
        }
        Some(())
    }

    /// Decodes sequences as long as they are short and more bytes than they have can be copied; returns the input
    /// after them, which is not empty.
    fn short_sequences<'a>(&mut self, mut input: &'a [u8]) -> &'a [u8] {
        let limit = (BUFFER - SPARE).min(self.at.saturating_add(self.left));
        let start = self.at;
        while self.at < limit
            && let Some(read) = self.short_sequence(input, limit)
        {
            input = input.get(read..).unwrap_or_default();
        }
        self.left -= self.at - start;
        input
    }

    /// Decodes one of them that ends before `limit`; the bytes of input that it has.
    fn short_sequence(&mut self, input: &[u8], limit: usize) -> Option<usize> {
        let [token, following @ ..] = input.first_chunk::<SHORT>()?;
        let (literals, matched) = (usize::from(token >> 4), usize::from(token & 15));
        let [low, high, more] = *following.get(literals..)?.first_chunk()?;
        let offset = usize::from(u16::from_le_bytes([low, high]));
        let (more, read) = if matched == MORE { (more, 4) } else { (0, 3) };
        let from = (self.at + literals).checked_sub(offset)?;
        let (at, length) = (self.at + literals, matched + MIN_MATCH + usize::from(more));
        if literals == MORE || more == u8::MAX || offset < COPY || at + length >= limit {
            return None;
        }
        *self.buffer.get_mut(self.at..)?.first_chunk_mut::<16>()? = *following.first_chunk()?;
        for done in (0..length).step_by(COPY) {
            let bytes = *self.buffer.get(from + done..)?.first_chunk::<COPY>()?;
            *self.buffer.get_mut(at + done..)?.first_chunk_mut()? = bytes;
        }
        self.at = at + length;
        Some(literals + read)
    }

    fn literals(&mut self, mut bytes: &[u8]) -> Option<()> {
        while !bytes.is_empty() && self.left > 0 {
            let (piece, rest) = bytes.split_at(self.room(bytes.len()));
            self.buffer.get_mut(self.at..self.at + piece.len())?.copy_from_slice(piece);
            self.advance(piece.len());
            bytes = rest;
        }
        Some(())
    }

    fn copy(&mut self, offset: usize, mut length: usize) -> Option<()> {
        if offset == 0 || offset > self.at {
            return None;
        }
        while length > 0 && self.left > 0 {
            let piece = self.room(length);
            let start = self.at - offset;
            let mut done = 0;
            // What is there repeats itself every `offset` bytes, so each copy can be longer than the one before.
            while done < piece {
                let more = (piece - done).min(offset + done);
                self.buffer.copy_within(start..start + more, self.at + done);
                done += more;
            }
            self.advance(piece);
            length -= piece;
        }
        Some(())
    }

    /// How many of `wanted` bytes can be decoded now: at least one.
    fn room(&mut self, wanted: usize) -> usize {
        if self.at >= BUFFER - SPARE {
            self.pass_on();
            self.buffer.copy_within(self.at - REACH..self.at, 0);
            (self.at, self.passed) = (REACH, REACH);
        }
        wanted.min(self.left).min(BUFFER - SPARE - self.at)
    }

    fn advance(&mut self, length: usize) {
        self.at += length;
        self.left -= length;
    }

    /// Drops or delivers what was decoded since the last time.
    fn pass_on(&mut self) {
        let fresh = self.buffer.get(self.passed..self.at).unwrap_or_default();
        let (dropped, fresh) = fresh.split_at(self.skip.min(fresh.len()));
        let output = std::mem::take(&mut self.output);
        let (filled, rest) = output.split_at_mut(fresh.len().min(output.len()));
        filled.copy_from_slice(fresh);
        self.output = rest;
        self.skip -= dropped.len();
        self.passed = self.at;
    }
}

/// A length of which the token has `bits`, and the input after it.
fn length(bits: usize, mut input: &[u8]) -> Option<(usize, &[u8])> {
    let mut length = bits;
    if bits < MORE {
        return Some((length, input));
    }
    loop {
        let (byte, rest) = input.split_first()?;
        length = length.checked_add(usize::from(*byte))?;
        input = rest;
        if *byte < u8::MAX {
            return Some((length, input));
        }
    }
}
