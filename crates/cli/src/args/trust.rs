//! Defines arguments about images whose bytes are verified whenever they are read.

use std::{fs::File, io::Read, path::PathBuf};

use lith::verity::RootHash;

use super::value::{self, Size};

/// By which root hash an image is verified.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Verified reading")]
pub(crate) struct TrustArgs {
    /// Verify each block that is read by the hash tree with this root hash: 64 hexadecimal digits, or the file that holds them
    #[arg(long, value_name = "HASH", value_parser = root_hash)]
    pub(crate) root_hash: Option<RootHash>,

    /// The file with the hash tree, unless it follows the image
    #[arg(long, value_name = "FILE", requires = "root_hash", value_parser = value::place())]
    pub(crate) verity: Option<PathBuf>,

    /// The byte at which the superblock of the hash tree is, counted from the beginning of the image or of FILE, if it isn't
    /// the usual one
    #[arg(long, value_name = "BYTES", requires = "root_hash")]
    pub(crate) hash_offset: Option<Size>,
}

/// By which hash tree an image is verified.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Trust {
    pub(crate) root: RootHash,
    /// Where the tree is, if it isn't after the image.
    pub(crate) tree: Option<PathBuf>,
    /// Where its superblock is.
    pub(crate) hash_offset: Option<u64>,
}

impl TrustArgs {
    /// The tree, if bytes are to be verified.
    pub(crate) fn trust(&self) -> Option<Trust> {
        let hash_offset = self.hash_offset.map(|offset| offset.0);
        self.root_hash.map(|root| Trust { root, tree: self.verity.clone(), hash_offset })
    }
}

/// The most bytes of a file with a root hash.
const ENOUGH: u64 = 1 << 10;

/// Parses a root hash, or reads it from a file.
pub(crate) fn root_hash(text: &str) -> Result<RootHash, String> {
    if let Ok(hash) = text.parse() {
        return Ok(hash);
    }
    let mut content = String::new();
    let read = File::open(text).and_then(|file| file.take(ENOUGH).read_to_string(&mut content));
    let expected = "expected 64 hexadecimal digits, or a file that holds them";
    read.map_err(|error| format!("{expected}: {}", super::one_line(&error)))?;
    content.trim().parse().map_err(|_other| expected.to_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_root_hash_is_given_or_in_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let digits = "ab".repeat(32);
        assert_eq!(root_hash(&digits), Ok(RootHash([0xab; 32])));
        let path = folder.path().join("image.roothash");
        fs::write(&path, format!("{digits}\n")).unwrap();
        assert_eq!(root_hash(path.to_str().unwrap()), Ok(RootHash([0xab; 32])));
        fs::write(&path, "abc").unwrap();
        assert!(root_hash(path.to_str().unwrap()).is_err());
        assert!(root_hash("nowhere").unwrap_err().contains("No such file"));
    }
}
