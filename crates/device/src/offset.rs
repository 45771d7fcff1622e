//! Defines a device that starts inside another one.

use crate::{DeviceError, ReadAt};

/// The bytes of another device from a position on, such as an image that follows a program or a boot sector.
#[derive(Debug)]
pub struct OffsetDevice<D> {
    device: D,
    start: u64,
}

impl<D: ReadAt> OffsetDevice<D> {
    /// The bytes of `device` from `start` on; none if it ends before.
    pub const fn new(device: D, start: u64) -> Self {
        Self { device, start }
    }
}

impl<D: ReadAt> ReadAt for OffsetDevice<D> {
    fn read_at(&self, buf: &mut [u8], position: u64) -> Result<(), DeviceError> {
        let length = buf.len() as u64;
        let past = DeviceError::PastEnd { position, length, size: self.size() };
        match self.start.checked_add(position) {
            Some(at) if position <= self.size() => self.device.read_at(buf, at),
            _ => Err(past),
        }
    }

    fn size(&self) -> u64 {
        self.device.size().saturating_sub(self.start)
    }

    fn will_need(&self, position: u64, length: u64) {
        if let Some(at) = self.start.checked_add(position) {
            self.device.will_need(at, length);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemoryDevice;

    #[test]
    fn positions_count_from_its_start() {
        let device = OffsetDevice::new(MemoryDevice::new(b"0123456789".to_vec()), 4);
        assert_eq!(device.size(), 6);
        let mut buf = [0; 3];
        device.read_at(&mut buf, 2).unwrap();
        assert_eq!(&buf, b"678");
        assert!(device.read_at(&mut buf, 4).is_err());
        assert!(device.read_at(&mut buf, u64::MAX).is_err());
    }

    #[test]
    fn reads_beyond_the_end_fail() {
        let device = OffsetDevice::new(MemoryDevice::new(b"0123".to_vec()), 9);
        assert_eq!(device.size(), 0);
        assert!(device.read_at(&mut [0], 0).is_err());
    }
}
