//! Defines the arguments of `lith push` and `lith pull`.

use std::path::PathBuf;

use lith::remote::{ChunkSize, Containerd};

use super::{
    common::DeviceArgs,
    value::{self, Size},
};

const CHUNK: &str = "expected a power of two from 16K to 4M";

fn chunk_size(text: &str) -> Result<ChunkSize, &'static str> {
    let size: Size = text.parse().map_err(|_error| CHUNK)?;
    ChunkSize::new(size.0).ok_or(CHUNK)
}

/// Who is to read an image in a registry.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum Client {
    /// containerd 2.3 and later
    Containerd,
    /// containerd 2.1 and 2.2
    #[value(name = "containerd-2.1")]
    Containerd21,
}

impl Client {
    pub(crate) const fn version(self) -> Containerd {
        match self {
            Self::Containerd => Containerd::V2_3,
            Self::Containerd21 => Containerd::V2_1,
        }
    }
}

/// Send an image to a registry
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Sends an image to a registry of containers, under a name. The images that a patch refers to are sent with it. \
        What the registry has already is not sent again; with --chunks that holds for parts of an image too. The login is that of \
        `docker login` or `podman login`.",
    after_long_help = "\
Examples:
  lith push rootfs.erofs oci://registry.example/box:1
  lith push --chunks rootfs.erofs oci://registry.example/box:2   only what other versions don't have
  lith push --for containerd --config-file box.json rootfs.erofs oci://registry.example/box:1   with what is needed to run it
  lith mount oci://registry.example/box:1 /mnt"
)]
pub(crate) struct Push {
    /// The EROFS image
    pub(crate) image: PathBuf,

    /// Its name in the registry: `oci://HOST[:PORT]/REPOSITORY[:TAG]`
    #[arg(value_name = "REF")]
    pub(crate) reference: String,

    /// The configuration of a container image, as `lith build --config-file` writes it
    #[arg(long, value_name = "FILE", value_parser = value::place())]
    pub(crate) config_file: Option<PathBuf>,

    /// Store it in chunks of about SIZE bytes, of which a later version sends and fetches only its new ones [default: 256K, more
    /// for images beyond 768M]. Only lith reads such images
    #[arg(long, value_name = "SIZE", num_args = 0..=1, require_equals = true, value_parser = chunk_size)]
    #[expect(clippy::option_option, reason = "the option can be given without a value")]
    pub(crate) chunks: Option<Option<ChunkSize>>,

    /// Send it with the media type that this client knows, which has none of the draft's yet
    #[arg(long = "for", value_name = "CLIENT", conflicts_with = "chunks")]
    pub(crate) client: Option<Client>,

    #[command(flatten)]
    pub(crate) devices: DeviceArgs,

    /// Print what was sent as JSON: docs/json.md
    #[arg(long)]
    pub(crate) json: bool,
}

/// Fetch an image from a registry
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Fetches an image from a registry of containers. The images that a patch refers to are put beside it, by the names \
        under which it looks for them. All bytes are compared with their digests before a file gets its name. If it is \
        interrupted, it can be started again; files that are complete are not fetched again. Of an image that was pushed with \
        --chunks, only those chunks are fetched that the file to be replaced, and those of --reuse, don't have.",
    after_long_help = "\
Examples:
  lith pull oci://registry.example/box:1 box.erofs
  lith pull oci://registry.example/box@sha256:6b3b...3f box.erofs
  lith pull --reuse a.erofs oci://registry.example/box:2 b.erofs"
)]
pub(crate) struct Pull {
    /// The name of the image: `oci://HOST[:PORT]/REPOSITORY[:TAG][@sha256:DIGEST]`
    #[arg(value_name = "REF")]
    pub(crate) reference: String,

    /// The file to make
    #[arg(value_parser = value::place())]
    pub(crate) image: PathBuf,

    /// A file, such as an older version, whose chunks need not be fetched
    #[arg(long, value_name = "FILE", value_parser = value::place())]
    pub(crate) reuse: Vec<PathBuf>,

    /// Replace files that are other than those to be fetched
    #[arg(long)]
    pub(crate) force: bool,

    /// Print what was fetched as JSON: docs/json.md
    #[arg(long)]
    pub(crate) json: bool,
}
