//! Decodes LZO1X streams, as the kernel's documentation describes them (`Documentation/staging/lzo.rst`, version 0).

/// The number of decoded bytes of a whole stream, if it is sound and they fit.
pub(super) fn decode(input: &[u8], output: &mut [u8]) -> Option<usize> {
    let mut decoder = Decoder { input, output, written: 0, literals: 0 };
    if let Some((first @ 18.., rest)) = input.split_first() {
        let literals = usize::from(first - 17);
        decoder.input = rest;
        decoder.copy_literals(literals)?;
        decoder.literals = literals.min(LONG);
    }
    while decoder.step()? {}
    decoder.input.is_empty().then_some(decoder.written)
}

/// Stands for four literals or more before an instruction.
const LONG: usize = 4;

struct Decoder<'i, 'o> {
    /// What is not read yet.
    input: &'i [u8],
    output: &'o mut [u8],
    /// Bytes written to the output.
    written: usize,
    /// The number of literals that the last instruction copied at its end, at most [`LONG`].
    literals: usize,
}

/// A copy of earlier output.
struct Match {
    distance: usize,
    length: usize,
    /// The number of literals after it, 0 to 3.
    literals: usize,
}

/// What an instruction with a far distance means.
enum Far {
    Match(Match),
    /// The end of the stream.
    End,
}

impl Decoder<'_, '_> {
    /// Executes an instruction; false: it is the end of the stream.
    fn step(&mut self) -> Option<bool> {
        let instruction = self.byte()?;
        let found = match instruction {
            0..=15 if self.literals == 0 => {
                let length = 3 + self.length(instruction, 15)?;
                self.copy_literals(length)?;
                self.literals = LONG;
                return Some(true);
            }
            0..=15 => self.shortest(instruction)?,
            16..=31 => match self.far(instruction)? {
                Far::Match(found) => found,
                Far::End => return Some(false),
            },
            32..=63 => self.middle(instruction)?,
            64..=255 => self.near(instruction)?,
        };
        self.copy(&found)?;
        self.copy_literals(found.literals)?;
        self.literals = found.literals;
        Some(true)
    }

    /// `0000DDSS HHHHHHHH` after literals.
    fn shortest(&mut self, instruction: u8) -> Option<Match> {
        let low = usize::from(instruction >> 2);
        let distance = (usize::from(self.byte()?) << 2) + low;
        let (distance, length) =
            if self.literals == LONG { (distance + 2049, 3) } else { (distance + 1, 2) };
        Some(Match { distance, length, literals: usize::from(instruction & 3) })
    }

    /// `0001HLLL`
    fn far(&mut self, instruction: u8) -> Option<Far> {
        let length = 2 + self.length(instruction & 7, 7)?;
        let (low, literals) = self.distance()?;
        let distance = 16384 + (usize::from(instruction & 8) << 11) + low;
        if distance == 16384 {
            return (length == 3 && literals == 0).then_some(Far::End);
        }
        Some(Far::Match(Match { distance, length, literals }))
    }

    /// `001LLLLL`
    fn middle(&mut self, instruction: u8) -> Option<Match> {
        let length = 2 + self.length(instruction & 31, 31)?;
        let (distance, literals) = self.distance()?;
        Some(Match { distance: distance + 1, length, literals })
    }

    /// `01LDDDSS HHHHHHHH` and `1LLDDDSS HHHHHHHH`
    fn near(&mut self, instruction: u8) -> Option<Match> {
        let length = usize::from(instruction >> 5) + 1;
        let low = usize::from(instruction >> 2 & 7);
        let distance = (usize::from(self.byte()?) << 3) + low + 1;
        Some(Match { distance, length, literals: usize::from(instruction & 3) })
    }

    fn byte(&mut self) -> Option<u8> {
        let (byte, rest) = self.input.split_first()?;
        self.input = rest;
        Some(*byte)
    }

    /// A distance of 14 bits and a number of literals.
    fn distance(&mut self) -> Option<(usize, usize)> {
        let ([low, high], rest) = self.input.split_first_chunk()?;
        self.input = rest;
        let both = u16::from_le_bytes([*low, *high]);
        Some((usize::from(both >> 2), usize::from(both & 3)))
    }

    /// A length: the given bits, or if they are zero, what follows them.
    fn length(&mut self, bits: u8, most: usize) -> Option<usize> {
        if bits != 0 {
            return Some(usize::from(bits));
        }
        let zeros = self.input.iter().take_while(|byte| **byte == 0).count();
        self.input = self.input.get(zeros..)?;
        // A slice has at most isize::MAX bytes, so this can overflow only where the length is refused anyway.
        most.checked_add(zeros.checked_mul(255)?)?.checked_add(usize::from(self.byte()?))
    }

    fn copy_literals(&mut self, length: usize) -> Option<()> {
        let (literals, rest) = self.input.split_at_checked(length)?;
        let end = self.written.checked_add(length)?;
        self.output.get_mut(self.written..end)?.copy_from_slice(literals);
        (self.input, self.written) = (rest, end);
        Some(())
    }

    fn copy(&mut self, found: &Match) -> Option<()> {
        let start = self.written.checked_sub(found.distance)?;
        let end = self.written.checked_add(found.length)?;
        if end > self.output.len() {
            return None;
        }
        // The copy may reach into what it writes, which repeats: each round can take all that is there.
        while self.written < end {
            let length = (self.written - start).min(end - self.written);
            self.output.copy_within(start..start + length, self.written);
            self.written += length;
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(input: &[u8]) -> Option<Vec<u8>> {
        let mut output = vec![0; 64];
        let length = decode(input, &mut output)?;
        output.truncate(length);
        Some(output)
    }

    const END: [u8; 3] = [0x11, 0, 0];

    #[test]
    fn literals_and_repeats() {
        let cases: [(&[u8], &[u8]); 5] = [
            // Four literals at the beginning.
            (b"\x15abcd", b"abcd"),
            // Twenty literals by a long instruction: 3 + 15 + 2.
            (b"\x00\x02abcdefghijklmnopqrst", b"abcdefghijklmnopqrst"),
            // `0000DDSS`: two bytes at a distance of 2, after two literals.
            (b"\x13ab\x04\x00", b"abab"),
            // `001LLLLL`: nine bytes at a distance of 1.
            (b"\x15abcd\x27\x00\x00", b"abcdddddddddd"),
            // `01LDDDSS`: four bytes at a distance of 3, and one literal.
            (b"\x15abcd\x69\x00!", b"abcdbcdb!"),
        ];
        for (input, expected) in cases {
            let whole = [input, &END].concat();
            assert_eq!(decoded(&whole).as_deref(), Some(expected), "{input:?}");
        }
    }

    #[test]
    fn damaged_streams_are_refused() {
        // No end, bytes after the end, a distance before the start, output that doesn't fit.
        let long = [&b"\x15abcd\x20\x01\x00\x00"[..], &[0xff; 4], &END].concat();
        for input in
            [&b""[..], b"\x15abcd", b"\x15abcd\x11\0\0x", b"\x15abcd\x27\x13\0\x11\0\0", &long]
        {
            assert_eq!(decoded(input), None, "{input:?}");
        }
    }
}
