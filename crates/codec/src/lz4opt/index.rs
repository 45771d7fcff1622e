//! Indexes where the same few bytes occurred before.

/// Farthest distance an LZ4 match can have.
pub(crate) const MAX_DISTANCE: usize = 65_535;
/// Most bytes of a text that an index can take in.
pub(crate) const MAX_TEXT: usize = 1 << 30;

/// Most bits of a hash.
const HEAD_BITS: u32 = 15;
const HEADS: usize = 1 << HEAD_BITS;
/// Links kept: those of as many positions as a match can reach over.
const LINKS: usize = 1 << 16;
/// Bytes loaded for each gram.
const LOAD: usize = 8;

/// For each position of a text, how far before it the same `GRAM` bytes are, or others of equal hash.
///
/// All positions up to some point are entered at once, before any search: a search then
/// follows links alone. Positions are counted over all texts that an index ever saw, so
/// nothing needs to be cleared between texts: a link to an earlier text leads out of this one.
#[derive(Debug)]
pub(super) struct Index<const GRAM: usize> {
    /// The newest position for each hash.
    head: Box<[u32; HEADS]>,
    link: Box<[u16; LINKS]>,
    /// Right shift that leaves the hash bits in use.
    shift: u32,
    /// Position of the text's first byte.
    base: u32,
    /// Offset of the first byte that is not entered.
    next: usize,
    /// How far the run that the last byte entered is in began before it.
    run: u16,
    /// The bytes that begin with the last one entered.
    before: u64,
}

impl<const GRAM: usize> Index<GRAM> {
    #[expect(
        clippy::large_stack_arrays,
        reason = "boxed at once, and a thread's stack is large enough"
    )]
    pub(super) fn new() -> Self {
        Self {
            head: Box::new([0; HEADS]),
            link: Box::new([0; LINKS]),
            shift: 64 - HEAD_BITS,
            base: 1 << 16,
            next: 0,
            run: 0,
            before: 0,
        }
    }

    /// Starts a new text of at most [`MAX_TEXT`] bytes, of which about `span` will be searched.
    pub(super) fn begin(&mut self, text: &[u8], span: usize) {
        self.base += narrow(self.next);
        if self.base > u32::MAX / 2 {
            self.base = 1 << 16;
            self.head.fill(0);
        }
        let bits = usize::BITS - span.leading_zeros();
        self.shift = 64 - (bits + 1).clamp(10, HEAD_BITS);
        (self.next, self.run, self.before) = (0, 0, !load(text, 0));
    }

    /// The first `GRAM` bytes of eight that were loaded, as a number to compare.
    #[inline]
    pub(super) const fn key(bytes: u64) -> u64 {
        bytes << (64 - 8 * GRAM)
    }

    /// Enters all positions before `end` that have eight bytes.
    ///
    /// Within a run of one byte, nothing is ever linked to but the run's beginning: what matches inside a
    /// run matches there too.
    pub(super) fn enter_until(&mut self, text: &[u8], end: usize) {
        let end = end.min((text.len() + 1).saturating_sub(LOAD));
        let Some(bytes) = text.get(self.next..(end + LOAD).saturating_sub(1)) else { return };
        let (shift, mut before, mut run) = (self.shift, self.before, self.run);
        let first = self.base + narrow(self.next);
        for (position, window) in (first..).zip(bytes.windows(LOAD)) {
            let bytes = load(window, 0);
            let in_run = Self::key(bytes) == Self::key(before);
            run = if in_run { run.saturating_add(1) } else { 0 };
            let distance = if in_run { run } else { self.replace_head(bytes, shift, position) };
            if let Some(link) = self.link.get_mut(link_slot(position)) {
                *link = distance;
            }
            before = bytes;
        }
        (self.before, self.run, self.next) = (before, run, self.next.max(end));
    }

    /// Makes `position`, where `bytes` are, the newest of its hash; how far before it the last one is.
    #[inline]
    fn replace_head(&mut self, bytes: u64, shift: u32, position: u32) -> u16 {
        let Some(head) = self.head.get_mut(Self::slot(bytes, shift)) else { return u16::MAX };
        let distance = position - *head;
        *head = position;
        u16::try_from(distance).unwrap_or(u16::MAX)
    }

    #[inline]
    fn slot(bytes: u64, shift: u32) -> usize {
        let hash = Self::key(bytes).wrapping_mul(0x9E37_79B1_85EB_CA87) >> (shift & 63);
        usize::try_from(hash).expect("a hash has few bits") & (HEADS - 1)
    }

    /// Where the gram at `offset`, which must be entered, may have been before; `None` if nowhere in the
    /// text.
    #[inline]
    pub(super) fn earlier(&self, offset: usize) -> Option<usize> {
        let position = self.base.wrapping_add(narrow(offset));
        let distance = *self.link.get(link_slot(position)).expect("slots are below 65536");
        offset.checked_sub(usize::from(distance))
    }
}

#[inline]
const fn link_slot(position: u32) -> usize {
    (position & 0xFFFF) as usize
}

/// The first eight bytes of `text` at `at`, the first one lowest; zero where the text is too short.
#[inline]
pub(super) fn load(text: &[u8], at: usize) -> u64 {
    eight_bytes(text, narrow(at)).unwrap_or(0)
}

/// Eight bytes of `text` from `at` on, the first one lowest.
///
/// No sum of a `u32` and 8 overflows a `usize`, so this takes one comparison.
#[inline]
pub(crate) fn eight_bytes(text: &[u8], at: u32) -> Option<u64> {
    let at = at as usize;
    Some(u64::from_le_bytes(*text.get(at..at + LOAD)?.first_chunk()?))
}

/// A length or offset that is known to be below 2^31.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "texts have at most MAX_TEXT bytes")]
pub(crate) const fn narrow(number: usize) -> u32 {
    number as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &[u8] = b"abcdefgh abcdefgh------------abcdefgh abcdef and no more of it";

    fn links(index: &mut Index<4>) -> Vec<Option<usize>> {
        index.begin(TEXT, TEXT.len());
        index.enter_until(TEXT, TEXT.len());
        (0..TEXT.len() - 8).map(|offset| index.earlier(offset)).collect()
    }

    #[test]
    fn positions_are_linked_to_the_same_bytes_before() {
        let links = links(&mut Index::new());
        assert_eq!(links[..9], [None; 9]);
        assert_eq!(links[9], Some(0));
        assert_eq!(links[29], Some(9));
        assert_eq!(links[38], Some(29));
    }

    #[test]
    fn runs_are_linked_to_their_beginning() {
        let links = links(&mut Index::new());
        assert_eq!(links[18..26], [Some(17); 8]);
    }

    #[test]
    fn earlier_texts_and_restarted_positions_leave_no_trace() {
        let fresh = links(&mut Index::new());
        for base in [1 << 16, 1 << 30, u32::MAX / 2 - 1, u32::MAX / 2, u32::MAX / 2 + 1] {
            let mut index = Index::new();
            index.base = base;
            for _ in 0..3 {
                assert_eq!(links(&mut index), fresh, "{base}");
            }
        }
    }
}
