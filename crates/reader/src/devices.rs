//! What do the image's devices hold at an address?

use std::sync::Mutex;

use lith_device::{DeviceError, ReadAt};
use lith_format::{
    addr::Pa,
    device_table::{DeviceMap, DevicePa},
};

use crate::{
    cache::{Bytes, Cache, lock},
    error::Fault,
    metadata::{PIECE, copy_pieces},
};

/// Streams of reads that are told apart, bytes that one may leave out, and bytes that are told ahead.
const STREAMS: usize = 8;
const GAP: u64 = 4 << 10;
const TELL: u64 = 512 << 10;

/// Reads that must have gone on before.
const ROW: u32 = 2;

/// Reads elsewhere that a stream outlasts for each read of its own.
const KEEP: u64 = 64;

/// How many parts of the cache of pieces are locked apart.
const SHARDS: usize = 16;

/// The primary device and those of the device table, in the order of their slots.
pub(crate) struct Devices {
    all: Vec<Box<dyn ReadAt>>,
    map: DeviceMap,
    /// Pieces by device and number.
    pieces: Cache<(u16, u64)>,
    /// Where content was read lately.
    streams: Mutex<Streams>,
}

/// Reads that go on where another one ended, but for small gaps: devices are told ahead what is next, since the system
/// only notices one such stream in a file.
#[derive(Debug, Default)]
struct Streams {
    latest: [Stream; STREAMS],
    /// Reads so far.
    reads: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Stream {
    device: u16,
    /// Where the last read ended, and the device was told to.
    end: u64,
    told: u64,
    /// Reads in a row.
    row: u32,
    /// The number of its last read.
    read: u64,
}

impl Streams {
    /// Notes a read; returns what is likely to be read soon and was not told.
    fn note(&mut self, at: DevicePa, length: u64) -> Option<(u64, u64)> {
        let end = at.pa.0.saturating_add(length);
        let goes_on = |stream: &&mut Stream| {
            let gap = at.pa.0.checked_sub(stream.end);
            stream.device == at.device && stream.end > 0 && gap.is_some_and(|gap| gap <= GAP)
        };
        self.reads += 1;
        let read = self.reads;
        let Some(stream) = self.latest.iter_mut().find(goes_on) else {
            // What went on gets more time than what did not.
            let worth = |stream: &&mut Stream| stream.read + u64::from(stream.row.min(ROW)) * KEEP;
            if let Some(oldest) = self.latest.iter_mut().min_by_key(worth) {
                *oldest = Stream { device: at.device, end, told: end, row: 0, read };
            }
            return None;
        };
        (stream.end, stream.row, stream.read) = (end, stream.row.saturating_add(1), read);
        if stream.row < ROW || stream.told >= end.saturating_add(TELL / 2) {
            return None;
        }
        let from = stream.told.max(end);
        stream.told = from.saturating_add(TELL);
        Some((from, TELL))
    }
}

impl Devices {
    /// The devices of an image whose metadata may take `cache` bytes of memory.
    pub(crate) fn new(all: Vec<Box<dyn ReadAt>>, map: DeviceMap, cache: usize) -> Self {
        Self { all, map, pieces: Cache::new(cache, SHARDS), streams: Mutex::default() }
    }

    /// The table that addresses are resolved by.
    pub(crate) const fn map(&self) -> &DeviceMap {
        &self.map
    }

    /// Where byte `pa` of `device` lies; of device 0 it is one of the unified address space.
    pub(crate) fn resolve(&self, device: u16, pa: Pa) -> Result<DevicePa, Fault> {
        Ok(self.map.resolve(device, pa)?)
    }

    /// Bytes on a device.
    pub(crate) fn size(&self, device: u16) -> u64 {
        self.device(device).map_or(0, ReadAt::size)
    }

    /// Reads for once.
    pub(crate) fn read(&self, at: DevicePa, buf: &mut [u8]) -> Result<(), Fault> {
        match self.device(at.device) {
            Some(device) => Ok(device.read_at(buf, at.pa.0)?),
            None => Err(self.missing(at)),
        }
    }

    /// Reads content, of which more is going to be read if it goes on where another read ended.
    pub(crate) fn read_content(&self, at: DevicePa, buf: &mut [u8]) -> Result<(), Fault> {
        let next = lock(&self.streams).note(at, buf.len() as u64);
        self.read(at, buf)?;
        if let (Some((position, length)), Some(device)) = (next, self.device(at.device)) {
            let length = length.min(device.size().saturating_sub(position));
            if length > 0 {
                device.will_need(position, length);
            }
        }
        Ok(())
    }

    /// Reads through the cache of pieces, for what is small and lies beside what is read next.
    pub(crate) fn read_cached(&self, at: DevicePa, buf: &mut [u8]) -> Result<(), Fault> {
        let copied = copy_pieces(at.pa.0, buf, |number| self.piece(at.device, number))?;
        if copied == buf.len() {
            return Ok(());
        }
        let (position, length) = (at.pa.0, buf.len() as u64);
        Err(DeviceError::PastEnd { position, length, size: self.size(at.device) }.into())
    }

    /// A piece; what a short one lacks is beyond the device's end.
    pub(crate) fn piece(&self, device: u16, number: u64) -> Result<Bytes, Fault> {
        let pa = number.saturating_mul(PIECE);
        let length = self.size(device).saturating_sub(pa).min(PIECE);
        let length = usize::try_from(length).unwrap_or(0);
        if length == 0 {
            return Ok(Bytes::default());
        }
        self.pieces.get_or_load((device, number), length, |piece| {
            self.read(DevicePa { device, pa: Pa(pa) }, piece)
        })
    }

    fn device(&self, device: u16) -> Option<&dyn ReadAt> {
        self.all.get(usize::from(device)).map(|device| &**device)
    }

    fn missing(&self, at: DevicePa) -> Fault {
        let count = self.map.slots.len();
        lith_format::device_table::DeviceError::NoSuchDevice { device: at.device, count }.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(pa: u64) -> DevicePa {
        DevicePa { device: 0, pa: Pa(pa) }
    }

    #[test]
    fn streams_are_told_ahead_and_scattered_reads_are_not() {
        let mut streams = Streams::default();
        let (mut told, mut other) = (0, 0);
        for block in 0..1000 {
            // Two streams side by side, one with gaps, and reads here and there.
            told += streams.note(at((1 << 30) + block * 4096), 4096).map_or(0, |next| next.1);
            other += streams.note(at((2 << 30) + block * 8192), 4096).map_or(0, |next| next.1);
            assert_eq!(streams.note(at((block * 7919 % 1000) << 18), 4096), None);
        }
        assert!((4 << 20..6 << 20).contains(&told), "{told}");
        assert!((8 << 20..10 << 20).contains(&other), "{other}");
    }
}
