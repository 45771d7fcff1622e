//! What can be saved of files whose content is damaged? Defines [`salvage`] and [`Losses`].

use std::{
    collections::BTreeMap,
    fmt, iter,
    ops::Range,
    sync::{Arc, Mutex, PoisonError},
};

use lith_tree::{
    Content, ContentError, Contents, DataRange, DisplayPath, Elsewhere, ExtraDevice, InodeIndex,
    Kind, Tree, push_name,
};

use crate::Source;

/// The least bytes that are given up together.
const STEP: usize = 4096;

/// Bytes that can't be read, in ascending order and without overlaps.
pub type LostRanges = Vec<Range<u64>>;

/// What is lost of a source whose files are read with [`salvage`]. Clones share the list.
#[derive(Clone, Debug, Default)]
pub struct Losses(Arc<Mutex<BTreeMap<Box<[u8]>, Lost>>>);

#[derive(Clone, Debug)]
struct Lost {
    size: u64,
    reason: String,
    ranges: LostRanges,
}

/// What is lost of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Loss {
    /// Its path from the root.
    pub path: Box<[u8]>,
    /// Its size in bytes.
    pub size: u64,
    /// The bytes that read as zeros instead.
    pub ranges: LostRanges,
    /// Why the first of them can't be read.
    pub reason: String,
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lost: u64 = self.ranges.iter().map(|range| range.end - range.start).sum();
        write!(f, "/{}: {lost} of {} bytes are lost", DisplayPath(&self.path), self.size)?;
        if let (Some(first), true) = (self.ranges.first(), lost < self.size) {
            write!(f, ", the first at {}", first.start)?;
        }
        write!(f, ": {}", self.reason)
    }
}

impl Losses {
    /// What was lost so far, in ascending order of paths.
    #[must_use]
    pub fn list(&self) -> Vec<Loss> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let losses = all.iter().map(|(path, lost)| Loss {
            path: path.clone(),
            size: lost.size,
            ranges: merged(lost.ranges.clone()),
            reason: lost.reason.clone(),
        });
        losses.collect()
    }

    /// Adds bytes of the file of `size` bytes at a path.
    pub fn add(&self, path: &[u8], size: u64, ranges: LostRanges, reason: String) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let new = || Lost { size, reason, ranges: Vec::new() };
        all.entry(path.into()).or_insert_with(new).ranges.extend(ranges);
    }
}

/// The same bytes in ascending order, without overlaps and with gaps between all ranges.
fn merged(mut ranges: LostRanges) -> LostRanges {
    ranges.sort_unstable_by_key(|range| range.start);
    let mut merged = LostRanges::new();
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}

/// Fills a buffer with bytes from a position on.
pub type ReadBytes<'a, E> = dyn Fn(&mut [u8], u64) -> Result<(), E> + 'a;

/// Fills `buf` with the bytes from `position` on that `read` can read, and with zeros where it fails. Returns what is lost, and
/// the first error.
pub fn read_what_is_there<E>(
    buf: &mut [u8],
    position: u64,
    read: &ReadBytes<'_, E>,
) -> Option<(LostRanges, E)> {
    let error = read(buf, position).err()?;
    let length = buf.len();
    if length <= STEP {
        buf.fill(0);
        return Some((iter::once(position..position + length as u64).collect(), error));
    }
    let (left, right) = buf.split_at_mut((length / 2).next_multiple_of(STEP));
    let middle = position + left.len() as u64;
    let mut lost = LostRanges::new();
    for (half, position) in [(left, position), (right, middle)] {
        let ranges = read_what_is_there(half, position, read).map(|(ranges, _)| ranges);
        lost.extend(ranges.unwrap_or_default());
    }
    Some((merged(lost), error))
}

/// The same source, in whose files damaged bytes read as zeros and are added to the losses. Of the files with a wanted path
/// those that can't even be opened are removed from the tree, and lost as a whole.
#[must_use]
pub fn salvage(mut source: Source, is_wanted: &dyn Fn(&[u8]) -> bool) -> (Source, Losses) {
    let losses = Losses::default();
    remove_unopenable(&mut source, is_wanted, &losses);
    let contents = Salvaged { contents: source.contents, losses: losses.clone() };
    (Source { contents: Box::new(contents), ..source }, losses)
}

