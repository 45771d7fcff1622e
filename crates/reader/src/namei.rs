//! Resolves paths.

use lith_format::file_type::FileType;

use crate::{error::Error, image::Image, inode::Inode};

/// A path that is being resolved.
struct PathWalk {
    /// The names that are left, the next one last.
    left: Vec<Vec<u8>>,
    at: Inode,
    /// The path resolved so far, for errors.
    passed: Vec<u8>,
}

impl Image {
    /// The inode that a path from the root leads to. Symlinks are not followed: one as the last name is
    /// the result, one before it is [`Error::NotADirectory`]. Slashes at either end and `.` are ignored, `..` is the
    /// parent, and at the root the root itself.
    ///
    /// # Errors
    /// [`Error::NotFound`] and [`Error::NotADirectory`], and as [`Self::lookup`] and [`Self::inode`].
    pub fn resolve(&self, path: impl AsRef<[u8]>) -> Result<Inode, Error> {
        self.walk(path.as_ref(), false)
    }

    /// As [`Self::resolve`], but follows symlinks, the last name's too; absolute targets begin at the root of
    /// the image.
    ///
    /// # Errors
    /// As [`Self::resolve`]; [`Error::TooManySymlinks`] if they lead in circles.
    pub fn resolve_following(&self, path: impl AsRef<[u8]>) -> Result<Inode, Error> {
        self.walk(path.as_ref(), true)
    }

    fn walk(&self, path: &[u8], follows: bool) -> Result<Inode, Error> {
        let mut walk = PathWalk { left: names(path), at: self.root()?, passed: Vec::new() };
        let mut followed = 0;
        while let Some(name) = walk.left.pop() {
            let directory = walk.at;
            self.advance(&mut walk, &name)?;
            if !follows || walk.at.file_type != FileType::Symlink {
                continue;
            }
            followed += 1;
            if followed > self.limits.follow {
                let limit = self.limits.follow;
                return Err(Error::TooManySymlinks { path: path.to_vec(), limit });
            }
            let target = self.read_link(&walk.at)?;
            walk.at = if target.first() == Some(&b'/') { self.root()? } else { directory };
            walk.left.extend(names(&target));
        }
        Ok(walk.at)
    }

    fn advance(&self, walk: &mut PathWalk, name: &[u8]) -> Result<(), Error> {
        if walk.at.file_type != FileType::Directory {
            return Err(Error::NotADirectory { nid: walk.at.nid });
        }
        walk.passed.push(b'/');
        walk.passed.extend_from_slice(name);
        let Some(entry) = self.lookup(&walk.at, name)? else {
            return Err(Error::NotFound { path: std::mem::take(&mut walk.passed) });
        };
        walk.at = self.inode(entry.nid)?;
        Ok(())
    }
}

/// The names of a path, the first one last.
fn names(path: &[u8]) -> Vec<Vec<u8>> {
    let names = path.split(|byte| *byte == b'/').filter(|name| !matches!(*name, b"" | b"."));
    names.rev().map(<[u8]>::to_vec).collect()
}
