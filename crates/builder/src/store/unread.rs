//! Stores files whose bytes are not read: other devices hold them, others write them later, or they are holes.

use lith_codec::Compressor;
use lith_format::{
    addr::Blkaddr,
    chunk::Chunk,
    zmap::{EncodedExtent, Tail as TailPlace},
};
use lith_tree::InodeIndex;

use super::{
    allocator::Allocator,
    chunks::Runs,
    tables::{Pclusters, Tables},
};
use crate::{
    BuildError, KnownPcluster, KnownStorage, KnownStretch, coding::Coding, limits::past_no_address,
    scan::Unread,
};

/// Stores a file of `size` bytes.
pub(super) fn store_unread(
    (inode, size): (InodeIndex, u64),
    unread: &Unread<'_>,
    tables: &mut Tables<'_>,
    allocator: &mut Allocator<'_>,
) -> Result<(), BuildError> {
    let block = allocator.block();
    let blocks = block.blocks_for(size);
    match unread {
        Unread::Known(stored, digest) => {
            digest.map(|digest| tables.files.set_digest(inode, digest));
            refer((inode, size), stored, tables, allocator)
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

/// Refers to the bytes on other devices.
fn refer(
    (inode, size): (InodeIndex, u64),
    stored: &KnownStorage,
    tables: &mut Tables<'_>,
    allocator: &Allocator<'_>,
) -> Result<(), BuildError> {
    match stored {
        KnownStorage::Blocks(stretches) => {
            let mut runs = Runs::default();
            for KnownStretch { len, place } in stretches {
                let chunk = match *place {
                    Some((device, start)) => Chunk { device, start: Some(start) },
                    None => Chunk::HOLE,
                };
                runs.push(chunk, allocator.block().blocks_for(*len));
            }
            tables.set_runs(inode, &runs)
        }
        KnownStorage::Pclusters { compressors, pcluster, extents } => {
            let addresses: Vec<Blkaddr> = extents.iter().map(|known| known.address).collect();
            let extents: Vec<EncodedExtent> =
                extents.iter().map(|KnownPcluster { extent, .. }| *extent).collect();
            let start = addresses.first().map_or(0, |address| address.0);
            let addresses = Some(&*addresses);
            let file = Pclusters { inode, size, start, extents: &extents, addresses, tail: &[] };
            tables.set_encoded(&file, &coding(*compressors, *pcluster), TailPlace::Blocks)
        }
    }
}

const fn coding((compressor, second): (Compressor, Option<Compressor>), pcluster: u32) -> Coding {
    Coding { compressor, second, pcluster, min_saving: 0 }
}
