//! Tests devices on web servers against a server that does whatever servers do.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail by panicking")]

mod buckets;
mod cached;
mod chunks;
mod faults;
mod killed;
mod registry;
mod requests;
mod stores;
mod uploads;

use std::time::Duration;

use lith_device::{DeviceError, ReadAt};
use lith_remote::{Options, RemoteDevice, RemoteError};

/// Bytes that depend on their positions.
fn object(length: usize) -> Vec<u8> {
    let words = (0_u64..).flat_map(|word| (word.wrapping_mul(0x9e37_79b9_7f4a_7c15)).to_le_bytes());
    words.take(length).collect()
}

/// Options that lose no time.
fn hasty() -> Options {
    Options::with(|options| {
        options.timeout = Duration::from_secs(5);
        options.delay = Duration::from_millis(1);
        options.longest_delay = Duration::from_millis(5);
    })
}

fn read(device: &RemoteDevice, start: usize, length: usize) -> Result<Vec<u8>, DeviceError> {
    let mut found = vec![0; length];
    device.read_at(&mut found, start as u64).map(|()| found)
}

/// Why a read failed.
fn reason(error: DeviceError) -> RemoteError {
    let DeviceError::Io { source, .. } = error else { panic!("{error}") };
    source.downcast::<RemoteError>().expect("it is the client's error")
}
