//! Opens the image to be examined; the reason why it can't be opened becomes a finding.

use std::sync::Arc;

use lith_device::{DeviceError, ReadAt};
use lith_format::superblock::{SUPERBLOCK_SIZE, SuperblockError};
use lith_observer::Observer;
use lith_reader::{Error, Image, OpenError};

use crate::{
    classify::{self, Reading},
    error::CheckError,
    findings::{Findings, Log, Phase},
    options::Options,
    report::Report,
    rule::Rule,
    walk,
};

/// Examines the image on the first of `devices`; the others are those of its device table, as
/// [`Image::open_with`] takes them. `observer` gets the bytes that are read or decoded.
///
/// # Errors
/// [`CheckError`] if there is no image, the devices are not those that it needs, or `observer` cancelled. What is wrong
/// with an image is reported, not an error.
pub fn check_devices(
    devices: Vec<Box<dyn ReadAt>>,
    options: &Options,
    observer: &dyn Observer,
) -> Result<Report, CheckError> {
    let devices: Vec<Arc<dyn ReadAt>> = devices.into_iter().map(Arc::from).collect();
    let findings = Findings::new(options.max_findings);
    match open(&devices, options, &findings) {
        Ok(image) => walk::examine(&image, devices.first().cloned(), findings, options, observer),
        Err(error) => {
            Log::new(&findings, Phase::Structure, 1).open_error(error)?;
            Ok(Report::of_unopened(findings.finish()))
        }
    }
}

/// Examines an open image, without what needs its raw bytes: reserved fields, xattr name filters and ACLs, inodes that
/// overlap. [`check_devices`] examines those too.
///
/// # Errors
/// [`CheckError::Cancelled`] if `observer` cancelled.
pub fn check(
    image: &Image,
    options: &Options,
    observer: &dyn Observer,
) -> Result<Report, CheckError> {
    walk::examine(image, None, Findings::new(options.max_findings), options, observer)
}

/// Opens the image. A wrong checksum is reported, and the image opened without it.
fn open(
    devices: &[Arc<dyn ReadAt>],
    options: &Options,
    findings: &Findings,
) -> Result<Image, Error> {
    let all = || devices.iter().map(|device| Box::new(Arc::clone(device)) as Box<dyn ReadAt>);
    let mut reading = lith_reader::Options::default();
    reading.any_checksum = !options.checksum;
    match Image::open_with(all().collect(), reading) {
        Err(Error::Open {
            source: OpenError::Superblock(error @ SuperblockError::Checksum { .. }),
            ..
        }) => {
            Log::new(findings, Phase::Structure, 0).image(Rule::SbChecksum, error);
            reading.any_checksum = true;
            Image::open_with(all().collect(), reading)
        }
        opened => opened,
    }
}

impl Log<'_> {
    /// Reports why an image can't be opened, unless the cause is not in the image.
    fn open_error(&self, error: Error) -> Result<(), CheckError> {
        let Error::Open { source, path } = error else {
            self.error(Reading::INODE, &error);
            return Ok(());
        };
        let rule = match source {
            OpenError::Device(source @ (DeviceError::Io { .. } | DeviceError::Changed { .. })) => {
                return Err(CheckError::Device(source));
            }
            OpenError::DeviceCount { expected, given } => {
                return Err(CheckError::DeviceCount { expected, given });
            }
            OpenError::Superblock(source) if is_no_image(source) => {
                return Err(CheckError::NotAnImage(source));
            }
            OpenError::Superblock(source) if source.is_unsupported() => Rule::SbUnsupported,
            OpenError::Configs(_) => Rule::SbConfigs,
            OpenError::DeviceTable(_) => Rule::DeviceTable,
            OpenError::Prefixes(_) => Rule::SbPrefixes,
            OpenError::Root { .. } => Rule::SbRoot,
            // The superblock itself, or the device that it is on.
            _ => Rule::SbInvalid,
        };
        self.image(rule, classify::explain(&Error::Open { source, path }));
        Ok(())
    }
}

/// Whether nothing indicates that the device holds an image.
const fn is_no_image(error: SuperblockError) -> bool {
    match error {
        SuperblockError::Magic { .. } => true,
        SuperblockError::Truncated { found, .. } => found < SUPERBLOCK_SIZE,
        _ => false,
    }
}
