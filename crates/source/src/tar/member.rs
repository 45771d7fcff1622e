//! Reads the members of a tar, each with all its headers.
//!
//! The crate `tar` is used for the layout of headers, but not to iterate over members. It splits extended headers at newlines, so
//! attributes and ACLs with a newline are lost; it knows neither PAX sparse members nor global headers nor fractions of seconds;
//! it does not expose the map of a sparse member, whose data are read in place later here; and it takes the end of the file for the
//! end of the tar. The crate `tar-core` has positions and maps, but loses an extended header before a global one, and supports
//! neither times before 1970 nor attributes whose names are not UTF-8.

use std::{mem, path::Path};

use lith_tree::{Kind, Metadata, Rdev, Timestamp, Xattr};

use super::{
    acl,
    error::{Damage, Part, Refusal, TarError},
    header::{BLOCK, Block, MemberHeader},
    input::{Input, InputError, Store},
    overrides::Overrides,
    sparse::{Lines, SparseMap, gnu_pairs, pairs},
};
use crate::{
    Data, Options, SourceError, TarEnd, limits,
    namespace::{ACL_ACCESS, ACL_DEFAULT},
};

/// A file in an archive.
#[derive(Debug)]
pub(crate) struct Member {
    /// As it is in the archive.
    pub(crate) path: Vec<u8>,
    pub(crate) kind: MemberKind,
    /// Without its extended attributes.
    pub(crate) metadata: Metadata,
    pub(crate) xattrs: Vec<Xattr>,
}

/// What a member is.
#[derive(Debug)]
pub(crate) enum MemberKind {
    Directory,
    Regular {
        size: u64,
        /// Where its data are in the store.
        at: u64,
        map: Option<SparseMap>,
        /// The type flag, if it is unknown.
        unknown: Option<u8>,
    },
    HardLink(Vec<u8>),
    /// Any other file without data.
    Special(Kind),
    /// Not a file, with its type flag.
    Nothing(u8),
}

/// Iterates over the members of a tar.
pub(super) struct Members<'a> {
    path: &'a Path,
    input: Input<'a>,
    options: &'a Options,
    global: Overrides,
    global_bytes: u64,
    /// The name of the current member, or of the last one.
    last: Vec<u8>,
    /// Whether the tar ended without a marker.
    unmarked: bool,
}

/// What is known at the end of a tar.
pub(super) struct End {
    /// Whether anything but zeros follows.
    pub(super) trailing: bool,
    /// Whether there is no end marker.
    pub(super) unmarked: bool,
    pub(super) store: Store,
    /// The length of the tar in bytes.
    pub(super) length: u64,
}

/// The extension headers of a member.
#[derive(Default)]
struct Extensions {
    overrides: Option<Overrides>,
    path: Option<Vec<u8>>,
    link: Option<Vec<u8>>,
    count: u32,
    /// What is wrong with the records of an extended header; reported when the member's name is known.
    damage: Option<Damage>,
}

/// Why a member can't be read.
enum MemberError {
    Input(InputError),
    Damage(Damage),
    Refusal(Refusal),
}

impl From<InputError> for MemberError {
    fn from(error: InputError) -> Self {
        Self::Input(error)
    }
}

impl From<Damage> for MemberError {
    fn from(damage: Damage) -> Self {
        Self::Damage(damage)
    }
}

impl From<Refusal> for MemberError {
    fn from(refusal: Refusal) -> Self {
        Self::Refusal(refusal)
    }
}

impl<'a> Members<'a> {
    pub(super) fn new(path: &'a Path, input: Input<'a>, options: &'a Options) -> Self {
        Self {
            path,
            input,
            options,
            global: Overrides::default(),
            global_bytes: 0,
            last: Vec::new(),
            unmarked: false,
        }
    }

    /// The next member; `None` at the end marker.
    pub(super) fn next(&mut self) -> Result<Option<Member>, SourceError> {
        let start = self.input.position();
        let mut extensions = Extensions::default();
        let header = self.header(&mut extensions);
        let header = header.map_err(|error| self.error(error, Part::NextHeader, start))?;
        let Some(header) = header else {
            return Ok(None);
        };
        let overrides = extensions.overrides.take().unwrap_or_else(|| self.global.clone());
        self.last = path(&header, &mut extensions, &overrides);
        let member = match extensions.damage.take() {
            Some(damage) => Err(damage.into()),
            None => self.member(&header, extensions, overrides),
        };
        member.map(Some).map_err(|error| {
            let part = match error {
                MemberError::Input(_) => Part::Data,
                _ => Part::Header,
            };
            self.error(error, part, start)
        })
    }

