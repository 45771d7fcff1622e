//! How are results shown, to people and to programs? Holds their text and JSON forms, errors, progress and output files.

pub(crate) mod address;
pub(crate) mod attributes;
#[cfg_attr(not(target_os = "linux"), path = "never_closed.rs")]
mod closed;
pub(crate) mod color;
pub(crate) mod compress;
mod details;
pub(crate) mod difference;
pub(crate) mod dumped;
pub(crate) mod error;
pub(crate) mod exported;
pub(crate) mod extents;
pub(crate) mod file;
pub(crate) mod hash_tree;
pub(crate) mod info;
pub(crate) mod json;
pub(crate) mod notes;
pub(crate) mod progress;
pub(crate) mod provenance;
#[cfg_attr(not(unix), path = "no_signals.rs")]
pub(crate) mod signals;
pub(crate) mod skips;
pub(crate) mod target;
pub(crate) mod usage;

use std::{
    fs::File,
    io::{self, BufWriter, Write},
    path::Path,
};

use crate::exit::Outcome;
pub(crate) use closed::check_open;

/// A buffer for standard output. Must be flushed, because errors are lost when it is dropped.
pub(crate) type Stdout = BufWriter<Raw>;

/// Standard output with a buffer of 64 KiB; that of the standard library writes every line.
pub(crate) fn stdout() -> io::Result<Stdout> {
    let file = lith_system::standard_output()?;
    Ok(BufWriter::with_capacity(64 << 10, Raw(file)))
}

/// Ends the output of a program that succeeded.
pub(crate) fn finish(mut output: Stdout) -> anyhow::Result<Outcome> {
    output.flush()?;
    Ok(Outcome::Success)
}

/// Standard output, whose errors name it.
#[derive(Debug)]
pub(crate) struct Raw(File);

impl Write for Raw {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = check_open().and_then(|()| self.0.write(bytes));
        written.map_err(|error| {
            io::Error::new(error.kind(), format!("cannot write to standard output: {error}"))
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The directory that contains a path.
pub(crate) fn directory_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
