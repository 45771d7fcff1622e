//! Parses directory blocks, and finds names in them.

use core::cmp::Ordering;

use zerocopy::FromBytes;

use super::{DIRENT_SIZE, Dirent, DirentError, RawDirent, check_name};
use crate::addr::Nid;

/// A directory block whose count of dirents is known. Each name is checked when it is requested.
#[derive(Clone, Copy, Debug)]
pub struct DirBlock<'a> {
    bytes: &'a [u8],
    dirents: &'a [RawDirent],
}

impl<'a> DirBlock<'a> {
    /// Takes one block, or what the directory's size leaves of its last one.
    ///
    /// # Errors
    /// The first name's offset is not that of a name after a whole number of dirents, at least one.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, DirentError> {
        let size = bytes.len();
        let first = RawDirent::ref_from_prefix(bytes).map_or(0, |(first, _)| first.nameoff.get());
        let bad = DirentError::FirstNameoff { nameoff: first, size };
        let first = usize::from(first);
        if first == 0 || !first.is_multiple_of(DIRENT_SIZE) || first >= size {
            return Err(bad);
        }
        match <[RawDirent]>::ref_from_prefix_with_elems(bytes, first / DIRENT_SIZE) {
            Ok((dirents, _)) => Ok(Self { bytes, dirents }),
            Err(_) => Err(bad),
        }
    }

    /// How many dirents there are: never 0.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "a directory block always has a dirent")]
    pub const fn len(&self) -> usize {
        self.dirents.len()
    }

    /// The dirent at `index`, if there is one.
    ///
    /// # Errors
    /// Its name breaks a rule.
    pub fn get(&self, index: usize) -> Result<Option<Dirent<'a>>, DirentError> {
        let Some(raw) = self.dirents.get(index) else {
            return Ok(None);
        };
        let name = self.name(index, raw)?;
        check_name(index, name)?;
        Ok(Some(Dirent { nid: Nid(raw.nid.get()), raw_type: raw.file_type, name }))
    }

    /// All dirents in order, each checked.
    pub fn dirents(self) -> impl Iterator<Item = Result<Dirent<'a>, DirentError>> {
        (0..self.len()).filter_map(move |index| self.get(index).transpose())
    }

    /// How `name` compares to the block's first name.
    ///
    /// # Errors
    /// The first name breaks a rule.
    pub fn compare_first(&self, name: &[u8]) -> Result<Ordering, DirentError> {
        let first = self.get(0)?;
        Ok(first.map_or(Ordering::Greater, |first| name.cmp(first.name)))
    }

    /// The dirent of `name`, by binary search.
    ///
    /// # Errors
    /// A name on the way breaks a rule.
    pub fn find(&self, name: &[u8]) -> Result<Option<Dirent<'a>>, DirentError> {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low.midpoint(high);
            let Some(dirent) = self.get(middle)? else {
                break;
            };
            match name.cmp(dirent.name) {
                Ordering::Equal => return Ok(Some(dirent)),
                Ordering::Less => high = middle,
                Ordering::Greater => low = middle + 1,
            }
        }
        Ok(None)
    }

    /// The bytes of a name, which the next one's offset ends; the last one ends at a NUL or with the
    /// block.
    fn name(&self, index: usize, raw: &RawDirent) -> Result<&'a [u8], DirentError> {
        let size = self.bytes.len();
        let start = usize::from(raw.nameoff.get());
        let next = self.dirents.get(index + 1).map(|next| usize::from(next.nameoff.get()));
        let end = next.unwrap_or(size);
        let bad = DirentError::NameOrder { index, start, end, size };
        if start < self.dirents.len() * DIRENT_SIZE {
            return Err(bad);
        }
        let name = self.bytes.get(start..end).ok_or(bad)?;
        let last = next.is_none();
        let padding = name.iter().position(|byte| last && *byte == 0);
        Ok(name.get(..padding.unwrap_or(name.len())).unwrap_or_default())
    }
}

/// The block of a directory of `count` blocks that holds a name if any does: the last one whose first
/// name is not greater. `compare` returns how the name compares to the first name of the block with
/// this number (see [`DirBlock::compare_first`]); it is called some log2(`count`) times.
///
/// # Errors
/// What `compare` returns.
pub fn search_blocks<E>(
    count: u64,
    mut compare: impl FnMut(u64) -> Result<Ordering, E>,
) -> Result<Option<u64>, E> {
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = low.midpoint(high);
        match compare(middle)? {
            Ordering::Equal => return Ok(Some(middle)),
            Ordering::Less => high = middle,
            Ordering::Greater => low = middle + 1,
        }
    }
    Ok(low.checked_sub(1))
}
