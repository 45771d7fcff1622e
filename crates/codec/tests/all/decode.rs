//! Tests that decoders refuse corrupt streams, by name and without harm.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use crate::common::data;
use lith_codec::{
    Algorithm, Compressor, DecodeError, Encoder, decode, decode_partial, strip_padding,
};
use proptest::collection::vec;
use proptest::prelude::*;

fn stream(input: &[u8]) -> Vec<u8> {
    let mut output = vec![0; input.len() + 64];
    let mut encoder = Encoder::new(&Compressor::Lz4Hc { level: 12 });
    let fit = encoder.fill(input, &mut output).unwrap().unwrap();
    assert_eq!(fit.consumed, input.len());
    output.truncate(fit.written);
    output
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_bytes_are_safe(input in vec(any::<u8>(), 0..300), room in 0..2000_usize) {
        let mut output = vec![0; room];
        let _ = decode(Algorithm::Lz4, &input, &mut output);
        let _ = decode_partial(Algorithm::Lz4, &input, &mut output);
    }

    #[test]
    fn damaged_streams_are_safe(
        input in data(3),
        damage in vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        cut in any::<prop::sample::Index>(),
    ) {
        let input = [vec![7; 100], input].concat();
        let mut stream = stream(&input);
        for (at, byte) in damage {
            let at = at.index(stream.len());
            stream[at] = byte;
        }
        let mut output = vec![0; input.len()];
        let _ = decode(Algorithm::Lz4, &stream, &mut output);
        let _ = decode_partial(Algorithm::Lz4, &stream[..cut.index(stream.len())], &mut output);
    }

    #[test]
    fn prefixes_decode(input in data(3), part in any::<prop::sample::Index>()) {
        let input = [vec![7; 100], input].concat();
        let mut output = vec![0; part.index(input.len() + 1)];
        decode_partial(Algorithm::Lz4, &stream(&input), &mut output).unwrap();
        prop_assert!(output == input[..output.len()]);
    }
}

#[test]
fn lengths_must_match() {
    let input = [b'x'; 1000];
    let stream = stream(&input);
    let decoded = decode(Algorithm::Lz4, &stream, &mut [0; 1001]);
    let short = DecodeError::TooShort { algorithm: Algorithm::Lz4, expected: 1001, found: 1000 };
    assert_eq!(decoded, Err(short.clone()));
    assert_eq!(decode_partial(Algorithm::Lz4, &stream, &mut [0; 1001]), Err(short));
    let decoded = decode(Algorithm::Lz4, &stream, &mut [0; 999]);
    assert!(matches!(decoded, Err(DecodeError::Corrupt { output: 999, .. })));
    assert!(matches!(decode(Algorithm::Lz4, &[], &mut [0; 9]), Err(DecodeError::Corrupt { .. })));
}

#[test]
fn streams_of_other_algorithms_are_refused_by_name() {
    for (algorithm, name) in
        [(Algorithm::Lzma, "lzma"), (Algorithm::Deflate, "deflate"), (Algorithm::Zstd, "zstd")]
    {
        let error = decode(algorithm, &[7, 2, 3], &mut [0; 8]).unwrap_err();
        assert!(error.to_string().contains(name), "{error}");
        assert!(decode_partial(algorithm, &[7], &mut [0; 8]).is_err());
    }
}

#[test]
fn padding_lies_in_the_first_block_only() {
    assert_eq!(strip_padding(&[0, 0, 5, 0, 6], 4), Ok(&[5, 0, 6][..]));
    assert_eq!(strip_padding(&[5, 6], 4), Ok(&[5, 6][..]));
    assert_eq!(strip_padding(&[0, 0, 0, 0, 6], 4), Err(DecodeError::AllPadding { block: 4 }));
    assert_eq!(strip_padding(&[0, 0], 4), Err(DecodeError::AllPadding { block: 2 }));
    assert_eq!(strip_padding(&[], 4), Err(DecodeError::AllPadding { block: 0 }));
}
