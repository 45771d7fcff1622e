//! Defines [`Fragments`]: the extents of the packed inode while all files are read.
//!
//! Files that are read in the order of their paths need the packed inode in any order, and an extent of it holds
//! fragments of up to thousands of files. Each is decoded when it is first needed, and kept until all its bytes were
//! read: in memory, and in a temporary file if there are too many.

use std::{
    collections::VecDeque,
    env,
    fs::File,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, OnceLock},
};

use lith_format::zmap::MAX_EXTENT_LEN;
use lith_system::{read_exact_at, write_all_at};

use crate::{error::Fault, lock::lock};

/// Bytes of decoded extents in memory, unless the readers need more.
const MEMORY: u64 = 32 << 20;

/// Extents that are known at most: an image can have any number of them.
const EXTENTS: usize = 1 << 20;

/// The extents of the packed inode.
#[derive(Debug)]
pub(crate) struct Fragments {
    /// By position.
    extents: Vec<Extent>,
    memory: u64,
    kept: Mutex<Kept>,
    /// The temporary file, made for the first extent that is written to it; `None` if there can't be one.
    file: OnceLock<Option<File>>,
}

#[derive(Debug)]
struct Extent {
    start: u64,
    end: u64,
    /// While a thread decodes the extent, others that need it wait for the lock.
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Bytes that were read since the extent was decoded.
    read: usize,
    bytes: Stored,
}

/// Where the decoded bytes of an extent are.
#[derive(Debug, Default)]
enum Stored {
    /// Nowhere: they have to be decoded.
    #[default]
    Encoded,
    InMemory(Arc<Vec<u8>>),
    /// From this position of the file on.
    InFile(u64),
}

/// The extents in memory, and the file for the others.
#[derive(Debug, Default)]
struct Kept {
    /// From the oldest on; some may be in memory no longer.
    order: VecDeque<usize>,
    bytes: u64,
    file_end: u64,
    file_limit: u64,
}

impl Fragments {
    /// The extents that end at `ends`, of which each of `readers` threads needs one at a time. At most `limit` bytes are
    /// written to the temporary file.
    pub(crate) fn new(ends: impl Iterator<Item = u64>, readers: usize, limit: u64) -> Self {
        let mut start = 0;
        let extents = ends.take(EXTENTS).map_while(|end| {
            let extent = Extent { start, end, state: Mutex::default() };
            start = end;
            (extent.end - extent.start <= MAX_EXTENT_LEN).then_some(extent)
        });
        let extents: Vec<_> = extents.collect();
        let longest = extents.iter().map(Extent::len).max().unwrap_or(0) as u64;
        let memory = longest.saturating_mul(readers as u64 + 1).max(MEMORY);
        let kept = Mutex::new(Kept { file_limit: limit, ..Kept::default() });
        Self { extents, memory, kept, file: OnceLock::new() }
    }

    /// Whether all extents fit into memory.
    pub(crate) fn fit_memory(&self) -> bool {
        self.extents.last().is_none_or(|last| last.end <= self.memory)
    }

    /// The number of the extent that holds a position.
    pub(crate) fn extent_at(&self, position: u64) -> usize {
        self.extents.partition_point(|extent| extent.end <= position)
    }

    /// Fills `buf` with the bytes from `position` on. `decode` fills a buffer with all bytes of the extent that starts at
    /// a position. `None` if some of the extents are not known.
    pub(crate) fn read(
        &self,
        mut buf: &mut [u8],
        mut position: u64,
        decode: impl Fn(&mut [u8], u64) -> Result<(), Fault>,
    ) -> Option<Result<(), Fault>> {
        let end = position.checked_add(buf.len() as u64)?;
        let first = self.extent_at(position);
        let is_known = self.extents.get(first).is_some_and(|first| first.start <= position)
            && self.extents.last().is_some_and(|last| end <= last.end);
        for (number, extent) in self.extents.iter().enumerate().skip(first).filter(|_| is_known) {
            let left = usize::try_from(extent.end - position).expect("less than 12 MiB");
            let (now, later) = buf.split_at_mut(left.min(buf.len()));
            if now.is_empty() {
                break;
            }
            if let Err(fault) = self.read_in(number, extent, (now, position), &decode) {
                return Some(Err(fault));
            }
            (buf, position) = (later, extent.end);
        }
        is_known.then_some(Ok(()))
    }

