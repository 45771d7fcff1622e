//! Changes an existing mount: its flags or its place.

use std::path::PathBuf;

use anyhow::Context;
use rustix::mount::{MountFlags, mount_move, mount_remount};

use super::options::Kind;
use crate::{args::mount::Settings, exit::Outcome, output::error::Place};

#[derive(Debug)]
pub(super) struct Change {
    pub(super) kind: Kind,
    /// The old mount point, if it is moved.
    pub(super) source: PathBuf,
    /// The mount point, or the new one if it is moved.
    pub(super) target: PathBuf,
    pub(super) settings: Settings,
}

impl Change {
    pub(super) fn apply(&self) -> anyhow::Result<Outcome> {
        let changed = match self.kind {
            Kind::Move => mount_move(&self.source, &self.target),
            Kind::New | Kind::Remount => {
                let flags = MountFlags::from_bits_retain(self.settings.set.bits());
                let flags = flags | MountFlags::RDONLY;
                let data = self.settings.kernel.join(",");
                mount_remount(&self.target, flags, data)
            }
        };
        changed.with_context(|| format!("{}: cannot change the mount", Place(&self.target)))?;
        Ok(Outcome::Success)
    }
}
