//! Defines the arguments of `lith verity`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{
    common::{ImageArgs, WorkersArgs},
    protection::ProtectionArgs,
    value::{self, Size},
};

/// Make and verify hash trees of images
#[derive(Args, Debug)]
#[command(
    subcommand_value_name = "ACTION",
    subcommand_help_heading = "Actions",
    long_about = "Makes and verifies hash trees of dm-verity: the digest of each block of an image, of each block of those \
        digests, and so on up to one, the root hash. Who trusts that trusts all bytes. The trees are those of veritysetup(8), \
        Linux and systemd. `lith build --verity` makes them with an image; all verbs that read images take --root-hash.",
    after_long_help = "\
Examples:
  lith verity add image.erofs
  lith verity add --verity=image.verity --root-hash-file image.roothash image.erofs
  lith verity verify --root-hash image.roothash --verity image.verity image.erofs
  lith verity info image.erofs
  lith verity fsverity image.erofs"
)]
pub(crate) struct Verity {
    #[command(subcommand)]
    pub(crate) action: Action,
}

/// What is done with a hash tree.
#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    /// Make the hash tree of an image, and print its root hash
    ///
    /// The tree is appended to the image unless --verity names a file. Salt and UUID follow from the image unless they are
    /// given, so the same image gets the same root hash.
    Add(Add),
    /// Read an image once, and compare all of it with a root hash
    ///
    /// With --cert the root hash must also have a valid signature.
    Verify(Verify),
    /// Describe the hash tree of an image, without verifying it
    Info(Info),
    /// Print the digest by which Linux's fs-verity knows a file, as `fsverity digest` does
    Fsverity(Fsverity),
}

#[derive(Debug, Args)]
pub(crate) struct Add {
    /// The EROFS image
    #[arg(value_parser = value::place())]
    pub(crate) image: PathBuf,

    /// Where the image starts in its file, in bytes
    #[arg(long, value_name = "BYTES", default_value = "0", hide_default_value = true)]
    pub(crate) offset: Size,

    #[command(flatten)]
    pub(crate) protection: ProtectionArgs,

    #[command(flatten)]
    pub(crate) workers: WorkersArgs,

    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(mut_arg("root_hash", |hash| hash.required(true)))]
pub(crate) struct Verify {
    #[command(flatten)]
    pub(crate) image: ImageArgs,

    /// The certificate whose key must have signed the root hash (PEM)
    #[arg(long, value_name = "CERT", requires = "signature", value_parser = value::place())]
    pub(crate) cert: Option<PathBuf>,

    /// The signature: detached PKCS#7 in DER
    #[arg(long, value_name = "FILE", requires = "cert", value_parser = value::place())]
    pub(crate) signature: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) workers: WorkersArgs,
}

#[derive(Debug, Args)]
pub(crate) struct Info {
    /// The EROFS image
    pub(crate) image: PathBuf,

    /// Where the image starts in its file, in bytes; the tree's own positions count from there
    #[arg(
        long,
        value_name = "BYTES",
        default_value = "0",
        hide_default_value = true,
        conflicts_with = "verity"
    )]
    pub(crate) offset: Size,

    /// The file with the hash tree, unless it follows the image
    #[arg(long, value_name = "FILE", value_parser = value::place())]
    pub(crate) verity: Option<PathBuf>,

    /// The byte at which the superblock of the hash tree is, if it isn't the usual one
    #[arg(long, value_name = "BYTES")]
    pub(crate) hash_offset: Option<Size>,

    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Fsverity {
    /// Files of any kind
    #[arg(required = true, value_name = "FILE", value_parser = value::place())]
    pub(crate) files: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) workers: WorkersArgs,
}
