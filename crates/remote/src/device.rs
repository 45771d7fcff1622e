//! Defines [`RemoteDevice`], which reads an object on a server.

use std::{
    io,
    ops::Range,
    path::Path,
    sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, Weak},
    thread,
    time::{Duration, Instant},
};

use crossbeam_channel::{Receiver, Sender, bounded, unbounded};
use lith_device::{DeviceError, ReadAt};

use crate::{
    Address, Options, RemoteError,
    cache::{Room, reopen},
    chunks::Chunks,
    flights::{Flight, Flights},
    origin::{Origin, inside},
    place::{find, find_again},
    registry::{Layer, Registry},
    store::{Store, failed},
    units::{Cutter, UNIT, bytes_of, units_of},
    version::Version,
    windows::{FIRST, MOST, NEAR, Windows},
};

/// Threads that fetch ahead.
const AHEAD: usize = 2;
/// Ranges that wait for being fetched ahead; further ones are fetched when they are read.
const WAITING: usize = 64;
/// Threads that fetch for [`RemoteDevice::fill`].
const PILOTS: usize = 8;
/// How often it is looked whether another process has fetched something, at first and at last.
const SHORTEST: Duration = Duration::from_millis(2);
const LONGEST: Duration = Duration::from_millis(20);

/// A version of an object on a server, read by ranges.
#[derive(Debug)]
pub struct RemoteDevice {
    object: Arc<Object>,
    ahead: Sender<Range<u64>>,
    /// Flights for the threads that [`Self::fill`] needs.
    flights: Sender<Arc<Flight>>,
    started: Receiver<Arc<Flight>>,
    /// Whether there are such threads.
    pilots: OnceLock<bool>,
}

/// What was fetched of a server so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Traffic {
    /// Requests that were sent.
    pub requests: u64,
    /// Bytes of objects that arrived.
    pub bytes: u64,
}

/// What the threads of a device share.
#[derive(Debug)]
struct Object {
    origin: Origin,
    version: Version,
    store: Store,
    /// What it takes of a cache with a limit.
    room: Option<Room>,
    /// Why the server gave no answer at first; what is here is served nevertheless.
    unreachable: Option<RemoteError>,
    state: Mutex<State>,
    /// Notified when units have arrived, and when a flight has ended.
    arrived: Condvar,
    /// How long another process is waited for that fetches the same and makes no progress.
    patience: Duration,
}

#[derive(Debug, Default)]
struct State {
    flights: Flights,
    windows: Windows,
}

/// What a thread does about units that it wants.
enum Step {
    /// All are there.
    Done,
    /// Another thread fetches the first one that is missing.
    Wait(Arc<Flight>),
    /// It fetches some.
    Fetch(Arc<Flight>),
}

impl RemoteDevice {
    /// Opens the version that is there now. If the server can't be reached, the one that was opened last, of which there are
    /// only the bytes in the cache.
    ///
    /// # Errors
    /// [`RemoteError`] if nothing is there, or the server can't identify versions or send ranges.
    pub fn open(address: &str, options: &Options) -> Result<Self, RemoteError> {
        Self::at(find(address, options)?, options)
    }

    /// Opens the version that another process has opened, as [`Self::version`] names it. Sends no request: what isn't kept yet is
    /// refused if the server has another version by now.
    ///
    /// # Errors
    /// [`RemoteError`] if the address is none, or it can't be kept.
    pub fn open_version(
        address: &str,
        version: &Version,
        options: &Options,
    ) -> Result<Self, RemoteError> {
        let origin = find_again(address, version, options)?;
        let kept = store_of(origin.address(), version, options)?;
        Ok(Self::start((origin, version.clone(), kept), None, options))
    }

    /// Opens an image or a further device of one in a registry.
    ///
    /// # Errors
    /// [`RemoteError::Artifact`] if it is compressed as a whole, or others if it can't be kept.
    pub fn of_layer(registry: &Registry, layer: &Layer) -> Result<Self, RemoteError> {
        Self::at(registry.origin(layer)?, registry.options())
    }

    /// As [`Self::open`], of what is found already.
    pub(crate) fn at(origin: Origin, options: &Options) -> Result<Self, RemoteError> {
        let address = origin.address().clone();
        if let Some(version) = origin.pinned()? {
            let kept = store_of(&address, &version, options)?;
            return Ok(Self::start((origin, version, kept), None, options));
        }
        let client = origin.client();
        let latest = || options.cache.as_ref().and_then(|cache| cache.latest(&address));
        let mut known = latest();
        let mut entered = None;
        if let (Some(cache), None) = (&options.cache, &known) {
            entered = cache.enter(&address, options.timeout);
            known = latest();
        }
        let latest = known;
        // One byte is enough to compare the version.
        let bytes = if latest.is_some() { 1 } else { FIRST * UNIT };
        let (version, start, unreachable) = match (client.first(bytes, latest.is_some()), latest) {
            (Ok((version, start)), _) => (version, start, None),
            (Err(error), Some(latest)) if error.is_temporary() => (latest, Vec::new(), Some(error)),
            (Err(error), _) => return Err(error),
        };
        let (store, room) = store_of(&address, &version, options)?;
        let mut cutter = Cutter::new(0, version.length);
        cutter.push(&start, |unit, bytes| store.keep(unit, bytes))?;
        if entered.is_some() {
            // Who waits reads what has a record.
            store.flush()?;
        }
        drop(entered);
        Ok(Self::start((origin, version, (store, room)), unreachable, options))
    }

