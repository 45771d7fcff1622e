//! Defines [`AheadDevice`], which reads what is needed next on a thread of its own.

use std::{
    collections::VecDeque,
    fmt,
    num::NonZeroUsize,
    ops::Range,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
};

use lith_device::{DeviceError, ReadAt};

/// Bytes of a piece, which is read at once: a multiple of the sizes that a tree's blocks can have.
const PIECE: u64 = 128 << 10;

/// Pieces that are kept at most, and that wait: 2 MiB.
const MOST: usize = 16;

/// Bytes from a hint on that are read, if it is about fewer.
const REACH: u64 = 1 << 20;

/// A device that verifies what it reads takes time for it. Where another core is there, this one reads ahead what
/// [`will_need`](ReadAt::will_need) announces, so that who reads one thing after the other waits for copies only.
///
/// It keeps 2 MiB at most. What could not be read ahead is read when it is needed, with the error that it has then.
pub struct AheadDevice {
    shared: Arc<Shared>,
    thread: Option<thread::JoinHandle<()>>,
}

struct Shared {
    device: Box<dyn ReadAt>,
    state: Mutex<State>,
    changed: Condvar,
}

/// Pieces, by their numbers.
#[derive(Default)]
struct State {
    waiting: VecDeque<u64>,
    working: Option<u64>,
    read: VecDeque<(u64, Arc<Vec<u8>>)>,
    /// Memory of pieces that are not needed anymore.
    spare: Vec<Vec<u8>>,
    ended: bool,
}

impl fmt::Debug for AheadDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AheadDevice").field("thread", &self.thread).finish_non_exhaustive()
    }
}

impl AheadDevice {
    /// Reads ahead in `device` if there is more than one core, and if the system starts a thread.
    #[must_use]
    pub fn new(device: Box<dyn ReadAt>) -> Self {
        let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
        Self::with_thread(device, cores > 1)
    }

    fn with_thread(device: Box<dyn ReadAt>, is_wanted: bool) -> Self {
        let (state, changed) = (Mutex::default(), Condvar::new());
        let shared = Arc::new(Shared { device, state, changed });
        let worker = Arc::clone(&shared);
        let builder = thread::Builder::new().name("verifying".to_owned());
        let thread = is_wanted.then(|| builder.spawn(move || worker.work()).ok());
        Self { shared, thread: thread.flatten() }
    }

    /// Reads the range from what was read ahead and, what was not, from the device.
    fn read(&self, buf: &mut [u8], position: u64) -> Result<(), DeviceError> {
        let (mut missing, mut missing_at) = (0, position);
        let (mut at, end) = (position, position + buf.len() as u64);
        let mut rest = buf;
        while at < end {
            let number = at / PIECE;
            let until = ((number + 1) * PIECE).min(end);
            let length = length(until - at);
            if let Some(piece) = self.shared.take(number, until) {
                let (before, others) = rest.split_at_mut(missing);
                let (part, others) = others.split_at_mut(length);
                self.read_missing(before, missing_at)?;
                let start = self::length(at % PIECE);
                let found = piece.get(start..start + length);
                part.copy_from_slice(found.expect("a piece has all of its bytes"));
                self.shared.recycle(piece);
                (rest, missing, missing_at) = (others, 0, until);
            } else {
                missing += length;
            }
            at = until;
        }
        self.read_missing(rest, missing_at)
    }

    fn read_missing(&self, buf: &mut [u8], position: u64) -> Result<(), DeviceError> {
        if buf.is_empty() {
            return Ok(());
        }
        self.shared.device.read_at(buf, position)
    }
}

impl Drop for AheadDevice {
    fn drop(&mut self) {
        self.shared.lock().ended = true;
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            // What a thread that panicked has not read is read when it is needed.
            let _ = thread.join();
        }
    }
}

impl ReadAt for AheadDevice {
    fn read_at(&self, buf: &mut [u8], position: u64) -> Result<(), DeviceError> {
        let end = position.checked_add(buf.len() as u64);
        if self.thread.is_none() || end.is_none_or(|end| end > self.size()) {
            return self.shared.device.read_at(buf, position);
        }
        self.read(buf, position).inspect_err(|_error| buf.fill(0))
    }

