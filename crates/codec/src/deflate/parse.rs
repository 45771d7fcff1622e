//! Parses a DEFLATE stream into its tokens.

use super::bits::Reader;
use super::block::{FIXED_LITLENS, PRECODE_ORDER};
use super::huffman::Decoder;
use super::token::{END, FIRST_LENGTH_SYMBOL, Token, distance_of, length_of};

/// Reads streams into tokens.
#[derive(Debug)]
pub(super) struct Parser {
    litlens: Decoder,
    distances: Decoder,
    precode: Decoder,
}

impl Parser {
    pub(super) fn new() -> Self {
        let [litlens, distances, precode] = [(); 3].map(|()| Decoder::new());
        Self { litlens, distances, precode }
    }

    /// Appends the tokens of all of `stream`; `None` if it is no sound stream.
    pub(super) fn parse(&mut self, stream: &[u8], tokens: &mut Vec<Token>) -> Option<()> {
        let mut reader = Reader::new(stream);
        loop {
            let last = reader.read(1) == 1;
            match reader.take(2) {
                0 => stored(&mut reader, tokens)?,
                1 => {
                    self.litlens.set(&FIXED_LITLENS);
                    self.distances.set(&[5; 30]);
                    self.block(&mut reader, tokens)?;
                }
                2 => {
                    self.read_codes(&mut reader)?;
                    self.block(&mut reader, tokens)?;
                }
                _ => return None,
            }
            if reader.is_past_end() {
                return None;
            }
            if last {
                return Some(());
            }
        }
    }

    fn block(&self, reader: &mut Reader<'_>, tokens: &mut Vec<Token>) -> Option<()> {
        loop {
            reader.refill();
            if reader.is_past_end() {
                return None;
            }
            let (symbol, bits) = self.litlens.decode(reader.peek())?;
            reader.skip(bits);
            if let Ok(byte) = u8::try_from(symbol) {
                tokens.push(Token::literal(byte));
                continue;
            }
            if symbol as usize == END {
                return Some(());
            }
            let (bits, shortest) = length_of(symbol.checked_sub(FIRST_LENGTH_SYMBOL)?);
            let len = shortest + reader.take(bits);
            let (symbol, bits) = self.distances.decode(reader.peek())?;
            reader.skip(bits);
            let (bits, nearest) = distance_of(symbol);
            tokens.push(Token::matched(len, nearest + reader.take(bits)));
        }
    }

    /// Reads the codes of a dynamic block.
    fn read_codes(&mut self, reader: &mut Reader<'_>) -> Option<()> {
        let litlens = 257 + reader.read(5) as usize;
        let distances = 1 + reader.take(5) as usize;
        let count = 4 + reader.take(4) as usize;
        let mut lengths = [0; 19];
        for &symbol in PRECODE_ORDER.iter().take(count) {
            *lengths.get_mut(symbol)? = u8::try_from(reader.read(3)).ok()?;
        }
        self.precode.set(&lengths);
        let mut lengths = [0_u8; 320];
        let (mut at, mut before) = (0, 0);
        while at < litlens + distances {
            reader.refill();
            let (symbol, bits) = self.precode.decode(reader.peek())?;
            reader.skip(bits);
            let (value, repeats) = match symbol {
                16 => (before, 3 + reader.take(2)),
                17 => (0, 3 + reader.take(3)),
                18 => (0, 11 + reader.take(7)),
                length => (u8::try_from(length).ok()?, 1),
            };
            let end = at + repeats as usize;
            lengths.get_mut(at..end)?.fill(value);
            (at, before) = (end, value);
        }
        self.litlens.set(lengths.get(..litlens.min(286))?);
        self.distances.set(lengths.get(litlens..litlens + distances.min(30))?);
        Some(())
    }
}

fn stored(reader: &mut Reader<'_>, tokens: &mut Vec<Token>) -> Option<()> {
    reader.align();
    let len = reader.read(16);
    if reader.take(16) != len ^ 0xFFFF {
        return None;
    }
    tokens.extend(reader.bytes(len as usize)?.iter().copied().map(Token::literal));
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ffi::deflate::Compressor;
    use proptest::prelude::*;

    /// The bytes that tokens encode.
    fn expand(tokens: &[Token]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for token in tokens {
            match token.as_match() {
                None => bytes.push(u8::try_from(token.byte()).unwrap()),
                Some((len, distance)) => {
                    for _ in 0..len {
                        bytes.push(bytes[bytes.len() - distance as usize]);
                    }
                }
            }
        }
        bytes
    }

    proptest! {
        #[test]
        fn streams_of_the_library_are_read(
            units in prop::collection::vec((any::<u16>(), 1..300_usize), 0..200), level in 1..=12_u8,
        ) {
            let units = units.iter().flat_map(|&(seed, len)| {
                (0..len).map(move |at| u8::try_from(usize::from(seed) * at / 7 % 251 % usize::from(seed / 999 + 2)).unwrap())
            });
            let input: Vec<u8> = units.collect();
            let mut stream = vec![0; 2 * input.len() + 100];
            let len = Compressor::new(level).unwrap().compress(&input, &mut stream).unwrap();
            let mut tokens = Vec::new();
            prop_assert_eq!(Parser::new().parse(&stream[..len], &mut tokens), Some(()));
            prop_assert!(expand(&tokens) == input);
        }

        #[test]
        fn broken_streams_end(stream in prop::collection::vec(any::<u8>(), 0..300)) {
            let mut tokens = Vec::new();
            let _ = Parser::new().parse(&stream, &mut tokens);
            prop_assert!(tokens.len() <= 8 * stream.len());
        }
    }
}
