//! Where does a path lead?

use lith_format::file_type::FileType;

use crate::{error::Error, image::Image, inode::Inode};

/// A path on its way: the names that are left, the next one last, and what was passed.
struct Way {
    left: Vec<Vec<u8>>,
    at: Inode,
    passed: Vec<u8>,
}

impl Image {
    /// The inode that a path from the root leads to. Symlinks are not followed: one as the last name is the
    /// answer, one before it is [`Error::NotADirectory`]. Slashes at either end and `.` don't count, `..` leads
    /// upwards and from the root to itself.
    ///
    /// # Errors
    /// [`Error::NotFound`] and [`Error::NotADirectory`], and as [`Self::lookup`] and [`Self::inode`].
    pub fn resolve(&self, path: &[u8]) -> Result<Inode, Error> {
        let mut way = Way { left: names(path), at: self.root()?, passed: Vec::new() };
        while let Some(name) = way.left.pop() {
            self.advance(&mut way, &name)?;
        }
        Ok(way.at)
    }

    /// As [`Self::resolve`], but follows symlinks, the last name's too; absolute targets begin at the root of
    /// the image.
    ///
    /// # Errors
    /// As [`Self::resolve`]; [`Error::TooManySymlinks`] if they lead in circles.
    pub fn resolve_following(&self, path: &[u8]) -> Result<Inode, Error> {
        let mut way = Way { left: names(path), at: self.root()?, passed: Vec::new() };
        let mut followed = 0;
        while let Some(name) = way.left.pop() {
            let directory = way.at;
            self.advance(&mut way, &name)?;
            if way.at.file_type != FileType::Symlink {
                continue;
            }
            followed += 1;
            if followed > self.limits.follow {
                let limit = self.limits.follow;
                return Err(Error::TooManySymlinks { path: path.to_vec(), limit });
            }
            let target = self.read_link(&way.at)?;
            way.at = if target.first() == Some(&b'/') { self.root()? } else { directory };
            way.left.extend(names(&target));
        }
        Ok(way.at)
    }

    fn advance(&self, way: &mut Way, name: &[u8]) -> Result<(), Error> {
        if way.at.file_type != FileType::Directory {
            return Err(Error::NotADirectory { nid: way.at.nid });
        }
        way.passed.push(b'/');
        way.passed.extend_from_slice(name);
        let Some(entry) = self.lookup(&way.at, name)? else {
            return Err(Error::NotFound { path: std::mem::take(&mut way.passed) });
        };
        way.at = self.inode(entry.nid)?;
        Ok(())
    }
}

/// The names of a path, the first one last.
fn names(path: &[u8]) -> Vec<Vec<u8>> {
    let names = path.split(|byte| *byte == b'/').filter(|name| !matches!(*name, b"" | b"."));
    names.rev().map(<[u8]>::to_vec).collect()
}
