//! What do the image's devices hold at an address?

use lith_device::{DeviceError, ReadAt};
use lith_format::{
    addr::Pa,
    device_table::{DeviceMap, DevicePa},
};

use crate::{
    cache::{Bytes, Cache},
    error::Fault,
    metadata::{PIECE, copy_pieces},
};

/// How many parts of the cache of pieces are locked apart.
const SHARDS: usize = 16;

/// The primary device and those of the device table, in the order of their slots.
pub(crate) struct Devices {
    all: Vec<Box<dyn ReadAt>>,
    map: DeviceMap,
    /// Pieces by device and number.
    pieces: Cache<(u16, u64)>,
}

impl Devices {
    /// The devices of an image whose metadata may take `cache` bytes of memory.
    pub(crate) fn new(all: Vec<Box<dyn ReadAt>>, map: DeviceMap, cache: usize) -> Self {
        Self { all, map, pieces: Cache::new(cache, SHARDS) }
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
