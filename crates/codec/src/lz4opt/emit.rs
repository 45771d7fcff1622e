//! Computes the prices of LZ4 sequences, and writes them.

/// Most literals that a token counts by itself.
const TOKEN_LITERALS: usize = 15;
/// Shortest match and longest one that a token counts by itself.
const MIN_MATCH: usize = 4;
const TOKEN_MATCH: usize = 15;

/// Bytes that a run of `len` literals takes beside its token.
#[inline]
pub(super) const fn literals_price(len: usize) -> usize {
    if len < TOKEN_LITERALS { len } else { len + 1 + (len - TOKEN_LITERALS) / 255 }
}

/// Bytes that a match of `len` takes with its token.
#[inline]
pub(super) const fn match_price(len: usize) -> usize {
    if len < MIN_MATCH + TOKEN_MATCH { 3 } else { 4 + (len - MIN_MATCH - TOKEN_MATCH) / 255 }
}

/// Most bytes of a match whose price is at most `room`; `None` if there is too little for any.
pub(super) fn match_within(room: usize) -> Option<usize> {
    Some(MIN_MATCH + TOKEN_MATCH - 1 + room.checked_sub(3)? * 255)
}

/// Most literals whose price is at most `room`.
pub(crate) const fn literals_within(room: usize) -> usize {
    if room < TOKEN_LITERALS {
        return room;
    }
    let mut len = room - 1 - (room - TOKEN_LITERALS) / 256;
    while literals_price(len) > room {
        len -= 1;
    }
    len
}

/// One match, `start` being its offset in the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sequence {
    pub(super) start: usize,
    pub(super) len: usize,
    pub(super) distance: usize,
}

impl Sequence {
    pub(super) const fn end(&self) -> usize {
        self.start + self.len
    }
}

/// An LZ4 block that grows; the newest match is held back, since what follows may still shorten it.
pub(super) struct Block<'a> {
    input: &'a [u8],
    output: &'a mut [u8],
    written: usize,
    /// Position in the input after the last match written.
    done: usize,
    held: Option<Sequence>,
}

impl<'a> Block<'a> {
    pub(super) const fn new(input: &'a [u8], output: &'a mut [u8]) -> Self {
        Self { input, output, written: 0, done: 0, held: None }
    }

    /// Where the literals begin that no match covers yet.
    pub(super) fn anchor(&self) -> usize {
        self.held.map_or(self.done, |held| held.end())
    }

    /// Bytes of the output that are free when all matches so far are written.
    pub(super) fn room(&self) -> usize {
        let held = self
            .held
            .map_or(0, |held| literals_price(held.start - self.done) + match_price(held.len));
        self.output.len() - self.written - held
    }

    /// The newest match, if it can still be changed.
    pub(super) const fn held(&self) -> Option<Sequence> {
        self.held
    }

    /// Literals before the newest match.
    pub(super) fn held_run(&self) -> usize {
        self.held.map_or(0, |held| held.start - self.done)
    }

    /// Changes the newest match.
    pub(super) const fn replace_held(&mut self, sequence: Sequence) {
        self.held = Some(sequence);
    }

    /// Appends a match, with the literals from the anchor to its start.
    pub(super) fn push(&mut self, sequence: Sequence) {
        self.write_held();
        self.held = Some(sequence);
    }

    /// Ends the block with the literals from the anchor to `end`; the bytes written.
    pub(super) fn finish(mut self, end: usize) -> usize {
        self.write_held();
        self.write_literals(end, 0);
        self.written
    }

    fn write_held(&mut self) {
        let Some(held) = self.held.take() else { return };
        let len = held.len - MIN_MATCH;
        self.write_literals(held.start, len);
        for byte in held.distance.to_le_bytes().into_iter().take(2) {
            self.put(byte);
        }
        self.put_excess(len, TOKEN_MATCH);
        self.done = held.end();
    }

    /// Writes a token and the literals up to `end`.
    fn write_literals(&mut self, end: usize, match_len: usize) {
        let literals = self.input.get(self.done..end).expect("literals are of the input");
        let high = literals.len().min(TOKEN_LITERALS);
        let token = high << 4 | match_len.min(TOKEN_MATCH);
        self.put(u8::try_from(token).expect("two halves of four bits"));
        self.put_excess(literals.len(), TOKEN_LITERALS);
        let written = self.written + literals.len();
        if let Some(free) = self.output.get_mut(self.written..written) {
            free.copy_from_slice(literals);
        }
        self.written = written;
    }

    /// Writes what a length has beyond the token's share.
    fn put_excess(&mut self, len: usize, share: usize) {
        let Some(mut rest) = len.checked_sub(share) else { return };
        while rest >= 255 {
            self.put(255);
            rest -= 255;
        }
        self.put(u8::try_from(rest).expect("less than 255"));
    }

    fn put(&mut self, byte: u8) {
        if let Some(free) = self.output.get_mut(self.written) {
            *free = byte;
        }
        self.written += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_literals_fill_the_room() {
        for room in 0..100_000 {
            let len = literals_within(room);
            assert!(literals_price(len) <= room && literals_price(len + 1) > room, "{room}");
        }
    }

    #[test]
    fn longest_match_fills_the_room() {
        assert_eq!(match_within(2), None);
        for room in 3..2000 {
            let len = match_within(room).unwrap();
            assert!(match_price(len) <= room && match_price(len + 1) > room, "{room}");
        }
    }
}
