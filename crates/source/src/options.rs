//! Defines how a source is read.

use std::{num::NonZeroUsize, path::PathBuf, thread};

use lith_transform::Excludes;

use crate::oci::Platform;

/// Where an image is to store the bytes of files in a tar or an image.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Data {
    /// In itself: they are copied.
    #[default]
    Take,
    /// Where they are: the image refers to them on extra devices, by [`lith_tree::Content::elsewhere`]. Files for which that is
    /// not possible are copied, unless they come from a pipe.
    Refer,
    /// Nowhere: the tar consists of headers only, and all files read as zeros.
    Omitted,
}

/// What happens if a file can't be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnError {
    /// The error names all such files.
    #[default]
    Fail,
    /// It is left out, with a note. A directory that can't be listed is empty.
    Skip,
}

/// Where a tar or a cpio archive may end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TarEnd {
    /// After its end marker only, because a tar without one may be truncated.
    #[default]
    Marked,
    /// After any member.
    Anywhere,
}

/// What to take from a source, and how. The default takes everything.
#[derive(Clone, Debug)]
#[non_exhaustive]
#[expect(clippy::struct_excessive_bools, reason = "each is a choice of its own")]
pub struct Options {
    /// The paths to leave out.
    pub exclude: Excludes,
    /// What happens if a file of a directory or an image can't be read.
    pub on_error: OnError,
    /// Whether other filesystems mounted in a directory are left out: the directories at which they are mounted are empty.
    pub one_file_system: bool,
    /// Whether extended attributes are read.
    pub xattrs: bool,
    /// Whether each name of a file with several becomes a file of its own.
    pub dereference_hard_links: bool,
    /// Whether AUFS whiteouts in a tar (`.wh.name`, `.wh..wh..opq`) become overlay whiteouts
    /// (a character device 0:0, the attribute `trusted.overlay.opaque`). Otherwise they stay plain names.
    pub aufs: bool,
    /// Where an image is to store the bytes of files in a tar or an image.
    pub data: Data,
    /// Where a tar or a cpio archive may end.
    pub tar_end: TarEnd,
    /// The file to which a tar is copied while it is read, decompressed.
    pub raw_copy: Option<PathBuf>,
    /// The platform whose image is taken of a container image for several; `None`: that of this machine, or the only one.
    pub platform: Option<Platform>,
    /// The file to which the configuration of a container image is copied.
    pub config_copy: Option<PathBuf>,
    /// How sources on servers are fetched.
    #[cfg(feature = "remote")]
    pub remote: lith_remote::Options,
    /// Files that are about to be made or replaced. A directory that contains them is read without them.
    pub outputs: Vec<PathBuf>,
    /// The directory for temporary data; best that of the output.
    pub spool_dir: PathBuf,
    /// Bytes of temporary data that may stay in memory.
    pub spool_memory: usize,
    /// The number of threads that scan a directory.
    pub workers: NonZeroUsize,
}

impl Options {
    /// The default with changes.
    #[must_use]
    pub fn with(change: impl FnOnce(&mut Self)) -> Self {
        let mut options = Self::default();
        change(&mut options);
        options
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            exclude: Excludes::default(),
            on_error: OnError::default(),
            one_file_system: false,
            xattrs: true,
            dereference_hard_links: false,
            aufs: false,
            data: Data::default(),
            tar_end: TarEnd::default(),
            raw_copy: None,
            platform: None,
            config_copy: None,
            #[cfg(feature = "remote")]
            remote: lith_remote::Options::default(),
            outputs: Vec::new(),
            spool_dir: PathBuf::from("."),
            spool_memory: 32 << 20,
            workers: thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
        }
    }
}
