//! Which members does a tar have, all their headers taken together?
//!
//! The crate `tar` knows where a header's fields lie and is used for that; it is not used to go through
//! the members. It splits extended headers at newlines, so attributes and ACLs with a newline inside
//! are lost; it knows neither PAX sparse members nor global headers nor fractions of seconds; it hides
//! the map of a sparse member behind a reader, while data here are read in place later; and it takes the
//! end of the file for the end of the tar. The crate `tar-core` gives positions and maps, but loses an
//! extended header in front of a global one, and takes neither times before 1970 nor attributes whose
//! names are not UTF-8.

use std::{mem, path::Path};

use lith_tree::{Kind, Metadata, Xattr};

use super::{
    error::{Damage, Flaw, Part, Refusal, TarError},
    fields::{metadata, rdev, stored_size, target, xattrs},
    header::{BLOCK, Block, MemberHeader},
    input::{Input, InputError, Store},
    overrides::Overrides,
    sparse::{Lines, SparseMap, gnu_pairs, pairs},
};
use crate::{Data, Options, SourceError, TarEnd, limits};

/// One member of a tar.
#[derive(Debug)]
pub(super) struct Member {
    /// As the tar has it.
    pub(super) path: Vec<u8>,
    pub(super) kind: MemberKind,
    /// Without its extended attributes.
    pub(super) metadata: Metadata,
    pub(super) xattrs: Vec<Xattr>,
}

/// What a member is.
#[derive(Debug)]
pub(super) enum MemberKind {
    Directory,
    Regular {
        size: u64,
        /// Where its data are in the store.
        at: u64,
        map: Option<SparseMap>,
        /// The type flag, if it is one that is not known.
        unknown: Option<u8>,
    },
    HardLink(Vec<u8>),
    /// A file that is neither a directory nor has data.
    Special(Kind),
    /// Something that is no file, with its type flag.
    Nothing(u8),
}

/// Goes through a tar's members.
pub(super) struct Members<'a> {
    path: &'a Path,
    input: Input<'a>,
    options: &'a Options,
    global: Overrides,
    global_bytes: u64,
    /// The last member's name, or that of the one whose data are read.
    last: Vec<u8>,
    /// Whether the tar ended without a marker.
    unmarked: bool,
}

/// What a tar's end says, and where its members' data are.
pub(super) struct End {
    /// Whether anything but zeros follows.
    pub(super) trailing: bool,
    /// Whether there is no end marker.
    pub(super) unmarked: bool,
    pub(super) store: Store,
    /// How long the tar is.
    pub(super) length: u64,
}

/// What stands in front of a member.
#[derive(Default)]
struct Extensions {
    overrides: Option<Overrides>,
    path: Option<Vec<u8>>,
    link: Option<Vec<u8>>,
    count: u32,
}

/// What the input or the data can do wrong.
enum Fault {
    Input(InputError),
    Flaw(Flaw),
}

impl From<InputError> for Fault {
    fn from(error: InputError) -> Self {
        Self::Input(error)
    }
}

