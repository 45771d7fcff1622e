//! Where do an image's bytes come from?
//!
//! A device is anything that can be read at a position by many threads at once: a file or block
//! device ([`FileDevice`]), bytes in memory ([`MemoryDevice`]), what follows
//! a position of another one ([`OffsetDevice`]), several as one ([`JoinedDevice`]), or a stream ([`ArrivingDevice`]).
#![forbid(unsafe_code)]

mod arriving;
mod file;
mod joined;
mod memory;
mod offset;

use std::{io, sync::Arc};

pub use arriving::ArrivingDevice;
pub use file::FileDevice;
pub use joined::JoinedDevice;
pub use memory::MemoryDevice;
pub use offset::OffsetDevice;

/// Why bytes could not be had from a device.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// The range begins or ends beyond the last byte of the device.
    #[error("{length} bytes at {position} are past the end of the device ({size} bytes)")]
    PastEnd {
        /// First byte requested.
        position: u64,
        /// Bytes requested.
        length: u64,
        /// Bytes that the device has.
        size: u64,
    },
    /// The operating system failed to read.
    #[error("reading {length} bytes at {position}")]
    Io {
        /// First byte requested.
        position: u64,
        /// Bytes requested.
        length: u64,
        /// The operating system's error.
        source: io::Error,
    },
    /// The bytes are others than those that a hash tree was made of.
    #[error("{what} {block} (at byte {position}){} has changed: it does not match the root hash", of(device.as_deref()))]
    Changed {
        /// `block` of data, or `hash block` of the tree.
        what: &'static str,
        /// Its number.
        block: u64,
        /// Its first byte.
        position: u64,
        /// The name of the device, if it is not the image that is read.
        device: Option<Box<str>>,
    },
}

fn of(device: Option<&str>) -> String {
    device.map(|name| format!(" of {name}")).unwrap_or_default()
}

/// Bytes that can be read at any position, from any thread, without a cursor.
pub trait ReadAt: Send + Sync {
    /// Fills `buf` with the bytes from `position` on.
    ///
    /// # Errors
    /// [`DeviceError::PastEnd`] if fewer bytes are there, [`DeviceError::Io`] if reading fails, [`DeviceError::Changed`] if the
    /// device verifies what it reads.
    fn read_at(&self, buf: &mut [u8], position: u64) -> Result<(), DeviceError>;

    /// Bytes on the device.
    fn size(&self) -> u64;

    /// Tells that these bytes are going to be read soon, so that the device can begin; never waits for them.
    fn will_need(&self, position: u64, length: u64) {
        let _ = (position, length);
    }
}

impl<T: ReadAt + ?Sized> ReadAt for Arc<T> {
    fn read_at(&self, buf: &mut [u8], position: u64) -> Result<(), DeviceError> {
        (**self).read_at(buf, position)
    }

    fn size(&self) -> u64 {
        (**self).size()
    }

    fn will_need(&self, position: u64, length: u64) {
        (**self).will_need(position, length);
    }
}

impl<T: ReadAt + ?Sized> ReadAt for Box<T> {
    fn read_at(&self, buf: &mut [u8], position: u64) -> Result<(), DeviceError> {
        (**self).read_at(buf, position)
    }

    fn size(&self) -> u64 {
        (**self).size()
    }

    fn will_need(&self, position: u64, length: u64) {
        (**self).will_need(position, length);
    }
}
