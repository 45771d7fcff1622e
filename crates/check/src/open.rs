//! Can the image be opened, and what is wrong with it if not?

use std::sync::Arc;

use lith_device::{DeviceError, ReadAt};
use lith_format::superblock::{SUPERBLOCK_SIZE, SuperblockError};
use lith_reader::{Error, Image, OpenError};

use crate::{
    classify::Reading,
    findings::{Findings, Log, Phase},
    options::{Options, Progress},
    report::Report,
    rule::Rule,
    walk,
};

/// Why an image can't be examined at all.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// There is no EROFS image on the device.
    #[error("this is no EROFS image")]
    NotAnImage {
        /// What was there instead.
        source: SuperblockError,
    },
    /// The device can't be read where the superblock and the tables behind it are.
    #[error("the device can't be read")]
    Device {
        /// What it said.
        source: DeviceError,
    },
    /// The devices given are not as many as the image has.
    #[error("the image has {expected} further devices, {given} were given")]
    DeviceCount {
        /// Slots of the device table.
        expected: usize,
        /// Devices given beside the first.
        given: usize,
    },
}

/// Examines the image on the first of `devices`; the others are those of its device table, as
/// [`Image::open_with`] takes them.
///
/// # Errors
/// [`CheckError`] if there is no image, or the devices are not those that it needs. What is wrong with an image is
/// no error, but in the report.
pub fn check_devices(
    devices: Vec<Box<dyn ReadAt>>,
    options: &Options,
    progress: &Progress,
) -> Result<Report, CheckError> {
    let devices: Vec<Arc<dyn ReadAt>> = devices.into_iter().map(Arc::from).collect();
    let findings = Findings::new(options.max_findings);
    match open(&devices, options, &findings) {
        Ok(image) => {
            Ok(walk::examine(&image, devices.first().cloned(), findings, options, progress))
        }
        Err(error) => {
            Log::new(&findings, Phase::Structure, 1).open_error(error)?;
            Ok(Report::of_unopened(findings.finish()))
        }
    }
}

/// Examines an open image. What only its raw bytes tell is not looked at: reserved fields, xattr name filters and
/// ACLs, inodes that overlap; [`check_devices`] does that too.
#[must_use]
pub fn check(image: &Image, options: &Options, progress: &Progress) -> Report {
    walk::examine(image, None, Findings::new(options.max_findings), options, progress)
}

/// Opens the image. A wrong checksum is noted, and keeps nothing from being examined.
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
    /// Notes why an image can't be opened, unless that is not the image's fault.
    fn open_error(&self, error: Error) -> Result<(), CheckError> {
        let Error::Open { source, path } = error else {
            self.error(Reading::INODE, &error);
            return Ok(());
        };
        let rule = match source {
            OpenError::Device(source @ DeviceError::Io { .. }) => {
                return Err(CheckError::Device { source });
            }
            OpenError::DeviceCount { expected, given } => {
                return Err(CheckError::DeviceCount { expected, given });
            }
            OpenError::Superblock(source) if is_no_image(source) => {
                return Err(CheckError::NotAnImage { source });
            }
            OpenError::Superblock(source) if source.is_unsupported() => Rule::SbUnsupported,
            OpenError::Configs(_) => Rule::SbConfigs,
            OpenError::DeviceTable(_) => Rule::DeviceTable,
            OpenError::Prefixes(_) => Rule::SbPrefixes,
            OpenError::Root { .. } => Rule::SbRoot,
            // The superblock itself, or the device that it is on.
            _ => Rule::SbInvalid,
        };
        self.image(rule, crate::classify::explain(&Error::Open { source, path }));
        Ok(())
    }
}

/// Whether nothing says that there should be an image.
const fn is_no_image(error: SuperblockError) -> bool {
    match error {
        SuperblockError::Magic { .. } => true,
        SuperblockError::Truncated { found, .. } => found < SUPERBLOCK_SIZE,
        _ => false,
    }
}
