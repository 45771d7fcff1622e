//! What bytes does a DEFLATE stream hold?

use zlib_rs::{Inflate, InflateFlush, Status};

/// Window bits of every stream, whatever an image declares.
const WINDOW_BITS: u8 = 15;

pub(crate) use crate::ffi::deflate::decompress;

/// The number of bytes that the beginning of the stream `input` gave, at most `output.len()`; `None` if it
/// is broken or cut before that.
pub(crate) fn decompress_partial(input: &[u8], output: &mut [u8]) -> Option<usize> {
    let mut inflate = Inflate::new(false, WINDOW_BITS);
    let (mut unread, mut free) = (input, output);
    let mut decoded = 0;
    while !free.is_empty() {
        let (read, written) = (inflate.total_in(), inflate.total_out());
        let status = inflate.decompress(unread, free, InflateFlush::SyncFlush).ok()?;
        let read = usize::try_from(inflate.total_in() - read).ok()?;
        let written = usize::try_from(inflate.total_out() - written).ok()?;
        unread = unread.get(read..)?;
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