    /// Reads to the end of the input, after the end marker.
    pub(super) fn finish(mut self) -> Result<End, SourceError> {
        let start = self.input.position();
        let rest = self.input.drain();
        let trailing = rest.map_err(|error| self.error(error.into(), Part::EndMarker, start))?;
        let (store, length) = self.input.into_store();
        Ok(End { trailing, unmarked: self.unmarked, store, length })
    }

    /// The next header of a member itself; preceding extension headers go to `extensions`.
    fn header(&mut self, extensions: &mut Extensions) -> Result<Option<MemberHeader>, MemberError> {
        loop {
            let Some(block) = self.input.block()? else {
                self.unmarked = self.options.tar_end == TarEnd::Anywhere && extensions.count == 0;
                return if self.unmarked { Ok(None) } else { Err(InputError::Ended.into()) };
            };
            if block == [0; BLOCK] {
                return self.end(extensions).map(|()| None);
            }
            let header = MemberHeader::new(&block)?;
            match header.flag() {
                b'x' | b'X' => self.local(extensions, header.size()?)?,
                b'g' => self.global(header.size()?)?,
                b'L' => extensions.path = Some(self.long_name("the path", header.size()?)?),
                b'K' => extensions.link = Some(self.long_name("the link target", header.size()?)?),
                _ => return Ok(Some(header)),
            }
            extensions.count += 1;
            if extensions.count > limits::EXTENSIONS {
                return Err(Damage::TooManyHeaders { limit: limits::EXTENSIONS }.into());
            }
        }
    }

    /// Checks the end marker, whose first block was read.
    fn end(&mut self, extensions: &Extensions) -> Result<(), MemberError> {
        if extensions.overrides.is_some() || extensions.path.is_some() || extensions.link.is_some()
        {
            return Err(Damage::NothingFollows.into());
        }
        match self.input.block()? {
            Some(block) if block != [0; BLOCK] => Err(Damage::LoneZeros.into()),
            _ => Ok(()),
        }
    }

    fn local(&mut self, extensions: &mut Extensions, size: u64) -> Result<(), MemberError> {
        let records = self.extension("the extended header", size, limits::EXTENSION)?;
        let overrides = extensions.overrides.get_or_insert_with(|| self.global.clone());
        if let Err(damage) = overrides.apply_all(&records) {
            extensions.damage.get_or_insert(damage);
        }
        Ok(())
    }

    fn global(&mut self, size: u64) -> Result<(), MemberError> {
        let records = self.extension("the global header", size, limits::GLOBAL)?;
        self.global_bytes += size;
        if self.global_bytes > limits::GLOBAL {
            let found = self.global_bytes;
            return Err(too_large("the sum of global headers", found, limits::GLOBAL));
        }
        Ok(self.global.apply_global(&records)?)
    }

    fn long_name(&mut self, what: &'static str, size: u64) -> Result<Vec<u8>, MemberError> {
        let mut name = self.extension(what, size, limits::PATH)?;
        let end = name.iter().position(|byte| *byte == 0);
        name.truncate(end.unwrap_or(name.len()));
        Ok(name)
    }

    fn extension(
        &mut self,
        what: &'static str,
        size: u64,
        limit: u64,
    ) -> Result<Vec<u8>, MemberError> {
        if size > limit {
            return Err(too_large(what, size, limit));
        }
        Ok(self.input.bytes(size)?)
    }

    fn member(
        &mut self,
        header: &MemberHeader,
        extensions: Extensions,
        mut overrides: Overrides,
    ) -> Result<Member, MemberError> {
        let link = overrides.link.as_ref().map_or(0, Vec::len);
        for (what, length) in [("the path", self.last.len()), ("the link target", link)] {
            if length as u64 > limits::PATH {
                return Err(too_large(what, length as u64, limits::PATH));
            }
        }
        // Also of members without data.
        stored_size(header, &overrides)?;
        let metadata = metadata(header, &overrides)?;
        let xattrs = if self.options.xattrs { xattrs(&mut overrides)? } else { Vec::new() };
        let link = mem::take(&mut overrides.link).or(extensions.link);
        Ok(Member {
            kind: self.kind(header, link, &overrides)?,
            path: self.last.clone(),
            metadata,
            xattrs,
        })
    }

