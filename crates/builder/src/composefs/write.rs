//! Defines [`Writer`], which writes the bytes of an image whose inodes are placed.

use lith_format::{
    addr::{Blkaddr, Nid},
    features::Compat,
    superblock::{SUPERBLOCK_POSITION, Superblock},
};
use lith_observer::Observer;
use lith_tree::{Filesystem, InodeIndex, Kind};

use super::{
    form::{BLOCK, Version, is_elsewhere},
    order::Order,
    place::Placement,
};
use crate::{
    BuildError, Digest, DigestOfPieces, Output, PIECE,
    error::Unencodable,
    plan::{XattrPlan, entries_with_dots, file_type},
    write::{Sink, Window, pack_directory},
};

/// What the file begins with, and the version of that.
const MAGIC: [u32; 2] = [0xd078_629a, 1];
/// The flag of images with access control lists.
const HAS_ACL: u32 = 1;

/// The attributes that are access control lists.
const ACLS: [&[u8]; 2] = [b"system.posix_acl_access", b"system.posix_acl_default"];

/// A tree and where everything of it is stored.
#[derive(Clone, Copy)]
pub(super) struct Writer<'a> {
    pub(super) fs: Filesystem<'a>,
    pub(super) order: &'a Order,
    pub(super) xattrs: &'a XattrPlan,
    pub(super) placement: &'a Placement,
    pub(super) observer: &'a dyn Observer,
}

