//! Reads the members of cpio archives that follow one another, as in an initramfs.

use std::path::Path;

use lith_tree::{Kind, Metadata, Timestamp};

use super::{
    error::{CpioDamage, CpioError},
    header::{Header, LENGTH, MAGIC},
};
use crate::{
    Options, Part, Refusal, SourceError, TarEnd,
    detect::{Looks, detect, foreign_type},
    limits,
    tar::{Input, InputError, Member, MemberKind, Store, target},
};

/// The name of the last member of an archive.
const TRAILER: &[u8] = b"TRAILER!!!";

/// What headers with names, and data, are multiples of.
const ALIGNMENT: u64 = 4;

/// Bytes that are read at once to be added up.
const BUFFER: usize = 64 << 10;

/// What names of one file share: the number of its archive, device and inode.
pub(super) type FileKey = (u64, (u32, u32, u32));

/// A member, and by what others of the same file are recognized, if there are some.
pub(super) struct Read {
    pub(super) member: Member,
    pub(super) file: Option<FileKey>,
}

/// Why archives can't be read further.
pub(super) enum Stop {
    Failed(SourceError),
    /// Compressed data follow, so that the file is read as a stream.
    Compressed,
}

/// What is known at the end.
pub(super) struct End {
    /// Whether data follow that are no archive.
    pub(super) trailing: bool,
    /// Whether the last archive has no trailer.
    pub(super) unmarked: bool,
    pub(super) store: Store,
}

/// Iterates over the members of all archives.
pub(super) struct Members<'a> {
    path: &'a Path,
    input: Input<'a>,
    options: &'a Options,
    /// The number of archives before this one.
    archive: u64,
    /// The start of the next header, which was read already.
    ahead: Option<[u8; MAGIC]>,
    /// The name of the current member, or of the last one.
    last: Vec<u8>,
    trailing: bool,
    unmarked: bool,
}

/// Why a member can't be read.
enum MemberError {
    Input(InputError),
    Damage(CpioDamage),
    Refusal(Refusal),
    Compressed,
}

impl From<InputError> for MemberError {
    fn from(error: InputError) -> Self {
        Self::Input(error)
    }
}

impl From<CpioDamage> for MemberError {
    fn from(damage: CpioDamage) -> Self {
        Self::Damage(damage)
    }
}

impl From<Refusal> for MemberError {
    fn from(refusal: Refusal) -> Self {
        Self::Refusal(refusal)
    }
}

impl<'a> Members<'a> {
    pub(super) const fn new(path: &'a Path, input: Input<'a>, options: &'a Options) -> Self {
        Self {
            path,
            input,
            options,
            archive: 0,
            ahead: None,
            last: Vec::new(),
            trailing: false,
            unmarked: false,
        }
    }

    /// The next member; `None` after the last archive.
    pub(super) fn next(&mut self) -> Result<Option<Read>, Stop> {
        loop {
            let start = self.input.position() - if self.ahead.is_some() { MAGIC as u64 } else { 0 };
            let header = self.header();
            let header = header.map_err(|error| self.stop(error, Part::NextHeader, start))?;
            let Some(header) = header else {
                return Ok(None);
            };
            if self.last != TRAILER {
                let read = self.member(&header);
                return read.map(Some).map_err(|error| {
                    let part = match error {
                        MemberError::Damage(CpioDamage::Mode(_)) => Part::Header,
                        _ => Part::Data,
                    };
                    self.stop(error, part, start)
                });
            }
            self.last.clear();
            let another = self.input.pass(padded(header.size.into())).map_err(MemberError::from);
            let another = another.and_then(|()| self.next_archive());
            if !another.map_err(|error| self.stop(error, Part::EndMarker, start))? {
                return Ok(None);
            }
        }
    }

    /// What is known after the last member.
    pub(super) fn finish(self) -> End {
        let Self { trailing, unmarked, .. } = self;
        End { trailing, unmarked, store: self.input.into_store().0 }
    }

    /// The next header, whose name is the last then; `None`: there is none, and that is allowed.
    fn header(&mut self) -> Result<Option<Header>, MemberError> {
        let mut bytes = [0; LENGTH];
        let (magic, rest) = bytes.split_at_mut(MAGIC);
        if let Some(ahead) = self.ahead.take() {
            magic.copy_from_slice(&ahead);
        } else {
            match self.input.take(magic)? {
                0 if self.options.tar_end == TarEnd::Anywhere => {
                    self.unmarked = true;
                    return Ok(None);
                }
                MAGIC => {}
                _ => return Err(InputError::Ended.into()),
            }
        }
        if detect(magic) != Looks::Cpio {
            return Err(CpioDamage::Magic((&*magic).into()).into());
        }
        self.fill(rest)?;
        let header = Header::new(&bytes)?;
        self.last = self.name(header.name)?;
        Ok(Some(header))
    }

    /// The name after a header. Some writers align the data by more NUL bytes at its end.
    fn name(&mut self, length: u32) -> Result<Vec<u8>, MemberError> {
        let wrong = CpioDamage::Name { length, limit: limits::PATH };
        if length == 0 || u64::from(length) > limits::PATH {
            return Err(wrong.into());
        }
        let mut name = self.bytes(length)?;
        let end = LENGTH as u64 + u64::from(length);
        self.input.pass(padded(end) - end)?;
        let end = name.iter().position(|byte| *byte == 0).ok_or(wrong)?;
        name.truncate(end);
        Ok(name)
    }

