//! Lends each thread a buffer for the bytes of a reply.

use std::cell::RefCell;

thread_local! {
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Calls `fill` with the thread's own buffer of `length` bytes, with any content.
pub(crate) fn with<T>(length: usize, fill: impl FnOnce(&mut [u8]) -> T) -> T {
    BUFFER.with_borrow_mut(|buffer| {
        if buffer.len() < length {
            buffer.resize(length, 0);
        }
        fill(buffer.get_mut(..length).expect("resized to `length` bytes or more"))
    })
}
