//! Defines [`Sequence`], what an LZ4 stream is made of, in both directions.

/// The shortest match.
pub(crate) const LEAST_MATCH: usize = 4;
/// Bytes at the end of a stream that are literals.
pub(crate) const LAST_LITERALS: usize = 5;
/// What a token counts by itself, of literals and of the bytes of a match beyond the shortest.
const TOKEN: usize = 15;

/// Literals and the match that follows them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Sequence {
    pub(crate) literals: usize,
    /// Bytes of the match; 0: none, the stream ends.
    pub(crate) len: usize,
    pub(crate) distance: usize,
}

/// The sequences of a stream. `None`: it is none, or does not hold `len` bytes.
pub(crate) fn read(stream: &[u8], len: usize) -> Option<Vec<Sequence>> {
    let (all, done) = read_some(stream, usize::MAX)?;
    (done == len).then_some(all)
}

/// The sequences of a stream that begin before the first `len` bytes that it holds are over. `None`: it is none.
pub(crate) fn read_up_to(stream: &[u8], len: usize) -> Option<Vec<Sequence>> {
    read_some(stream, len).map(|(all, _)| all)
}

/// The first sequences of a stream, and the bytes that they hold: at least `enough`, if there are so many.
fn read_some(mut stream: &[u8], enough: usize) -> Option<(Vec<Sequence>, usize)> {
    let (mut all, mut done) = (Vec::new(), 0_usize);
    while done < enough {
        let (token, rest) = stream.split_first()?;
        let (literals, rest) = excess(rest, usize::from(token >> 4))?;
        stream = rest.get(literals..)?;
        done = done.checked_add(literals)?;
        if stream.is_empty() {
            all.push(Sequence { literals, len: 0, distance: 0 });
            break;
        }
        let (distance, rest) = stream.split_first_chunk()?;
        let distance = usize::from(u16::from_le_bytes(*distance));
        let (matched, rest) = excess(rest, usize::from(token & 15))?;
        stream = rest;
        let matched = matched.checked_add(LEAST_MATCH)?;
        if distance == 0 || distance > done {
            return None;
        }
        done = done.checked_add(matched)?;
        all.push(Sequence { literals, len: matched, distance });
    }
    Some((all, done))
}

/// A length whose share in the token is known, and what follows it.
fn excess(mut bytes: &[u8], share: usize) -> Option<(usize, &[u8])> {
    let mut len = share;
    if share < TOKEN {
        return Some((len, bytes));
    }
    loop {
        let (more, rest) = bytes.split_first()?;
        (len, bytes) = (len.checked_add(usize::from(*more))?, rest);
        if *more < 255 {
            return Some((len, bytes));
        }
    }
}

/// Appends a sequence to a stream, whose literals are the first bytes of `content`.
pub(crate) fn write(sequence: Sequence, content: &[u8], out: &mut Vec<u8>) {
    let Sequence { literals, len, distance } = sequence;
    let beyond = len.saturating_sub(LEAST_MATCH);
    let token = literals.min(TOKEN) << 4 | beyond.min(TOKEN);
    out.extend(u8::try_from(token));
    put_excess(literals, out);
    out.extend_from_slice(content.get(..literals).unwrap_or(content));
    if len > 0 {
        out.extend(distance.to_le_bytes().into_iter().take(2));
        put_excess(beyond, out);
    }
}

fn put_excess(len: usize, out: &mut Vec<u8>) {
    let Some(mut rest) = len.checked_sub(TOKEN) else { return };
    while rest >= 255 {
        out.push(255);
        rest -= 255;
    }
    out.extend(u8::try_from(rest));
}

#[cfg(test)]
mod tests {
    use lith_codec::{Compressor, Encoder};

    use super::*;

    #[test]
    fn streams_are_written_as_they_were_read() {
        let text: Vec<u8> = (0..40_000_u32)
            .flat_map(|number| format!("{} ", number.wrapping_mul(7919) % 977).into_bytes())
            .chain([b'x'; 5000])
            .collect();
        for compressor in ["lz4", "lz4hc,9", "lz4hc,12"] {
            let compressor: Compressor = compressor.parse().unwrap();
            let mut room = vec![0; 16 << 10];
            let fit = Encoder::new(&compressor).fill(&text, &mut room).unwrap().unwrap();
            let (content, stream) = (&text[..fit.consumed], &room[..fit.written]);
            let sequences = read(stream, fit.consumed).unwrap();
            let (mut written, mut at) = (Vec::new(), 0);
            for sequence in &sequences {
                write(*sequence, &content[at..], &mut written);
                at += sequence.literals + sequence.len;
            }
            assert!(written == stream, "{compressor}");
            assert_eq!(read(stream, fit.consumed + 1), None);
            assert_eq!(read(&stream[..stream.len() - 1], fit.consumed), None);
            assert_eq!(read(&[], 0), None);
        }
    }
}
