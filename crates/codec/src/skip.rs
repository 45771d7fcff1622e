//! Runs a decoder past bytes that are not wanted.

/// Lets a decoder fill `sink` until `skip` bytes went there, then `output`; returns the number of all bytes.
///
/// `fill` returns the number of bytes that it decoded, fewer than its buffer has only at the end of the stream.
pub(crate) fn skipping(
    skip: usize,
    output: &mut [u8],
    sink: &mut [u8],
    mut fill: impl FnMut(&mut [u8]) -> Option<usize>,
) -> Option<usize> {
    let mut left = skip;
    while left > 0 {
        let length = left.min(sink.len());
        let room = sink.get_mut(..length).filter(|room| !room.is_empty())?;
        let decoded = fill(room)?;
        left = left.checked_sub(decoded)?;
        if decoded < length {
            return Some(skip - left);
        }
    }
    Some(skip + fill(output)?)
}