    /// The type of the member. Its data, if it has any, are stored or skipped.
    fn kind(
        &mut self,
        header: &MemberHeader,
        link: Option<Vec<u8>>,
        overrides: &Overrides,
    ) -> Result<MemberKind, MemberError> {
        let link = || link.unwrap_or_else(|| header.link());
        Ok(match header.flag() {
            // No data follow these, whatever size they have.
            b'1' => MemberKind::HardLink(link()),
            b'2' => MemberKind::Special(Kind::Symlink(target(link())?)),
            b'3' => MemberKind::Special(Kind::CharDevice(rdev(header, overrides)?)),
            b'4' => MemberKind::Special(Kind::BlockDevice(rdev(header, overrides)?)),
            b'5' => MemberKind::Directory,
            b'6' => MemberKind::Special(Kind::Fifo),
            b'M' => return Err(Refusal::MultiVolume.into()),
            flag @ (b'A' | b'V') => {
                self.skip(header, overrides)?;
                MemberKind::Nothing(flag)
            }
            // A directory with a list of its names, in GNU's incremental format.
            b'D' => {
                self.skip(header, overrides)?;
                MemberKind::Directory
            }
            b'S' => self.gnu_sparse(header, overrides)?,
            flag => {
                let unknown = (!matches!(flag, 0 | b'0' | b'7')).then_some(flag);
                self.regular(header, overrides, unknown)?
            }
        })
    }

    fn skip(&mut self, header: &MemberHeader, overrides: &Overrides) -> Result<(), MemberError> {
        Ok(self.input.skip(stored_size(header, overrides)?)?)
    }

    fn regular(
        &mut self,
        header: &MemberHeader,
        overrides: &Overrides,
        unknown: Option<u8>,
    ) -> Result<MemberKind, MemberError> {
        let stored = stored_size(header, overrides)?;
        // In tars of old formats, without a flag for directories.
        if unknown.is_none() && self.last.ends_with(b"/") {
            self.input.skip(stored)?;
            return Ok(MemberKind::Directory);
        }
        let sparse = &overrides.sparse;
        let size = sparse.size.unwrap_or(stored);
        if self.options.data == Data::Omitted {
            return Ok(without_data(size, unknown));
        }
        let (at, map) = match sparse.version() {
            None => (self.input.store(stored)?, None),
            Some((0, _)) => {
                let map = SparseMap::new(pairs(&sparse.numbers), size, stored)?;
                (self.store_sparse(&map, size, stored)?, Some(map))
            }
            Some((1, 0)) => {
                let (lines, left) = self.sparse_lines(stored)?;
                let map = SparseMap::new(lines.pairs(), size, left)?;
                (self.store_sparse(&map, size, left)?, Some(map))
            }
            Some((major, minor)) => return Err(Refusal::SparseVersion { major, minor }.into()),
        };
        Ok(MemberKind::Regular { size, at, map, unknown })
    }

    /// Stores the data of a sparse member. If data are not kept, images can only refer to them, in whole blocks.
    fn store_sparse(
        &mut self,
        map: &SparseMap,
        size: u64,
        stored: u64,
    ) -> Result<u64, MemberError> {
        if !self.input.keeps_data() && !map.is_aligned(size) {
            return Err(Refusal::SparseUnaligned.into());
        }
        Ok(self.input.store(stored)?)
    }

    /// The list before the data of a sparse member (PAX format 1.0), and the number of bytes after it.
    fn sparse_lines(&mut self, stored: u64) -> Result<(Lines, u64), MemberError> {
        let mut lines = Lines::default();
        let mut left = stored;
        loop {
            left = left.checked_sub(BLOCK as u64).ok_or(Damage::SparseList)?;
            if stored - left > limits::EXTENSION {
                return Err(too_large("a sparse file's list", stored - left, limits::EXTENSION));
            }
            if lines.push(&self.full_block()?)? {
                return Ok((lines, left));
            }
        }
    }

    fn gnu_sparse(
        &mut self,
        header: &MemberHeader,
        overrides: &Overrides,
    ) -> Result<MemberKind, MemberError> {
        let (size, first, mut more) = header.gnu_sparse()?;
        let stored = stored_size(header, overrides)?;
        let mut list = gnu_pairs(first).collect::<Result<Vec<_>, _>>()?;
        while more {
            if list.len() as u64 * 24 > limits::EXTENSION {
                let found = list.len() as u64 * 24;
                return Err(too_large("a sparse file's list", found, limits::EXTENSION));
            }
            let block = self.full_block()?;
            let known = list.len();
            for pair in gnu_pairs(block.split_at(504).0) {
                list.push(pair?);
            }
            more = block[504] != 0;
            if more && list.len() == known {
                return Err(Damage::SparseList.into());
            }
        }
        if self.options.data == Data::Omitted {
            return Ok(without_data(size, None));
        }
        let map = SparseMap::new(list, size, stored)?;
        let at = self.store_sparse(&map, size, stored)?;
        Ok(MemberKind::Regular { size, at, map: Some(map), unknown: None })
    }

