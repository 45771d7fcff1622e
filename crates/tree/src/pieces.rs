//! Defines [`Pieces`], which reads a range of a file from start to end and skips its holes.

use std::ops::Range;

use crate::{Content, ContentError, DataRange};

/// A stretch of a file as [`Pieces`] returns it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Piece<'a> {
    /// These bytes.
    Data {
        /// The position of the first one in the file.
        position: u64,
        /// At least one, at most as many as fit the buffer.
        bytes: &'a [u8],
    },
    /// Zeros that are not stored.
    Hole {
        /// The position of the first one in the file.
        position: u64,
        /// Their number, at least one.
        length: u64,
    },
}

/// Reads a range of a file in pieces, through a buffer of the caller. A hole is one piece of any length.
pub struct Pieces<'a> {
    content: &'a dyn Content,
    buffer: &'a mut [u8],
    position: u64,
    end: u64,
    /// There is data from `position` up to here.
    data_end: u64,
}

impl<'a> Pieces<'a> {
    /// Starts to read `range`, which must be within the file's size, with a `buffer` of at least one byte.
    #[must_use]
    pub fn new(content: &'a dyn Content, range: Range<u64>, buffer: &'a mut [u8]) -> Self {
        debug_assert!(!buffer.is_empty(), "no piece fits into an empty buffer");
        Self { content, buffer, position: range.start, end: range.end, data_end: range.start }
    }

    /// The next piece; `None` at the end of the range.
    ///
    /// # Errors
    /// [`ContentError`] if the content can't be read.
    pub fn advance(&mut self) -> Result<Option<Piece<'_>>, ContentError> {
        let position = self.position;
        if position >= self.end {
            return Ok(None);
        }
        if position >= self.data_end {
            match self.content.range_at(position)? {
                DataRange::Data { end } => self.data_end = self.forward(end),
                DataRange::Hole { end } => {
                    self.position = self.forward(end);
                    let length = self.position - position;
                    return Ok(Some(Piece::Hole { position, length }));
                }
            }
        }
        self.read(position).map(Some)
    }

    /// Makes progress even if an implementation of [`Content`] returns a range that ends where it starts.
    fn forward(&self, end: u64) -> u64 {
        end.max(self.position.saturating_add(1)).min(self.end)
    }

    fn read(&mut self, position: u64) -> Result<Piece<'_>, ContentError> {
        let left = usize::try_from(self.data_end - position);
        let length = left.map_or(self.buffer.len(), |left| left.min(self.buffer.len()));
        let (bytes, _) = self.buffer.split_at_mut(length);
        self.content.read_at(bytes, position)?;
        self.position = position.saturating_add(length as u64);
        Ok(Piece::Data { position, bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Contents, InodeIndex, Kind, MemoryContents, Metadata, Name, Tree};

    #[test]
    fn pieces_tile_the_range() {
        let mut tree = Tree::new(Metadata::default());
        let mut contents = MemoryContents::default();
        let kind = Kind::Regular { size: 100 };
        let name = Name::new(b"f").unwrap();
        let file = tree.add(InodeIndex::ROOT, name, Metadata::default(), kind);
        let file = file.unwrap();
        contents.insert_sparse(file, 100, [(10, &b"abcde"[..]), (50, b"xy")]);
        let content = contents.open(&tree, file).unwrap();
        let mut buffer = [0; 4];
        let mut pieces = Pieces::new(&*content, 5..60, &mut buffer);
        let mut seen = Vec::new();
        while let Some(piece) = pieces.advance().unwrap() {
            seen.push(match piece {
                Piece::Data { position, bytes } => {
                    (position, String::from_utf8(bytes.into()).unwrap())
                }
                Piece::Hole { position, length } => (position, format!("hole {length}")),
            });
        }
        let expected = [(5, "hole 5"), (10, "abcd"), (14, "e"), (15, "hole 35")];
        let expected = [&expected[..], &[(50, "xy"), (52, "hole 8")]].concat();
        assert_eq!(seen.iter().map(|(p, s)| (*p, &**s)).collect::<Vec<_>>(), expected);
    }
}
