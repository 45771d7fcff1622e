//! Opens sources on servers.

use std::{
    io::{self, BufReader, Cursor, Read, Seek, SeekFrom},
    path::Path,
};

use lith_device::ReadAt;
use lith_remote::{ObjectReader, RemoteDevice, RemoteError, WholeReader, shown};

use crate::{
    Options, Source, SourceError, archive_stream,
    detect::{self, Looks, detect},
    error::cannot,
    squashfs,
    stream::{Opened, stream},
    zip,
};

/// Bytes of a zip archive that are read at once.
const BUFFER: usize = 64 << 10;

/// Reads the archive or image at an address, or returns the EROFS image there. Archives are read while they arrive, and so is all
/// that a server sends as a whole only.
pub(crate) fn open(path: &Path, options: &Options) -> Result<Opened, SourceError> {
    let text = path.to_string_lossy();
    let path = shown(&text);
    let path = Path::new(&path);
    let failed = |error: RemoteError| cannot("fetch it", path)(io::Error::other(error));
    let (start, rest) = match ObjectReader::open(&text, detect::NEEDED, &options.remote) {
        Err(error) if error.is_of_whole() => {
            return stream(
                WholeReader::open(&text, &options.remote).map_err(failed)?,
                path,
                options,
            );
        }
        opened => opened.map_err(failed)?,
    };
    let device = || RemoteDevice::open(&text, &options.remote).map_err(failed);
    Ok(Opened::Source(match detect(&start) {
        Looks::Image => return Ok(Opened::RemoteImage(device()?)),
        Looks::SquashFs => squashfs(device()?, path, options)?,
        Looks::Zip => zipped(device()?, path, options)?,
        _ => archive_stream(Cursor::new(start).chain(rest), path, options)?,
    }))
}

fn zipped(device: RemoteDevice, path: &Path, options: &Options) -> Result<Source, SourceError> {
    let reader = DeviceReader { device, position: 0 };
    zip::read(BufReader::with_capacity(BUFFER, reader), path, options)
}

/// Reads a device as a file.
struct DeviceReader {
    device: RemoteDevice,
    position: u64,
}

impl Read for DeviceReader {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let left = self.device.size().saturating_sub(self.position);
        let length = usize::try_from(left).map_or(buf.len(), |left| left.min(buf.len()));
        self.device.read_at(buf.split_at_mut(length).0, self.position).map_err(io::Error::other)?;
        self.position += length as u64;
        Ok(length)
    }
}

impl Seek for DeviceReader {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let position = match to {
            SeekFrom::Start(position) => Some(position),
            SeekFrom::End(distance) => self.device.size().checked_add_signed(distance),
            SeekFrom::Current(distance) => self.position.checked_add_signed(distance),
        };
        self.position = position.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.position)
    }
}