fn remove_unopenable(source: &mut Source, is_wanted: &dyn Fn(&[u8]) -> bool, losses: &Losses) {
    let (tree, contents) = (&mut source.tree, &*source.contents);
    let mut lost = Vec::new();
    for visit in tree.walk() {
        let Kind::Regular { size } = tree.get(visit.inode).kind else { continue };
        if let (Err(error), Some(name)) = (contents.open(tree, visit.inode), visit.name) {
            let mut path = tree.path(visit.parent);
            push_name(&mut path, name.as_bytes());
            if is_wanted(&path) {
                lost.push((visit.parent, name.clone(), path, size, error.reason()));
            }
        }
    }
    for (parent, name, path, size, reason) in lost {
        tree.remove(parent, name.as_bytes());
        losses.add(&path, size, iter::once(0..size).collect(), reason);
    }
}

/// Contents of which what can't be read is zeros.
struct Salvaged {
    contents: Box<dyn Contents>,
    losses: Losses,
}

impl Contents for Salvaged {
    fn open(&self, tree: &Tree, inode: InodeIndex) -> Result<Box<dyn Content + '_>, ContentError> {
        let Kind::Regular { size } = tree.get(inode).kind else {
            return self.contents.open(tree, inode);
        };
        let content = self.contents.open(tree, inode)?;
        let path = tree.path(inode);
        Ok(Box::new(SalvagedContent { content, path, size, losses: &self.losses }))
    }

    fn reading_order(&self, files: &[InodeIndex]) -> Option<Vec<Vec<usize>>> {
        self.contents.reading_order(files)
    }

    fn devices(&self) -> Vec<ExtraDevice> {
        self.contents.devices()
    }
}

struct SalvagedContent<'a> {
    content: Box<dyn Content + 'a>,
    path: Vec<u8>,
    size: u64,
    losses: &'a Losses,
}

impl Content for SalvagedContent<'_> {
    fn read_at(&self, buf: &mut [u8], position: u64) -> Result<(), ContentError> {
        let read = |buf: &mut [u8], position| self.content.read_at(buf, position);
        if let Some((ranges, error)) = read_what_is_there(buf, position, &read) {
            self.losses.add(&self.path, self.size, ranges, error.reason());
        }
        Ok(())
    }

    /// What can't be told is data, which is tried.
    fn range_at(&self, position: u64) -> Result<DataRange, ContentError> {
        Ok(self.content.range_at(position).unwrap_or(DataRange::Data { end: self.size }))
    }

    fn check_unchanged(&self) -> Result<(), ContentError> {
        self.content.check_unchanged()
    }

    fn elsewhere(&self) -> Result<Option<Vec<Elsewhere>>, ContentError> {
        self.content.elsewhere()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_around_the_damage_are_saved() {
        let bytes: Vec<u8> = (0..100_000_u32).map(|number| (number % 251) as u8 + 1).collect();
        for damage in [0..1, 50_000..50_010, 99_999..100_000, 8192..16384] {
            let read = |buf: &mut [u8], position: u64| {
                let start = usize::try_from(position).unwrap();
                if start < damage.end && damage.start < start + buf.len() {
                    return Err("damaged");
                }
                buf.copy_from_slice(&bytes[start..start + buf.len()]);
                Ok(())
            };
            let mut buf = vec![9; bytes.len()];
            let (lost, error) = read_what_is_there(&mut buf, 0, &read).unwrap();
            assert_eq!(error, "damaged");
            let [lost] = &*lost else { panic!("{lost:?}") };
            let lost = usize::try_from(lost.start).unwrap()..usize::try_from(lost.end).unwrap();
            assert!(lost.start <= damage.start && damage.end <= lost.end, "{lost:?}");
            assert!(lost.len() <= damage.len().next_multiple_of(STEP) + STEP, "{lost:?}");
            for (at, byte) in buf.iter().enumerate() {
                assert_eq!(*byte, if lost.contains(&at) { 0 } else { bytes[at] }, "{at}");
            }
        }
    }

    #[test]
    fn losses_of_one_file_are_joined() {
        let losses = Losses::default();
        for range in [8..12, 0..4, 4..8, 20..30] {
            losses.add(b"a", 40, iter::once(range).collect(), "why".into());
        }
        let [loss] = &*losses.list() else { panic!("one file") };
        assert_eq!(loss.ranges, [0..12, 20..30]);
        assert_eq!(loss.to_string(), "/a: 22 of 40 bytes are lost, the first at 0: why");
    }
}
