//! How does metadata become the content of an inode, so that it can be compressed?
//!
//! Inodes, with what lies beside them, are written to a file of their own, which is then stored as any other: in the
//! image it is the content of the metabox inode. Only that one and the packed inode stay outside.

use std::{fs::File, os::unix::fs::FileExt, path::PathBuf};

use lith_format::addr::Nid;
use lith_tree::{
    Content, ContentError, DataRange, Inode, InodeIndex, Kind, Metadata, Timestamp, Tree,
};

use crate::{
    BuildError, Digest, Output,
    data::DataWriter,
    pipeline::{self, Pass},
    place::{Placement, Records},
    spool::unnamed_file,
    write::{Finished, Target},
};

/// What is known of all inodes that have names.
pub(crate) struct Named {
    pub(crate) root: Nid,
    /// What they and their files' content hash to.
    pub(crate) content: Digest,
}

/// Stores the inodes that have names, and the packed inode's content if directories lie there.
pub(crate) fn store<'a>(data: &mut DataWriter<'a>, image: Output<'a>) -> Result<Named, BuildError> {
    let (sources, plan) = (data.sources, data.plan);
    let temporary = || Temporary::new(sources.context.temporary.to_owned());
    let (inodes, directories) = (temporary()?, temporary()?);
    let records = Records::new(sources, plan, &data.files);
    let placement = Placement::in_metabox(&records, data.next);
    let root = placement.nid(InodeIndex::ROOT);
    let finished = Finished {
        sources,
        plan,
        placement: &placement,
        files: &data.files,
        used: &data.used,
        digests: &data.digests,
        spool: &data.spool,
        image,
        metadata: Target::Temporary(&inodes),
        directories: Some(Target::Temporary(&directories)),
        root,
        has_shared: data.has_shared,
        blob: data.blob.as_ref(),
    };
    let content = finished.write_metadata(&records, records.iter())?;
    if placement.content_end > placement.content_start {
        data.next = placement.content_end;
    }
    if let Some(packed) =
        sources.packed.get().filter(|_| sources.options.compression.pack_directories)
    {
        // It is set nowhere else, and neither is the metabox.
        let _first = packed.directories.set(directories);
        crate::store_packed(sources, data)?;
    }
    let index = index_in(sources.tree);
    let metabox = Metabox::new(index, plan.epoch, inodes, placement.end);
    let _first = sources.metabox.set(metabox);
    pipeline::store_contents(sources, plan, Pass::Store(&[index]), data)?;
    Ok(Named { root, content })
}

/// The metabox inode's number: the one behind the packed inode's.
pub(crate) fn index_in(tree: &Tree) -> InodeIndex {
    tree.next_index().next()
}

/// The metabox inode: a file that no directory names.
#[derive(Debug)]
pub(crate) struct Metabox {
    pub(crate) index: InodeIndex,
    pub(crate) node: Inode,
    content: Temporary,
}

impl Metabox {
    /// The inode with the number `index` whose content is the first `size` bytes of a file.
    pub(crate) fn new(index: InodeIndex, time: Timestamp, content: Temporary, size: u64) -> Self {
        let metadata = Metadata { permissions: 0o644, mtime: time, ..Metadata::default() };
        Self { index, node: Inode::nameless(metadata, Kind::Regular { size }), content }
    }
}

/// The bytes of the metabox inode.
pub(crate) struct MetaboxContent<'a>(pub(crate) &'a Metabox);

impl Content for MetaboxContent<'_> {
    fn read_at(&self, buf: &mut [u8], position: u64) -> Result<(), ContentError> {
        self.0.content.read_at(buf, position)
    }

    fn range_at(&self, _position: u64) -> Result<DataRange, ContentError> {
        match self.0.node.kind {
            Kind::Regular { size } => Ok(DataRange::Data { end: size }),
            _ => Ok(DataRange::Data { end: u64::MAX }),
        }
    }

    /// Nobody else has the file.
    fn check_unchanged(&self) -> Result<(), ContentError> {
        Ok(())
    }
}

/// A file without a name whose bytes become those of an inode.
#[derive(Debug)]
pub(crate) struct Temporary {
    pub(crate) file: File,
    /// Where it is, for whoever asks what went wrong.
    pub(crate) directory: PathBuf,
}

impl Temporary {
    /// An empty one in a directory.
    fn new(directory: PathBuf) -> Result<Self, BuildError> {
        match unnamed_file(&directory) {
            Ok(file) => Ok(Self { file, directory }),
            Err(source) => Err(BuildError::Temporary { directory, source }),
        }
    }

    /// Fills `buf` with the file's bytes from `position` on.
    pub(crate) fn read_at(&self, buf: &mut [u8], position: u64) -> Result<(), ContentError> {
        let failed =
            |source| ContentError::Io { path: self.directory.clone(), action: "read", source };
        self.file.read_exact_at(buf, position).map_err(failed)
    }
}
