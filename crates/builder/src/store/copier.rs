//! Defines [`Copier`], which copies known pclusters and blocks into the image, each once.

use std::collections::HashMap;

use lith_format::addr::Blkaddr;
use lith_tree::Content;

use super::allocator::Allocator;
use crate::BuildError;

/// Blocks that are copied at once.
const STEP: usize = 256;

/// Copies what is known from the unified address space.
pub(super) struct Copier<'a> {
    from: Option<&'a dyn Content>,
    /// Where runs of blocks are in the image, by where they were and how many there are.
    copied: HashMap<(u64, u64), Blkaddr>,
    /// Whether the system copies: a filesystem that shares extents then stores nothing twice.
    by_system: bool,
}

impl<'a> Copier<'a> {
    /// Without a source nothing is copied: what is known stays where it is.
    pub(super) fn new(from: Option<&'a dyn Content>) -> Self {
        Self { from, copied: HashMap::new(), by_system: true }
    }

    /// Where `blocks` known blocks are from now on.
    pub(super) fn place(
        &mut self,
        known: Blkaddr,
        blocks: u64,
        allocator: &mut Allocator<'_>,
    ) -> Result<Blkaddr, BuildError> {
        let Some(from) = self.from else { return Ok(known) };
        if let Some(copied) = self.copied.get(&(known.0, blocks)) {
            return Ok(*copied);
        }
        let size = u64::from(allocator.block().size());
        let start = Blkaddr(allocator.next());
        self.by_system = self.by_system && allocator.append_copy(from, (known.0 * size, blocks))?;
        if self.by_system {
            self.copied.insert((known.0, blocks), start);
            return Ok(start);
        }
        let mut bytes = Vec::new();
        for done in (0..blocks).step_by(STEP) {
            let now = (blocks - done).min(STEP as u64) * size;
            bytes.resize(usize::try_from(now).expect("a step fits memory"), 0);
            from.read_at(&mut bytes, (known.0 + done) * size)?;
            allocator.append(&bytes)?;
        }
        self.copied.insert((known.0, blocks), start);
        Ok(start)
    }
}
