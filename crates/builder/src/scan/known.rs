//! Finds the files whose bytes need not be stored: other devices hold them, or the options leave them out.

use std::borrow::Cow;

use lith_format::addr::Blkaddr;
use lith_tree::{Content, Elsewhere, InodeIndex};

use super::{
    analysis::Unread,
    duplicates::have_same_bytes,
    passes::{Scanner, Task},
};
use crate::{
    BuildError, DataImport, Input, KnownDevice, KnownStorage, KnownStretch, error::OtherDevice,
    plan::Geometry,
};

/// The files that are stored without reading them.
pub(super) fn unread<'a>(
    Geometry { input, plan }: Geometry<'_>,
    order: &[InodeIndex],
) -> Result<Vec<(InodeIndex, Unread<'a>)>, BuildError> {
    let mut unread = Vec::new();
    let of_tree = order.iter().filter(|inode| !plan.is_extra(**inode));
    match plan.options.data {
        DataImport::Reserved => unread.extend(of_tree.map(|inode| (*inode, Unread::Reserved))),
        DataImport::Zeros => unread.extend(of_tree.map(|inode| (*inode, Unread::Hole))),
        DataImport::Full if input.refers() => {
            for inode in of_tree {
                let Some(stretches) = input.open(*inode)?.elsewhere()? else { continue };
                let failed =
                    |problem| BuildError::OtherDevice { path: input.path(*inode), problem };
                let (block, size) = (plan.options.layout.block.size(), input.size(*inode));
                let blocks = blocks_of(&stretches, &plan.devices, (block, size)).map_err(failed)?;
                let stored = Cow::Owned(KnownStorage::Blocks(blocks));
                unread.push((*inode, Unread::Known(stored, None)));
            }
        }
        DataImport::Full => {}
    }
    Ok(unread)
}

/// Where the blocks of a file of `size` bytes are that consists of these stretches.
fn blocks_of(
    stretches: &[Elsewhere],
    devices: &[KnownDevice],
    (block, size): (u32, u64),
) -> Result<Vec<KnownStretch>, OtherDevice> {
    let mut blocks = Vec::with_capacity(stretches.len());
    let (mut at, bytes) = (0_u64, u64::from(block));
    for Elsewhere { place, len } in stretches.iter().filter(|stretch| stretch.len > 0) {
        let start = place.map_or(0, |(_, position)| position);
        if !at.is_multiple_of(bytes) || !start.is_multiple_of(bytes) {
            return Err(OtherDevice::Unaligned { position: at, block });
        }
        let place = place.map(|place| block_at(place, *len, devices, bytes)).transpose()?;
        blocks.push(KnownStretch { len: *len, place });
        at = at.saturating_add(*len);
    }
    if at == size { Ok(blocks) } else { Err(OtherDevice::Size { found: at, expected: size }) }
}

fn block_at(
    (number, position): (usize, u64),
    len: u64,
    devices: &[KnownDevice],
    block: u64,
) -> Result<(u16, Blkaddr), OtherDevice> {
    let end = position.checked_add(len);
    let fits = |known: &&KnownDevice| end.is_some_and(|end| end <= known.device.bytes);
    let slot = number.checked_add(1).and_then(|slot| u16::try_from(slot).ok());
    match (slot, devices.get(number).filter(fits)) {
        (Some(slot), Some(_)) => Ok((slot, Blkaddr(position / block))),
        _ => Err(OtherDevice::Beyond { device: number.saturating_add(1) }),
    }
}

/// The files whose bytes are those of a known file.
pub(super) fn find<'a>(
    input: Input<'a>,
    scanner: &Scanner<'_>,
    files: &[InodeIndex],
) -> Result<Vec<(InodeIndex, Unread<'a>)>, BuildError> {
    let known = &input.known.files;
    let is_size_known =
        |inode: &&InodeIndex| known.iter().any(|known| known.size == input.size(**inode));
    let candidates: Vec<_> = files.iter().filter(is_size_known).copied().collect();
    let mut found = Vec::new();
    for scanned in scanner.scan(Task::Digest, &candidates)? {
        let key = (scanned.len, scanned.digest);
        let Some(known) = known.iter().find(|known| (known.size, known.digest) == key) else {
            continue;
        };
        let content: Box<dyn Content + '_> = input.open(scanned.inode)?;
        if have_same_bytes((&*content, 0), (known.content, 0), scanned.len)? {
            let unread = Unread::Known(Cow::Borrowed(&known.stored), Some(scanned.digest));
            found.push((scanned.inode, unread));
        }
    }
    Ok(found)
}
