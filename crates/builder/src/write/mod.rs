//! How are superblock, inodes and directories written once every place is known?

mod superblock;
mod window;

use lith_format::{addr::Nid, dirent::DirPacker};
use lith_tree::{Directory, InodeIndex, Kind};
use xxhash_rust::xxh3::Xxh3;

pub(crate) use superblock::{early_shared_area, head_end, write_superblock};
pub(crate) use window::Target;

use self::window::Window;
use crate::{
    BuildError, Digest, Output,
    codings::Used,
    compress::Sources,
    data::StoredFile,
    devices::Blob,
    place::{
        GROUP_BLOCKS, Leads, OPEN_BLOCKS, Placement, Record, Records, context, dirent_type,
        entries_with_dots,
    },
    plan::Plan,
    spool::Spool,
};

/// Everything that is known before metadata is written.
pub(crate) struct Finished<'a> {
    pub(crate) sources: Sources<'a>,
    pub(crate) plan: &'a Plan,
    pub(crate) placement: &'a Placement,
    pub(crate) files: &'a [StoredFile],
    pub(crate) used: &'a Used,
    pub(crate) digests: &'a [Digest],
    pub(crate) spool: &'a Spool,
    pub(crate) image: Output<'a>,
    /// Where inodes are written to.
    pub(crate) metadata: Target<'a>,
    /// Where those directories are written to that lie in the packed inode.
    pub(crate) directories: Option<Target<'a>>,
    pub(crate) root: Nid,
    /// Whether some pcluster has more than one extent.
    pub(crate) has_shared: bool,
    /// Where chunks were written to, if not to the image.
    pub(crate) blob: Option<&'a Blob<'a>>,
}

