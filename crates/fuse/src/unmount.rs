//! Unmounts, also what a server that died left mounted.

use std::{
    borrow::Cow,
    fs,
    io::{self, Read, Write},
    path::Path,
    process::{Command, Stdio},
};

use rustix::{
    fs::statfs,
    io::Errno,
    mount::{UnmountFlags, unmount as umount2},
};

use crate::agent::{DETACH, DONE, FAILED, UNMOUNT};

/// Unmounts what is mounted at `directory`, or where that leads to if it is a symbolic link; with `lazy` also if it is in use: it is detached at once, and ends with its
/// last user. Without the right to unmount, the program `fusermount3` does it, for mounts of the same user.
///
/// # Errors
/// Those of the kernel, for example that it is busy or that nothing is mounted there, or of `fusermount3`.
pub fn unmount(directory: &Path, lazy: bool) -> io::Result<()> {
    let flags = if lazy { UnmountFlags::DETACH } else { UnmountFlags::empty() };
    let directory = mount_point(directory);
    match umount2(&*directory, flags | UnmountFlags::NOFOLLOW) {
        Err(Errno::PERM) => by_helper(&directory, lazy),
        Err(Errno::INVAL) => {
            Err(io::Error::new(io::ErrorKind::InvalidInput, "nothing is mounted there"))
        }
        unmounted => Ok(unmounted?),
    }
}

/// The path that the list of mounts has. What is no link is not resolved, as the server of what is mounted may be dead.
fn mount_point(directory: &Path) -> Cow<'_, Path> {
    let resolved = fs::read_link(directory).and_then(|_link| directory.canonicalize());
    resolved.map_or(Cow::Borrowed(directory), Cow::Owned)
}

/// Whether the server of what is mounted at `directory` is gone.
#[must_use]
pub fn is_dead(directory: &Path) -> bool {
    matches!(statfs(directory), Err(Errno::NOTCONN | Errno::CONNABORTED))
}

/// Does what an [`Agent`](crate::Agent) requests on `requests`, and answers on `answers`. When that ends, which a server keeps
/// open as long as it runs, unmounts what it left mounted at `directory`.
///
/// # Errors
/// As [`unmount`].
pub fn watch(mut requests: impl Read, mut answers: impl Write, directory: &Path) -> io::Result<()> {
    // However the wait ends, the server is gone or can't be watched any more.
    let mut request = [0];
    while requests.read_exact(&mut request).is_ok() {
        let [request] = request;
        let is_done = match request {
            UNMOUNT => unmount(directory, false).is_ok(),
            DETACH => unmount(directory, true).is_ok(),
            _ => false,
        };
        let answer = if is_done { DONE } else { FAILED };
        if answers.write_all(&[answer]).and_then(|()| answers.flush()).is_err() {
            break;
        }
    }
    if is_dead(directory) { unmount(directory, true) } else { Ok(()) }
}

fn by_helper(directory: &Path, lazy: bool) -> io::Result<()> {
    let mut failure = io::Error::from(Errno::PERM);
    for helper in ["fusermount3", "fusermount"] {
        let mut command = Command::new(helper);
        command.arg("-u").args(lazy.then_some("-z")).arg("--").arg(directory);
        match command.stdin(Stdio::null()).output() {
            Ok(output) if output.status.success() => return Ok(()),
            Ok(output) => {
                let message = String::from_utf8_lossy(&output.stderr);
                return Err(io::Error::other(message.trim().to_owned()));
            }
            Err(error) => failure = error,
        }
    }
    Err(failure)
}
