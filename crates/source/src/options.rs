//! How shall a source be read?

use std::{num::NonZeroUsize, path::PathBuf, thread};

use crate::Excludes;

/// What becomes of the bytes of files in a tar or an image.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Data {
    /// They are taken.
    #[default]
    Take,
    /// They stay where they are for good, and an image shall refer to them there: on devices of its own, by
    /// [`lith_tree::Content::elsewhere`]. Files for which that is not possible are taken, unless they come from a pipe.
    Refer,
    /// There are none: the tar consists of headers, and all files read as zeros.
    Omitted,
}

/// Where a tar may end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TarEnd {
    /// Behind its end marker only, since one without may have been cut.
    #[default]
    Marked,
    /// Behind any member.
    Anywhere,
}

/// What to take from a source, and how. The default takes everything.
#[derive(Clone, Debug)]
pub struct Options {
    /// Which paths to leave out.
    pub exclude: Excludes,
    /// Whether extended attributes are taken at all.
    pub xattrs: bool,
    /// Whether each name of a file with several becomes a file of its own.
    pub dereference_hard_links: bool,
    /// Whether AUFS whiteouts in a tar (`.wh.name`, `.wh..wh..opq`) become overlay whiteouts
    /// (a character device 0:0, the attribute `trusted.overlay.opaque`). Otherwise they stay plain names.
    pub aufs: bool,
    /// What becomes of the bytes of files in a tar or an image.
    pub data: Data,
    /// Where a tar may end.
    pub tar_end: TarEnd,
    /// The file that a tar is written to while it is read, decompressed.
    pub raw_copy: Option<PathBuf>,
    /// The directory for temporary data; best the one that the output goes to.
    pub spool_dir: PathBuf,
    /// How many bytes of temporary data may stay in memory.
    pub spool_memory: usize,
    /// Threads that scan a directory at once.
    pub workers: NonZeroUsize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            exclude: Excludes::default(),
            xattrs: true,
            dereference_hard_links: false,
            aufs: false,
            data: Data::default(),
            tar_end: TarEnd::default(),
            raw_copy: None,
            spool_dir: PathBuf::from("."),
            spool_memory: 32 << 20,
            workers: thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
        }
    }
}
