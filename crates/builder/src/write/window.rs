//! Defines [`Window`], which gathers many small writes into few large ones.

use crate::{BuildError, Output, temporary::Temporary};

/// Bytes beyond the width of a window that are gathered before they are written.
const GATHERED: usize = 1 << 20;

/// Where metadata is written to.
#[derive(Clone, Copy)]
pub(crate) enum Sink<'a> {
    Image(Output<'a>),
    /// The content of an extra inode.
    Temporary(&'a Temporary),
}

impl Sink<'_> {
    /// Writes all bytes from `position` on.
    pub(super) fn write(self, bytes: &[u8], position: u64) -> Result<(), BuildError> {
        match self {
            Self::Image(image) => image
                .write_all_at(bytes, position)
                .map_err(|source| BuildError::Output { action: "write", source }),
            Self::Temporary(file) => file.write_all_at(bytes, position),
        }
    }
}

/// A range of the image in memory that moves towards its end. Bytes may be put in any order; those no more than `width`
/// bytes before the farthest ones cost no write of their own.
pub(crate) struct Window<'a> {
    sink: Sink<'a>,
    width: usize,
    base: u64,
    bytes: Vec<u8>,
}

impl<'a> Window<'a> {
    /// A window that starts at byte `base`.
    pub(crate) const fn new(sink: Sink<'a>, base: u64, width: usize) -> Self {
        Self { sink, width, base, bytes: Vec::new() }
    }

    /// Puts bytes into their place.
    pub(crate) fn put(&mut self, position: u64, bytes: &[u8]) -> Result<(), BuildError> {
        // Bytes before the window are written at once; those of the same call inside it are kept.
        let before = usize::try_from(self.base.saturating_sub(position)).unwrap_or(usize::MAX);
        let (before, bytes) = bytes.split_at(before.min(bytes.len()));
        if !before.is_empty() {
            self.write(before, position)?;
        }
        if bytes.is_empty() {
            return Ok(());
        }
        let start = position.saturating_sub(self.base);
        let start = usize::try_from(start).expect("the window fits memory");
        let end = start + bytes.len();
        if self.bytes.len() < end {
            self.bytes.resize(end, 0);
        }
        if let Some(place) = self.bytes.get_mut(start..end) {
            place.copy_from_slice(bytes);
        }
        if self.bytes.len() > self.width + GATHERED {
            self.flush(self.bytes.len() - self.width)?;
        }
        Ok(())
    }

    /// Writes the rest up to byte `end`, with zeros where nothing was put.
    pub(crate) fn finish(mut self, end: u64) -> Result<(), BuildError> {
        let len = usize::try_from(end.saturating_sub(self.base)).expect("the window fits memory");
        self.bytes.resize(len, 0);
        self.flush(len)
    }

    fn flush(&mut self, len: usize) -> Result<(), BuildError> {
        self.write(self.bytes.get(..len).expect("no more than it holds"), self.base)?;
        self.bytes.drain(..len);
        self.base += len as u64;
        Ok(())
    }

    fn write(&self, bytes: &[u8], position: u64) -> Result<(), BuildError> {
        self.sink.write(bytes, position)
    }
}

#[cfg(test)]
mod tests {
    use lith_system::FileAt;

    use super::*;

    #[test]
    fn bytes_that_start_before_the_window_are_kept() {
        let file = tempfile::tempfile().unwrap();
        let mut window = Window::new(Sink::Image((&file).into()), 100, 1000);
        window.put(0, &[1; 50]).unwrap();
        window.put(90, &[2; 30]).unwrap();
        window.put(300, &[]).unwrap();
        window.finish(200).unwrap();
        let bytes = [[1; 50].as_slice(), &[0; 40], &[2; 30], &[0; 80]].concat();
        let mut found = vec![9; 200];
        file.read_exact_at(&mut found, 0).unwrap();
        assert!(found == bytes);
        assert_eq!(file.metadata().unwrap().len(), 200);
    }

    #[test]
    fn bytes_put_out_of_order_are_written_in_place() {
        let file = tempfile::tempfile().unwrap();
        let mut window = Window::new(Sink::Image((&file).into()), 100, 1000);
        for n in 0..3000_u64 {
            let swapped = 100 + (n ^ 1) * 500;
            window.put(swapped, &[u8::try_from(n % 251).unwrap(); 400]).unwrap();
        }
        window.finish(100 + 3000 * 500).unwrap();
        let mut buf = [9; 500];
        for n in [0, 1, 1717, 2999_u64] {
            file.read_exact_at(&mut buf, 100 + (n ^ 1) * 500).unwrap();
            assert!(buf[..400].iter().all(|b| u64::from(*b) == n % 251));
            assert!(buf[400..].iter().all(|b| *b == 0));
        }
    }
}
