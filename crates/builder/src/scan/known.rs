//! Finds the files whose bytes need not be stored: other devices hold them, or the options leave them out.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
};

use lith_format::addr::Blkaddr;
use lith_tree::{Elsewhere, InodeIndex};

use super::{
    analysis::Unread,
    duplicates::have_same_bytes,
    passes::{Scanner, Task},
};
use crate::{
    BuildError, DataImport, KnownDevice, KnownFile, KnownParts, KnownStorage, KnownStretch,
    apart::Starts, error::OtherDevice, plan::Geometry,
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

/// The files whose bytes are those of a known file. Those of the tree that are known are not read, unless they are copied:
/// then the copy is compared with what was read.
pub(super) fn find<'a>(
    geometry: Geometry<'a>,
    scanner: &Scanner<'_>,
    files: &[InodeIndex],
) -> Result<Vec<(InodeIndex, Unread<'a>)>, BuildError> {
    let Geometry { input, .. } = geometry;
    let (known, starts) = (&input.known.files, Starts::new(&input.known.devices));
    let own = |inode| own((geometry, &starts), inode);
    let sizes: HashSet<_> = known.iter().map(|known| known.size).collect();
    let copies = input.known.copied.is_some();
    let (mut found, mut candidates) = (Vec::new(), Vec::new());
    for inode in files {
        match own(*inode) {
            Some(stored) if !copies => {
                found.push((*inode, Unread::Known(Cow::Borrowed(stored), None)));
            }
            own if own.is_some() || sizes.contains(&input.size(*inode)) => candidates.push(*inode),
            _ => {}
        }
    }
    let mut by_digest: HashMap<_, Vec<_>> = HashMap::new();
    for known in known {
        by_digest.entry((known.size, known.digest.0)).or_default().push(known);
    }
    for scanned in scanner.scan(Task::Digest, &candidates)? {
        if let Some(stored) = own(scanned.inode) {
            let unread = Unread::Known(Cow::Borrowed(stored), Some(Box::new(scanned.digest)));
            found.push((scanned.inode, unread));
            continue;
        }
        let alike = by_digest.get(&(scanned.len, scanned.digest.0));
        let is_usable =
            |known: &&&KnownFile| fits((geometry, &starts), scanned.inode, &known.stored);
        let Some(known) = alike.into_iter().flatten().find(is_usable) else { continue };
        let content = input.open(scanned.inode)?;
        let theirs = input.known.contents.open(known.content)?;
        if have_same_bytes((&*content, 0), (&*theirs, 0), scanned.len)? {
            let digest = Some(Box::new(scanned.digest));
            let unread = Unread::Known(Cow::Borrowed(&known.stored), digest);
            found.push((scanned.inode, unread));
        }
    }
    Ok(found)
}

/// Where a file of the tree is stored, if all of it is known and can be stored so.
fn own<'a>(
    (geometry, starts): (Geometry<'a>, &Starts),
    inode: InodeIndex,
) -> Option<&'a KnownStorage> {
    match geometry.input.known.own.get(&inode)? {
        KnownParts::Whole(stored) => {
            Some(stored).filter(|stored| fits((geometry, starts), inode, stored))
        }
        KnownParts::Extents(_) => None,
    }
}

/// Whether a file can be stored so: a tail must fit beside its inode, and its pclusters must be kept apart, which those of a
/// patch need not be that another program made, or an earlier version. The packed inode can have the bytes of a file that is
/// nothing but a fragment of it.
fn fits(
    (geometry, starts): (Geometry<'_>, &Starts),
    inode: InodeIndex,
    stored: &KnownStorage,
) -> bool {
    match stored {
        KnownStorage::Flat { tail: tail @ 1.., .. } => {
            geometry.inline_tail(inode, geometry.input.size(inode)) == *tail
        }
        KnownStorage::Packed(_) => !geometry.plan.is_extra(inode),
        KnownStorage::Pclusters { extents, tail } => {
            (tail.is_none() || !geometry.plan.is_extra(inode)) && starts.are_apart(extents)
        }
        _ => true,
    }
}
