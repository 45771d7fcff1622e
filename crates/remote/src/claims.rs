//! Defines [`Claims`]: which units a process fetches, so that no other one fetches them too.

use std::{fs::File, ops::Range};

use crate::locks;

/// Where the locks of units are in the file of records, as far as locks have places: one byte for each. No file is that long.
const FETCHED: u64 = 1 << 48;

/// Locks of one process on a file that several share. The kernel removes them when the process ends, however it ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Claims<'a>(pub(crate) &'a File);

/// Units that no other process fetches.
#[derive(Debug)]
pub(crate) struct Claim<'a> {
    claims: Claims<'a>,
    pub(crate) units: Range<u64>,
}

impl<'a> Claims<'a> {
    /// Claims units, all up to the first one that another process fetches. `None`: that is the first of them.
    ///
    /// Where the filesystem has no locks, all processes fetch everything.
    pub(crate) fn claim(self, units: &Range<u64>) -> Option<Claim<'a>> {
        let mut units = units.clone();
        while units.start < units.end {
            if locks::take(self.0, FETCHED, &units) {
                return Some(Claim { claims: self, units });
            }
            match locks::conflict(self.0, FETCHED, &units) {
                // It was released in between.
                None => {}
                Some(at) if at <= units.start => return None,
                Some(at) => units.end = at.min(units.end),
            }
        }
        None
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        locks::release(self.claims.0, FETCHED, &self.units);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_claims_is_none_of_another() {
        let file = tempfile::NamedTempFile::new().unwrap();
        // Two open files are as two processes.
        let [a, b] = [(); 2].map(|()| File::options().write(true).read(true).open(&file).unwrap());
        let (a, b) = (Claims(&a), Claims(&b));
        let first = a.claim(&(4..8)).unwrap();
        assert_eq!(first.units, 4..8);
        assert_eq!(b.claim(&(0..20)).unwrap().units, 0..4);
        assert!(b.claim(&(5..20)).is_none());
        assert_eq!(b.claim(&(8..20)).unwrap().units, 8..20);
        drop(first);
        assert_eq!(b.claim(&(5..20)).unwrap().units, 5..20);
    }
}
