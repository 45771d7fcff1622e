//! Copies a tar to a file while it is read.

use std::{
    fs::File,
    io::{self, BufReader, Read, Write},
    path::{Path, PathBuf},
};

/// Bytes read and written at once.
const BUFFER: usize = 128 << 10;

struct Tee<R> {
    reader: R,
    file: File,
    path: PathBuf,
}

#[derive(Debug, thiserror::Error)]
#[error("{}: cannot write the copy of the tar", path.display())]
struct CopyError {
    path: PathBuf,
    source: io::Error,
}

/// A reader that writes everything it reads of `reader` to `file`, which is at `path`.
pub(super) fn copying(reader: impl Read, file: File, path: &Path) -> impl Read {
    BufReader::with_capacity(BUFFER, Tee { reader, file, path: path.to_owned() })
}

impl<R: Read> Read for Tee<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let got = self.reader.read(buf)?;
        self.file.write_all(buf.split_at(got).0).map_err(|source| {
            let path = self.path.clone();
            io::Error::new(source.kind(), CopyError { path, source })
        })?;
        Ok(got)
    }
}
