//! Defines bytes in memory as a source of bytes.

use crate::{DeviceError, ReadAt};

/// An image that is wholly in memory.
#[derive(Debug, Clone)]
pub struct MemoryDevice<B> {
    bytes: B,
}

impl<B: AsRef<[u8]> + Send + Sync> MemoryDevice<B> {
    /// Serves `bytes`.
    pub const fn new(bytes: B) -> Self {
        Self { bytes }
    }
}

impl<B: AsRef<[u8]> + Send + Sync> ReadAt for MemoryDevice<B> {
    fn read_at(&self, buf: &mut [u8], position: u64) -> Result<(), DeviceError> {
        let bytes = self.bytes.as_ref();
        let found = usize::try_from(position)
            .ok()
            .and_then(|start| bytes.get(start..start.checked_add(buf.len())?));
        match found {
            Some(found) => buf.copy_from_slice(found),
            None => {
                return Err(DeviceError::PastEnd {
                    position,
                    length: buf.len() as u64,
                    size: self.size(),
                });
            }
        }
        Ok(())
    }

    fn size(&self) -> u64 {
        self.bytes.as_ref().len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_range_is_inside_or_refused() {
        let device = MemoryDevice::new(b"abc".to_vec());
        let mut two = [0; 2];
        device.read_at(&mut two, 1).unwrap();
        assert_eq!(&two, b"bc");
        for position in [2, 3, u64::MAX] {
            assert!(matches!(
                device.read_at(&mut two, position),
                Err(DeviceError::PastEnd { size: 3, .. })
            ));
        }
    }
}
