//! Defines the memory through which bytes pass that are not wanted.

/// The farthest that an LZ4 match reaches back, made round.
pub(super) const REACH: usize = 64 << 10;
/// Bytes decoded between two moves of the window.
const STEP: usize = 64 << 10;
/// Bytes after that which short copies may overwrite.
pub(super) const SPARE: usize = 64;
/// Bytes of a window's buffer.
pub(super) const BUFFER: usize = REACH + STEP + SPARE;

/// The memory that unwanted bytes cycle through: 128 KiB and a little, made at first use and good for any stream.
#[derive(Debug, Default)]
pub struct Window {
    buffer: Vec<u8>,
}

impl Window {
    /// A window without memory yet.
    #[must_use]
    pub const fn new() -> Self {
        Self { buffer: Vec::new() }
    }

    pub(super) fn buffer(&mut self) -> &mut [u8] {
        self.buffer.resize(BUFFER, 0);
        &mut self.buffer
    }
}
