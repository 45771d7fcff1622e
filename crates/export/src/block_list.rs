//! Writes which blocks of an image belong to which file: Android's block lists, and the map of a source that was not copied.

use std::{
    collections::HashSet,
    io::{self, Write},
    path::Path,
};

use lith_format::{
    addr::{Nid, Pa},
    device_table::DevicePa,
    file_type::FileType,
};
use lith_reader::{Image, Inode, Place};
use lith_tree::{ContentError, DisplayPath, Filesystem, Kind};

/// Why a list can't be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ListError {
    /// The image can't be read.
    #[error("{}: cannot be read", DisplayPath(path))]
    Read {
        /// The path of the file in the image; empty for the image itself.
        path: Vec<u8>,
        /// The error of the reader.
        source: lith_reader::Error,
    },
    /// The source can't say where a file's bytes are stored.
    #[error(transparent)]
    Source(#[from] ContentError),
    /// A file is not contiguous in the image and in the source.
    #[error("{}: not contiguous in image and source", DisplayPath(path))]
    Scattered {
        /// The path of the file.
        path: Vec<u8>,
    },
    /// The list can't be written.
    #[error("cannot write the list")]
    Write(#[from] io::Error),
}

impl ListError {
    /// The path of the file concerned, in the image or its source.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Read { path, .. } | Self::Scattered { path } => Some(lith_system::path(path)),
            Self::Source(error) => Some(error.path()),
            Self::Write(_) => None,
        }
    }
}

/// Contiguous blocks of the image: the first one and their number.
type Range = (u64, u64);

/// Writes the list that Android's tools read: a line for each regular file with blocks on the primary device. A line has the
/// path below the mount point and the ranges of blocks in the order of the file.
///
/// # Errors
/// [`ListError::Read`] and [`ListError::Write`].
pub fn block_list(image: &Image, mount_point: &[u8], out: &mut dyn Write) -> Result<(), ListError> {
    let mount_point = mount_point.strip_suffix(b"/").unwrap_or(mount_point);
    let of_image = |source| ListError::Read { path: Vec::new(), source };
    let mut listed: HashSet<Nid> = HashSet::new();
    for visit in image.files() {
        let visit = visit.map_err(of_image)?;
        if visit.inode.file_type != FileType::Regular || !listed.insert(visit.inode.nid) {
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

/// Writes how to fill an image whose source is on a device and was not copied. A line for each regular file has its first block,
/// the number of its blocks and its first byte on the device, all in hexadecimal, and in decimal how many bytes of its last block stay
/// zeros.
///
/// # Errors
/// [`ListError`]; also for files with holes.
pub fn source_map(image: &Image, fs: Filesystem<'_>, out: &mut dyn Write) -> Result<(), ListError> {
    let (tree, mut listed) = (fs.tree, HashSet::new());
    for visit in tree.walk() {
        let Kind::Regular { size: size @ 1.. } = tree.get(visit.inode).kind else { continue };
        if !listed.insert(visit.inode) {
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

/// The blocks of a file on the primary device, in the order of the file. Contiguous blocks are one range.
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
            // Two extents may share a block.
            Some((start, blocks)) if (*start..=*start + *blocks).contains(&first) => {
                *blocks = (*blocks).max(end.saturating_sub(*start));
            }
            _ => ranges.push((first, end.saturating_sub(first))),
        }
    }
    Ok(ranges)
}
