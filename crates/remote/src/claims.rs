//! Defines [`Claims`]: which units a process fetches, so that no other one fetches them too.

use std::{fs::File, ops::Range, os::fd::AsFd};

use nix::{
    fcntl::{FcntlArg, fcntl},
    libc,
};

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
            if self.lock(libc::F_WRLCK, FETCHED, &units).is_some() {
                return Some(Claim { claims: self, units });
            }
            match self.conflict(FETCHED, &units) {
                // It was released in between.
                None => {}
                Some(at) if at <= units.start => return None,
                Some(at) => units.end = at.min(units.end),
            }
        }
        None
    }

    /// `None`: another process has a lock there.
    fn lock(self, kind: libc::c_int, base: u64, units: &Range<u64>) -> Option<()> {
        let Some(lock) = place(kind, base, units) else { return Some(()) };
        match fcntl(self.0.as_fd(), FcntlArg::F_OFD_SETLK(&lock)) {
            Err(nix::errno::Errno::EAGAIN | nix::errno::Errno::EACCES) => None,
            Ok(_) | Err(_) => Some(()),
        }
    }

    /// Where the lock of another process begins.
    fn conflict(self, base: u64, units: &Range<u64>) -> Option<u64> {
        let mut lock = place(libc::F_WRLCK, base, units)?;
        fcntl(self.0.as_fd(), FcntlArg::F_OFD_GETLK(&mut lock)).ok()?;
        let is_free = libc::c_int::from(lock.l_type) == libc::F_UNLCK;
        let start = u64::try_from(lock.l_start).unwrap_or(0).saturating_sub(base);
        (!is_free).then_some(start)
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        self.claims.lock(libc::F_UNLCK, FETCHED, &self.units);
    }
}

/// The lock of units; `None`: there are none.
fn place(kind: libc::c_int, base: u64, units: &Range<u64>) -> Option<libc::flock> {
    let length = units.end.checked_sub(units.start).filter(|length| *length > 0)?;
    Some(libc::flock {
        l_type: kind.try_into().ok()?,
        l_whence: libc::SEEK_SET.try_into().ok()?,
        l_start: base.checked_add(units.start)?.try_into().ok()?,
        l_len: length.try_into().ok()?,
        l_pid: 0,
    })
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
