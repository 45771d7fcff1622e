//! Defines [`Metadata`], which writes inodes, directories, long symlinks and shared extended attributes.

use lith_format::addr::Nid;
use lith_tree::{Directory, InodeIndex, Kind};
use xxhash_rust::xxh3::Xxh3;

use super::{
    directory::pack_directory,
    moved,
    window::{Sink, Window},
};
use crate::{
    BuildError, Digest, Output,
    error::Unencodable,
    place::{GROUP_BLOCKS, OPEN_BLOCKS, Placement, SizedInode},
    plan::{Geometry, entries_with_dots, file_type},
    store::StoredFiles,
};

/// The metadata of some inodes, all of which are placed.
pub(crate) struct Metadata<'a> {
    pub(crate) geometry: Geometry<'a>,
    pub(crate) stored: &'a StoredFiles,
    pub(crate) placement: &'a Placement,
    /// Where blocks of directories and symlinks are written to.
    pub(crate) image: Output<'a>,
    /// Where inodes are written to.
    pub(crate) inodes: Sink<'a>,
    /// Where directories are written to that the packed inode holds.
    pub(crate) directories: Option<Sink<'a>>,
}

impl Metadata<'_> {
    /// Writes inodes and what belongs to them. Returns the digest of all of it and of the files' content.
    ///
    /// # Errors
    /// [`BuildError`] if it can't be encoded or written.
    pub(crate) fn write(
        &self,
        inodes: impl Iterator<Item = SizedInode>,
    ) -> Result<Digest, BuildError> {
        let plan = self.geometry.plan;
        let bodies = self.xattr_bodies()?;
        let block = plan.options.layout.block;
        let width = (OPEN_BLOCKS + 2 * GROUP_BLOCKS) * block.size() as usize;
        let start = self.placement.metadata_start;
        let mut window = Window::new(self.inodes, start - start % u64::from(block.size()), width);
        if let Some(shared_start) = self.placement.shared_start {
            window.put(shared_start, &plan.xattrs.shared_area)?;
        }
        let (mut content_start, mut packed) = (self.placement.content_start, 0);
        let mut bytes = Vec::new();
        let slot = usize::try_from(Nid::SLOT).expect("32 bytes");
        let mut hasher = Xxh3::new();
        hasher.update(&plan.xattrs.prefixes.encode());
        hasher.update(plan.xattrs.prefixes.digest_number().as_slice());
        hasher.update(&plan.xattrs.shared_area);
        // Identifies content on other devices that is not read.
        hasher.update(&self.geometry.input.known.note);
        for mut sized in inodes {
            sized.set_content_start(content_start);
            sized.move_content(self.moved(sized.index));
            let content = self.own_content(&sized)?;
            let (in_blocks, inline) = if sized.inode.layout.is_flat() {
                let (in_blocks, inline) = split_at(&content, sized.content_in_blocks());
                self.write_blocks(in_blocks, content_start)?;
                content_start += block.blocks_for(in_blocks.len() as u64);
                (in_blocks, inline)
            } else {
                self.directories.map_or(Ok(()), |to| to.write(&content, packed))?;
                packed += content.len() as u64;
                (&content[..], &[][..])
            };
            let set = self.geometry.input.inode(sized.index).metadata.xattrs;
            let body = bodies.get(set.index()).map_or(&[][..], |body| body);
            self.encode(&sized, body, &mut bytes)?;
            bytes.extend_from_slice(inline);
            hasher.update(in_blocks);
            hasher.update(&bytes);
            hasher.update(&self.stored.table.digest(sized.index).0.to_le_bytes());
            // The slot is written whole: a root that ends with the superblock's block may be the last of the image.
            bytes.resize(bytes.len().next_multiple_of(slot), 0);
            window.put(self.placement.position(sized.index), &bytes)?;
        }
        window.finish(self.placement.metadata_end)?;
        Ok(Digest(hasher.digest128()))
    }

    fn xattr_bodies(&self) -> Result<Vec<Vec<u8>>, BuildError> {
        let Geometry { input, plan } = self.geometry;
        let in_block = plan.options.layout.block.within(self.placement.shared_start.unwrap_or(0));
        let bodies = plan.xattrs.encode(&input.tree.xattrs, in_block / 4);
        let failed = |error| self.unencodable(InodeIndex::ROOT, Unencodable::Xattrs(error));
        bodies.map_err(failed)
    }

    /// Inode, attributes, and the table or inline tail of a regular file.
    fn encode(&self, sized: &SizedInode, body: &[u8], out: &mut Vec<u8>) -> Result<(), BuildError> {
        out.clear();
        let encoded = sized.inode.encode_into(&self.geometry.context(), out);
        encoded.map_err(|error| self.unencodable(sized.index, Unencodable::Inode(error)))?;
        out.extend_from_slice(body);
        // Free space for attributes of the root: an empty header, or entries without names.
        out.resize(sized.attributes_end(), 0);
        let file = self.stored.get(sized.index);
        if file.payload.len > 0 {
            let start = usize::try_from(sized.table_start()).expect("an inode fits memory");
            out.resize(start, 0);
            let mut payload = Vec::new();
            self.stored.table.payload(file, &mut payload)?;
            let moved = self.moved(sized.index);
            if moved > 0 {
                moved::move_table(self.geometry, sized, &mut payload, moved);
            }
            out.extend_from_slice(&payload);
        }
        Ok(())
    }

    /// How many blocks the content of an inode moves: that of the metabox is stored where it stays.
    fn moved(&self, index: InodeIndex) -> u64 {
        if index == self.geometry.plan.metabox() { 0 } else { self.placement.moved }
    }

    /// The content of a directory or symlink.
    fn own_content(&self, sized: &SizedInode) -> Result<Vec<u8>, BuildError> {
        match &self.geometry.input.inode(sized.index).kind {
            Kind::Directory(directory) => self.directory(sized.index, directory),
            Kind::Symlink(target) => Ok(target.to_vec()),
            _ => Ok(Vec::new()),
        }
    }

    fn directory(&self, index: InodeIndex, directory: &Directory) -> Result<Vec<u8>, BuildError> {
        let Geometry { input, plan } = self.geometry;
        let layout = &plan.options.layout;
        let parent = input.inode(index).parent();
        let entries = entries_with_dots(directory, layout.dot_omitted);
        let entries = entries.map(|(name, target)| (name, target.of(index, parent)));
        let of = |inode| (self.placement.nid(inode), file_type(&input.inode(inode).kind));
        let packed = pack_directory(entries, layout.block, of);
        packed.map_err(|error| self.unencodable(index, Unencodable::Directory(error)))
    }

    fn write_blocks(&self, bytes: &[u8], start: u64) -> Result<(), BuildError> {
        if bytes.is_empty() {
            return Ok(());
        }
        let block = self.geometry.plan.options.layout.block.size();
        let mut padded = bytes.to_vec();
        padded.resize(bytes.len().next_multiple_of(block as usize), 0);
        self.image
            .write_all_at(&padded, start * u64::from(block))
            .map_err(|source| BuildError::Output { action: "write", source })
    }

    fn unencodable(&self, index: InodeIndex, source: Unencodable) -> BuildError {
        BuildError::Encode { path: self.geometry.input.path(index), source }
    }
}

fn split_at(bytes: &[u8], at: u64) -> (&[u8], &[u8]) {
    bytes.split_at(usize::try_from(at).expect("a part of what is in memory"))
}
