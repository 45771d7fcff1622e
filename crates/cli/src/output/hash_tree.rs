//! Describes hash trees.

use std::io::{self, Write};

use lith::verity::{RootHash, Superblock};
use lith_report::number::Bytes;
use serde::Serialize;
use uuid::Uuid;

/// A hash tree, as JSON has it.
#[derive(Debug, Serialize)]
pub(crate) struct HashTreeRecord {
    #[serde(skip_serializing_if = "Option::is_none")]
    root_hash: Option<String>,
    hash_offset: u64,
    data_blocks: u64,
    data_block_size: u32,
    hash_block_size: u32,
    salt: String,
    uuid: String,
}

impl HashTreeRecord {
    /// The record of the tree whose superblock is at a byte of its file; its root hash, if it is known.
    pub(crate) fn new(superblock: &Superblock, hash_offset: u64, root: Option<RootHash>) -> Self {
        Self {
            root_hash: root.map(|root| root.to_string()),
            hash_offset,
            data_blocks: superblock.data_blocks,
            data_block_size: superblock.data_block,
            hash_block_size: superblock.hash_block,
            salt: hex::encode(&superblock.salt),
            uuid: Uuid::from_bytes(superblock.uuid).to_string(),
        }
    }

    /// Prints a line for each fact.
    pub(crate) fn write_text(&self, output: &mut dyn Write) -> io::Result<()> {
        let Self { hash_offset, data_blocks, data_block_size, hash_block_size, .. } = self;
        if let Some(root) = &self.root_hash {
            writeln!(output, "root hash    {root}")?;
        }
        writeln!(output, "hash offset  {hash_offset}")?;
        let bytes = Bytes(data_blocks.saturating_mul((*data_block_size).into()));
        writeln!(output, "data         {data_blocks} blocks of {data_block_size} bytes: {bytes}")?;
        writeln!(output, "hash blocks  {hash_block_size} bytes, sha256")?;
        writeln!(output, "salt         {}", if self.salt.is_empty() { "-" } else { &self.salt })?;
        writeln!(output, "UUID         {}", self.uuid)
    }
}
