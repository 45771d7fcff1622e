//! What does dump.erofs say of a single file?

use std::io::Write;

use lith::{
    format::{addr::BlockBits, file_type::FileType, inode::InodeData},
    reader::{Error, Image, Inode},
};

use super::{extents, words::Words};
use crate::{
    applets::form::{Percent, local_time},
    output::Stdout,
};

/// Prints a file's attributes, and its entries and extents if they are asked for.
pub(super) fn show(request: &Words, image: &Image, output: &mut Stdout) -> anyhow::Result<()> {
    let about = |error| request.image.about(error);
    let inode = request.file.find(&request.image, image)?;
    let path = path_of(image, &inode);
    write_attributes(image, &path, &inode, output)?;
    if request.list {
        list(image, &inode, output)?.map_err(about)?;
    }
    if request.extents {
        let apart = request.image.open_structure(true)?;
        let count = extents::write(&apart, &inode, output)?.map_err(about)?;
        output.write_all(&path)?;
        writeln!(output, ": {count} extents found")?;
    }
    Ok(())
}

/// The path by which a walk from the root meets an inode first.
fn path_of(image: &Image, inode: &Inode) -> Vec<u8> {
    if image.packed_inode().is_some_and(|packed| packed.nid == inode.nid) {
        return b"(packed file)".to_vec();
    }
    if inode.nid == image.superblock().root_nid {
        return b"/".to_vec();
    }
    // What can't be read has no paths below it.
    let visits = image.files().filter_map(Result::ok);
    let mut same = visits.filter(|visit| visit.inode.nid == inode.nid);
    let found = same.next().map(|visit| [&b"/"[..], &visit.path].concat());
    found.unwrap_or_else(|| b"(not found)".to_vec())
}

/// Bytes that a file takes, as its inode tells.
pub(super) fn stored_size(inode: &Inode, block: BlockBits) -> u64 {
    match inode.data {
        InodeData::Compressed { blocks } => blocks.saturating_mul(block.size().into()),
        _ => inode.size,
    }
}

/// A kind of file by the name that it has here.
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

/// Permissions as letters, without the bits for setuid, setgid and sticky.
fn letters(mode: u16) -> String {
    let letter = |(letter, bit): (char, u16)| if (mode >> bit) & 1 == 1 { letter } else { '-' };
    "rwxrwxrwx".chars().zip((0..9).rev()).map(letter).collect()
}

/// Lists a directory; the inner error is one of the image.
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
