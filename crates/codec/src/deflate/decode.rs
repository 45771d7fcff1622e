//! Decodes DEFLATE streams, whole or in part.

use std::cell::Cell;

use zlib_rs::{Inflate, InflateFlush, Status};

use crate::kept::{self, Kept};
use crate::skip::skipping;

/// Window bits of every stream, whatever an image declares.
const WINDOW_BITS: u8 = 15;

pub(crate) use crate::ffi::deflate::decompress;

thread_local! {
    static INFLATE: Kept<Inflate> = const { Cell::new(None) };
}

/// Decodes the bytes after the first `skip`, which go through `sink`, until `output` is full or the stream ends.
///
/// Returns the number of all decoded bytes; `None` if the stream is corrupt or truncated before that.
pub(crate) fn decompress_rolling(
    input: &[u8],
    skip: usize,
    output: &mut [u8],
    sink: &mut [u8],
) -> Option<usize> {
    let new = || Some(Inflate::new(false, WINDOW_BITS));
    kept::with(
        &INFLATE,
        new,
        |_| true,
        |inflate| {
            inflate.reset(false);
            let mut unread = input;
            skipping(skip, output, sink, |output| fill(inflate, &mut unread, output))
        },
    )
}

/// Decodes the next bytes of `unread`; returns how many, fewer than `output` has only at the stream's end.
fn fill(inflate: &mut Inflate, unread: &mut &[u8], output: &mut [u8]) -> Option<usize> {
    let mut free = output;
    let mut decoded = 0;
    while !free.is_empty() {
        let (read, written) = (inflate.total_in(), inflate.total_out());
        let status = inflate.decompress(unread, free, InflateFlush::SyncFlush).ok()?;
        let read = usize::try_from(inflate.total_in() - read).ok()?;
        let written = usize::try_from(inflate.total_out() - written).ok()?;
        *unread = unread.get(read..)?;
        free = free.get_mut(written..)?;
        decoded += written;
        match status {
            Status::StreamEnd => break,
            _ if read == 0 && written == 0 => return None,
            _ => {}
        }
    }
    Some(decoded)
}
