//! Defines [`RootHash`], the digest of all blocks of an image, and reads hexadecimal digits.

use std::{fmt, str::FromStr};

/// The digest at the top of a hash tree. As text it is 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RootHash(pub [u8; 32]);

/// A text is no root hash.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("expected 64 hexadecimal digits")]
pub struct NoRootHash;

impl fmt::Display for RootHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl FromStr for RootHash {
    type Err = NoRootHash;

    fn from_str(text: &str) -> Result<Self, NoRootHash> {
        bytes_of_hex(text).and_then(|bytes| bytes.try_into().ok()).map(Self).ok_or(NoRootHash)
    }
}

/// The bytes whose hexadecimal digits a text is; `None`: it has others, or an odd number of them.
#[must_use]
pub fn bytes_of_hex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let byte = |pair: &[u8]| match pair {
        [high, low] => u8::try_from(digit(*high)? << 4 | digit(*low)?).ok(),
        _ => None,
    };
    text.as_bytes().chunks(2).map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_root_hash_is_64_digits() {
        let text = "0123456789abcdefABCDEF00112233445566778899aabbccddeeff0011223344";
        let hash: RootHash = text.parse().unwrap();
        assert_eq!(hash.to_string(), text.to_lowercase());
        for wrong in ["", "0", &text[1..], &format!("{text}0"), &text.replace('0', "g"), "é"] {
            assert_eq!(wrong.parse::<RootHash>(), Err(NoRootHash), "{wrong}");
        }
    }
}
