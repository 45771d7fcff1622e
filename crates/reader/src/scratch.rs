//! Which buffers does a read need, and what do they still hold from the read before?
//!
//! A read takes a [`Scratch`] from the [`Pool`] and gives it back, so that open files cost nothing, threads never
//! wait for each other's reads, and a file read bit by bit finds the extent that it decoded last.

use std::sync::Mutex;

use lith_format::{
    addr::{La, Nid},
    device_table::DevicePa,
};

use crate::{cache::lock, devices::Devices, error::Fault};

/// The most that is read ahead of what was asked for.
const READ_AHEAD: usize = 256 << 10;

/// Bytes in the buffers that wait for the next read.
const POOL_BYTES: usize = 32 << 20;

/// The buffers of one read.
#[derive(Default)]
pub(crate) struct Scratch {
    /// What was read from a device.
    pub(crate) window: Window,
    /// What was decoded last.
    pub(crate) decoded: Decoded,
}

/// Stored bytes, read in stretches so that small pclusters don't cost a system call each.
#[derive(Default)]
pub(crate) struct Window {
    bytes: Vec<u8>,
    /// Where the valid bytes begin; none are before the first read.
    start: Option<DevicePa>,
    length: usize,
}

/// The beginning of an extent.
#[derive(Default)]
pub(crate) struct Decoded {
    bytes: Vec<u8>,
    /// Whose extent, where it starts in the file, and how many bytes of it are valid.
    of: Option<(Nid, La)>,
    length: usize,
}

/// Buffers that no read is using.
#[derive(Default)]
pub(crate) struct Pool {
    free: Mutex<Vec<Scratch>>,
}

impl Pool {
    /// Buffers for a read of `nid`: those that hold what was decoded of it last, or else any.
    pub(crate) fn take(&self, nid: Nid) -> Scratch {
        let mut free = lock(&self.free);
        let of_nid = |scratch: &Scratch| matches!(scratch.decoded.of, Some((of, _)) if of == nid);
        let found = free.iter().rposition(of_nid).map(|index| free.swap_remove(index));
        found.or_else(|| free.pop()).unwrap_or_default()
    }

    /// Keeps the buffers for another read, unless enough are kept.
    pub(crate) fn give_back(&self, scratch: Scratch) {
        let mut free = lock(&self.free);
        let kept: usize = free.iter().map(Scratch::size).sum();
        if kept + scratch.size() <= POOL_BYTES {
            free.push(scratch);
        }
    }
}

/// Buffers on loan from a pool, taken when first needed.
pub(crate) struct Lease<'a> {
    pool: &'a Pool,
    nid: Nid,
    scratch: Option<Scratch>,
}

impl<'a> Lease<'a> {
    pub(crate) const fn new(pool: &'a Pool, nid: Nid) -> Self {
        Self { pool, nid, scratch: None }
    }

    pub(crate) fn get(&mut self) -> &mut Scratch {
        self.scratch.get_or_insert_with(|| self.pool.take(self.nid))
    }
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        if let Some(scratch) = self.scratch.take() {
            self.pool.give_back(scratch);
        }
    }
}

impl Scratch {
    fn size(&self) -> usize {
        self.window.bytes.len() + self.decoded.bytes.len() + size_of::<Self>()
    }
}

impl Window {
    /// The `length` stored bytes at `at`. At least `wanted` bytes are read if any must be, and more the longer
    /// reads have gone straight on.
    pub(crate) fn get(
        &mut self,
        devices: &Devices,
        at: DevicePa,
        length: usize,
        wanted: usize,
    ) -> Result<&[u8], Fault> {
        let skip = match self.offset_of(at) {
            Some(offset) if self.length - offset >= length => offset,
            found => {
                let ahead = if found.is_some() { self.length.saturating_mul(2) } else { 0 };
                self.fill(devices, at, length, wanted.max(ahead).min(READ_AHEAD))?;
                0
            }
        };
        Ok(self.bytes.get(skip..skip + length).unwrap_or_default())
    }

    /// How far behind the start `at` is, if it is not behind the end.
    fn offset_of(&self, at: DevicePa) -> Option<usize> {
        let start = self.start.filter(|start| start.device == at.device)?;
        let offset = usize::try_from(at.pa.0.checked_sub(start.pa.0)?).ok()?;
        (offset <= self.length).then_some(offset)
    }

    fn fill(
        &mut self,
        devices: &Devices,
        at: DevicePa,
        length: usize,
        ahead: usize,
    ) -> Result<(), Fault> {
        let rest = devices.size(at.device).saturating_sub(at.pa.0);
        let length = length.max(ahead.min(usize::try_from(rest).unwrap_or(usize::MAX)));
        self.start = None;
        devices.read(at, writable(&mut self.bytes, length))?;
        (self.start, self.length) = (Some(at), length);
        Ok(())
    }
}

