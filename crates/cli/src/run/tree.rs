//! Finds files in trees that are no images, with paths in errors.

use std::path::Path;

use lith::{
    builder::file_type,
    format::file_type::FileType,
    source::Source,
    tree::{Content, Directory, DisplayPath, InodeIndex, Kind},
};

use super::volume::{Bytes, Entries, Entry, Volume};
use crate::output::{error::Place, file::Attributes};

/// Symbolic links followed in one path, as on Linux: this ends loops of links.
const FOLLOW: u32 = 40;

/// A tree of any kind and its path, which errors name.
pub(crate) struct TreeSubject<'a> {
    pub(super) source: Source,
    pub(super) path: &'a Path,
}

impl TreeSubject<'_> {
    fn file_type(&self, inode: InodeIndex) -> FileType {
        file_type(&self.source.tree.get(inode).kind)
    }

    /// The inode at a path; each name of `rest`, which is in reverse order, is below the one before it.
    fn walk(&self, path: &[u8], follow: bool) -> Option<InodeIndex> {
        let tree = &self.source.tree;
        let mut rest = names(path);
        let (mut at, mut links) = (InodeIndex::ROOT, 0);
        while let Some(name) = rest.pop() {
            let directory = tree.get(at).as_directory()?;
            let found = match &*name {
                b"." => at,
                b".." => tree.get(at).parent(),
                name => directory.get(name)?,
            };
            match &tree.get(found).kind {
                Kind::Symlink(target) if follow || !rest.is_empty() || path.ends_with(b"/") => {
                    links += 1;
                    if links > FOLLOW {
                        return None;
                    }
                    if target.starts_with(b"/") {
                        at = InodeIndex::ROOT;
                    }
                    rest.extend(names(target));
                }
                _ => at = found,
            }
        }
        (!path.ends_with(b"/") || tree.get(at).as_directory().is_some()).then_some(at)
    }
}

/// The names of a path, the last one first.
fn names(path: &[u8]) -> Vec<Vec<u8>> {
    path.split(|byte| *byte == b'/')
        .rev()
        .filter(|name| !name.is_empty())
        .map(<[u8]>::to_vec)
        .collect()
}

impl Volume for TreeSubject<'_> {
    type Id = InodeIndex;
    type Node = InodeIndex;

    fn find(&self, path: &[u8], follow: bool) -> anyhow::Result<InodeIndex> {
        let missing =
            || anyhow::anyhow!("{}: {} does not exist", Place(self.path), DisplayPath(path));
        self.walk(path, follow).ok_or_else(missing)
    }

    fn node(&self, _path: &[u8], id: InodeIndex) -> anyhow::Result<InodeIndex> {
        Ok(id)
    }

    fn id(&self, node: &InodeIndex) -> InodeIndex {
        *node
    }

    fn attributes(&self, node: &InodeIndex) -> Attributes {
        let inode = self.source.tree.get(*node);
        let metadata = &inode.metadata;
        let (size, rdev) = match &inode.kind {
            Kind::Regular { size } => (*size, None),
            Kind::Symlink(target) => (target.len() as u64, None),
            Kind::CharDevice(rdev) | Kind::BlockDevice(rdev) => (0, Some((rdev.major, rdev.minor))),
            Kind::Directory(_) | Kind::Fifo | Kind::Socket => (0, None),
        };
        Attributes {
            nid: None,
            file_type: self.file_type(*node),
            mode: metadata.permissions,
            nlink: inode.nlink(),
            uid: metadata.uid,
            gid: metadata.gid,
            size,
            mtime: metadata.mtime.sec,
            mtime_nsec: metadata.mtime.nsec,
            rdev,
        }
    }

    fn entries(
        &self,
        _path: &[u8],
        directory: &InodeIndex,
    ) -> anyhow::Result<Entries<'_, InodeIndex>> {
        let entries = self.source.tree.get(*directory).as_directory().into_iter();
        let entries = entries.flat_map(Directory::entries);
        Ok(Box::new(entries.map(|(name, id)| {
            let (name, file_type) = (name.as_bytes().to_vec(), Some(self.file_type(id)));
            Ok(Entry { name, file_type, id })
        })))
    }

    fn target(&self, _path: &[u8], node: &InodeIndex) -> anyhow::Result<Option<Vec<u8>>> {
        Ok(match &self.source.tree.get(*node).kind {
            Kind::Symlink(target) => Some(target.to_vec()),
            _ => None,
        })
    }

    fn content(&self, node: &InodeIndex) -> anyhow::Result<Box<dyn Bytes + '_>> {
        let Source { tree, contents, .. } = &self.source;
        Ok(match &tree.get(*node).kind {
            Kind::Regular { size } => {
                let content = contents.open(tree, *node);
                let content = content.map_err(|error| anyhow::anyhow!(error.reason()))?;
                Box::new(TreeFile { content, size: *size })
            }
            Kind::Symlink(target) => Box::new(Target(target)),
            _ => Box::new(Target(&[])),
        })
    }

    fn refuse(&self, path: &[u8], problem: &str) -> anyhow::Error {
        anyhow::anyhow!("{}: {}: {problem}", Place(self.path), DisplayPath(path))
    }

    fn at(&self, path: &[u8], error: anyhow::Error) -> anyhow::Error {
        error.context(format!("{}: {}", Place(self.path), DisplayPath(path)))
    }
}

struct TreeFile<'a> {
    content: Box<dyn Content + 'a>,
    size: u64,
}

impl Bytes for TreeFile<'_> {
    fn size(&self) -> u64 {
        self.size
    }

    fn read_at(&self, buf: &mut [u8], position: u64) -> anyhow::Result<()> {
        self.content.read_at(buf, position).map_err(|error| anyhow::anyhow!(error.reason()))
    }
}

/// The target of a symbolic link.
struct Target<'a>(&'a [u8]);

impl Bytes for Target<'_> {
    fn size(&self) -> u64 {
        self.0.len() as u64
    }

    fn read_at(&self, buf: &mut [u8], position: u64) -> anyhow::Result<()> {
        let start = usize::try_from(position)?;
        let bytes = self.0.get(start..).and_then(|rest| rest.get(..buf.len()));
        buf.copy_from_slice(bytes.ok_or_else(|| anyhow::anyhow!("bytes past the end"))?);
        Ok(())
    }
}
