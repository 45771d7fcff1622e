//! Mounts a file that is watched, without a trace in the list of mounts but the image's.

use std::{
    env,
    fs::{self, File},
    io,
    os::fd::{AsRawFd, OwnedFd},
    path::{Component, Path, PathBuf},
    sync::mpsc::Sender,
};

use nix::sched::{CloneFlags, unshare};
use rustix::{
    fs::{CWD, Mode, OFlags, open},
    mount::{
        MountFlags, MountPropagationFlags, OpenTreeFlags, mount, mount_bind, mount_change,
        open_tree,
    },
};

use crate::Group;

/// Where the image is mounted at first.
const MOUNT: &str = "mount";
/// What the list of mounts has instead of a name that can't be a path.
const NAMELESS: &str = "image";

/// What is mounted.
#[derive(Clone, Debug)]
pub struct Place<'a> {
    /// The file with the image, by its absolute path. What is mounted at its folder is not seen by `mount`.
    pub file: &'a Path,
    /// What the list of mounts shows as the source.
    pub name: &'a Path,
}

/// Mounts a file by `mount`, which gets the path of the file and that of a directory. Returns the mount, which has no place in
/// the file tree yet. `watched` gets the group that receives an event before each read of the file by the mount, also of
/// those during the call, so another thread has to answer; `None`: there are no events.
///
/// The calling thread changes its mount namespace and working directory, and should end.
///
/// # Errors
/// Those of the kernel and of `mount`.
pub fn attach(
    place: &Place<'_>,
    watched: Option<Sender<Group>>,
    mount_at: impl FnOnce(&Path, &Path) -> io::Result<()>,
) -> io::Result<OwnedFd> {
    unshare(CloneFlags::CLONE_NEWNS)?;
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
    let file = open(place.file, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
    let folder = place.file.parent().unwrap_or(Path::new("/"));
    // The kernel shows the path by which it opened the file. In a folder of its own, that can be any name.
    mount("lith", folder, "tmpfs", MountFlags::empty(), c"mode=700")?;
    env::set_current_dir(folder)?;
    let name = name(place.name);
    fs::create_dir_all(name.parent().unwrap_or(Path::new("")))?;
    File::create(&name)?;
    fs::create_dir_all(MOUNT)?;
    // A mount of its own: only what is read by it is reported.
    mount_bind(format!("/proc/self/fd/{}", file.as_raw_fd()), &name)?;
    if let Some(watched) = watched {
        watched.send(Group::watching(&name)?).map_err(io::Error::other)?;
    }
    mount_at(&name, Path::new(MOUNT))?;
    Ok(open_tree(CWD, MOUNT, OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC)?)
}

/// A name, if it is a relative path that can be made.
fn name(name: &Path) -> PathBuf {
    let bytes = name.as_os_str().as_encoded_bytes();
    let is_normal =
        |component: Component<'_>| matches!(component, Component::Normal(name) if name.len() < 256);
    let is_own = name.components().next() != Some(Component::Normal(MOUNT.as_ref()));
    let can_be = bytes.len() < 2048 && !bytes.is_empty() && !bytes.ends_with(b"/");
    if can_be && is_own && name.components().all(is_normal) {
        name.to_owned()
    } else {
        NAMELESS.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_in_their_folder() {
        for good in ["https://host:1/a/x.erofs", "x", "https://host/x?..."] {
            assert_eq!(name(Path::new(good)), Path::new(good));
        }
        let long = "x".repeat(256);
        for bad in ["https://host/../../x", "/etc/x", "https://host/", "mount", "", &long] {
            assert_eq!(name(Path::new(bad)), Path::new(NAMELESS), "{bad}");
        }
    }
}
