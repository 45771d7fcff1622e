//! Stores files whose bytes are not read: other devices hold them, others write them later, or they are holes.

use lith_format::{
    addr::Blkaddr,
    chunk::Chunk,
    compression::AlgorithmSet,
    zmap::{EncodedExtent, Tail as TailPlace},
};
use lith_tree::InodeIndex;

use super::{
    allocator::Allocator,
    chunks::Runs,
    copier::Copier,
    tables::{Pclusters, Tables},
};
use crate::{
    BuildError, KnownPcluster, KnownStorage, KnownStretch, coding::Heads, limits::past_no_address,
    scan::Unread,
};

/// Stores a file of `size` bytes.
pub(super) fn store_unread(
    (inode, size): (InodeIndex, u64),
    unread: &Unread<'_>,
    tables: &mut Tables<'_>,
    (allocator, copier): (&mut Allocator<'_>, &mut Copier<'_>),
) -> Result<(), BuildError> {
    let block = allocator.block();
    let blocks = block.blocks_for(size);
    match unread {
        Unread::Known(stored, digest) => {
            if let Some(digest) = digest {
                tables.files.set_digest(inode, **digest);
            }
            refer((inode, size), stored, tables, (allocator, copier))
        }
        Unread::Reserved => {
            allocator.skip_to(past_no_address(allocator.next(), blocks));
            let start = allocator.next();
            allocator.assign(blocks)?;
            tables.set_flat(inode, start, &[])
        }
        Unread::Hole => {
            let mut runs = Runs::default();
            runs.push(Chunk::HOLE, blocks);
            tables.set_runs(inode, &runs)
        }
    }
}

/// Whether some extent holds only the beginning of its pcluster.
pub(super) fn has_partial(unread: &Unread<'_>) -> bool {
    match unread {
        Unread::Known(stored, _) => match &**stored {
            KnownStorage::Pclusters { extents, .. } => extents.iter().any(|known| known.partial),
            _ => false,
        },
        _ => false,
    }
}

/// Refers to the bytes on other devices.
fn refer(
    (inode, size): (InodeIndex, u64),
    stored: &KnownStorage,
    tables: &mut Tables<'_>,
    (allocator, copier): (&mut Allocator<'_>, &mut Copier<'_>),
) -> Result<(), BuildError> {
    let block = allocator.block();
    match stored {
        KnownStorage::Blocks(stretches) => {
            let mut runs = Runs::default();
            for KnownStretch { len, place } in stretches {
                let blocks = block.blocks_for(*len);
                let chunk = match *place {
                    Some((device, start)) => {
                        let start = copier.place(start, blocks, allocator)?;
                        Chunk { device, start: Some(start) }
                    }
                    None => Chunk::HOLE,
                };
                runs.push(chunk, blocks);
            }
            tables.set_runs(inode, &runs)
        }
        KnownStorage::Flat { start, tail } => {
            let blocks = block.blocks_for(size - u64::from(*tail));
            let start = copier.place(*start, blocks, allocator)?;
            let mut bytes = vec![0; *tail as usize];
            let content = tables.input().open(inode)?;
            content.read_at(&mut bytes, size - u64::from(*tail))?;
            content.check_unchanged()?;
            tables.set_flat(inode, start.0, &bytes)
        }
        KnownStorage::Pclusters { extents, tail } => {
            let mut moved = extents.clone();
            for known in &mut moved {
                known.address = copier.place(known.address, known.blocks.into(), allocator)?;
            }
            refer_to_pclusters((inode, size), &moved, *tail, tables)
        }
        KnownStorage::Packed(offset) => tables.set_fragment(inode, *offset),
    }
}

/// Refers to pclusters, and to the fragment that follows them in known packed content.
fn refer_to_pclusters(
    (inode, size): (InodeIndex, u64),
    known: &[KnownPcluster],
    tail: Option<u64>,
    tables: &mut Tables<'_>,
) -> Result<(), BuildError> {
    let (mut heads, mut algorithms) = (Heads::default(), AlgorithmSet::empty());
    let (mut extents, mut addresses) = (Vec::new(), Vec::new());
    let mut left = size;
    for KnownPcluster { llen, blocks, algorithm, partial, address } in known.iter().copied() {
        let kind = heads.kind(algorithm).expect("a file has two algorithms at most");
        algorithms |= algorithm.map_or(AlgorithmSet::empty(), AlgorithmSet::from);
        extents.push(EncodedExtent { llen, blocks, kind, partial });
        addresses.push(address);
        left = left.saturating_sub(llen.into());
    }
    let start = addresses.first().map_or(0, |address| address.0);
    let is_contiguous = are_contiguous(known);
    let tail = match tail {
        Some(offset) => {
            extents.push(Tables::fragment_extent(left));
            // A fragment has no address; its slot is ignored.
            addresses.push(Blkaddr(0));
            TailPlace::Fragment { offset }
        }
        None => TailPlace::Blocks,
    };
    let addresses = (!is_contiguous).then_some(&*addresses);
    let known = algorithms;
    let file = Pclusters { inode, size, start, extents: &extents, addresses, tail: &[], known };
    tables.set_encoded(&file, heads, tail)
}

/// Whether pclusters follow each other, so that an index needs only the address of the first.
fn are_contiguous(known: &[KnownPcluster]) -> bool {
    let follows = |pair: &[KnownPcluster]| match pair {
        [a, b] => a.address.0 + u64::from(a.blocks) == b.address.0,
        _ => true,
    };
    known.windows(2).all(follows) && !known.iter().any(|known| known.partial)
}
