//! Defines [`Chunks`]: how uncompressed files are cut into chunks.

use crate::limits::SEGMENT;

/// Uncompressed files are stored in chunks, of which equal ones are stored once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunks {
    /// Bytes in a chunk: a power of two, at least a block. Equal stretches are found in chunks of at most 16 MiB.
    pub size: u32,
    /// The form of the chunk tables.
    pub form: ChunkForm,
}

/// The form of an entry in a chunk table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChunkForm {
    /// An address of 4 bytes, or an index of 8 bytes where that is needed.
    #[default]
    Smallest,
    /// An address of 4 bytes.
    BlockMap,
    /// An index of 8 bytes: device and address.
    Indexes,
}

impl Chunks {
    /// Bytes that are compared with other chunks as one.
    pub(crate) fn granule(self) -> u32 {
        self.size.min(u32::try_from(SEGMENT).expect("a segment is far smaller than 4 GiB"))
    }
}