    fn size(&self) -> u64 {
        self.shared.device.size()
    }

    fn will_need(&self, position: u64, length: u64) {
        self.shared.device.will_need(position, length);
        if self.thread.is_some() {
            let end = position.saturating_add(length.max(REACH)).min(self.size());
            self.shared.expect(position.div_ceil(PIECE)..end.div_ceil(PIECE));
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    /// Has pieces read that are not there, and those of earlier hints forgotten if they are too many.
    fn expect(&self, pieces: Range<u64>) {
        let mut state = self.lock();
        for number in pieces.take(MOST) {
            let is_there = state.working == Some(number)
                || state.waiting.contains(&number)
                || state.read.iter().any(|(read, _)| *read == number);
            if !is_there {
                state.waiting.push_back(number);
            }
        }
        let excess = state.waiting.len().saturating_sub(MOST);
        state.waiting.drain(..excess);
        self.changed.notify_all();
    }

    /// A piece that was read ahead, or is being read; it is forgotten if it is needed up to its end. What still waits is read
    /// by who needs it.
    fn take(&self, number: u64, until: u64) -> Option<Arc<Vec<u8>>> {
        let mut state = self.lock();
        while state.working == Some(number) {
            state = self.wait(state);
        }
        state.waiting.retain(|waiting| *waiting != number);
        let found = state.read.iter().position(|(read, _)| *read == number)?;
        if until == self.range(number).end {
            return state.read.remove(found).map(|(_, bytes)| bytes);
        }
        state.read.get(found).map(|(_, bytes)| Arc::clone(bytes))
    }

    /// Keeps a piece's memory for later ones unless another reader has it.
    fn recycle(&self, piece: Arc<Vec<u8>>) {
        if let Some(bytes) = Arc::into_inner(piece) {
            self.lock().recycle(bytes);
        }
    }

    fn range(&self, number: u64) -> Range<u64> {
        let start = number * PIECE;
        start..(start + PIECE).min(self.device.size())
    }

    fn work(&self) {
        while let Some((working, mut bytes)) = self.start() {
            let range = self.range(working.number);
            bytes.resize(length(range.end - range.start), 0);
            // The reader that needs it reads it again, and gets the error.
            if self.device.read_at(&mut bytes, range.start).is_ok() {
                self.lock().keep(working.number, bytes);
            }
        }
    }

    /// The next piece to read and memory for it, as soon as there is one. `None`: this is the end.
    fn start(&self) -> Option<(Working<'_>, Vec<u8>)> {
        let mut state = self.lock();
        while !state.ended {
            if let Some(number) = state.waiting.pop_front() {
                state.working = Some(number);
                let bytes = state.spare.pop().unwrap_or_default();
                return Some((Working { shared: self, number }, bytes));
            }
            state = self.wait(state);
        }
        None
    }
}

impl State {
    fn keep(&mut self, number: u64, bytes: Vec<u8>) {
        if self.read.len() >= MOST
            && let Some(oldest) =
                self.read.pop_front().and_then(|(_, bytes)| Arc::into_inner(bytes))
        {
            self.recycle(oldest);
        }
        self.read.push_back((number, Arc::new(bytes)));
    }

    fn recycle(&mut self, bytes: Vec<u8>) {
        if self.read.len() + self.spare.len() < MOST {
            self.spare.push(bytes);
        }
    }
}

/// A piece that is being read; readers that need it wait until this is dropped, also if reading panics.
struct Working<'a> {
    shared: &'a Shared,
    number: u64,
}

impl Drop for Working<'_> {
    fn drop(&mut self) {
        self.shared.lock().working = None;
        self.shared.changed.notify_all();
    }
}

