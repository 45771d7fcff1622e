//! Makes all directories first, and sets their attributes last.

use std::os::fd::AsFd;

use rustix::{
    fs::{AtFlags, FileType, Mode, mkdirat, statat, unlinkat},
    io::Errno,
};

use super::{
    Existing, ExtractError,
    attributes::{Handle, Subject},
    extraction::{Extraction, join},
    place::OpenDirectory,
    plan::Plan,
    process::Certain,
};

/// Makes all directories of the plan, with permissions for their owner only, and notes which ones are new.
pub(super) fn make(
    extraction: &Extraction<'_>,
    plan: &mut Plan<'_>,
    root_is_new: bool,
) -> Result<(), ExtractError> {
    let mut open = None;
    for directory in &mut plan.directories {
        let is_new = match directory.name {
            None => root_is_new,
            Some(name) => {
                let parent = OpenDirectory::reuse(&mut open, extraction, directory.parent)?;
                make_one(extraction, parent, name.as_bytes())?
            }
        };
        directory.owns_attributes |= is_new;
    }
    extraction.counter.named(plan.directories.len() as u64);
    Ok(())
}

/// Makes a directory; false if it exists.
fn make_one(
    extraction: &Extraction<'_>,
    parent: &OpenDirectory,
    name: &[u8],
) -> Result<bool, ExtractError> {
    let error = |errno| extraction.error("create", &join(&parent.path, name), errno);
    match mkdirat(&parent.fd, name, Mode::RWXU) {
        Ok(()) => Ok(true),
        Err(Errno::EXIST) if extraction.options.existing != Existing::Refuse => {
            let status = statat(&parent.fd, name, AtFlags::SYMLINK_NOFOLLOW).map_err(error)?;
            if FileType::from_raw_mode(status.st_mode) == FileType::Directory {
                return Ok(false);
            }
            if extraction.options.existing == Existing::Fill {
                return Err(error(Errno::EXIST));
            }
            unlinkat(&parent.fd, name, AtFlags::empty()).map_err(error)?;
            mkdirat(&parent.fd, name, Mode::RWXU).map_err(error)?;
            Ok(true)
        }
        Err(errno) => Err(error(errno)),
    }
}

/// Sets the attributes of the plan's directories, the deepest first.
pub(super) fn finish(extraction: &Extraction<'_>, plan: &Plan<'_>) -> Result<(), ExtractError> {
    let own = plan.directories.iter().rev();
    for directory in own.filter(|directory| directory.owns_attributes) {
        let path = extraction.fs.tree.path(directory.inode);
        let fd = extraction.open_directory(&path)?;
        let subject = Subject {
            extraction,
            inode: extraction.fs.tree.get(directory.inode),
            handle: Handle::Open(fd.as_fd()),
            parent: &path,
            name: b"",
        };
        subject.set_all(Certain::default())?;
    }
    Ok(())
}