    /// Opens the version that is kept in a file of a cache, as [`Self::kept`] names it. Sends no request for bytes. The cache of the
    /// options says how large that may become.
    ///
    /// # Errors
    /// [`RemoteError`] if it isn't there any more.
    pub fn resume(address: &str, options: &Options, file: &Path) -> Result<Self, RemoteError> {
        let failed = |source| failed(file.to_owned(), source);
        let (store, version) = reopen(file).map_err(failed)?;
        let origin = find_again(address, &version, options)?;
        let room = options.cache.as_ref().map(|cache| cache.room(file, version.length));
        let room = room.transpose().map_err(failed)?;
        Ok(Self::start((origin, version, (store, room)), None, options))
    }

    fn start(
        (origin, version, (store, room)): (Origin, Version, (Store, Option<Room>)),
        unreachable: Option<RemoteError>,
        options: &Options,
    ) -> Self {
        let (state, arrived) = (Mutex::default(), Condvar::new());
        let (flights, started) = unbounded();
        let patience = options.timeout;
        let object = Object { origin, version, store, room, unreachable, state, arrived, patience };
        let object = Arc::new(object);
        let (ahead, wanted) = bounded(WAITING);
        for _ in 0..AHEAD {
            let (object, wanted) = (Arc::downgrade(&object), wanted.clone());
            // Without a thread nothing is fetched ahead.
            let _ = thread::Builder::new().spawn(move || fetch_ahead(&object, &wanted));
        }
        Self { object, ahead, flights, started, pilots: OnceLock::new() }
    }

    /// The version that is open.
    #[must_use]
    pub fn version(&self) -> &Version {
        &self.object.version
    }

    /// The file of the cache in which it is kept; `None`: it is in a file without a name.
    #[must_use]
    pub fn kept(&self) -> Option<&Path> {
        self.object.store.file()
    }

    /// Device and inode of the file that holds the bytes.
    ///
    /// # Errors
    /// Those of fstat(2).
    pub fn identity(&self) -> io::Result<(u64, u64)> {
        self.object.store.identity()
    }

    /// Whether bytes are there, without fetching any.
    #[must_use]
    pub fn has(&self, bytes: &Range<u64>) -> bool {
        let bytes = self.inside(bytes);
        let has = units_of(bytes.clone()).all(|unit| self.object.store.has(unit));
        if has {
            // Who reads the file with events of the kernel has no read-ahead.
            self.object.store.will_need(&bytes);
            self.follow(&bytes);
        }
        has
    }

    /// Returns as soon as bytes are in the file of the cache, as far as the object has them. What follows them is fetched
    /// meanwhile if they are read in sequence.
    ///
    /// # Errors
    /// [`RemoteError`] if they can't be fetched.
    pub fn fill(&self, bytes: &Range<u64>) -> Result<(), RemoteError> {
        let bytes = self.inside(bytes);
        let units = units_of(bytes.clone());
        loop {
            match self.object.step(&units, u64::MAX) {
                Step::Done => break,
                Step::Wait(flight) => self.object.wait(&flight, &units)?,
                // It arrives in parts, and the first ones are enough.
                Step::Fetch(flight) if self.pilots() => drop(self.flights.send(flight)),
                Step::Fetch(flight) => self.object.carry_out(&flight)?,
            }
        }
        self.follow(&bytes);
        Ok(())
    }

    /// Makes what was fetched durable, and returns whether all bytes are there.
    ///
    /// # Errors
    /// [`RemoteError::Store`].
    pub fn settle(&self) -> Result<bool, RemoteError> {
        self.object.store.flush()?;
        if !self.object.store.is_recorded_whole() {
            return Ok(false);
        }
        // Each is compared with its record once.
        let units = 0..self.object.version.length.div_ceil(UNIT);
        Ok(units.into_iter().all(|unit| self.object.store.has(unit)))
    }

    fn inside(&self, bytes: &Range<u64>) -> Range<u64> {
        let size = self.object.store.length();
        bytes.start.min(size)..bytes.end.min(size)
    }

