//! Holds a small image made by mkfs.erofs 1.9.3, byte for byte.
//!
//! It holds `/file` with `user.note`, `/link`, `/dir` with `trusted.mark` and `/dir/inner`, in one block
//! of 4096 bytes: all that is not listed here is zero.

use std::vec::Vec;

const WORDS: &[(usize, &str)] = &[
    (0x400, "e2e1f5e0 7f48d4c2 07000000 0c002400 05000000 00000000 00f15365 00000000"),
    (0x420, "00000000 01000000"),
    (0x440, "64656d6f"),
    // The root: NID 36.
    (0x480, "04000000 ed410300 4a000000 00000000 ffffffff 01000000 00000000 00000000"),
    (0x4a0, "24000000 00000000 3c000200 24000000 00000000 3d000200 28000000 00000000"),
    (0x4c0, "3f000200 2c000000 00000000 42000100 2f000000 00000000 46000700 2e2e2e64"),
    (0x4e0, "69726669 6c656c69 6e6b"),
    // `/dir`: NID 40.
    (0x500, "04000400 ed410200 2c000000 00000000 ffffffff 02000000 00000000 00000000"),
    (0x520, "feffffff 00000000 00000000 04040100 6d61726b 31000000 28000000 00000000"),
    (0x540, "24000200 24000000 00000000 25000200 31000000 00000000 27000100 2e2e2e69"),
    (0x560, "6e6e6572"),
    // `/file`: NID 44.
    (0x580, "04000400 a4810100 0e000000 00000000 ffffffff 03000000 00000000 00000000"),
    (0x5a0, "dfffffff 00000000 00000000 04010200 6e6f7465 68690000 48656c6c 6f2c2045"),
    (0x5c0, "524f4653 210a"),
    // `/link`: NID 47.
    (0x5e0, "04000000 ffa10100 04000000 00000000 ffffffff 04000000 00000000 00000000"),
    (0x600, "66696c65"),
    // `/dir/inner`: NID 49.
    (0x620, "04000000 a4810100 07000000 00000000 ffffffff 05000000 00000000 00000000"),
    (0x640, "6e657374 65640a"),
];

/// The bytes of a string of hexadecimal digits, with blanks anywhere.
pub(crate) fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u32> = text.chars().filter_map(|c| c.to_digit(16)).collect();
    digits.chunks(2).map(|pair| u8::try_from(pair[0] << 4 | pair[1]).unwrap()).collect()
}

/// The whole image.
pub(crate) fn image() -> Vec<u8> {
    let mut image = std::vec![0; 4096];
    for (position, text) in WORDS {
        let bytes = hex(text);
        image[*position..*position + bytes.len()].copy_from_slice(&bytes);
    }
    image
}
