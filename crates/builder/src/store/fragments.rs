//! Enters the positions of fragments and directories in the packed inode.

use lith_format::{addr::Blkaddr, zmap::Tail as TailPlace};
use lith_tree::InodeIndex;

use super::{
    stored::StoredFiles,
    tables::{Pclusters, Tables},
    tail::Tail,
};
use crate::{BuildError, Digest, plan::Geometry, scan::Fragment};

/// What the packed inode holds, with the position of each there. Fragments of equal bytes have the same position.
#[derive(Debug, Default)]
pub(crate) struct PackedParts {
    /// Whole files, with their digests.
    pub(crate) files: Vec<(InodeIndex, Digest, u64)>,
    /// Tails of files.
    pub(crate) tails: Vec<(Tail, u64)>,
    /// Directories, after all fragments.
    pub(crate) directories: Vec<(InodeIndex, u64)>,
}

/// Enters the positions of fragments and directories in the packed inode.
///
/// # Errors
/// [`BuildError`] if a table can't be encoded or kept.
pub(crate) fn refer_to_fragments(
    geometry: Geometry<'_>,
    packed: PackedParts,
    stored: StoredFiles,
) -> Result<StoredFiles, BuildError> {
    let StoredFiles { table, used, .. } = stored;
    let mut tables = Tables::new(geometry, table, used);
    for (inode, offset) in packed.directories {
        tables.set_fragment(inode, offset)?;
    }
    for (inode, digest, offset) in packed.files {
        tables.files.set_digest(inode, digest);
        tables.set_fragment(inode, offset)?;
    }
    for (tail, offset) in packed.tails {
        refer(&mut tables, tail, offset)?;
    }
    Ok(StoredFiles { table: tables.files, used: tables.used, ..stored })
}

fn refer(tables: &mut Tables<'_>, tail: Tail, offset: u64) -> Result<(), BuildError> {
    let Tail { fragment, start, mut extents, mut addresses, known, .. } = tail;
    let Fragment { inode, start: begin, len, .. } = fragment;
    if begin == 0 {
        return tables.set_fragment(inode, offset);
    }
    extents.push(Tables::fragment_extent(len));
    if let Some(addresses) = &mut addresses {
        // A fragment has no address; its slot is ignored.
        addresses.push(Blkaddr(0));
    }
    let (size, addresses) = (begin + len, addresses.as_deref());
    let file = Pclusters { inode, size, start, extents: &extents, addresses, tail: &[], known };
    tables.set_compressed(&file, TailPlace::Fragment { offset })
}
