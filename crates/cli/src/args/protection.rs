//! Defines arguments about the hash tree that an image gets.

use std::path::PathBuf;

use lith::verity::{MAX_BLOCK, MAX_SALT, MIN_BLOCK, Protection, RootHashFile, Signer, TreePlace};
use uuid::Uuid;

use super::value::{self, Size};

/// The hash tree that an image gets.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Integrity")]
pub(crate) struct ProtectionArgs {
    /// Make a hash tree of dm-verity: `append` puts it after the image (the default), FILE into a file of its own
    #[arg(long, value_name = "append|FILE", num_args = 0..=1, require_equals = true, default_missing_value = "append", value_parser = place)]
    verity: Option<TreePlace>,

    /// The salt of the hash tree, in hexadecimal digits; `-`: none [default: follows from the image]
    #[arg(long, value_name = "HEX", value_parser = salt)]
    salt: Option<Salt>,

    /// The size of the blocks that are hashed: 512 to 64K [default: 4K]
    #[arg(long, value_name = "SIZE", value_parser = block)]
    verity_block: Option<u32>,

    /// The UUID of the hash tree [default: follows from the image]
    #[arg(long, value_name = "UUID")]
    verity_uuid: Option<Uuid>,

    /// Write the root hash to a file; systemd looks for `NAME.roothash` beside `NAME.raw`
    #[arg(long, value_name = "FILE", value_parser = value::place())]
    root_hash_file: Option<PathBuf>,

    /// Sign the root hash with a private key (PEM, or what openssl(1) takes), into the file of --root-hash-file with `.p7s`
    /// after its name: detached PKCS#7, as the kernel and systemd take it
    #[arg(long, value_name = "KEY", requires_all = ["cert", "root_hash_file"], value_parser = value::place())]
    sign: Option<PathBuf>,

    /// The certificate of the key (PEM)
    #[arg(long, value_name = "CERT", requires = "sign", value_parser = value::place())]
    cert: Option<PathBuf>,

    /// Sign the root hash with a command: it gets the 64 digits on standard input, and prints the signature (DER)
    #[arg(long, value_name = "COMMAND", requires = "root_hash_file", conflicts_with = "sign")]
    sign_with: Option<String>,
}

/// The bytes of a salt.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Salt(Vec<u8>);

impl ProtectionArgs {
    /// What is requested, if `default` doesn't say where the tree is, only with --verity.
    pub(crate) fn protection(
        &self,
        default: Option<TreePlace>,
    ) -> Result<Option<Protection>, String> {
        let Some(place) = self.verity.clone().or(default) else {
            let is_given = [
                (self.salt.is_some(), "--salt"),
                (self.verity_block.is_some(), "--verity-block"),
                (self.verity_uuid.is_some(), "--verity-uuid"),
                (self.root_hash_file.is_some(), "--root-hash-file"),
            ];
            let given = is_given.iter().find(|(is_given, _)| *is_given);
            return given.map_or(Ok(None), |(_, name)| Err(format!("{name} needs --verity")));
        };
        let key = self.sign.clone().zip(self.cert.clone());
        let signer = key.map(|(key, cert)| Signer::Key { key, cert });
        let signer = signer.or_else(|| self.sign_with.clone().map(Signer::Command));
        let root_hash = self.root_hash_file.clone();
        Ok(Some(Protection {
            place,
            block: self.verity_block.unwrap_or(Protection::BLOCK),
            salt: self.salt.clone().map(|salt| salt.0),
            uuid: self.verity_uuid.map(Uuid::into_bytes),
            root_hash: root_hash.map(|path| RootHashFile { path, signer }),
        }))
    }
}

fn place(text: &str) -> Result<TreePlace, &'static str> {
    match text {
        "append" => Ok(TreePlace::Append),
        "" | "-" => Err("expected `append` or the path of a file"),
        path => Ok(TreePlace::File(path.into())),
    }
}

fn salt(text: &str) -> Result<Salt, &'static str> {
    const EXPECTED: &str = "expected up to 512 hexadecimal digits, two for each byte, or `-`";
    if text == "-" {
        return Ok(Salt(Vec::new()));
    }
    let bytes = hex::decode(text).ok().filter(|bytes| (1..=MAX_SALT).contains(&bytes.len()));
    bytes.map(Salt).ok_or(EXPECTED)
}

fn block(text: &str) -> Result<u32, &'static str> {
    let size = text.parse::<Size>()?.as_u32();
    let fits = size.is_power_of_two() && (MIN_BLOCK..=MAX_BLOCK).contains(&size);
    if fits { Ok(size) } else { Err("expected 512, 1K, 2K, 4K, 8K, 16K, 32K or 64K") }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Program {
        #[command(flatten)]
        protection: ProtectionArgs,
    }

    fn parse(arguments: &[&str]) -> Result<Option<Protection>, String> {
        let parsed = Program::try_parse_from([&["build"], arguments].concat());
        parsed.map_err(|error| error.to_string())?.protection.protection(None)
    }

    #[test]
    fn a_tree_is_requested_by_its_place() {
        assert_eq!(parse(&[]), Ok(None));
        let plain = parse(&["--verity"]).unwrap().unwrap();
        assert_eq!((plain.place, plain.block), (TreePlace::Append, 4096));
        let file = parse(&["--verity=x.verity", "--salt", "00fF", "--verity-block=512"]);
        let file = file.unwrap().unwrap();
        assert_eq!(file.place, TreePlace::File("x.verity".into()));
        assert_eq!((file.salt, file.block), (Some(vec![0, 255]), 512));
        assert_eq!(parse(&["--verity", "--salt", "-"]).unwrap().unwrap().salt, Some(vec![]));
    }

    #[test]
    fn what_does_not_go_together_is_refused() {
        for (arguments, found) in [
            (&["--salt", "00"][..], "--salt needs --verity"),
            (&["--root-hash-file=x"], "--root-hash-file needs --verity"),
            (&["--verity", "--salt", "0"], "hexadecimal"),
            (&["--verity", "--salt", ""], "hexadecimal"),
            (&["--verity", "--verity-block", "3000"], "64K"),
            (&["--verity", "--verity-block", "128K"], "64K"),
            (&["--verity", "--sign", "k", "--cert", "c"], "--root-hash-file"),
            (&["--verity", "--sign", "k", "--root-hash-file=r"], "--cert"),
            (&["--verity=-"], "append"),
        ] {
            let error = parse(arguments).unwrap_err();
            assert!(error.contains(found), "{arguments:?}: {error}");
        }
    }
}
