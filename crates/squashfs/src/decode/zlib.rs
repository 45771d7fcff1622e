//! Decodes zlib streams.

use lith_codec::{Algorithm, decode_up_to};
use zlib_rs::adler32::adler32;

/// The number of decoded bytes of a whole stream, if it is sound and they fit.
pub(super) fn decode(input: &[u8], output: &mut [u8]) -> Option<usize> {
    let ([method, flags], rest) = input.split_first_chunk()?;
    let has_dictionary = flags & 0x20 != 0;
    let header = u16::from_be_bytes([*method, *flags]);
    if method & 0x0f != 8 || method >> 4 > 7 || has_dictionary || !header.is_multiple_of(31) {
        return None;
    }
    let (stream, sum) = rest.split_last_chunk()?;
    let length = decode_up_to(Algorithm::Deflate, stream, output).ok()?;
    let decoded = output.get(..length)?;
    (adler32(1, decoded) == u32::from_be_bytes(*sum)).then_some(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stream with the bytes `hello`, as Python's `zlib.compress(b'hello')` makes it.
    const HELLO: &[u8] = b"\x78\x9c\xcb\x48\xcd\xc9\xc9\x07\x00\x06\x2c\x02\x15";

    #[test]
    fn streams_are_checked() {
        let mut output = [0; 8];
        assert_eq!(decode(HELLO, &mut output), Some(5));
        assert_eq!(&output[..5], b"hello");
        assert_eq!(decode(HELLO, &mut [0; 4]), None);
        for at in 0..HELLO.len() {
            let mut bytes = HELLO.to_vec();
            bytes[at] ^= 0x21;
            assert_eq!(decode(&bytes, &mut output), None, "byte {at} changed");
            assert_eq!(decode(&HELLO[..at], &mut output), None, "cut at {at}");
        }
    }
}
