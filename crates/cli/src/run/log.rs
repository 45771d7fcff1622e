//! Defines [`Log`], which notes what is requested of a FUSE mount.

use std::{
    ops::Range,
    sync::{Mutex, PoisonError},
};

use lith::{
    format::addr::Nid,
    profile::{Locations, Profile, Recorder},
};
use lith_fuse::Watch;

/// Notes what is requested of a FUSE mount.
#[derive(Debug)]
pub(super) struct Log {
    locations: Locations,
    recorder: Mutex<Recorder>,
}

impl Log {
    pub(super) fn new(locations: Locations) -> Self {
        Self { locations, recorder: Mutex::default() }
    }

    fn note(&self, nid: Nid, what: impl FnOnce(&mut Recorder, &[u8])) {
        if let Some(path) = self.locations.path(nid) {
            // No thread that panics leaves a half-made change.
            what(&mut self.recorder.lock().unwrap_or_else(PoisonError::into_inner), path);
        }
    }

    /// What was requested up to now.
    pub(super) fn profile(&self) -> Profile {
        self.recorder.lock().unwrap_or_else(PoisonError::into_inner).profile()
    }
}

impl Watch for Log {
    fn looked_up(&self, nid: Nid) {
        self.note(nid, Recorder::lookup);
    }

    fn listed(&self, nid: Nid) {
        self.note(nid, Recorder::list);
    }

    fn read(&self, nid: Nid, range: Range<u64>) {
        self.note(nid, |recorder, path| recorder.read(path, range));
    }
}
