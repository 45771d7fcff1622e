//! Defines [`Ladder`], the open directories above what was opened last.

use std::{os::fd::OwnedFd, sync::Arc};

use rustix::io::Result;

/// Bytes of a path from one open directory to the next. A path that is shorter is opened from the root.
pub(crate) const STEP: usize = 1024;

/// The most directories that are kept open.
const MOST: usize = 64;

/// Open directories along the path that was opened last. With it the next path costs what it differs, and not what it has
/// in common with the last: a tree can be very deep.
#[derive(Debug, Default)]
pub(crate) struct Ladder {
    path: Vec<u8>,
    /// With the length of each one's path, ascending.
    rungs: Vec<(usize, Arc<OwnedFd>)>,
}

impl Ladder {
    /// Returns an open directory above the file at `path`, and the rest of the path from there: the whole path if it is
    /// short. `open` opens a directory by its path from another one; `None`: from the root.
    pub(crate) fn climb<'a>(
        &mut self,
        path: &'a [u8],
        open: impl Fn(Option<&OwnedFd>, &[u8]) -> Result<OwnedFd>,
    ) -> Result<(Option<Arc<OwnedFd>>, &'a [u8])> {
        self.descend(path);
        loop {
            let (from, start) = match self.rungs.last() {
                Some((length, fd)) => (Some(Arc::clone(fd)), length + 1),
                None => (None, 0),
            };
            let rest = path.get(start..).unwrap_or_default();
            let Some(part) = first_step(rest) else {
                return Ok((from, rest));
            };
            let fd = open(from.as_deref(), part)?;
            self.add(start + part.len(), fd);
        }
    }

    /// Drops what is not on the way to `path`.
    fn descend(&mut self, path: &[u8]) {
        let pairs = self.path.iter().zip(path);
        let common = pairs.take_while(|(one, other)| one == other).count();
        let is_above = |length: usize| length <= common && path.get(length) == Some(&b'/');
        let kept = self.rungs.iter().take_while(|(length, _)| is_above(*length)).count();
        self.rungs.truncate(kept);
        self.path.truncate(common);
        self.path.extend_from_slice(path.get(common..).unwrap_or_default());
    }

    fn add(&mut self, length: usize, fd: OwnedFd) {
        if self.rungs.len() >= MOST {
            let mut number = 0;
            self.rungs.retain(|_| {
                number += 1;
                number % 2 == 0
            });
        }
        self.rungs.push((length, Arc::new(fd)));
    }
}

/// The names at the start of a path that lead to the next directory to keep; `None`: what is left is no longer than a step.
fn first_step(path: &[u8]) -> Option<&[u8]> {
    if path.len() <= STEP {
        return None;
    }
    let is_slash = |byte: &u8| *byte == b'/';
    let cut = path.iter().take(STEP).rposition(is_slash);
    let cut = cut.or_else(|| path.iter().position(is_slash))?;
    path.get(..cut)
}

#[cfg(test)]
mod tests {
    use std::{cell::RefCell, fs::File};

    use super::*;

    /// Climbs, and returns what was opened, and the rest.
    fn climb(ladder: &mut Ladder, path: &[u8]) -> (Vec<usize>, usize) {
        let opened = RefCell::new(Vec::new());
        let open = |from: Option<&OwnedFd>, part: &[u8]| {
            assert_eq!(from.is_some(), !opened.borrow().is_empty());
            opened.borrow_mut().push(part.len());
            Ok(File::open("/dev/null").unwrap().into())
        };
        let (_, rest) = ladder.climb(path, open).unwrap();
        (opened.take(), rest.len())
    }

    #[test]
    fn paths_are_opened_from_where_they_part() {
        let mut ladder = Ladder::default();
        let name = [b'x'; 99];
        let path = |count: usize| vec![&name[..]; count].join(&b'/');
        assert_eq!(climb(&mut ladder, b""), (vec![], 0));
        assert_eq!(climb(&mut ladder, &path(10)), (vec![], 999));
        assert_eq!(climb(&mut ladder, &path(25)), (vec![999, 999], 499));
        assert_eq!(ladder.rungs.len(), 2);
        let mut other = path(22);
        *other.last_mut().unwrap() = b'y';
        let rest = ladder.climb(&other, |_, _| panic!("all is open")).unwrap().1;
        assert_eq!(rest.len(), 199);
        // A name that only starts like one on the way.
        other = path(20);
        other.extend_from_slice(b"zzz");
        let rest = ladder.climb(&other, |_, _| panic!("the first step is open")).unwrap().1;
        assert_eq!(rest.len(), 1002);
        assert_eq!(climb(&mut ladder, b"short"), (vec![], 5));
        assert_eq!(ladder.rungs.len(), 0);
    }

    #[test]
    fn few_directories_stay_open() {
        let mut ladder = Ladder::default();
        let path = vec![&b"name"[..]; 100_000].join(&b'/');
        for length in [path.len(), path.len() / 2, path.len()] {
            let open = |_: Option<&OwnedFd>, _: &[u8]| Ok(File::open("/dev/null").unwrap().into());
            let (_, rest) = ladder.climb(&path[..length], open).unwrap();
            assert!(rest.len() <= STEP && ladder.rungs.len() <= MOST);
        }
    }
}