impl Writer<'_> {
    /// Writes the image, from its first byte to its last one. Returns the digest of each file, by the index of its inode.
    pub(super) fn write(
        &self,
        image: Output<'_>,
        version: Version,
    ) -> Result<Vec<Digest>, BuildError> {
        let data = self.placement.data_start * u64::from(BLOCK.size());
        let mut window = Window::new(Sink::Image(image), 0, 0);
        let mut blocks = Window::new(Sink::Image(image), data, 0);
        let [magic, number] = MAGIC;
        let flags = if self.has_acl() { HAS_ACL } else { 0 };
        let header = [magic, number, flags, u32::from(version as u8)].map(u32::to_le_bytes);
        window.put(0, header.as_flattened())?;
        window.put(SUPERBLOCK_POSITION, &self.superblock()?)?;
        let digests = self.inodes(&mut window, &mut blocks)?;
        window.put(self.placement.inodes_end, &self.xattrs.shared_area)?;
        window.finish(data)?;
        blocks.finish(self.placement.end())?;
        Ok(digests)
    }

    fn has_acl(&self) -> bool {
        let sets = self.order.inodes().iter().map(|inode| self.fs.tree.get(*inode).metadata.xattrs);
        let mut xattrs = sets.flat_map(|set| self.fs.tree.xattrs.get(set));
        xattrs.any(|xattr| ACLS.contains(&&*xattr.name))
    }

    fn superblock(&self) -> Result<Vec<u8>, BuildError> {
        let placement = self.placement;
        let mut sb = Superblock::new(BLOCK);
        sb.compat = Compat::MTIME | Compat::XATTR_FILTER;
        sb.root_nid = placement.place(0).nid;
        sb.inos = self.order.inodes().len() as u64;
        sb.blocks = placement.blocks;
        (sb.epoch, sb.fixed_nsec) = (placement.time.sec, placement.time.nsec);
        sb.xattr_blkaddr = Blkaddr(placement.inodes_end / u64::from(BLOCK.size()));
        let failed = |error| self.unencodable(InodeIndex::ROOT, Unencodable::Superblock(error));
        sb.encode().map_err(failed)
    }

    /// Writes all inodes with their attributes and what else follows them, and their content that is in blocks: so each directory
    /// is packed once, and none is held.
    fn inodes(
        &self,
        window: &mut Window<'_>,
        blocks: &mut Window<'_>,
    ) -> Result<Vec<Digest>, BuildError> {
        let Self { order, placement, .. } = *self;
        let tree = self.fs.tree;
        let bodies = self.xattrs.encode(&tree.xattrs, BLOCK.within(placement.inodes_end) / 4);
        let bodies = bodies
            .map_err(|error| self.unencodable(InodeIndex::ROOT, Unencodable::Xattrs(error)))?;
        let mut digests = vec![Digest::default(); tree.len()];
        let mut start = placement.data_start;
        let mut bytes = Vec::new();
        for (rank, index) in order.inodes().iter().enumerate() {
            if self.observer.is_cancelled() {
                return Err(BuildError::Cancelled);
            }
            bytes.clear();
            let place = placement.place(rank);
            let inode = placement.inode((tree, order), (*index, start), self.xattrs);
            let encoded = inode.encode_into(&placement.context(), &mut bytes);
            encoded.map_err(|error| self.unencodable(*index, Unencodable::Inode(error)))?;
            let set = tree.get(*index).metadata.xattrs;
            bytes.extend_from_slice(bodies.get(set.index()).map_or(&[], Vec::as_slice));
            let (content, digest) = self.content(*index, place.tail)?;
            let (in_blocks, inline) = split(&content, place.blocks);
            bytes.extend_from_slice(inline);
            if let Some(slot) = digests.get_mut(index.index()) {
                *slot = digest;
            }
            window.put(place.nid.0 * Nid::SLOT, &bytes)?;
            blocks.put(start * u64::from(BLOCK.size()), in_blocks)?;
            start += place.blocks;
        }
        Ok(digests)
    }

    /// What is stored of an inode: the content, or a chunk table of `tail` bytes without addresses. For a regular file also the
    /// digest of what is read of it.
    fn content(&self, index: InodeIndex, tail: u64) -> Result<(Vec<u8>, Digest), BuildError> {
        let tree = self.fs.tree;
        let node = tree.get(index);
        match &node.kind {
            Kind::Directory(_) => Ok((self.directory(index)?, Digest::default())),
            Kind::Symlink(target) => Ok((target.to_vec(), Digest::default())),
            Kind::Regular { size } if is_elsewhere(tree, node) => {
                let table = vec![0xff; usize::try_from(tail).expect("within a block")];
                Ok((table, digest_of_zeros(*size)))
            }
            Kind::Regular { size } => {
                let mut bytes = vec![0; usize::try_from(*size).expect("few bytes")];
                let content = self.fs.open(index)?;
                content.read_at(&mut bytes, 0)?;
                content.check_unchanged()?;
                let digest = Digest::of_content(&bytes);
                Ok((bytes, digest))
            }
            _ => Ok((Vec::new(), Digest::default())),
        }
    }

    fn directory(&self, index: InodeIndex) -> Result<Vec<u8>, BuildError> {
        let tree = self.fs.tree;
        let node = tree.get(index);
        let Some(directory) = node.as_directory() else { return Ok(Vec::new()) };
        let entries = entries_with_dots(directory, false);
        let entries = entries.map(|(name, target)| (name, target.of(index, node.parent())));
        let of = |inode| {
            let place = self.placement.place(self.order.rank(inode));
            (place.nid, file_type(&tree.get(inode).kind))
        };
        let packed = pack_directory(entries, BLOCK, of);
        packed.map_err(|error| self.unencodable(index, Unencodable::Directory(error)))
    }

    fn unencodable(&self, index: InodeIndex, source: Unencodable) -> BuildError {
        BuildError::Encode { path: self.fs.tree.path(index), source }
    }
}

/// The part of content that is in blocks, and the rest.
fn split(content: &[u8], blocks: u64) -> (&[u8], &[u8]) {
    let in_blocks =
        usize::try_from(blocks * u64::from(BLOCK.size())).expect("content is held in memory");
    content.split_at(in_blocks.min(content.len()))
}

fn digest_of_zeros(size: u64) -> Digest {
    let mut whole = DigestOfPieces::default();
    whole.push_zeros(size / PIECE);
    if let Ok(rest @ 1..) = usize::try_from(size % PIECE) {
        whole.push(Digest::of_piece(&vec![0; rest]));
    }
    whole.finish()
}