    fn full_block(&mut self) -> Result<Block, MemberError> {
        Ok(self.input.block()?.ok_or(InputError::Ended)?)
    }

    /// Adds the position to an error.
    fn error(&self, error: MemberError, part: Part, start: u64) -> SourceError {
        let member = self.last.as_slice().into();
        let position = self.input.position();
        let source = match error {
            MemberError::Input(InputError::Source(error)) => return error,
            MemberError::Input(InputError::Ended) => TarError::Truncated {
                position,
                // Without any byte of a header, the end marker is missing.
                part: if position == start { Part::EndMarker } else { part },
                member,
            },
            MemberError::Damage(source) => {
                TarError::Damaged { position: start, part, member, source }
            }
            MemberError::Refusal(source) => TarError::Refused { member, source },
        };
        SourceError::Tar { path: self.path.to_owned(), source }
    }
}

/// The attributes that files of every type have.
fn metadata(header: &MemberHeader, overrides: &Overrides) -> Result<Metadata, Damage> {
    let uid = overrides.uid.map_or_else(|| header.uid(), Ok)?;
    let gid = overrides.gid.map_or_else(|| header.gid(), Ok)?;
    let mtime: Result<Timestamp, _> = overrides.mtime.map_or_else(|| header.mtime(), Ok);
    Ok(Metadata {
        permissions: header.permissions()?,
        uid,
        gid,
        mtime: mtime?,
        ..Metadata::default()
    })
}

/// Checks the target of a symbolic link.
pub(crate) fn target(target: Vec<u8>) -> Result<Box<[u8]>, Refusal> {
    if target.is_empty() || target.contains(&0) {
        return Err(Refusal::SymlinkTarget(target.into()));
    }
    if target.len() > limits::SYMLINK {
        return Err(Refusal::SymlinkLength { found: target.len(), limit: limits::SYMLINK });
    }
    Ok(target.into())
}

/// The number of a device.
fn rdev(header: &MemberHeader, overrides: &Overrides) -> Result<Rdev, Damage> {
    let rdev = header.rdev()?;
    Ok(Rdev {
        major: overrides.major.unwrap_or(rdev.major),
        minor: overrides.minor.unwrap_or(rdev.minor),
    })
}

/// Bytes of data that follow.
fn stored_size(header: &MemberHeader, overrides: &Overrides) -> Result<u64, Damage> {
    overrides.size.map_or_else(|| header.size(), Ok)
}

/// The extended attributes. An ACL's text is used only without an attribute of that ACL.
fn xattrs(overrides: &mut Overrides) -> Result<Vec<Xattr>, Refusal> {
    let mut xattrs = mem::take(&mut overrides.xattrs);
    let has = |xattrs: &[Xattr], name: &[u8]| xattrs.iter().any(|xattr| *xattr.name == *name);
    let texts = [
        (ACL_ACCESS, overrides.acl_access.take(), acl::access as fn(&_) -> _),
        (ACL_DEFAULT, overrides.acl_default.take(), acl::default),
    ];
    for (name, text, parse) in texts {
        let Some(text) = text.filter(|_| !has(&xattrs, name)) else {
            continue;
        };
        let value: Option<Box<[u8]>> = parse(&text)?;
        xattrs.extend(value.map(|value| Xattr { name: name.into(), value }));
    }
    Ok(xattrs)
}

/// The path: that of a sparse member's records, else of an extended header, else of a long name, else of the header.
fn path(header: &MemberHeader, extensions: &mut Extensions, overrides: &Overrides) -> Vec<u8> {
    let sparse = overrides.sparse.name.clone();
    sparse
        .or_else(|| overrides.path.clone())
        .or_else(|| extensions.path.take())
        .unwrap_or_else(|| header.path())
}

/// A file without data in the tar: a hole.
fn without_data(size: u64, unknown: Option<u8>) -> MemberKind {
    MemberKind::Regular { size, at: 0, map: Some(SparseMap::default()), unknown }
}

fn too_large(what: &'static str, found: u64, limit: u64) -> MemberError {
    Damage::TooLarge { what, found, limit }.into()
}
