//! Collects the devices that an image refers to beside its own.

use std::fs::File;

use lith_format::kernel::Capability;
use lith_tree::ExtraDevice;

use crate::{BuildError, DataImport, Input, KnownDevice, Options};

/// The devices of an image. The size of the one that chunks are written to is not known yet.
pub(super) fn extra_devices(
    input: Input<'_>,
    options: &Options,
    blob: Option<&File>,
) -> Result<Vec<KnownDevice>, BuildError> {
    let mut devices = match options.data {
        DataImport::Full => input.devices(),
        DataImport::Reserved | DataImport::Zeros => Vec::new(),
    };
    if blob.is_some() {
        options.check_blob()?;
        if !devices.is_empty() {
            return Err(refused("together with files on other devices"));
        }
        let device = ExtraDevice { bytes: 0, tag: Vec::new() };
        devices.push(KnownDevice { device, uniaddr: None });
    }
    if u16::try_from(devices.len()).is_err() {
        return Err(refused(&format!("beside {} others", devices.len() - 1)));
    }
    if !devices.is_empty() {
        options.require(Capability::Devices)?;
    }
    let mut algorithms = input.known.configs.algorithms().iter_known();
    algorithms.try_for_each(|algorithm| options.require(algorithm.capability()))?;
    Ok(devices)
}

fn refused(found: &str) -> BuildError {
    let expected = "either one for chunks, or at most 65535 with the files of the source".into();
    BuildError::Option { option: "device", found: found.into(), expected }
}
