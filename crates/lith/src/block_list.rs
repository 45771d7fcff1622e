//! Which blocks of an image belong to which file?

use std::{
    collections::HashSet,
    io::{self, Write},
};

use lith_format::{
    addr::{Nid, Pa},
    device_table::DevicePa,
    file_type::FileType,
};
use lith_reader::{Image, Inode, Place};
use lith_tree::{ContentError, DisplayPath, Filesystem, Kind};

/// Why there is no list.
#[derive(Debug, thiserror::Error)]
pub enum ListError {
    /// The image can't be read.
    #[error("{}: cannot be read", DisplayPath(path))]
    Read {
        /// The path of the file in the image; empty for the image itself.
        path: Vec<u8>,
        /// What the reader said.
        source: lith_reader::Error,
    },
    /// The source doesn't say where a file's bytes lie.
    #[error(transparent)]
    Source(#[from] ContentError),
    /// A file is not in both, or lies in several places of one of them.
    #[error("{}: lies not in a row in image and source", DisplayPath(path))]
    Scattered {
        /// The path of the file.
        path: Vec<u8>,
    },
    /// The list can't be written.
    #[error("cannot write the list")]
    Write(#[from] io::Error),
}

/// Blocks of the image that lie in a row: the first one and how many.
type Range = (u64, u64);

/// Writes the list that Android's tools take: a line for each regular file that has blocks on the primary device, with
/// its path below the mount point and the ranges of blocks in the order of the file.
///
/// # Errors
/// [`ListError::Read`] and [`ListError::Write`].
pub fn block_list(image: &Image, mount_point: &[u8], out: &mut dyn Write) -> Result<(), ListError> {
    let mount_point = mount_point.strip_suffix(b"/").unwrap_or(mount_point);
    let of_image = |source| ListError::Read { path: Vec::new(), source };
    let mut told: HashSet<Nid> = HashSet::new();
    for visit in image.files() {
        let visit = visit.map_err(of_image)?;
        if visit.inode.file_type != FileType::Regular || !told.insert(visit.inode.nid) {
            continue;
        }
        let ranges = ranges(image, &visit.inode, &visit.path)?;
        if ranges.is_empty() {
            continue;
        }
        out.write_all(&[b"/", mount_point, b"/", &visit.path].concat())?;
        for (start, blocks) in ranges {
            match blocks {
                1 => write!(out, " {start}")?,
                _ => write!(out, " {start}-{}", start + (blocks - 1))?,
            }
        }
        writeln!(out)?;
    }
    Ok(())
}

/// Writes what fills an image whose source lies on a device and was not copied: a line for each regular file with the
/// first of its blocks, how many there are, the byte on the device that belongs there, and how many bytes of the last
/// block stay zeros; all in hexadecimal but for the last.
///
/// # Errors
/// [`ListError`]; also for files with holes.
pub fn source_map(image: &Image, fs: Filesystem<'_>, out: &mut dyn Write) -> Result<(), ListError> {
    let (tree, mut told) = (fs.tree, HashSet::new());
    for visit in tree.walk() {
        let Kind::Regular { size: size @ 1.. } = tree.get(visit.inode).kind else { continue };
        if !told.insert(visit.inode) {
            continue;
        }
        let path = tree.path(visit.inode);
        let unreadable = |source| ListError::Read { path: path.clone(), source };
        let Some(stretches) = fs.open(visit.inode)?.elsewhere()? else { continue };
        let inode = image.resolve(&path).map_err(unreadable)?;
        let blocks = ranges(image, &inode, &path)?;
        let ([stretch], [(start, count)]) = (&*stretches, &*blocks) else {
            return Err(ListError::Scattered { path });
        };
        let Some((_, from)) = stretch.place else { return Err(ListError::Scattered { path }) };
        write!(out, "{start:08x} {count:8x} {from:08x}")?;
        let block = image.superblock().block;
        match block.within(size) {
            0 => writeln!(out)?,
            within => writeln!(out, " {:08}", block.size() - within)?,
        }
    }
    Ok(())
}

/// The blocks of a file on the primary device, in the order of the file. Those in a row are one range.
fn ranges(image: &Image, inode: &Inode, path: &[u8]) -> Result<Vec<Range>, ListError> {
    let unreadable = |source| ListError::Read { path: path.to_vec(), source };
    let block = image.superblock().block;
    let mut ranges: Vec<Range> = Vec::new();
    for extent in image.extents(inode).map_err(unreadable)? {
        let extent = extent.map_err(unreadable)?;
        let Place::Device(DevicePa { device: 0, pa: Pa(pa) }) = extent.place else { continue };
        let first = pa / u64::from(block.size());
        let end = block.blocks_for(pa.saturating_add(extent.plen));
        match ranges.last_mut() {
            // Two extents may have parts of one block.
            Some((start, blocks)) if (*start..=*start + *blocks).contains(&first) => {
                *blocks = (*blocks).max(end.saturating_sub(*start));
            }
            _ => ranges.push((first, end.saturating_sub(first))),
        }
    }
    Ok(ranges)
}
