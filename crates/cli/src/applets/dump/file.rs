//! Prints a file's attributes, directory entries and extents as dump.erofs does.

use std::io::Write;

use lith::{
    format::{addr::BlockBits, file_type::FileType, inode::InodeData},
    reader::{Error, Image, Inode},
};

use super::{arguments::Arguments, extents};
use crate::{
    applets::display::{Percent, local_time},
    output::Stdout,
};

/// Prints a file's attributes, and its entries and extents if they are requested.
pub(super) fn show(request: &Arguments, image: &Image, output: &mut Stdout) -> anyhow::Result<()> {
    let about = |error| request.image.about(error);
    let inode = request.file.find(&request.image, image)?;
    let path = path_of(image, &inode);
    write_attributes(image, &path, &inode, output)?;
    if request.list {
        list(image, &inode, output)?.map_err(about)?;
    }
    if request.extents {
        // Without the further devices, whose data is not needed, extents would have no device numbers.
        let structure = request.image.open_structure(true)?;
        let count = extents::write(&structure, &inode, output)?.map_err(about)?;
        output.write_all(&path)?;
        writeln!(output, ": {count} extents found")?;
    }
    Ok(())
}

/// The first path at which a walk from the root finds the inode.
fn path_of(image: &Image, inode: &Inode) -> Vec<u8> {
    if image.packed_inode().is_some_and(|packed| packed.nid == inode.nid) {
        return b"(packed file)".to_vec();
    }
    if inode.nid == image.superblock().root_nid {
        return b"/".to_vec();
    }
    // A directory that can't be read is skipped: the inode may be found elsewhere.
    let visits = image.files().filter_map(Result::ok);
    let mut same = visits.filter(|visit| visit.inode.nid == inode.nid);
    let found = same.next().map(|visit| [&b"/"[..], &visit.path].concat());
    found.unwrap_or_else(|| b"(not found)".to_vec())
}

/// Bytes that the file takes in the image, according to its inode.
pub(super) fn stored_size(inode: &Inode, block: BlockBits) -> u64 {
    match inode.data {
        InodeData::Compressed { blocks } => blocks.saturating_mul(block.size().into()),
        _ => inode.size,
    }
}

/// The name of a file type in the output of dump.erofs.
pub(super) const fn kind_name(file_type: FileType) -> &'static str {
    match file_type {
        FileType::Regular => "regular file",
        FileType::Directory => "directory",
        FileType::CharDevice => "char dev",
        FileType::BlockDevice => "block dev",
        FileType::Fifo => "FIFO file",
        FileType::Socket => "SOCK file",
        FileType::Symlink => "symlink file",
    }
}

fn write_attributes(
    image: &Image,
    path: &[u8],
    inode: &Inode,
    output: &mut Stdout,
) -> anyhow::Result<()> {
    let (size, stored) = (inode.size, stored_size(inode, image.superblock().block));
    output.write_all(b"Path : ")?;
    output.write_all(path)?;
    let kind = kind_name(inode.file_type);
    writeln!(output, "\nSize: {size}  On-disk size: {stored}  {kind}")?;
    let (nid, links, layout) = (inode.nid, inode.nlink, inode.layout.to_raw());
    write!(output, "NID: {nid}   Links: {links}   Layout: {layout}   ")?;
    writeln!(output, "Compression ratio: {}%", Percent(stored, size))?;
    let (bytes, xattrs) = (inode.size_on_disk(), inode.xattr_size());
    writeln!(output, "Inode size: {bytes}   Xattr size: {xattrs}")?;
    let (uid, gid, mode) = (inode.uid, inode.gid, inode.mode & 0o777);
    writeln!(output, "Uid: {uid}   Gid: {gid}  Access: {mode:04o}/{}", letters(mode))?;
    let time = local_time(inode.mtime, "%Y-%m-%d %H:%M:%S");
    writeln!(output, "Timestamp: {time}.{:09}", inode.mtime_nsec)?;
    Ok(())
}

/// Permissions as nine letters, which ignore setuid, setgid and sticky.
fn letters(mode: u16) -> String {
    let letter = |(letter, bit): (char, u16)| if (mode >> bit) & 1 == 1 { letter } else { '-' };
    "rwxrwxrwx".chars().zip((0..9).rev()).map(letter).collect()
}

/// Lists a directory. The inner error is one of the image, the outer one is of the output.
fn list(
    image: &Image,
    directory: &Inode,
    output: &mut Stdout,
) -> anyhow::Result<Result<(), Error>> {
    let entries = match image.read_dir(directory) {
        Ok(entries) => entries.with_dots(),
        Err(error) => return Ok(Err(error)),
    };
    writeln!(output, "\n       NID TYPE  FILENAME")?;
    for entry in entries {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => return Ok(Err(error)),
        };
        let file_type = entry.file_type.map_or(0, FileType::dirent_type);
        write!(output, "{:>10}    {file_type}  ", entry.nid.0)?;
        output.write_all(&entry.name)?;
        writeln!(output)?;
    }
    Ok(Ok(()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permissions_are_nine_letters() {
        let shown = [0o755, 0o640, 0, 0o777].map(letters);
        assert_eq!(shown, ["rwxr-xr-x", "rw-r-----", "---------", "rwxrwxrwx"]);
    }
}
