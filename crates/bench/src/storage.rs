//! Limits how fast the disk with the images is read, as slow storage is.

use std::{
    fmt, fs,
    path::{Path, PathBuf},
};

use anyhow::Context;

use crate::{error::failed, workplace::Workplace};

/// Storage that reads at most so much in a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Storage {
    /// A short name: `sd`.
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    /// Bytes and requests a second. `None`: whatever this machine can.
    pub(crate) most: Option<(u64, u64)>,
}

impl Storage {
    pub(crate) const SD_CARD: Self =
        Self { name: "sd", about: "an SD card", most: Some((40_000_000, 300)) };
    pub(crate) const EMMC: Self =
        Self { name: "emmc", about: "eMMC, or a network", most: Some((150_000_000, 3000)) };
    pub(crate) const UNLIMITED: Self =
        Self { name: "unlimited", about: "this machine's disk", most: None };
    pub(crate) const ALL: [Self; 3] = [Self::SD_CARD, Self::EMMC, Self::UNLIMITED];

    /// What is missing to limit a disk here.
    pub(crate) fn lacks(&self, place: &Workplace) -> Option<String> {
        self.most?;
        if !place.has_disk {
            return Some("no disk of its own for images".into());
        }
        Controller::find().is_none().then(|| "no cgroup here limits the reads of a disk".into())
    }

    /// Limits this process, and all that it starts from now on, until the result is dropped.
    pub(crate) fn limit(&self, place: &Workplace) -> anyhow::Result<Option<Limited>> {
        let Some((bytes, requests)) = self.most else { return Ok(None) };
        let controller = Controller::find().context("no cgroup here limits the reads of a disk")?;
        controller.limit(&place.images(), bytes, requests).map(Some)
    }
}

impl fmt::Display for Storage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.most {
            None => write!(f, "{}, not limited", self.about),
            Some((bytes, requests)) => {
                let bytes = bytes / 1_000_000;
                write!(f, "{}: {bytes} MB/s and {requests} requests a second", self.about)
            }
        }
    }
}

/// The I/O controller of cgroups, in one of its two forms.
struct Controller {
    /// The folder of all groups.
    root: PathBuf,
    is_v2: bool,
    /// The group of this process.
    own: PathBuf,
}

impl Controller {
    fn find() -> Option<Self> {
        let mounts = fs::read_to_string("/proc/self/mounts").ok()?;
        let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
        mounts.lines().find_map(|line| {
            let mut fields = line.split(' ').skip(1);
            let root = PathBuf::from(fields.next()?);
            let is_v2 = fields.next()? == "cgroup2";
            let has_io = if is_v2 {
                let all = fs::read_to_string(root.join("cgroup.controllers")).ok()?;
                all.split_whitespace().any(|name| name == "io")
            } else {
                root.join("blkio.throttle.read_iops_device").exists()
            };
            let own = own_group(&groups, is_v2)?;
            let own = root.join(own.trim_start_matches('/'));
            has_io.then_some(Self { root, is_v2, own })
        })
    }

    fn limit(self, on_disk: &Path, bytes: u64, requests: u64) -> anyhow::Result<Limited> {
        let device = fs::metadata(on_disk).map_err(failed("look at", on_disk))?;
        let device = std::os::unix::fs::MetadataExt::dev(&device);
        let device = format!("{}:{}", rustix::fs::major(device), rustix::fs::minor(device));
        let group = self.root.join(format!("lith-bench-{}", std::process::id()));
        let limited = Limited { group, own: self.own };
        let group = &limited.group;
        if self.is_v2 {
            write(&self.root.join("cgroup.subtree_control"), "+io")?;
        }
        fs::create_dir(group).map_err(failed("create", group))?;
        if self.is_v2 {
            write(&group.join("io.max"), &format!("{device} rbps={bytes} riops={requests}"))?;
        } else {
            let limit = |what: &str, most: u64| {
                let file = group.join(format!("blkio.throttle.read_{what}_device"));
                write(&file, &format!("{device} {most}"))
            };
            limit("bps", bytes)?;
            limit("iops", requests)?;
        }
        write(&group.join("cgroup.procs"), &std::process::id().to_string())?;
        Ok(limited)
    }
}

/// The path of this process' group, of the lines of `/proc/self/cgroup`.
fn own_group(groups: &str, is_v2: bool) -> Option<&str> {
    groups.lines().find_map(|line| {
        let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
        let is_it = if is_v2 {
            controllers.is_empty()
        } else {
            controllers.split(',').any(|name| name == "blkio")
        };
        is_it.then_some(path)
    })
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    fs::write(path, text).map_err(failed("write", path))
}

/// This process is limited until this is dropped.
pub(crate) struct Limited {
    group: PathBuf,
    own: PathBuf,
}

impl Drop for Limited {
    fn drop(&mut self) {
        let _gone = write(&self.own.join("cgroup.procs"), &std::process::id().to_string());
        // What it has started may be in there for a moment longer: those go, too, and the group with them.
        for _ in 0..50 {
            let left = fs::read_to_string(self.group.join("cgroup.procs")).unwrap_or_default();
            for process in left.lines() {
                let _ended = write(&self.own.join("cgroup.procs"), process);
            }
            if fs::remove_dir(&self.group).is_ok() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_found_in_both_forms() {
        let groups = "9:name=systemd:/\n7:cpu,blkio:/a/b\n0::/c\n";
        assert_eq!(own_group(groups, false), Some("/a/b"));
        assert_eq!(own_group(groups, true), Some("/c"));
        assert_eq!(own_group("0::/c\n", false), None);
    }

    #[test]
    fn storage_is_named_with_its_limits() {
        let text = Storage::SD_CARD.to_string();
        assert_eq!(text, "an SD card: 40 MB/s and 300 requests a second");
    }
}
