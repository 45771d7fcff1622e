//! Defines several devices as one, end to end.

use crate::{DeviceError, ReadAt};

/// The bytes of some devices, one after another: what `cat` makes of them.
#[derive(Debug)]
pub struct JoinedDevice<D> {
    /// Each with its first byte in the whole.
    devices: Vec<(u64, D)>,
    size: u64,
}

impl<D: ReadAt> JoinedDevice<D> {
    /// The devices in this order.
    pub fn new(devices: impl IntoIterator<Item = D>) -> Self {
        let (mut all, mut size) = (Vec::new(), 0_u64);
        for device in devices {
            let start = size;
            size = size.saturating_add(device.size());
            all.push((start, device));
        }
        Self { devices: all, size }
    }
}

impl<D: ReadAt> ReadAt for JoinedDevice<D> {
    fn read_at(&self, buf: &mut [u8], position: u64) -> Result<(), DeviceError> {
        let length = buf.len() as u64;
        if position.checked_add(length).is_none_or(|end| end > self.size) {
            return Err(DeviceError::PastEnd { position, length, size: self.size });
        }
        let first = self.devices.partition_point(|(start, _)| *start <= position).saturating_sub(1);
        let (mut rest, mut position) = (buf, position);
        for (start, device) in self.devices.iter().skip(first) {
            let within = position - start;
            let left = usize::try_from(device.size().saturating_sub(within)).unwrap_or(usize::MAX);
            let (now, later) = rest.split_at_mut(left.min(rest.len()));
            device.read_at(now, within)?;
            position += now.len() as u64;
            rest = later;
            if rest.is_empty() {
                break;
            }
        }
        Ok(())
    }

    fn size(&self) -> u64 {
        self.size
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemoryDevice;

    #[test]
    fn reads_cross_from_one_device_to_the_next() {
        let parts = ["01", "", "2345", "6"].map(|part| MemoryDevice::new(part.as_bytes().to_vec()));
        let device = JoinedDevice::new(parts);
        assert_eq!(device.size(), 7);
        for start in 0..=7 {
            for end in start..=7 {
                let mut buf = vec![0; end - start];
                device.read_at(&mut buf, start as u64).unwrap();
                assert_eq!(buf, b"0123456"[start..end], "{start}..{end}");
            }
        }
        assert!(device.read_at(&mut [0; 2], 6).is_err());
        assert!(device.read_at(&mut [0], u64::MAX).is_err());
    }
}