impl<F: Into<Flaw>> From<F> for Fault {
    fn from(flaw: F) -> Self {
        Self::Flaw(flaw.into())
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

    /// The next member; none behind the end marker.
    pub(super) fn next(&mut self) -> Result<Option<Member>, SourceError> {
        let start = self.input.position();
        let mut extensions = Extensions::default();
        let header = self.header(&mut extensions);
        let header = header.map_err(|fault| self.error(fault, Part::NextHeader, start))?;
        let Some(header) = header else {
            return Ok(None);
        };
        let overrides = extensions.overrides.take().unwrap_or_else(|| self.global.clone());
        self.last = path(&header, &mut extensions, &overrides);
        let member = self.member(&header, extensions, overrides);
        member.map(Some).map_err(|fault| {
            let part = match fault {
                Fault::Input(_) => Part::Data,
                Fault::Flaw(_) => Part::Header,
            };
            self.error(fault, part, start)
        })
    }

    /// Reads what is behind the end marker.
    pub(super) fn finish(mut self) -> Result<End, SourceError> {
        let start = self.input.position();
        let rest = self.input.drain();
        let trailing = rest.map_err(|error| self.error(error.into(), Part::EndMarker, start))?;
        let (store, length) = self.input.into_store();
        Ok(End { trailing, unmarked: self.unmarked, store, length })
    }

    /// The next header that is a member's own; those before it go to `extensions`.
    fn header(&mut self, extensions: &mut Extensions) -> Result<Option<MemberHeader>, Fault> {
        loop {
            let Some(block) = self.input.block()? else {
                self.unmarked = self.options.tar_end == TarEnd::Anywhere && extensions.count == 0;
                return if self.unmarked { Ok(None) } else { Err(InputError::Ended.into()) };
            };
            if block == [0; BLOCK] {
                return self.end(extensions).map(|()| None);
            }
            let header = MemberHeader::new(&block)?;
            let size = header.size()?;
            match header.flag() {
                b'x' | b'X' => self.local(extensions, size)?,
                b'g' => self.global(size)?,
                b'L' => extensions.path = Some(self.long_name("the path", size)?),
                b'K' => extensions.link = Some(self.long_name("the link target", size)?),
                _ => return Ok(Some(header)),
            }
            extensions.count += 1;
            if extensions.count > limits::EXTENSIONS {
                return Err(too_large("a member's headers", extensions.count, limits::EXTENSIONS));
            }
        }
    }

    /// Checks the end marker, whose first block was read.
    fn end(&mut self, extensions: &Extensions) -> Result<(), Fault> {
        if extensions.overrides.is_some() || extensions.path.is_some() || extensions.link.is_some()
        {
            return Err(Damage::NothingFollows.into());
        }
        match self.input.block()? {
            Some(block) if block != [0; BLOCK] => Err(Damage::LoneZeros.into()),
            _ => Ok(()),
        }
    }

    fn local(&mut self, extensions: &mut Extensions, size: u64) -> Result<(), Fault> {
        let records = self.extension("the extended header", size, limits::EXTENSION)?;
        let overrides = extensions.overrides.get_or_insert_with(|| self.global.clone());
        Ok(overrides.apply_all(&records)?)
    }

    fn global(&mut self, size: u64) -> Result<(), Fault> {
        let records = self.extension("the global header", size, limits::GLOBAL)?;
        self.global_bytes += size;
        if self.global_bytes > limits::GLOBAL {
            let found = self.global_bytes;
            return Err(too_large("the sum of global headers", found, limits::GLOBAL));
        }
        Ok(self.global.apply_global(&records)?)
    }

    fn long_name(&mut self, what: &'static str, size: u64) -> Result<Vec<u8>, Fault> {
        let mut name = self.extension(what, size, limits::PATH)?;
        let end = name.iter().position(|byte| *byte == 0);
        name.truncate(end.unwrap_or(name.len()));
        Ok(name)
    }

    fn extension(&mut self, what: &'static str, size: u64, limit: u64) -> Result<Vec<u8>, Fault> {
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
    ) -> Result<Member, Fault> {
        let longest = overrides.link.as_ref().map_or(0, Vec::len).max(self.last.len());
        if longest as u64 > limits::PATH {
            return Err(too_large("the path", longest as u64, limits::PATH));
        }
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

    /// What the member is; its data, if it has any, are stored or passed.
    fn kind(
        &mut self,
        header: &MemberHeader,
        link: Option<Vec<u8>>,
        overrides: &Overrides,
    ) -> Result<MemberKind, Fault> {
        let link = || link.unwrap_or_else(|| header.link());
        Ok(match header.flag() {
            // Whatever size these have, no data follow.
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
            // The names in a directory, of GNU's incremental form.
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

    fn skip(&mut self, header: &MemberHeader, overrides: &Overrides) -> Result<(), Fault> {
        Ok(self.input.skip(stored_size(header, overrides)?)?)
    }

    fn regular(
        &mut self,
        header: &MemberHeader,
        overrides: &Overrides,
        unknown: Option<u8>,
    ) -> Result<MemberKind, Fault> {
        let stored = stored_size(header, overrides)?;
        // So did tars without a flag for directories.
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

    /// Keeps a sparse member's data. Without that it can only be referred to, which takes whole blocks.
    fn store_sparse(&mut self, map: &SparseMap, size: u64, stored: u64) -> Result<u64, Fault> {
        if !self.input.keeps_data() && !map.is_aligned(size) {
            return Err(Refusal::SparseUnaligned.into());
        }
        Ok(self.input.store(stored)?)
    }

    /// The list in front of a sparse member's data (PAX form 1.0), and how many bytes are left behind it.
    fn sparse_lines(&mut self, stored: u64) -> Result<(Lines, u64), Fault> {
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
    ) -> Result<MemberKind, Fault> {
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
            for pair in gnu_pairs(block.get(..504).unwrap_or_default()) {
                list.push(pair?);
            }
            more = block.get(504).is_some_and(|flag| *flag != 0);
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

    fn full_block(&mut self) -> Result<Block, Fault> {
        Ok(self.input.block()?.ok_or(InputError::Ended)?)
    }

    /// Says where a fault is.
    fn error(&self, fault: Fault, part: Part, start: u64) -> SourceError {
        let member = self.last.as_slice().into();
        let position = self.input.position();
        let source = match fault {
            Fault::Input(InputError::Source(error)) => return error,
            Fault::Input(InputError::Ended) => TarError::Truncated {
                position,
                // A header that ends before it begins is missing, and with it the end marker.
                part: if position == start { Part::EndMarker } else { part },
                member,
            },
            Fault::Flaw(Flaw::Damage(source)) => {
                TarError::Damaged { position: start, part, member, source }
            }
            Fault::Flaw(Flaw::Refusal(source)) => TarError::Refused { member, source },
        };
        SourceError::Tar { path: self.path.to_owned(), source }
    }
}

/// The path: a sparse member's own, that of an extended header, that of a long name, or the header's.
fn path(header: &MemberHeader, extensions: &mut Extensions, overrides: &Overrides) -> Vec<u8> {
    let sparse = overrides.sparse.name.clone();
    sparse
        .or_else(|| overrides.path.clone())
        .or_else(|| extensions.path.take())
        .unwrap_or_else(|| header.path())
}

/// A file whose data are not in the tar: a hole.
fn without_data(size: u64, unknown: Option<u8>) -> MemberKind {
    MemberKind::Regular { size, at: 0, map: Some(SparseMap::default()), unknown }
}

fn too_large(what: &'static str, found: impl Into<u64>, limit: impl Into<u64>) -> Fault {
    let (found, limit) = (found.into(), limit.into());
    Damage::TooLarge { what, found, limit }.into()
}
