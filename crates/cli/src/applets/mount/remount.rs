//! How is a mount changed that is there already?

use std::path::PathBuf;

use anyhow::Context;
use rustix::mount::{MountFlags, mount_move, mount_remount};

use super::options::Kind;
use crate::{args::mount::Settings, exit::Outcome, output::error::Place};

/// A change of a mount.
#[derive(Debug)]
pub(super) struct Change {
    pub(super) kind: Kind,
    /// Where it is, if it is moved.
    pub(super) source: PathBuf,
    /// Where it is, or goes to.
    pub(super) target: PathBuf,
    pub(super) settings: Settings,
}

impl Change {
    /// Carries it out.
    pub(super) fn carry_out(&self) -> anyhow::Result<Outcome> {
        let changed = match self.kind {
            Kind::Move => mount_move(&self.source, &self.target),
            Kind::New | Kind::Remount => {
                let flags = self.settings.set | MountFlags::RDONLY;
                let words = self.settings.kernel.join(",");
                mount_remount(&self.target, flags, words)
            }
        };
        changed.with_context(|| format!("{}: not changed", Place(&self.target)))?;
        Ok(Outcome::Success)
    }
}
