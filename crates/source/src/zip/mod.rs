//! How does a zip archive become a tree?
//!
//! Members are found by the directory at its end, so what comes from a pipe is copied to a file first. Their data are copied to
//! a spool. Paths, directories without a member, members of one path and the order of inodes are as those of a tar
//! ([`crate::tar`]). Names that are not UTF-8 are in code page 437.

mod error;
mod member;

use std::{
    fs::File,
    io::{self, BufReader, Read, Seek, SeekFrom},
    path::Path,
};

use ::zip::{ZipArchive, read::ZipFile, result::ZipError as Problem};
use lith_tree::Kind;

use crate::{
    Options, Refusal, Source, SourceError,
    error::cannot,
    limits,
    tar::{self, Member, MemberKind, Placer, Spool, SpoolError, Store, target},
};
pub use error::ZipError;
use member::{DIRECTORY, FIFO, Known, REGULAR, SOCKET, SYMLINK, metadata};

/// Reads an archive in a file, from its current position on.
pub(crate) fn file(mut file: File, path: &Path, options: &Options) -> Result<Source, SourceError> {
    let start = file.stream_position().map_err(cannot("read", path))?;
    read(BufReader::new(Tail { file, start }), path, options)
}

/// Reads an archive.
pub(crate) fn read(
    reader: impl Read + Seek,
    path: &Path,
    options: &Options,
) -> Result<Source, SourceError> {
    let about = |source| SourceError::Zip { path: path.to_owned(), source };
    let damaged = |problem| match problem {
        Problem::Io(source) if is_of_system(&source) => cannot("read", path)(source),
        problem => about(ZipError::Damaged(reason(&problem))),
    };
    let mut archive = ZipArchive::new(reader).map_err(damaged)?;
    if archive.has_overlapping_files().map_err(damaged)? {
        return Err(about(ZipError::Overlap));
    }
    let mut spool = Spool::new(options.spool_dir.clone(), options.spool_memory);
    let mut placer = Placer::new(options);
    for index in 0..archive.len() {
        let name = archive.by_index_data(index).map(|entry| entry.name_raw().to_vec());
        let name = name.map_err(damaged)?;
        let unreadable = |problem| match problem {
            Problem::Io(source) if is_of_system(&source) => cannot("read", path)(source),
            problem => {
                let (member, reason) = (name.clone().into(), reason(&problem));
                about(ZipError::Member { member, reason })
            }
        };
        let mut entry = archive.by_index(index).map_err(unreadable)?;
        let member = member(&mut entry, &mut spool).map_err(|stop| match stop {
            Stop::Problem(problem) => unreadable(problem),
            Stop::Spool(error) => error,
            Stop::Length(expected) => {
                about(ZipError::Length { member: name.clone().into(), expected })
            }
            Stop::Refusal(source) => {
                about(ZipError::Refused { member: name.clone().into(), source })
            }
        })?;
        placer
            .place(member)
            .map_err(|source| about(ZipError::Refused { member: name.clone().into(), source }))?;
    }
    spool.finish();
    let layer = tar::finish(placer, Store::Spool(spool), None);
    let refused =
        |(member, source): (Vec<u8>, _)| about(ZipError::Refused { member: member.into(), source });
    Ok(layer.map_err(refused)?.source)
}

/// Why a member can't be read.
enum Stop {
    Problem(Problem),
    /// It hasn't the number of bytes that it says.
    Length(u64),
    Spool(SourceError),
    Refusal(Refusal),
}

impl From<Problem> for Stop {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Problem(Problem::Io(error))
    }
}

/// The member of an entry, whose data are stored.
fn member<R: Read>(entry: &mut ZipFile<'_, R>, spool: &mut Spool) -> Result<Member, Stop> {
    let name = entry.name()?.into_owned();
    let (system, attributes) = (entry.system(), entry.external_attributes());
    let known = Known { name: name.as_bytes(), system, attributes };
    if known.name.len() as u64 > limits::PATH {
        return Err(Problem::InvalidArchive("its name is too long".into()).into());
    }
    let (path, mode) = (known.path(), known.mode());
    let metadata = metadata(mode, entry.last_modified(), entry.extra_data_fields());
    let kind = match mode & !0o7777 {
        DIRECTORY => MemberKind::Directory,
        SYMLINK => MemberKind::Special(Kind::Symlink(symlink(entry)?)),
        FIFO => MemberKind::Special(Kind::Fifo),
        SOCKET => MemberKind::Special(Kind::Socket),
        REGULAR => {
            let (at, size) = (spool.end(), entry.size());
            store(entry, size, spool)?;
            MemberKind::Regular { size, at, map: None, unknown: None }
        }
        _ => return Err(Problem::UnsupportedArchive("its type is that of no file").into()),
    };
    Ok(Member { path, kind, metadata, xattrs: Vec::new() })
}

/// Stores the data of a member, which are so many bytes and no more. At their end the checksum is compared.
fn store<R: Read>(entry: &mut ZipFile<'_, R>, size: u64, spool: &mut Spool) -> Result<(), Stop> {
    if size > limits::FILE_SIZE {
        return Err(Stop::Length(size));
    }
    let stored = spool.append(entry, size).map_err(|error| match error {
        SpoolError::Read(error) => error.into(),
        SpoolError::Write(error) => Stop::Spool(error),
    })?;
    let more = tar::fill(entry, &mut [0])?;
    if stored < size || more > 0 { Err(Stop::Length(size)) } else { Ok(()) }
}

/// The target of a symbolic link, which its data are.
fn symlink<R: Read>(entry: &mut ZipFile<'_, R>) -> Result<Box<[u8]>, Stop> {
    let mut bytes = Vec::new();
    entry.by_ref().take(limits::PATH_MAX as u64).read_to_end(&mut bytes)?;
    if bytes.len() < limits::PATH_MAX {
        // At the end the checksum is compared.
        tar::fill(entry, &mut [0])?;
    }
    target(bytes).map_err(Stop::Refusal)
}

/// Whether an error is of the operating system, and not about the bytes.
fn is_of_system(error: &io::Error) -> bool {
    error.raw_os_error().is_some()
}

fn reason(problem: &Problem) -> Box<str> {
    match problem {
        Problem::Io(error) => error.to_string().into(),
        Problem::InvalidArchive(reason) => (**reason).into(),
        Problem::UnsupportedArchive(Problem::PASSWORD_REQUIRED) => "it is encrypted".into(),
        Problem::UnsupportedArchive(reason) => (*reason).into(),
        other => other.to_string().into(),
    }
}

/// A file from a position on.
struct Tail {
    file: File,
    start: u64,
}

impl Read for Tail {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.file.read(buf)
    }
}

impl Seek for Tail {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let to = match to {
            SeekFrom::Start(position) => {
                let position = position.checked_add(self.start);
                SeekFrom::Start(position.ok_or(io::ErrorKind::InvalidInput)?)
            }
            other => other,
        };
        let position = self.file.seek(to)?;
        position.checked_sub(self.start).ok_or_else(|| io::ErrorKind::InvalidInput.into())
    }
}
