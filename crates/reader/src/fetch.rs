//! Fetches stored bytes from devices, and lends the buffers for them.
//!
//! Contiguous pclusters of one read are read from the device at once, when the first of them is
//! needed. A read borrows its buffers from the [`Pool`], so open files need no memory and threads
//! never wait for each other's reads.

use std::sync::Mutex;

use lith_format::device_table::DevicePa;

use crate::{
    devices::Devices,
    error::{Corruption, Fault},
    lock::lock,
    stats::Counters,
};

/// Bytes in unused buffers at most.
const POOL_BYTES: usize = 4 << 20;

/// The buffers of one read.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    /// What was read from a device.
    pub(crate) stored: Buffer,
    /// Decoded bytes that were not requested pass through it.
    pub(crate) window: lith_codec::Window,
}

/// Memory that grows to the largest size requested.
#[derive(Debug, Default)]
pub(crate) struct Buffer(Vec<u8>);

impl Buffer {
    /// The first `length` bytes, with any content.
    pub(crate) fn writable(&mut self, length: usize) -> &mut [u8] {
        if self.0.len() < length {
            // The caller overwrites all of it, so the old content is not copied.
            self.0 = vec![0; length];
        }
        self.0.get_mut(..length).expect("grown to `length` bytes or more")
    }
}

/// Buffers that no read is using.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    free: Mutex<Vec<Scratch>>,
}

impl Pool {
    /// Calls `work` with buffers of the pool, which it gets back.
    pub(crate) fn lend<T>(&self, work: impl FnOnce(&mut Scratch) -> T) -> T {
        let mut scratch = lock(&self.free).pop().unwrap_or_default();
        let result = work(&mut scratch);
        let size = |scratch: &Scratch| scratch.stored.0.len();
        let mut free = lock(&self.free);
        if free.iter().map(size).sum::<usize>() + size(&scratch) <= POOL_BYTES {
            free.push(scratch);
        }
        result
    }
}

/// The source of stored bytes.
#[derive(Clone, Copy)]
pub(crate) struct Source<'a> {
    pub(crate) devices: &'a Devices,
    pub(crate) counters: &'a Counters,
}

/// Contiguous stored bytes, read when the first of them is requested.
pub(crate) struct Fetch<'a> {
    source: Source<'a>,
    buffer: &'a mut Buffer,
    start: DevicePa,
    length: usize,
    done: bool,
}

impl<'a> Fetch<'a> {
    /// The `length` bytes at `start`, to be read into `buffer`.
    pub(crate) const fn new(
        source: Source<'a>,
        buffer: &'a mut Buffer,
        start: DevicePa,
        length: usize,
    ) -> Self {
        Self { source, buffer, start, length, done: false }
    }

    /// The `length` bytes at `at`, which are among them.
    pub(crate) fn get(&mut self, at: DevicePa, length: usize) -> Result<&[u8], Fault> {
        let bytes = self.buffer.writable(self.length);
        if !self.done {
            self.source.devices.read_content(self.start, bytes)?;
            self.source.counters.fetch(bytes.len());
            self.done = true;
        }
        let skip = at.pa.0.checked_sub(self.start.pa.0).and_then(|skip| usize::try_from(skip).ok());
        let found = skip.and_then(|skip| bytes.get(skip..skip.checked_add(length)?));
        Ok(found.ok_or(Corruption::Address)?)
    }
}
