//! Which files are stored without a look at their bytes?

use lith_format::{addr::Blkaddr, chunk::Chunk};
use lith_tree::{Elsewhere, ExtraDevice, InodeIndex, Kind};

use crate::{
    BuildError,
    chunks::Runs,
    compress::Sources,
    data::{DataWriter, FileData},
    place::past_no_address,
};

/// What an image has of the bytes of files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DataImport {
    /// All of them, or where they lie on other devices.
    #[default]
    Full,
    /// Room for them, that others fill later: each file lies in blocks in a row.
    Reserved,
    /// Nothing: all files are holes.
    Zeros,
}

/// Stores those files whose bytes are not read, and says which these are, in ascending order.
pub(crate) fn store_unread(
    sources: Sources<'_>,
    data: &mut DataWriter<'_>,
) -> Result<Vec<InodeIndex>, BuildError> {
    let (plan, mut stored) = (data.plan, Vec::new());
    let refers = !plan.devices.is_empty() && sources.options.blob.is_none();
    if sources.options.data == DataImport::Full && !refers {
        return Ok(stored);
    }
    for inode in plan.order.iter().copied() {
        if let Kind::Regular { size: size @ 1.. } = sources.node(inode).kind
            && store(sources, data, inode, size)?
        {
            stored.push(inode);
        }
    }
    data.reach_end()?;
    stored.sort_unstable();
    Ok(stored)
}

/// Stores a file if its bytes are not read.
fn store(
    sources: Sources<'_>,
    data: &mut DataWriter<'_>,
    inode: InodeIndex,
    size: u64,
) -> Result<bool, BuildError> {
    let blocks = sources.options.block.blocks_for(size);
    match sources.options.data {
        DataImport::Full => {
            let Some(stretches) = sources.open(inode)?.elsewhere()? else { return Ok(false) };
            let devices = &data.plan.devices;
            let runs = runs_of(sources, devices, (inode, size), &stretches)?;
            data.set_runs(inode, &runs)?;
        }
        DataImport::Reserved => {
            data.next = past_no_address(data.next, blocks);
            let start = data.next;
            data.advance(blocks)?;
            data.set(inode, FileData::Flat { start }, &[])?;
        }
        DataImport::Zeros => {
            let mut runs = Runs::default();
            runs.push(Chunk::HOLE, blocks);
            data.set_runs(inode, &runs)?;
        }
    }
    Ok(true)
}

/// Where a file's blocks lie that consists of these stretches.
fn runs_of(
    sources: Sources<'_>,
    devices: &[ExtraDevice],
    (inode, size): (InodeIndex, u64),
    stretches: &[Elsewhere],
) -> Result<Runs, BuildError> {
    let block = sources.options.block;
    let mut runs = Runs::default();
    let mut at = 0_u64;
    for Elsewhere { place, len } in stretches.iter().filter(|stretch| stretch.len > 0) {
        let path = || sources.path(inode);
        let begins = place.map_or(0, |(_, position)| position);
        if block.within(at) != 0 || block.within(begins) != 0 {
            return Err(BuildError::Unaligned { path: path(), position: at, block: block.size() });
        }
        let chunk = match place {
            None => Chunk::HOLE,
            Some((number, position)) => {
                let start = Some(Blkaddr(position / u64::from(block.size())));
                let device = number.checked_add(1).and_then(|id| u16::try_from(id).ok());
                let end = position.checked_add(*len);
                let exists = devices
                    .get(*number)
                    .is_some_and(|device| end.is_some_and(|end| end <= device.bytes));
                let device = device.filter(|_| exists);
                let device = device.ok_or_else(|| beyond(path(), *number))?;
                Chunk { device, start }
            }
        };
        runs.push(chunk, block.blocks_for(*len));
        at = at.saturating_add(*len);
    }
    if at == size { Ok(runs) } else { Err(other_size(sources.path(inode), at)) }
}

fn beyond(path: Vec<u8>, number: usize) -> BuildError {
    let problem = format!("it lies beyond the end of device {}", number.saturating_add(1));
    BuildError::Encode { path, part: "chunk table", problem }
}

fn other_size(path: Vec<u8>, found: u64) -> BuildError {
    let problem = format!("{found} bytes of it lie on other devices, which is not its size");
    BuildError::Encode { path, part: "chunk table", problem }
}