    /// Fetches ahead of a reader that has these bytes now.
    fn follow(&self, bytes: &Range<u64>) {
        let ahead = self.object.state().windows.ahead(units_of(bytes.clone()).end);
        let Some(units) = ahead else { return };
        let bytes = bytes_of(&units, self.object.store.length());
        if bytes.start < bytes.end {
            let _busy = self.ahead.try_send(bytes);
        }
    }

    /// Starts the threads that fetch for [`Self::fill`]; `false`: there are none.
    fn pilots(&self) -> bool {
        *self.pilots.get_or_init(|| {
            let start = |()| {
                let (object, started) = (Arc::downgrade(&self.object), self.started.clone());
                let carry_out = move || {
                    for flight in started {
                        let Some(object): Option<Arc<Object>> = object.upgrade() else { return };
                        // Who waits for it gets the error.
                        let _failed = object.carry_out(&flight);
                    }
                };
                thread::Builder::new().name("fetch".to_owned()).spawn(carry_out).is_ok()
            };
            [(); PILOTS].map(start).contains(&true)
        })
    }

    /// Requests and bytes so far.
    #[must_use]
    pub fn traffic(&self) -> Traffic {
        let (requests, bytes) = self.object.origin.traffic();
        Traffic { requests, bytes }
    }

    /// Why the server gave no answer when this was opened, if it gave none. Then only what is in the cache can be read, unless
    /// the server comes back.
    #[must_use]
    pub fn unreachable(&self) -> Option<&RemoteError> {
        self.object.unreachable.as_ref()
    }
}

/// The file that keeps a version: in the cache, with room for it, or without a name.
fn store_of(
    address: &Address,
    version: &Version,
    options: &Options,
) -> Result<(Store, Option<Room>), RemoteError> {
    match &options.cache {
        Some(cache) => cache.open(address, version),
        None => Ok((Store::temporary(version.length)?, None)),
    }
}

impl Drop for RemoteDevice {
    fn drop(&mut self) {
        // Threads that fetch ahead may live on. What has no record is fetched again.
        let _ = self.object.store.flush();
    }
}

impl ReadAt for RemoteDevice {
    fn read_at(&self, buf: &mut [u8], position: u64) -> Result<(), DeviceError> {
        let (length, size) = (buf.len() as u64, self.size());
        let end = position.checked_add(length).filter(|end| *end <= size);
        let Some(end) = end else {
            return Err(DeviceError::PastEnd { position, length, size });
        };
        let read = self.object.obtain(&units_of(position..end), u64::MAX).map_err(io::Error::other);
        let read = read.and_then(|()| self.object.store.read(buf, position));
        read.map_err(|source| DeviceError::Io { position, length, source })
    }

    fn size(&self) -> u64 {
        self.object.store.length()
    }

    fn will_need(&self, position: u64, length: u64) {
        let end = position.saturating_add(length).min(self.size());
        if position < end {
            // If all threads are busy, it is fetched when it is read.
            let _ = self.ahead.try_send(position..end);
        }
    }
}

/// Fetches what is wanted, as long as the device is open.
fn fetch_ahead(object: &Weak<Object>, wanted: &Receiver<Range<u64>>) {
    for bytes in wanted {
        let units = units_of(bytes);
        let mut start = units.start;
        while start < units.end {
            let Some(object) = object.upgrade() else { return };
            let end = start.saturating_add(MOST).min(units.end);
            // A reader that needs them gets the error.
            if object.obtain(&(start..end), units.end).is_err() {
                break;
            }
            start = end;
        }
    }
}

impl Object {
    /// Fetches those units that are missing, and what may be read next, but nothing from the unit `limit` on.
    fn obtain(&self, units: &Range<u64>, limit: u64) -> Result<(), RemoteError> {
        loop {
            let flight = match self.step(units, limit) {
                Step::Done => return Ok(()),
                Step::Wait(flight) => {
                    self.wait(&flight, units)?;
                    continue;
                }
                Step::Fetch(flight) => flight,
            };
            self.carry_out(&flight)?;
        }
    }

    /// Fetches the units of a flight, and ends it.
    fn carry_out(&self, flight: &Arc<Flight>) -> Result<(), RemoteError> {
        let fetched = self.fetch_claimed(&flight.units);
        if let Err(error) = &fetched {
            let _ = flight.failed.set(error.clone());
        }
        self.state().flights.end(flight);
        self.arrived.notify_all();
        fetched
    }

