//! Defines arguments that several verbs have in common, and what the environment decides.

use std::{env, num::NonZeroUsize, path::PathBuf, thread};

use clap::ColorChoice;
use lith::{bases::Search, tree::Timestamp};

use super::{
    location::Location,
    remote::RemoteArgs,
    trust::TrustArgs,
    value::{self, Size},
};

/// An image, its start within the file, and its further devices.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ImageArgs {
    /// The EROFS image, also at http(s)://, s3://, gs://, az:// or oci://; `-`: standard input
    pub(crate) image: PathBuf,

    /// Byte offset of the image within its file, as of one that follows a program
    #[arg(long, value_name = "BYTES", default_value = "0", hide_default_value = true)]
    pub(crate) offset: Size,

    #[command(flatten)]
    pub(crate) devices: DeviceArgs,

    /// Read the image also if the checksum of its superblock is wrong
    #[arg(long)]
    pub(crate) ignore_checksum: bool,

    #[command(flatten)]
    pub(crate) trust: TrustArgs,

    #[command(flatten)]
    pub(crate) remote: RemoteArgs,
}

/// The further devices of images.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct DeviceArgs {
    /// A further device of the image: the base of a patch, or in the order of the device table; can be repeated
    #[arg(long = "device", value_name = "FILE", value_parser = value::place())]
    pub(crate) devices: Vec<PathBuf>,

    /// A folder in which the bases of a patch are looked for, before the patch's own; can be repeated
    #[arg(long = "base-dir", value_name = "DIR", value_parser = value::place())]
    pub(crate) base_dirs: Vec<PathBuf>,
}

impl DeviceArgs {
    /// Where devices are looked for.
    pub(crate) fn search(&self) -> Search {
        let (devices, directories) = (self.devices.clone(), self.base_dirs.clone());
        Search { devices, directories, ..Search::default() }
    }
}

/// Where the content of files is that an image of composefs refers to.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct ObjectsArgs {
    /// Take the content of files from this folder of objects, as an image of composefs refers to it; their digests are verified
    #[arg(long, value_name = "DIR", visible_alias = "composefs", value_parser = value::place())]
    pub(crate) objects: Option<PathBuf>,
}

/// What happens if the image is damaged.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct SalvageArgs {
    /// Save what can be read of a damaged image, and list what is lost
    ///
    /// Lost bytes are zeros; files of which nothing can be read are left out. The list is printed on standard error at the
    /// end, and the exit code is 1.
    #[arg(long)]
    pub(crate) keep_going: bool,
}

/// Makes the argument of an image that of a tree in a file of any kind.
pub(super) fn any_file(argument: clap::Arg) -> clap::Arg {
    argument.help(
        "An EROFS or SquashFS image or an archive (tar, cpio, zip), also at http(s)://, s3://, gs://, az:// or oci://, or a container image \
        (oci:DIR[:TAG], docker://REF); `-`: standard input",
    )
}

/// Leaves an argument as it is, but last, which all are that are changed: so paths stay after the image.
pub(super) fn last(argument: clap::Arg) -> clap::Arg {
    argument
}

/// Makes the argument of an image that of a tree of any kind.
pub(super) fn any_tree(argument: clap::Arg) -> clap::Arg {
    argument
        .value_name("SOURCE")
        .help(
            "A directory, an archive (tar, cpio, zip; `-`: standard input), an EROFS or SquashFS image, also at http(s)://, s3://, gs://, \
            az:// or oci://, or a container image (oci:DIR[:TAG], docker://REF)",
        )
}

/// The number of threads.
#[derive(Debug, clap::Args)]
pub(crate) struct WorkersArgs {
    /// Threads to use [default: one per core]
    #[arg(long, value_name = "N", value_parser = value::count)]
    workers: Option<NonZeroUsize>,
}

impl ImageArgs {
    /// Where the image is.
    pub(crate) fn location(&self) -> Location<'_> {
        let (search, trust) = (self.devices.search(), self.trust.trust());
        let keep = self.remote.keep();
        Location { path: &self.image, offset: self.offset.0, search, trust, keep }
    }

    /// An image that is the whole of a file.
    pub(crate) fn new(image: PathBuf) -> Self {
        Self {
            image,
            offset: Size(0),
            devices: DeviceArgs::default(),
            ignore_checksum: false,
            trust: TrustArgs::default(),
            remote: RemoteArgs::default(),
        }
    }
}

impl WorkersArgs {
    /// The requested number, or one per core.
    pub(crate) fn count(&self) -> NonZeroUsize {
        workers(self.workers)
    }
}

/// What is printed beside the result, and how. All verbs have these options.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct MessageArgs {
    /// Print only results and errors: no progress, no notes, no summary
    #[arg(short, long, global = true, display_order = 900)]
    pub(crate) quiet: bool,

    /// Print time and memory at the end
    #[arg(short, long, global = true, display_order = 901)]
    pub(crate) verbose: bool,

    /// Use colours: auto (on a terminal, unless `NO_COLOR` is set), always or never
    #[arg(
        long,
        value_name = "WHEN",
        global = true,
        default_value = "auto",
        hide_default_value = true,
        hide_possible_values = true,
        display_order = 902
    )]
    pub(crate) color: ColorChoice,
}

/// The requested number of workers; without a request one per core.
pub(crate) fn workers(requested: Option<NonZeroUsize>) -> NonZeroUsize {
    let cores = || thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    requested.unwrap_or_else(cores)
}

/// The time in `SOURCE_DATE_EPOCH`, as <https://reproducible-builds.org/specs/source-date-epoch> defines it; `None`: it is
/// not set.
pub(crate) fn source_date_epoch() -> Result<Option<Timestamp>, String> {
    let Some(value) = env::var_os("SOURCE_DATE_EPOCH").filter(|value| !value.is_empty()) else {
        return Ok(None);
    };
    let sec = value.to_str().and_then(|value| value.parse().ok());
    let time = sec.map(|sec| Timestamp { sec, nsec: 0 });
    let problem =
        || format!("SOURCE_DATE_EPOCH is {}; expected seconds since 1970", value.display());
    time.ok_or_else(problem).map(Some)
}