impl Decoded {
    /// What is there of the extent of an inode that starts at a byte of it.
    pub(crate) fn get(&self, of: (Nid, La)) -> &[u8] {
        let length = if self.of == Some(of) { self.length } else { 0 };
        self.bytes.get(..length).unwrap_or_default()
    }

    /// Decodes `length` bytes of that extent by `decode`.
    pub(crate) fn fill<E>(
        &mut self,
        of: (Nid, La),
        length: usize,
        decode: impl FnOnce(&mut [u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        self.of = None;
        decode(writable(&mut self.bytes, length))?;
        (self.of, self.length) = (Some(of), length);
        Ok(())
    }
}

/// The first `length` bytes of `bytes`, which grows if need be.
fn writable(bytes: &mut Vec<u8>, length: usize) -> &mut [u8] {
    if bytes.len() < length {
        // What grows is overwritten as a whole: nothing of the old is worth copying.
        *bytes = vec![0; length];
    }
    bytes.get_mut(..length).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use lith_device::{DeviceError, MemoryDevice, ReadAt};
    use lith_format::{
        addr::{BlockBits, Pa},
        device_table::DeviceMap,
    };
    use std::sync::{Arc, Mutex};

    use super::*;

    /// The position and length of each read.
    type Reads = Arc<Mutex<Vec<(u64, usize)>>>;

    /// A device that notes what is read of it.
    struct Noting {
        device: MemoryDevice<Vec<u8>>,
        reads: Reads,
    }

    impl ReadAt for Noting {
        fn read_at(&self, buf: &mut [u8], position: u64) -> Result<(), DeviceError> {
            lock(&self.reads).push((position, buf.len()));
            self.device.read_at(buf, position)
        }

        fn size(&self) -> u64 {
            self.device.size()
        }
    }

    fn devices() -> (Devices, Reads) {
        let bytes = (0..1_u32 << 20).map(|at| at.to_le_bytes()[1] ^ at.to_le_bytes()[0]).collect();
        let reads = Arc::default();
        let device = Noting { device: MemoryDevice::new(bytes), reads: Arc::clone(&reads) };
        let map = DeviceMap { block: BlockBits::DEFAULT, slots: vec![], flat: false };
        (Devices::new(vec![Box::new(device)], map, 0), reads)
    }

    fn at(pa: u64) -> DevicePa {
        DevicePa { device: 0, pa: Pa(pa) }
    }

    #[test]
    fn straight_reads_become_few_and_have_the_right_bytes() {
        let ((devices, reads), mut window) = (devices(), Window::default());
        let mut expected = vec![0; 4096];
        for block in 0..256 {
            devices.read(at(block * 4096), &mut expected).unwrap();
            let found = window.get(&devices, at(block * 4096), 4096, 4096).unwrap();
            assert!(found == expected, "block {block}");
        }
        let window_reads = lock(&reads).len() - 256;
        assert!(window_reads < 12, "{window_reads} reads");
    }

    #[test]
    fn scattered_reads_take_only_what_is_wanted() {
        let ((devices, reads), mut window) = (devices(), Window::default());
        for block in [200, 3, 100, 50] {
            window.get(&devices, at(block * 4096), 4096, 5000).unwrap();
        }
        window.get(&devices, at((1 << 20) - 100), 100, 5000).unwrap();
        let sizes: Vec<_> = lock(&reads).iter().map(|read| read.1).collect();
        assert_eq!(sizes, [5000, 5000, 5000, 5000, 100]);
        assert!(window.get(&devices, at(1 << 20), 1, 1).is_err());
        assert_eq!(window.get(&devices, at(0), 2, 2).unwrap(), [0, 1]);
    }

    #[test]
    fn the_pool_gives_back_what_holds_the_inode() {
        let pool = Pool::default();
        let mut lease = [1, 2, 3].map(|nid| Lease::new(&pool, Nid(nid)));
        for lease in &mut lease {
            let of = (lease.nid, La(0));
            let filled = lease.get().decoded.fill(of, 8, |bytes| {
                bytes.fill(7);
                Ok::<_, ()>(())
            });
            filled.unwrap();
        }
        drop(lease);
        let mut lease = Lease::new(&pool, Nid(2));
        assert_eq!(lease.get().decoded.get((Nid(2), La(0))), [7; 8]);
        assert_eq!(lease.get().decoded.get((Nid(2), La(8))), []);
        let failed = lease.get().decoded.fill((Nid(2), La(0)), 8, |_| Err(()));
        assert_eq!((failed, lease.get().decoded.get((Nid(2), La(0)))), (Err(()), &[][..]));
    }
}