    /// The member of a header, whose data are stored or skipped.
    fn member(&mut self, header: &Header) -> Result<Read, MemberError> {
        let size = u64::from(header.size);
        let kind = match header.mode & 0o170_000 {
            0o100_000 => {
                MemberKind::Regular { size, at: self.data(header)?, map: None, unknown: None }
            }
            0o120_000 => MemberKind::Special(Kind::Symlink(self.symlink(header.size)?)),
            other => {
                let kind = without_data(other, header)?;
                self.input.pass(size)?;
                kind
            }
        };
        self.input.pass(padded(size) - size)?;
        let is_directory = matches!(kind, MemberKind::Directory);
        let file = (header.nlink > 1 && !is_directory).then_some((self.archive, header.file));
        let metadata = metadata(header);
        let member = Member { path: self.last.clone(), kind, metadata, xattrs: Vec::new() };
        Ok(Read { member, file })
    }

    /// Stores the data of a regular file, and returns where they are. Names without data have the checksum of the file.
    fn data(&mut self, header: &Header) -> Result<u64, MemberError> {
        let at = self.input.keep(header.size.into())?;
        if let Some(stored) = header.sum.filter(|_| header.size > 0) {
            let found = self.sum(at, header.size.into())?;
            if found != stored {
                return Err(CpioDamage::Checksum { stored, found }.into());
            }
        }
        Ok(at)
    }

    /// The sum of bytes in the store.
    fn sum(&self, mut at: u64, length: u64) -> Result<u32, InputError> {
        let mut buffer = vec![0; BUFFER];
        let end = at + length;
        let mut sum = 0_u32;
        while at < end {
            let step = usize::try_from(end - at).map_or(BUFFER, |left| left.min(BUFFER));
            let (bytes, _) = buffer.split_at_mut(step);
            self.input.read_back(bytes, at)?;
            sum = bytes.iter().fold(sum, |sum, byte| sum.wrapping_add((*byte).into()));
            at += step as u64;
        }
        Ok(sum)
    }

    /// The target of a symbolic link. That of `gen_init_cpio` has a NUL byte at its end.
    fn symlink(&mut self, size: u32) -> Result<Box<[u8]>, MemberError> {
        let found = usize::try_from(size).expect("32 bits");
        if found > limits::PATH_MAX {
            return Err(Refusal::SymlinkLength { found, limit: limits::SYMLINK }.into());
        }
        let mut bytes = self.bytes(size)?;
        if bytes.last() == Some(&0) {
            bytes.pop();
        }
        Ok(target(bytes)?)
    }

    /// Looks for another archive after the trailer of one and zeros, and returns whether there is one.
    fn next_archive(&mut self) -> Result<bool, MemberError> {
        let Some(first) = self.input.after_zeros()? else {
            return Ok(false);
        };
        let mut magic = [first; MAGIC];
        let (_, rest) = magic.split_at_mut(1);
        let got = 1 + self.input.take(rest)?;
        let (start, _) = magic.split_at(got);
        self.archive += 1;
        match detect(start) {
            Looks::Cpio => {
                self.ahead = Some(magic);
                Ok(true)
            }
            Looks::Compressed(compression) if self.input.compression().is_none() => {
                if !self.input.decompress(compression, start.to_vec())? {
                    return Err(MemberError::Compressed);
                }
                Ok(true)
            }
            _ => {
                if let Some(found) = foreign_type(start) {
                    return Err(CpioDamage::Follows(found).into());
                }
                self.input.drain()?;
                self.trailing = true;
                Ok(false)
            }
        }
    }

    fn bytes(&mut self, length: u32) -> Result<Vec<u8>, InputError> {
        let mut bytes = vec![0; usize::try_from(length).expect("32 bits")];
        self.fill(&mut bytes)?;
        Ok(bytes)
    }

    fn fill(&mut self, buf: &mut [u8]) -> Result<(), InputError> {
        if self.input.take(buf)? < buf.len() { Err(InputError::Ended) } else { Ok(()) }
    }

    /// Adds the position to an error.
    fn stop(&self, error: MemberError, part: Part, start: u64) -> Stop {
        let member = self.last.as_slice().into();
        let position = self.input.position();
        let source = match error {
            MemberError::Compressed => return Stop::Compressed,
            MemberError::Input(InputError::Source(error)) => return Stop::Failed(error),
            MemberError::Input(InputError::Ended) => CpioError::Truncated {
                position,
                // Without any byte of a header, the trailer is missing.
                part: if position == start { Part::EndMarker } else { part },
                member,
            },
            MemberError::Damage(source) => {
                CpioError::Damaged { position: start, part, member, source }
            }
            MemberError::Refusal(source) => CpioError::Refused { member, source },
        };
        Stop::Failed(SourceError::Cpio { path: self.path.to_owned(), source })
    }
}

/// A file that has no data, by the type bits of its mode.
fn without_data(file_type: u32, header: &Header) -> Result<MemberKind, CpioDamage> {
    Ok(MemberKind::Special(match file_type {
        0o040_000 => return Ok(MemberKind::Directory),
        0o020_000 => Kind::CharDevice(header.rdev),
        0o060_000 => Kind::BlockDevice(header.rdev),
        0o010_000 => Kind::Fifo,
        0o140_000 => Kind::Socket,
        _ => return Err(CpioDamage::Mode(header.mode)),
    }))
}

fn metadata(header: &Header) -> Metadata {
    Metadata {
        permissions: u16::try_from(header.mode & 0o7777).expect("twelve bits"),
        uid: header.uid,
        gid: header.gid,
        mtime: Timestamp { sec: header.mtime.into(), nsec: 0 },
        ..Metadata::default()
    }
}

const fn padded(length: u64) -> u64 {
    length.next_multiple_of(ALIGNMENT)
}
