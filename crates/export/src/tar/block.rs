//! Defines the block of a tar, to whose multiples headers and content are padded.

/// The size of a header; content is padded to a multiple of it.
pub(super) const BLOCK: usize = 512;

/// The zeros that pad so many bytes to whole blocks.
pub(super) fn padding(length: u64) -> &'static [u8] {
    const ZEROS: [u8; BLOCK] = [0; BLOCK];
    let over = usize::try_from(length % BLOCK as u64).expect("less than a block");
    match over {
        0 => &[],
        _ => ZEROS.split_at(over).1,
    }
}