    /// Fills `buf` with bytes of one extent.
    fn read_in(
        &self,
        number: usize,
        extent: &Extent,
        (buf, position): (&mut [u8], u64),
        decode: impl Fn(&mut [u8], u64) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let (len, skip) = (extent.len(), position - extent.start);
        let mut state = lock(&extent.state);
        if let Stored::InFile(start) = state.bytes
            && self.file().is_some_and(|file| read_exact_at(file, buf, start + skip).is_ok())
        {
            return Ok(());
        }
        state.read += buf.len();
        let is_last = state.read >= len;
        let bytes = match &state.bytes {
            Stored::InMemory(bytes) => Arc::clone(bytes),
            _ if buf.len() == len => {
                *state = State::default();
                return decode(buf, extent.start);
            }
            _ => {
                let mut bytes = vec![0; len];
                decode(&mut bytes, extent.start)?;
                let bytes = Arc::new(bytes);
                self.kept().add(number, len);
                state.bytes = Stored::InMemory(Arc::clone(&bytes));
                bytes
            }
        };
        if is_last {
            *state = State::default();
            self.kept().bytes -= len as u64;
        }
        drop(state);
        let start = usize::try_from(skip).expect("less than the extent's length");
        buf.copy_from_slice(bytes.get(start..start + buf.len()).expect("a part of the extent"));
        drop(bytes);
        self.make_room();
        Ok(())
    }

    /// Writes the oldest extents to the file while there are too many in memory. An extent that it has no room for is
    /// decoded again when it is needed.
    fn make_room(&self) {
        loop {
            let oldest = self.kept().oldest_of_too_many(self.memory);
            let Some(extent) = oldest.and_then(|oldest| self.extents.get(oldest)) else { break };
            let mut state = lock(&extent.state);
            let Stored::InMemory(bytes) = &state.bytes else { continue };
            let place = self.kept().remove(bytes.len());
            let write =
                |at: &u64| self.file().is_some_and(|file| write_all_at(file, bytes, *at).is_ok());
            let written = place.filter(write);
            if written.is_none() {
                // A full disk is not filled further.
                self.kept().file_limit = 0;
            }
            state.bytes = written.map_or(Stored::Encoded, Stored::InFile);
            state.read = 0;
        }
    }

    fn file(&self) -> Option<&File> {
        self.file.get_or_init(|| tempfile::tempfile_in(temporary_directory()).ok()).as_ref()
    }

    /// Locked for as long as a position is computed; a thread that holds it locks nothing else.
    fn kept(&self) -> MutexGuard<'_, Kept> {
        lock(&self.kept)
    }
}

impl Extent {
    fn len(&self) -> usize {
        usize::try_from(self.end - self.start).expect("an extent has at most 12 MiB")
    }
}

impl Kept {
    fn add(&mut self, number: usize, len: usize) {
        self.bytes += len as u64;
        self.order.push_back(number);
    }

    fn oldest_of_too_many(&mut self, memory: u64) -> Option<usize> {
        if self.bytes > memory { self.order.pop_front() } else { None }
    }

    /// Takes an extent out of memory; returns where in the file it goes, if that may grow.
    fn remove(&mut self, len: usize) -> Option<u64> {
        let len = len as u64;
        self.bytes -= len;
        let at = self.file_end;
        let end = at.checked_add(len).filter(|end| *end <= self.file_limit)?;
        self.file_end = end;
        Some(at)
    }
}

/// Where large temporary files belong: `/tmp` is often in memory.
fn temporary_directory() -> PathBuf {
    let large = Path::new("/var/tmp");
    if env::var_os("TMPDIR").is_none() && large.is_dir() {
        large.to_owned()
    } else {
        env::temp_dir()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    const LEN: u64 = 4 << 20;

    fn byte_at(position: u64) -> u8 {
        (position / 1000).to_le_bytes()[0]
    }

    /// Reads all parts of twenty extents in an order that jumps about; returns how often one was decoded.
    fn decoded(limit: u64) -> usize {
        let fragments = Fragments::new((1..=20).map(|number| number * LEN), 1, limit);
        let count = AtomicUsize::new(0);
        let decode = |bytes: &mut [u8], start: u64| {
            count.fetch_add(1, Ordering::Relaxed);
            bytes.iter_mut().zip(start..).for_each(|(byte, at)| *byte = byte_at(at));
            Ok(())
        };
        let part = LEN / 4 + 1000;
        let parts = (20 * LEN).div_ceil(part);
        for number in 0..parts {
            let start = number * 7 % parts * part;
            let mut bytes = vec![0; usize::try_from(part.min(20 * LEN - start)).unwrap()];
            fragments.read(&mut bytes, start, decode).unwrap().unwrap();
            assert!(bytes.iter().zip(start..).all(|(byte, at)| *byte == byte_at(at)));
        }
        assert!(fragments.read(&mut [0], 20 * LEN, decode).is_none());
        count.into_inner()
    }

    #[test]
    fn extents_are_decoded_once_in_any_order() {
        assert_eq!(decoded(u64::MAX), 20);
    }

    #[test]
    fn without_room_in_the_file_extents_are_decoded_again() {
        assert!(decoded(LEN) > 20);
    }
}