/// A length within a range that is in memory.
fn length(bytes: u64) -> usize {
    usize::try_from(bytes).expect("at most what a buffer has")
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    const SIZE: u64 = 40 * PIECE + 777;

    /// Bytes that follow from their positions, but for a range that can't be read.
    struct Numbers {
        bad: Range<u64>,
        reads: Arc<AtomicUsize>,
    }

    fn bytes(position: u64, length: usize) -> Vec<u8> {
        (position..).take(length).map(|at| (at ^ at >> 8 ^ at >> 16).to_le_bytes()[0]).collect()
    }

    impl ReadAt for Numbers {
        fn read_at(&self, buf: &mut [u8], position: u64) -> Result<(), DeviceError> {
            self.reads.fetch_add(1, Ordering::Relaxed);
            let (length, size) = (buf.len() as u64, SIZE);
            if position.checked_add(length).is_none_or(|end| end > SIZE) {
                return Err(DeviceError::PastEnd { position, length, size });
            }
            if position < self.bad.end && self.bad.start < position + length {
                let (what, block, device) = ("block", self.bad.start / 4096, None);
                return Err(DeviceError::Changed { what, block, position, device });
            }
            buf.copy_from_slice(&bytes(position, buf.len()));
            Ok(())
        }

        fn size(&self) -> u64 {
            SIZE
        }
    }

    fn device(bad: Range<u64>) -> (AheadDevice, Arc<AtomicUsize>) {
        let reads = Arc::default();
        let numbers = Numbers { bad, reads: Arc::clone(&reads) };
        (AheadDevice::with_thread(Box::new(numbers), true), reads)
    }

    /// Waits until nothing is to be read ahead.
    fn settle(device: &AheadDevice) {
        let mut state = device.shared.lock();
        while !state.waiting.is_empty() || state.working.is_some() {
            state = device.shared.wait(state);
        }
    }

    #[test]
    fn what_was_announced_is_read_once() {
        let (device, reads) = device(0..0);
        device.will_need(5, 512 << 10);
        settle(&device);
        let ahead = reads.load(Ordering::Relaxed);
        assert_eq!(ahead, 8);
        let mut found = vec![0; 700_000];
        device.read_at(&mut found, PIECE).unwrap();
        assert!(found == bytes(PIECE, found.len()));
        assert_eq!(reads.load(Ordering::Relaxed), ahead);
        // What is before the first piece was not read ahead.
        device.read_at(&mut found, PIECE / 2).unwrap();
        assert!(found == bytes(PIECE / 2, found.len()));
        assert!(reads.load(Ordering::Relaxed) > ahead);
    }

    #[test]
    fn several_readers_with_any_hints_get_the_bytes() {
        let (device, _) = device(0..0);
        thread::scope(|scope| {
            for seed in 0..4 {
                let device = &device;
                scope.spawn(move || {
                    let mut random = fastrand::Rng::with_seed(seed);
                    for _ in 0..300 {
                        let (start, hint) = (random.u64(..SIZE), random.u64(..2 * SIZE));
                        device.will_need(hint, random.u64(..1 << 20));
                        let length = random.usize(..(1 << 20)).min(length(SIZE - start));
                        let mut found = vec![0; length];
                        device.read_at(&mut found, start).unwrap();
                        assert!(found == bytes(start, length), "{length} bytes at {start}");
                    }
                });
            }
        });
        device.will_need(u64::MAX, u64::MAX);
        settle(&device);
        let state = device.shared.lock();
        assert!(state.read.len() <= MOST && state.read.len() + state.spare.len() <= 2 * MOST);
    }

    #[test]
    fn an_error_is_of_what_is_requested_and_hides_all_bytes() {
        let (device, _) = device(3 * PIECE + 4096..3 * PIECE + 4097);
        device.will_need(0, 1 << 20);
        settle(&device);
        let mut found = vec![7; length(4 * PIECE)];
        let error = device.read_at(&mut found, 0);
        assert!(matches!(error, Err(DeviceError::Changed { block: 97, .. })), "{error:?}");
        assert!(found.iter().all(|byte| *byte == 0));
        let mut found = [7; 4096];
        device.read_at(&mut found, 3 * PIECE).unwrap();
        assert_eq!(found[..], bytes(3 * PIECE, 4096));
        let past = device.read_at(&mut found, SIZE - 4095);
        assert!(matches!(past, Err(DeviceError::PastEnd { .. })), "{past:?}");
    }
}
