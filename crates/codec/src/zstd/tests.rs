//! Does each frame hold what was consumed?

use super::Zstd;
use crate::ffi::zstd::{decompress, decompress_partial};

fn text(len: usize) -> Vec<u8> {
    let mut seed = 1_u32;
    let mut out = Vec::new();
    while out.len() < len {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        out.extend_from_slice(format!("{} line {} of ", seed >> 20, seed >> 28).as_bytes());
    }
    out.truncate(len);
    out
}

#[test]
fn holds_what_was_consumed() {
    let input = text(2_000_000);
    for level in -7..=22 {
        let mut zstd = Zstd::new(level, 20);
        let mut at = 0;
        for room in [4096, 65536, 20, 40, 300, 131_072] {
            let mut output = vec![0; room];
            let rest = &input[at..];
            let fit = zstd.fill(rest, &mut output);
            assert!(fit.written <= room);
            let mut back = vec![0; fit.consumed];
            if fit.consumed > 0 {
                assert_eq!(
                    decompress(&output[..fit.written], &mut back),
                    Some(fit.consumed),
                    "{level} {room} {fit:?}"
                );
                assert_eq!(back, &rest[..fit.consumed]);
                back.fill(0);
                assert_eq!(
                    decompress_partial(&output[..fit.written], &mut back),
                    Some(fit.consumed)
                );
                assert_eq!(back, &rest[..fit.consumed]);
            }
            at += fit.consumed;
        }
    }
}
