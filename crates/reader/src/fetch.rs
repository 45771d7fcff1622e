//! Which stored bytes does a read need, and how do they get into memory?
//!
//! The pclusters of one read that lie behind each other are read from the device at once, when the first of them is
//! needed. A read takes its buffers from the [`Pool`] and gives them back, so that open files cost nothing and threads
//! never wait for each other's reads.

use std::{
    ops::{Deref, DerefMut},
    sync::Mutex,
};

use lith_format::device_table::DevicePa;

use crate::{
    cache::lock,
    devices::Devices,
    error::{Corruption, Fault},
    stats::Counters,
};

/// Bytes in the buffers that wait for the next read.
const POOL_BYTES: usize = 4 << 20;

/// The buffers of one read.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    /// What was read from a device.
    pub(crate) stored: Buffer,
    /// What nobody wants passes through it.
    pub(crate) window: lith_codec::Window,
}

/// Memory that grows to the largest size asked for.
#[derive(Debug, Default)]
pub(crate) struct Buffer(Vec<u8>);

impl Buffer {
    /// The first `length` bytes, whatever they are.
    pub(crate) fn writable(&mut self, length: usize) -> &mut [u8] {
        if self.0.len() < length {
            // What grows is overwritten as a whole: nothing of the old is worth copying.
            self.0 = vec![0; length];
        }
        self.0.get_mut(..length).unwrap_or_default()
    }
}

/// Buffers that no read is using.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    free: Mutex<Vec<Scratch>>,
}

/// Buffers on loan from a pool.
pub(crate) struct Lease<'a> {
    pool: &'a Pool,
    scratch: Scratch,
}

impl Pool {
    pub(crate) fn lease(&self) -> Lease<'_> {
        let scratch = lock(&self.free).pop().unwrap_or_default();
        Lease { pool: self, scratch }
    }
}

impl Deref for Lease<'_> {
    type Target = Scratch;

    fn deref(&self) -> &Scratch {
        &self.scratch
    }
}

impl DerefMut for Lease<'_> {
    fn deref_mut(&mut self) -> &mut Scratch {
        &mut self.scratch
    }
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        let scratch = std::mem::take(&mut self.scratch);
        let size = |scratch: &Scratch| scratch.stored.0.len();
        let mut free = lock(&self.pool.free);
        if free.iter().map(size).sum::<usize>() + size(&scratch) <= POOL_BYTES {
            free.push(scratch);
        }
    }
}

/// Stored bytes in a row, read when the first of them is asked for.
pub(crate) struct Fetch<'a> {
    devices: &'a Devices,
    counters: &'a Counters,
    buffer: &'a mut Buffer,
    start: DevicePa,
    length: usize,
    done: bool,
}

impl<'a> Fetch<'a> {
    /// The `length` bytes at `start`, which are going to be in `buffer`.
    pub(crate) const fn new(
        (devices, counters): (&'a Devices, &'a Counters),
        buffer: &'a mut Buffer,
        start: DevicePa,
        length: usize,
    ) -> Self {
        Self { devices, counters, buffer, start, length, done: false }
    }

    /// The `length` bytes at `at`, which lie within the row.
    pub(crate) fn get(&mut self, at: DevicePa, length: usize) -> Result<&[u8], Fault> {
        let bytes = self.buffer.writable(self.length);
        if !self.done {
            self.devices.read_content(self.start, bytes)?;
            self.counters.fetch(bytes.len());
            self.done = true;
        }
        let skip = at.pa.0.checked_sub(self.start.pa.0).and_then(|skip| usize::try_from(skip).ok());
        let found = skip.and_then(|skip| bytes.get(skip..skip.checked_add(length)?));
        Ok(found.ok_or(Corruption::Address)?)
    }
}
