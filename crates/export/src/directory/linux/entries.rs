//! Makes names that lead to anything but directories.

use lith_tree::{Kind, Rdev};
use rustix::{
    fs::{AtFlags, FileType, Mode, linkat, makedev, mknodat, symlinkat},
    io::Errno,
};

use super::{
    ExtractError,
    attributes::{Handle, is_refusal},
    extraction::Extraction,
    file,
    place::{OpenDirectory, Place},
    plan::Plan,
};
use crate::What;

/// Makes the file at a place, with content and attributes.
pub(super) fn make(place: &Place<'_>, buffer: &mut [u8]) -> Result<(), ExtractError> {
    let inode = place.tree_inode();
    match &inode.kind {
        Kind::Regular { size } => file::make(place, *size, buffer),
        Kind::Symlink(target) => make_symlink(place, target),
        Kind::CharDevice(rdev) => make_node(place, FileType::CharacterDevice, *rdev),
        Kind::BlockDevice(rdev) => make_node(place, FileType::BlockDevice, *rdev),
        Kind::Fifo => make_node(place, FileType::Fifo, Rdev::default()),
        Kind::Socket => make_node(place, FileType::Socket, Rdev::default()),
        Kind::Directory(_) => Ok(()),
    }
}

fn make_symlink(place: &Place<'_>, target: &[u8]) -> Result<(), ExtractError> {
    place.create(|| symlinkat(target, place.fd(), place.name))?;
    let certain = place.extraction.process.certain(0o777, place.directory.inheritance);
    place.set_attributes(Handle::Named(place.fd(), place.name), certain)
}

fn make_node(place: &Place<'_>, file_type: FileType, rdev: Rdev) -> Result<(), ExtractError> {
    let mode = place.tree_inode().metadata.permissions & 0o777;
    let device = makedev(rdev.major, rdev.minor);
    let mode_bits = Mode::from_raw_mode(mode.into());
    let refused =
        place.create(|| match mknodat(place.fd(), place.name, file_type, mode_bits, device) {
            Err(errno) if is_refusal(errno) => Ok(Some(errno)),
            result => result.map(|()| None),
        })?;
    if let Some(errno) = refused {
        let (path, cause) = (place.path(), Some(errno.into()));
        place.extraction.counter.skipped(&path, What::Device, cause);
        return Ok(());
    }
    let certain = place.extraction.process.certain(mode, place.directory.inheritance);
    place.set_attributes(Handle::Named(place.fd(), place.name), certain)
}

/// Makes the further names of files with several names.
pub(super) fn make_links(extraction: &Extraction<'_>, plan: &Plan<'_>) -> Result<(), ExtractError> {
    let (mut open, mut open_first) = (None, None);
    for link in &plan.links {
        let directory = OpenDirectory::reuse(&mut open, extraction, link.entry.parent)?;
        let first = OpenDirectory::reuse(&mut open_first, extraction, link.first.parent)?;
        let place = Place::new(extraction, directory, &link.entry);
        make_link(&place, first, link.first.name.as_bytes())?;
    }
    extraction.counter.named(plan.links.len() as u64);
    Ok(())
}

fn make_link(place: &Place<'_>, first: &OpenDirectory, name: &[u8]) -> Result<(), ExtractError> {
    let made = place.create(|| {
        match linkat(&first.fd, name, place.fd(), place.name, AtFlags::empty()) {
            // The first name may be that of a device that was skipped.
            Err(Errno::NOENT) if is_special(place) => Ok(false),
            result => result.map(|()| true),
        }
    })?;
    if !made {
        let path = place.path();
        place.extraction.counter.skipped(&path, What::Device, None);
    }
    Ok(())
}

fn is_special(place: &Place<'_>) -> bool {
    let kind = &place.tree_inode().kind;
    !matches!(kind, Kind::Regular { .. } | Kind::Symlink(_))
}
