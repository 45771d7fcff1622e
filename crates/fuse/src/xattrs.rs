//! Replies with extended attributes.

use fuser::{Errno, ReplyXattr};
use lith_reader::{Error, Image, Inode};

use crate::errno;

/// The names, each followed by a NUL.
pub(crate) fn names(image: &Image, inode: &Inode) -> Result<Vec<u8>, Error> {
    let mut names = Vec::new();
    for xattr in image.xattrs(inode)? {
        names.extend_from_slice(&xattr.name);
        names.push(0);
    }
    Ok(names)
}

/// Replies with `bytes`, or with their number if the kernel's buffer has `room` for none.
pub(crate) fn reply(bytes: Result<Option<Vec<u8>>, Error>, room: u32, reply: ReplyXattr) {
    let bytes = match bytes {
        Ok(Some(bytes)) => bytes,
        Ok(None) => return reply.error(Errno::ENODATA),
        Err(error) => return reply.error(errno::of(&error)),
    };
    match u32::try_from(bytes.len()) {
        Ok(length) if room == 0 => reply.size(length),
        Ok(length) if length <= room => reply.data(&bytes),
        _ => reply.error(Errno::ERANGE),
    }
}
