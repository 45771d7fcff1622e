//! Defines where the notes are that lith writes to the head of an image: each one begins with a magic of its own.

/// A note starts at a multiple of so many bytes.
pub const NOTE_ALIGNMENT: usize = 8;

/// The first note that begins with a magic within the first `searched` bytes of an image and that `parse` accepts, which gets
/// the bytes from the magic on, to the end of what is searched, and their position.
pub(crate) fn find_note<'a, T>(
    image: &'a [u8],
    (magic, searched): (&[u8; 8], usize),
    parse: impl Fn(&'a [u8], usize) -> Option<T>,
) -> Option<T> {
    let image = image.get(..searched).unwrap_or(image);
    let starts = (0..image.len()).step_by(NOTE_ALIGNMENT);
    let mut found = starts.filter_map(|at| Some((image.get(at..)?, at)));
    found.find_map(|(bytes, at)| bytes.starts_with(magic).then(|| parse(bytes, at)).flatten())
}