impl Finished<'_> {
    /// Writes the inodes of some records with their directories, long symlinks and shared attributes, and returns what
    /// all of it and the files' content hash to.
    pub(crate) fn write_metadata(
        &self,
        records: &Records<'_>,
        part: impl Iterator<Item = Record>,
    ) -> Result<Digest, BuildError> {
        let bodies = self.xattr_bodies(records)?;
        let block = self.sources.options.layout.block;
        let window = (OPEN_BLOCKS + 2 * GROUP_BLOCKS) * block.size() as usize;
        let start = self.placement.metadata_start;
        let mut metadata =
            Window::new(self.metadata, start - start % u64::from(block.size()), window);
        if !self.placement.in_metabox {
            metadata.put(self.placement.shared_start, &self.plan.xattrs.shared_area)?;
        }
        let (mut content_start, mut packed) = (self.placement.content_start, 0);
        let mut bytes = Vec::new();
        let mut hasher = Xxh3::new();
        hasher.update(&self.plan.xattrs.prefixes.encode());
        hasher.update(self.plan.xattrs.prefixes.digest_number().as_slice());
        hasher.update(&self.plan.xattrs.shared_area);
        for mut record in part {
            record.set_content_start(content_start);
            let content = self.own_content(&record)?;
            let (in_blocks, inline) = if record.inode.layout.is_flat() {
                let (in_blocks, inline) = split_at(&content, record.content_in_blocks());
                self.write_blocks(in_blocks, content_start)?;
                content_start += block.blocks_for(in_blocks.len() as u64);
                (in_blocks, inline)
            } else {
                self.directories.map_or(Ok(()), |to| to.write(&content, packed))?;
                packed += content.len() as u64;
                (&content[..], &[][..])
            };
            let body = bodies.get(self.sources.node(record.index).metadata.xattrs.index());
            self.encode(&record, body.map_or(&[], |body| body), &mut bytes)?;
            bytes.extend_from_slice(inline);
            hasher.update(in_blocks);
            hasher.update(&bytes);
            let digest = self.digests.get(record.index.index()).copied().unwrap_or_default();
            hasher.update(&digest.0.to_le_bytes());
            metadata.put(self.placement.position(record.index), &bytes)?;
        }
        metadata.finish(self.placement.end)?;
        Ok(Digest(hasher.digest128()))
    }

    /// Gives the image its size if more is asked for than it holds.
    pub(crate) fn lengthen(&self) -> Result<(), BuildError> {
        let Placement { end, image_end, .. } = *self.placement;
        if image_end <= end {
            return Ok(());
        }
        // That works with files and devices alike.
        let written = self.image.write_all_at(&[0], image_end - 1);
        written.map_err(|source| BuildError::Output { action: "write", source })
    }

    fn xattr_bodies(&self, records: &Records<'_>) -> Result<Vec<Vec<u8>>, BuildError> {
        let first =
            self.placement.shared_start % u64::from(self.sources.options.layout.block.size()) / 4;
        // At most a block's worth.
        let first = u32::try_from(first).unwrap_or(u32::MAX);
        self.plan
            .xattrs
            .encode(records.xattr_pool(), first)
            .map_err(|error| self.unencodable(InodeIndex::ROOT, "extended attributes", &error))
    }

    /// Inode, attributes, table or inline tail of a regular file.
    fn encode(&self, record: &Record, body: &[u8], out: &mut Vec<u8>) -> Result<(), BuildError> {
        out.clear();
        record
            .inode
            .encode_into(&context(self.plan), out)
            .map_err(|error| self.unencodable(record.index, "inode", &error))?;
        out.extend_from_slice(body);
        // What the root has room for: a header that says nothing, or entries without names.
        out.resize(record.attributes_end(), 0);
        let payload = self.files.get(record.index.index()).map(|file| file.payload);
        if let Some(payload) = payload.filter(|payload| payload.len > 0) {
            let start = usize::try_from(record.table_start()).unwrap_or(usize::MAX);
            out.resize(start, 0);
            let mut spooled = Vec::new();
            self.spool.read(payload, &mut spooled)?;
            out.extend_from_slice(&spooled);
        }
        Ok(())
    }

    /// The content of a directory or symlink.
    fn own_content(&self, record: &Record) -> Result<Vec<u8>, BuildError> {
        match &self.sources.node(record.index).kind {
            Kind::Directory(directory) => self.directory(record.index, directory),
            Kind::Symlink(target) => Ok(target.to_vec()),
            _ => Ok(Vec::new()),
        }
    }

    fn directory(&self, index: InodeIndex, directory: &Directory) -> Result<Vec<u8>, BuildError> {
        let mut packer = DirPacker::new(self.sources.options.layout.block);
        for (name, leads) in entries_with_dots(self.plan, directory) {
            let inode = match leads {
                Leads::Here => index,
                Leads::Up => self.sources.node(index).parent(),
                Leads::To(inode) => inode,
            };
            let kind = dirent_type(&self.sources.node(inode).kind);
            packer
                .push(name, self.placement.nid(inode), kind)
                .map_err(|error| self.unencodable(index, "directory", &error))?;
        }
        Ok(packer.finish())
    }

    fn write_blocks(&self, bytes: &[u8], start: u64) -> Result<(), BuildError> {
        if bytes.is_empty() {
            return Ok(());
        }
        let block = self.sources.options.layout.block.size();
        let mut padded = bytes.to_vec();
        padded.resize(bytes.len().next_multiple_of(block as usize), 0);
        self.image
            .write_all_at(&padded, start * u64::from(block))
            .map_err(|source| BuildError::Output { action: "write", source })
    }

    fn unencodable(
        &self,
        index: InodeIndex,
        part: &'static str,
        error: &impl ToString,
    ) -> BuildError {
        BuildError::Encode { path: self.sources.path(index), part, problem: error.to_string() }
    }
}

fn split_at(bytes: &[u8], at: u64) -> (&[u8], &[u8]) {
    usize::try_from(at).ok().and_then(|at| bytes.split_at_checked(at)).unwrap_or((bytes, &[]))
}
