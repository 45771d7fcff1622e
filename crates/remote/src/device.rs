//! Defines [`RemoteDevice`], which reads an object on a server.

use std::{
    io,
    ops::Range,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak},
    thread,
};

use crossbeam_channel::{Receiver, Sender, bounded};
use lith_device::{DeviceError, ReadAt};

use crate::{
    Address, Options, RemoteError,
    client::Client,
    flights::{Flight, Flights},
    place::find,
    registry::{Layer, Registry},
    store::Store,
    target::Target,
    units::{Cutter, UNIT, bytes_of, units_of},
    version::Version,
    windows::{FIRST, MOST, NEAR, Windows},
};

/// Threads that fetch ahead.
const AHEAD: usize = 2;
/// Ranges that wait for being fetched ahead; further ones are fetched when they are read.
const WAITING: usize = 64;

/// A version of an object on a server, read by ranges.
#[derive(Debug)]
pub struct RemoteDevice {
    object: Arc<Object>,
    ahead: Sender<Range<u64>>,
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
    client: Client,
    version: Version,
    store: Store,
    /// Why the server gave no answer at first; what is here is served nevertheless.
    unreachable: Option<RemoteError>,
    state: Mutex<State>,
    /// Notified when units have arrived, and when a flight has ended.
    arrived: Condvar,
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

    /// Opens an image or a further device of one in a registry.
    ///
    /// # Errors
    /// [`RemoteError::Artifact`] if it is compressed as a whole, or others if it can't be kept.
    pub fn of_layer(registry: &Registry, layer: &Layer) -> Result<Self, RemoteError> {
        layer.check_readable(registry.host())?;
        Self::at(registry.target(&layer.digest, layer.size)?, registry.options())
    }

    /// As [`Self::open`], of what is found already.
    pub(crate) fn at(target: Target, options: &Options) -> Result<Self, RemoteError> {
        let (address, pinned) = (target.address.clone(), target.pinned.clone());
        let client = Client::new(target, options);
        if let Some(version) = pinned {
            return Self::new(client, &address, (version, None, &[]), options);
        }
        let latest = options.cache.as_ref().and_then(|cache| cache.latest(&address));
        // One byte is enough to compare the version.
        let bytes = if latest.is_some() { 1 } else { FIRST * UNIT };
        let (version, start, unreachable) = match (client.first(bytes, latest.is_some()), latest) {
            (Ok((version, start)), _) => (version, start, None),
            (Err(error), Some(latest)) if error.is_temporary() => (latest, Vec::new(), Some(error)),
            (Err(error), _) => return Err(error),
        };
        Self::new(client, &address, (version, unreachable, &start), options)
    }

    /// A version, of which the first bytes may be here.
    fn new(
        client: Client,
        address: &Address,
        (version, unreachable, start): (Version, Option<RemoteError>, &[u8]),
        options: &Options,
    ) -> Result<Self, RemoteError> {
        let store = match &options.cache {
            Some(cache) => cache.open(address, &version)?,
            None => Store::temporary(version.length)?,
        };
        let mut cutter = Cutter::new(0, version.length);
        cutter.push(start, |unit, bytes| store.keep(unit, bytes))?;
        let (state, arrived) = (Mutex::default(), Condvar::new());
        let object = Arc::new(Object { client, version, store, unreachable, state, arrived });
        let (ahead, wanted) = bounded(WAITING);
        for _ in 0..AHEAD {
            let (object, wanted) = (Arc::downgrade(&object), wanted.clone());
            // Without a thread nothing is fetched ahead.
            let _ = thread::Builder::new().spawn(move || fetch_ahead(&object, &wanted));
        }
        Ok(Self { object, ahead })
    }

    /// Requests and bytes so far.
    #[must_use]
    pub fn traffic(&self) -> Traffic {
        let (requests, bytes) = self.object.client.traffic();
        Traffic { requests, bytes }
    }

    /// Why the server gave no answer when this was opened, if it gave none. Then only what is in the cache can be read, unless
    /// the server comes back.
    #[must_use]
    pub fn unreachable(&self) -> Option<&RemoteError> {
        self.object.unreachable.as_ref()
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
            let fetched = self.fetch(&flight.units);
            if let Err(error) = &fetched {
                let _ = flight.failed.set(error.clone());
            }
            self.state().flights.end(&flight);
            self.arrived.notify_all();
            fetched?;
        }
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
        let length = self.version.length;
        let mut cutter = Cutter::new(units.start, length);
        let mut keep = |unit, bytes: &[u8]| {
            if !self.store.has(unit) {
                self.store.keep(unit, bytes)?;
                drop(self.state());
                self.arrived.notify_all();
            }
            Ok(())
        };
        let mut take = |bytes: &[u8]| cutter.push(bytes, &mut keep);
        self.client.fetch(bytes_of(units, length), &self.version, &mut take)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
