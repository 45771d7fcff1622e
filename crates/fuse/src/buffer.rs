//! Where do bytes wait for the kernel?

use std::cell::RefCell;

thread_local! {
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Calls `fill` with the thread's own buffer of `length` bytes, whose content is anything.
pub(crate) fn with<T>(length: usize, fill: impl FnOnce(&mut [u8]) -> T) -> T {
    BUFFER.with_borrow_mut(|buffer| {
        if buffer.len() < length {
            buffer.resize(length, 0);
        }
        fill(buffer.get_mut(..length).unwrap_or_default())
    })
}
