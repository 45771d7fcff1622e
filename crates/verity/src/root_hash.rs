//! Defines [`RootHash`], the digest of all blocks of an image.

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
        f.write_str(&hex::encode(self.0))
    }
}

impl FromStr for RootHash {
    type Err = NoRootHash;

    fn from_str(text: &str) -> Result<Self, NoRootHash> {
        let mut bytes = [0; 32];
        hex::decode_to_slice(text, &mut bytes).map_err(|_error| NoRootHash)?;
        Ok(Self(bytes))
    }
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
