//! Packs the names of a directory into blocks.

use alloc::vec::Vec;
use core::mem::take;

use zerocopy::IntoBytes;

use super::{DIRENT_SIZE, DirentError, RawDirent, check_name};
use crate::addr::{BlockBits, Nid};

/// Bytes in a directory of these names, `.` and `..` among them. Greedy: a block is closed by the first
/// name that doesn't fit, so the names' order matters.
#[must_use]
pub fn directory_size<N: AsRef<[u8]>>(names: impl IntoIterator<Item = N>, block: BlockBits) -> u64 {
    let size = u64::from(block.size());
    let (mut full, mut used) = (0_u64, 0_u64);
    for name in names {
        let cost = cost(name.as_ref()) as u64;
        if used + cost > size {
            full += size;
            used = 0;
        }
        used += cost;
    }
    full + used
}

const fn cost(name: &[u8]) -> usize {
    DIRENT_SIZE + name.len()
}

/// Writes the blocks of a directory from its names in ascending order.
#[derive(Clone, Debug)]
pub struct DirPacker {
    block: usize,
    packed: Vec<u8>,
    /// The open block's dirents; their `nameoff` counts from the first name until the block is closed.
    dirents: Vec<RawDirent>,
    /// The open block's names, back to back.
    names: Vec<u8>,
    last_name_start: usize,
    count: usize,
}

impl DirPacker {
    /// A packer for blocks of `block`.
    #[must_use]
    pub fn new(block: BlockBits) -> Self {
        Self {
            block: usize::try_from(block.size()).expect("a block has at most 64 KiB"),
            packed: Vec::new(),
            dirents: Vec::new(),
            names: Vec::new(),
            last_name_start: 0,
            count: 0,
        }
    }

    /// Adds a name; `.` and `..` are names like others. `dirent_type` comes from
    /// [`crate::file_type::FileType::dirent_type`].
    ///
    /// # Errors
    /// The name breaks a rule, or doesn't come after the one before.
    pub fn push(&mut self, name: &[u8], nid: Nid, dirent_type: u8) -> Result<(), DirentError> {
        let index = self.count;
        check_name(index, name)?;
        if index > 0 && name <= self.last_name() {
            return Err(DirentError::Unsorted { index });
        }
        if self.used() + cost(name) > self.block {
            self.close_block();
            self.packed.resize(self.packed.len().next_multiple_of(self.block), 0);
        }
        self.dirents.push(RawDirent {
            nid: nid.0.into(),
            nameoff: offset(self.names.len()).into(),
            file_type: dirent_type,
            reserved: 0,
        });
        self.last_name_start = self.names.len();
        self.names.extend_from_slice(name);
        self.count += 1;
        Ok(())
    }

    /// The directory's data: full blocks, and of the last one what is used. Its length is `i_size`.
    #[must_use]
    pub fn finish(mut self) -> Vec<u8> {
        self.close_block();
        take(&mut self.packed)
    }

    fn last_name(&self) -> &[u8] {
        self.names.get(self.last_name_start..).expect("a block is closed only before another name")
    }

    fn used(&self) -> usize {
        self.dirents.len() * DIRENT_SIZE + self.names.len()
    }

    fn close_block(&mut self) {
        let names_start = offset(self.dirents.len() * DIRENT_SIZE);
        for dirent in &mut self.dirents {
            dirent.nameoff += names_start;
        }
        self.packed.extend_from_slice(self.dirents.as_bytes());
        self.packed.extend_from_slice(&self.names);
        self.dirents.clear();
        self.names.clear();
    }
}

/// Offsets in a block fit 16 bits, since a name never starts after the last byte of 64 KiB.
fn offset(offset: usize) -> u16 {
    u16::try_from(offset).expect("less than 64 KiB")
}