    /// Fetches units that no other process fetches, and waits for those that another one does.
    fn fetch_claimed(&self, units: &Range<u64>) -> Result<(), RemoteError> {
        let Some(claims) = self.store.claims() else { return self.fetch(units) };
        let mut left = units.clone();
        let mut waited = Instant::now();
        let mut pause = SHORTEST;
        while let Some(first) = left.clone().find(|unit| !self.store.has(*unit)) {
            if first > left.start {
                // Something arrives.
                (waited, pause) = (Instant::now(), SHORTEST);
            }
            left.start = first;
            self.arrived.notify_all();
            let Some(claim) = claims.claim(&left) else {
                // What stops another process must not stop this one.
                if waited.elapsed() > self.patience {
                    return self.fetch(&left);
                }
                thread::sleep(pause);
                pause = (pause * 2).min(LONGEST);
                continue;
            };
            self.fetch_missing(&claim.units)?;
            // Only what has a record is there for others, also for those that come later.
            self.store.flush()?;
            left.start = claim.units.end;
            (waited, pause) = (Instant::now(), SHORTEST);
        }
        self.arrived.notify_all();
        Ok(())
    }

    /// Fetches units but for those at both ends that are there by now.
    fn fetch_missing(&self, units: &Range<u64>) -> Result<(), RemoteError> {
        let is_missing = |unit: &u64| !self.store.has(*unit);
        let Some(first) = units.clone().find(is_missing) else { return Ok(()) };
        let last = units.clone().rev().find(is_missing).unwrap_or(first);
        self.fetch(&(first..last + 1))
    }

    /// Decides about the first unit that is missing.
    fn step(&self, units: &Range<u64>, limit: u64) -> Step {
        let mut state = self.state();
        let Some(first) = units.clone().find(|unit| !self.store.has(*unit)) else {
            return Step::Done;
        };
        if let Some(flight) = state.flights.with(first) {
            return Step::Wait(flight);
        }
        let window = state.windows.at(first).max(units.end - first);
        let limit = first.saturating_add(window).min(limit);
        let end = self.end(&state.flights, first, limit);
        state.windows.note(end, window);
        Step::Fetch(state.flights.start(first..end))
    }

    /// Where a request that starts at a missing unit ends: before what is there already, or is on its way. A few units that are
    /// there are fetched again if some after them are missing.
    fn end(&self, flights: &Flights, first: u64, limit: u64) -> u64 {
        let limit = limit.min(self.version.length.div_ceil(UNIT));
        let (mut end, mut unit) = (first + 1, first + 1);
        while unit < limit && unit - end <= NEAR && flights.with(unit).is_none() {
            unit += 1;
            if !self.store.has(unit - 1) {
                end = unit;
            }
        }
        end
    }

    /// Waits until the first missing unit of those has arrived by a flight, or the flight has ended.
    fn wait(&self, flight: &Flight, units: &Range<u64>) -> Result<(), RemoteError> {
        let is_missing = |unit: &u64| !self.store.has(*unit);
        let first = units.clone().find(is_missing).filter(|unit| flight.units.contains(unit));
        let Some(first) = first else { return Ok(()) };
        let mut state = self.state();
        while is_missing(&first) {
            if let Some(error) = flight.failed.get() {
                return Err(error.clone());
            }
            if state.flights.with(first).is_none() {
                return Ok(());
            }
            state = self.arrived.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        Ok(())
    }

    fn fetch(&self, units: &Range<u64>) -> Result<(), RemoteError> {
        if let Origin::Chunks(chunks) = &self.origin {
            return self.fetch_chunks(chunks, units);
        }
        let length = self.version.length;
        let mut cutter = Cutter::new(units.start, length);
        let mut take = |bytes: &[u8]| cutter.push(bytes, |unit, bytes| self.keep(unit, bytes));
        self.origin.fetch(bytes_of(units, length), &self.version, &mut take)
    }

    /// Fetches the chunks in which missing units are, and keeps all units that are whole in them.
    fn fetch_chunks(&self, chunks: &Chunks, units: &Range<u64>) -> Result<(), RemoteError> {
        let (length, mut next) = (self.version.length, units.start);
        while let Some(first) = (next..units.end).find(|unit| !self.store.has(*unit)) {
            let end = (first..units.end).find(|unit| self.store.has(*unit)).unwrap_or(units.end);
            let mut cutter: Option<(u64, Cutter)> = None;
            chunks.fetch(&bytes_of(&(first..end), length), &mut |position, bytes| {
                let (start, cutter) = cutter.get_or_insert_with(|| {
                    let unit = position.div_ceil(UNIT);
                    (unit.saturating_mul(UNIT), Cutter::new(unit, length))
                });
                let bytes = inside(&(*start..u64::MAX), position, bytes);
                cutter.push(bytes, |unit, bytes| self.keep(unit, bytes))
            })?;
            next = end;
        }
        Ok(())
    }

    fn keep(&self, unit: u64, bytes: &[u8]) -> Result<(), RemoteError> {
        if !self.store.has(unit) {
            if let Some(room) = &self.room {
                let failed = |source| failed(room.folder().to_owned(), source);
                room.take(bytes.len() as u64).map_err(failed)?;
            }
            self.store.keep(unit, bytes)?;
            drop(self.state());
            self.arrived.notify_all();
        }
        Ok(())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
