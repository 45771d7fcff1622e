//! Serves images by FUSE.
//!
//! The server runs in the test's own process: should the test die, so does the connection. A test that takes too long
//! ends the process, since nothing else could wake what waits for a server that doesn't answer.

use std::{
    fs::File,
    io,
    os::fd::OwnedFd,
    path::Path,
    process,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use lith::{
    device::{FileDevice, ReadAt},
    reader::{self, Image, Limits},
    source::Source,
};
use lith_fuse::{Mounted, Options, Unmounter};
use rustix::fs::{Mode, OFlags};
use tempfile::TempDir;

use crate::{image, tier};

const TIER: &str = "FUSE mounts";

/// The longest that one mount may live.
const LONGEST: Duration = Duration::from_secs(300);

/// An image that is mounted and served.
#[derive(Debug)]
pub struct Served {
    server: Option<JoinHandle<io::Result<()>>>,
    unmounter: Unmounter,
    ended: Arc<AtomicBool>,
    directory: TempDir,
}

/// Whether this machine mounts by FUSE; if not, the reason is reported.
#[must_use]
pub fn is_there() -> bool {
    let reason = if let Err(reason) = tier::can_mount() {
        reason
    } else if let Err(error) = File::options().read(true).write(true).open("/dev/fuse") {
        format!("/dev/fuse: {error}")
    } else {
        tier::ran(TIER);
        return true;
    };
    tier::skip(TIER, reason);
    false
}

/// The image with the library's own limits.
#[must_use]
pub fn open(image: &Path) -> Arc<Image> {
    open_within(image, Limits::default())
}

/// The image with other limits.
#[must_use]
pub fn open_within(image: &Path, limits: Limits) -> Arc<Image> {
    let device: Box<dyn ReadAt> = Box::new(FileDevice::open(image).unwrap());
    let mut options = reader::Options::default();
    (options.limits, options.whole_again) = (limits, true);
    Arc::new(Image::open_with(vec![device], options).unwrap())
}

/// Mounts and serves an image in a new folder.
#[must_use]
pub fn serve(image: Arc<Image>, options: &Options) -> Served {
    let directory = tempfile::Builder::new().prefix("lith-mount-").tempdir().unwrap();
    let mounted = Mounted::new(image, directory.path(), options).unwrap();
    let unmounter = mounted.unmounter();
    let server = thread::spawn(|| mounted.serve());
    let ended = Arc::new(AtomicBool::new(false));
    watch(Arc::clone(&ended), unmounter.clone());
    Served { server: Some(server), unmounter, ended, directory }
}

/// Ends the process if the mount is still there after all the time that a test may take.
fn watch(ended: Arc<AtomicBool>, unmounter: Unmounter) {
    thread::spawn(move || {
        let begin = Instant::now();
        while !ended.load(Ordering::Relaxed) {
            if begin.elapsed() > LONGEST {
                let _ = unmounter.detach();
                eprintln!("a FUSE mount hangs");
                process::exit(101);
            }
            thread::sleep(Duration::from_millis(50));
        }
    });
}

impl Served {
    /// Where it is mounted.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// A descriptor of the root. The mount is busy as long as it lives.
    #[must_use]
    pub fn root(&self) -> OwnedFd {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        rustix::fs::open(self.path(), flags, Mode::empty()).unwrap()
    }

    /// The tree that FUSE shows.
    #[must_use]
    pub fn tree(&self) -> Source {
        image::directory(self.path())
    }

    /// What unmounts it.
    #[must_use]
    pub fn unmounter(&self) -> &Unmounter {
        &self.unmounter
    }

    /// Whether the server came to its end within some time.
    #[must_use]
    pub fn ends_within(&mut self, time: Duration) -> bool {
        let begin = Instant::now();
        while self.server.as_ref().is_some_and(|server| !server.is_finished()) {
            if begin.elapsed() > time {
                return false;
            }
            thread::sleep(Duration::from_millis(10));
        }
        if let Some(server) = self.server.take() {
            server.join().unwrap().unwrap();
        }
        true
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let is_served = self.server.is_some();
        if is_served && self.unmounter.unmount().is_err() {
            let _ = self.unmounter.detach();
        }
        let ended = self.ends_within(Duration::from_secs(60));
        self.ended.store(true, Ordering::Relaxed);
        assert!(ended || thread::panicking(), "the server goes on after its mount's end");
    }
}
