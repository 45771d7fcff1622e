//! Defines a device whose bytes come from a stream while it is read.

use std::{
    fs::File,
    io::{self, Read},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc},
    thread,
};

use crate::{DeviceError, FileDevice, ReadAt};

/// Bytes of the stream that are copied at once.
const BUFFER: usize = 256 << 10;

/// What a stream has, which a thread copies to a file as it arrives. Reading waits for bytes that are not there yet.
///
/// The thread ends with the stream, also if the device is dropped before.
#[derive(Debug)]
pub struct ArrivingDevice {
    file: FileDevice,
    size: u64,
    arrived: Arc<Arrived>,
}

/// How much there is, with a signal that this has changed.
#[derive(Debug, Default)]
struct Arrived {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Bytes that are in the file.
    bytes: u64,
    /// Whether there will be more, or why not.
    end: Option<End>,
}

#[derive(Debug)]
enum End {
    /// The stream has ended.
    Ended,
    /// It can't be read, or the file can't be written.
    Failed(io::ErrorKind, String),
}

impl ArrivingDevice {
    /// Copies `stream` to `file`, which is empty, in a thread. `size` is the number of bytes that are expected: what is beyond
    /// them is read from the stream, and dropped. Where no thread can be started, all is copied before this returns.
    ///
    /// # Errors
    /// The operating system's error when the file can't be opened again.
    pub fn new(mut stream: impl Read + Send + 'static, file: File, size: u64) -> io::Result<Self> {
        let arrived = Arc::new(Arrived::default());
        let device = Self { file: FileDevice::new(file.try_clone()?)?, size, arrived };
        let arrived = Arc::clone(&device.arrived);
        run_beside(move || {
            let end = match copy(&mut stream, &file, size, &arrived) {
                Ok(()) => End::Ended,
                Err(error) => End::Failed(error.kind(), error.to_string()),
            };
            arrived.lock().end = Some(end);
            arrived.changed.notify_all();
        });
        Ok(device)
    }

    /// Waits until all bytes before `end` have arrived, or no more will, and returns how many bytes there are.
    fn wait(&self, end: u64) -> io::Result<u64> {
        let mut state = self.arrived.lock();
        while state.bytes < end && state.end.is_none() {
            state = self.arrived.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        match &state.end {
            Some(End::Failed(kind, why)) if state.bytes < end => {
                Err(io::Error::new(*kind, why.clone()))
            }
            _ => Ok(state.bytes),
        }
    }
}

impl Arrived {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Does `work` in a thread, or at once where none can be started.
fn run_beside<W: FnOnce() + Send + 'static>(work: W) {
    // A closure that a thread was refused for is dropped, so `work` is sent when there is one.
    let (give, take) = mpsc::channel::<W>();
    let thread = thread::Builder::new().name("arriving".to_owned());
    match thread.spawn(move || take.recv().map_or((), |work| work())) {
        Ok(_detached) => drop(give.send(work)),
        Err(_no_thread) => work(),
    }
}

/// Copies a stream to its end, of which the first `size` bytes go to a file.
fn copy(stream: &mut impl Read, file: &File, size: u64, arrived: &Arrived) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER];
    let mut position = 0;
    loop {
        let got = match stream.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(got) => got,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let kept = usize::try_from(size - position).unwrap_or(BUFFER).min(got);
        lith_system::FileAt::write_all_at(file, buffer.split_at(kept).0, position)?;
        position += kept as u64;
        arrived.lock().bytes = position;
        arrived.changed.notify_all();
    }
}

impl ReadAt for ArrivingDevice {
    fn read_at(&self, buf: &mut [u8], position: u64) -> Result<(), DeviceError> {
        let length = buf.len() as u64;
        let past_end = |size| DeviceError::PastEnd { position, length, size };
        let end = position.checked_add(length).filter(|end| *end <= self.size);
        let end = end.ok_or_else(|| past_end(self.size))?;
        let arrived = self.wait(end);
        let arrived = arrived.map_err(|source| DeviceError::Io { position, length, source })?;
        if arrived < end { Err(past_end(arrived)) } else { self.file.read_at(buf, position) }
    }

    fn size(&self) -> u64 {
        self.size
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Write, pipe};

    use super::*;

    /// A stream that can't be read.
    struct Broken;

    impl Read for Broken {
        fn read(&mut self, _into: &mut [u8]) -> io::Result<usize> {
            Err(io::ErrorKind::ConnectionReset.into())
        }
    }

    #[test]
    fn what_has_arrived_is_read_and_what_has_not_is_waited_for() {
        let (read, mut write) = pipe().unwrap();
        let device = ArrivingDevice::new(read, tempfile::tempfile().unwrap(), 6).unwrap();
        write.write_all(b"abc").unwrap();
        let mut bytes = [0; 3];
        device.read_at(&mut bytes, 0).unwrap();
        assert_eq!(&bytes, b"abc");
        thread::scope(|scope| {
            let later = scope.spawn(|| {
                let mut bytes = [0; 4];
                device.read_at(&mut bytes, 2).map(|()| bytes)
            });
            write.write_all(b"def and more").unwrap();
            assert_eq!(&later.join().unwrap().unwrap(), b"cdef");
        });
        let past_end = device.read_at(&mut bytes, 5).unwrap_err();
        assert!(matches!(past_end, DeviceError::PastEnd { size: 6, .. }));
    }

    #[test]
    fn a_stream_that_ends_or_fails_is_an_error_of_what_did_not_arrive() {
        let file = || tempfile::tempfile().unwrap();
        let device = ArrivingDevice::new(&b"abc"[..], file(), 10).unwrap();
        let mut bytes = [0; 2];
        device.read_at(&mut bytes, 1).unwrap();
        let cut = device.read_at(&mut bytes, 2).unwrap_err();
        assert!(matches!(cut, DeviceError::PastEnd { size: 3, .. }));
        let device = ArrivingDevice::new(b"abc".chain(Broken), file(), 10).unwrap();
        device.read_at(&mut bytes, 1).unwrap();
        let failed = device.read_at(&mut bytes, 2).unwrap_err();
        let DeviceError::Io { source, .. } = failed else { panic!("{failed}") };
        assert_eq!(source.kind(), io::ErrorKind::ConnectionReset);
    }
}
