//! Defines [`CheckError`].

use lith_device::DeviceError;
use lith_format::superblock::SuperblockError;

/// Why an image could not be examined.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CheckError {
    /// There is no EROFS image on the device.
    #[error("this is no EROFS image")]
    NotAnImage(#[source] SuperblockError),
    /// The superblock or the tables that follow it can't be read from the device.
    #[error("the device can't be read")]
    Device(#[source] DeviceError),
    /// The number of devices is not that of the image.
    #[error("the image has {expected} further devices, {given} were given")]
    DeviceCount {
        /// Slots of the device table.
        expected: usize,
        /// Devices given beside the first.
        given: usize,
    },
    /// The observer cancelled the examination.
    #[error("the check was cancelled")]
    Cancelled,
}
