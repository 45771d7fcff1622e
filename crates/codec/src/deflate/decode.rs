//! What bytes does a DEFLATE stream hold?

use std::cell::Cell;

use zlib_rs::{Inflate, InflateFlush, Status};

use crate::kept::{self, Kept};
use crate::rolling::skipping;

/// Window bits of every stream, whatever an image declares.
const WINDOW_BITS: u8 = 15;

pub(crate) use crate::ffi::deflate::decompress;

thread_local! {
    static INFLATE: Kept<Inflate> = const { Cell::new(None) };
}

/// The number of bytes that the beginning of the stream `input` gave, at most `output.len()`; `None` if it
/// is broken or cut before that.
pub(crate) fn decompress_partial(input: &[u8], output: &mut [u8]) -> Option<usize> {
    decompress_rolling(input, 0, output, &mut [])
}

/// As [`decompress_partial`] behind the first `skip` bytes, which go through `sink`; the number of all bytes.
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

/// The number of bytes that `unread` went on to give; fewer than `output` has at its end only.
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
