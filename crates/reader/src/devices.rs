//! Reads the devices of an image: metadata through a cache, content with read-ahead hints.

use std::sync::Mutex;

use lith_device::{DeviceError, ReadAt};
use lith_format::{
    addr::{Blkaddr, BlockBits, Pa},
    device_table::{self, DeviceMap, DevicePa},
};

use crate::{
    cache::{Bytes, Cache},
    error::{Corruption, Fault},
    lock::lock,
    piece::{self, copy_pieces},
};

/// Sequences of reads that are tracked at once.
const SEQUENCES: usize = 8;

/// Bytes that a read may skip and still continue a sequence.
const GAP: u64 = 4 << 10;

/// Bytes of a hint to the device.
const HINT: u64 = 512 << 10;

/// Reads that must have continued a sequence before the first hint.
const LEAST_READS: u32 = 2;

/// Reads elsewhere that a sequence outlasts for each read of its own.
const KEEP: u64 = 64;

/// Locks of the cache of pieces.
const SHARDS: usize = 16;

/// Bytes of pieces under one lock, at least: in small parts, the pieces in use could be more than theirs holds.
const SHARD: usize = 512 << 10;

/// The primary device and those of the device table, in the order of their slots.
pub(crate) struct Devices {
    all: Vec<Box<dyn ReadAt>>,
    map: DeviceMap,
    /// Pieces by device and number.
    pieces: Cache<(u16, u64)>,
    sequences: Mutex<Sequences>,
}

/// Reads of content that continue one another but for small gaps. The system notices only one such sequence in a file,
/// so devices get a hint of what follows in each.
#[derive(Debug, Default)]
struct Sequences {
    latest: [Sequence; SEQUENCES],
    reads: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Sequence {
    device: u16,
    /// Where the last read ended.
    end: u64,
    /// Where the last hint ended.
    hinted: u64,
    /// Reads that continued it.
    length: u32,
    last_read: u64,
}

impl Sequences {
    /// Notes a read; returns position and length of what is likely to be read soon and was not hinted yet.
    fn note(&mut self, at: DevicePa, length: u64) -> Option<(u64, u64)> {
        let end = at.pa.0.saturating_add(length);
        let continues = |sequence: &&mut Sequence| {
            let gap = at.pa.0.checked_sub(sequence.end);
            sequence.device == at.device && sequence.end > 0 && gap.is_some_and(|gap| gap <= GAP)
        };
        self.reads += 1;
        let last_read = self.reads;
        let Some(sequence) = self.latest.iter_mut().find(continues) else {
            // A sequence that was continued is kept longer than a single read.
            let worth = |sequence: &&mut Sequence| {
                sequence.last_read + u64::from(sequence.length.min(LEAST_READS)) * KEEP
            };
            if let Some(oldest) = self.latest.iter_mut().min_by_key(worth) {
                *oldest = Sequence { device: at.device, end, hinted: end, length: 0, last_read };
            }
            return None;
        };
        sequence.end = end;
        sequence.length = sequence.length.saturating_add(1);
        sequence.last_read = last_read;
        if sequence.length < LEAST_READS || sequence.hinted >= end.saturating_add(HINT / 2) {
            return None;
        }
        let from = sequence.hinted.max(end);
        sequence.hinted = from.saturating_add(HINT);
        Some((from, HINT))
    }
}

impl Devices {
    /// The devices of an image whose metadata may take `cache` bytes of memory.
    pub(crate) fn new(all: Vec<Box<dyn ReadAt>>, map: DeviceMap, cache: usize) -> Self {
        let pieces = Cache::new(cache, (cache / SHARD).clamp(1, SHARDS));
        Self { all, map, pieces, sequences: Mutex::default() }
    }

    /// The table that resolves addresses.
    pub(crate) const fn map(&self) -> &DeviceMap {
        &self.map
    }

    /// Where byte `pa` of `device` is stored. Device 0 has the unified address space.
    pub(crate) fn resolve(&self, device: u16, pa: Pa) -> Result<DevicePa, Fault> {
        Ok(self.map.resolve(device, pa)?)
    }

    /// Where the byte is stored that is `relative` bytes after the start of block `start`.
    pub(crate) fn place(
        &self,
        block: BlockBits,
        device: u16,
        start: Blkaddr,
        relative: u64,
    ) -> Result<DevicePa, Fault> {
        let first = start.to_pa(block).ok_or(Corruption::Address)?;
        let pa = first.0.checked_add(relative).ok_or(Corruption::Address)?;
        self.resolve(device, Pa(pa))
    }

    /// Bytes on a device.
    pub(crate) fn size(&self, device: u16) -> u64 {
        self.device(device).map_or(0, ReadAt::size)
    }

    /// Reads past the cache.
    pub(crate) fn read(&self, at: DevicePa, buf: &mut [u8]) -> Result<(), Fault> {
        let missing = device_table::DeviceError::NoSuchDevice {
            device: at.device,
            count: self.map.slots.len(),
        };
        let device = self.device(at.device).ok_or(missing)?;
        Ok(device.read_at(buf, at.pa.0)?)
    }

    /// Reads content past the cache; if the read continues a sequence, hints what follows.
    pub(crate) fn read_content(&self, at: DevicePa, buf: &mut [u8]) -> Result<(), Fault> {
        let next = lock(&self.sequences).note(at, buf.len() as u64);
        self.read(at, buf)?;
        if let (Some((position, length)), Some(device)) = (next, self.device(at.device)) {
            let length = length.min(device.size().saturating_sub(position));
            if length > 0 {
                device.will_need(position, length);
            }
        }
        Ok(())
    }

    /// Reads through the cache of pieces: for what is small and close to what is read next.
    pub(crate) fn read_cached(&self, at: DevicePa, buf: &mut [u8]) -> Result<(), Fault> {
        let copied = copy_pieces(at.pa.0, buf, |number| self.piece(at.device, number))?;
        if copied == buf.len() {
            return Ok(());
        }
        let (position, length) = (at.pa.0, buf.len() as u64);
        Err(DeviceError::PastEnd { position, length, size: self.size(at.device) }.into())
    }

    /// A piece; shorter at the device's end, empty after it.
    pub(crate) fn piece(&self, device: u16, number: u64) -> Result<Bytes, Fault> {
        let (pa, length) = piece::extent_of(number, self.size(device));
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
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(pa: u64) -> DevicePa {
        DevicePa { device: 0, pa: Pa(pa) }
    }

    #[test]
    fn sequences_are_hinted_and_scattered_reads_are_not() {
        let mut sequences = Sequences::default();
        let (mut dense, mut gappy) = (0, 0);
        for block in 0..1000 {
            // Two sequences at once, one with gaps, and scattered reads.
            dense += sequences.note(at((1 << 30) + block * 4096), 4096).map_or(0, |next| next.1);
            gappy += sequences.note(at((2 << 30) + block * 8192), 4096).map_or(0, |next| next.1);
            assert_eq!(sequences.note(at((block * 7919 % 1000) << 18), 4096), None);
        }
        assert!((4 << 20..6 << 20).contains(&dense), "{dense}");
        assert!((8 << 20..10 << 20).contains(&gappy), "{gappy}");
    }
}
