//! Starts and ends a mount.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::Duration,
};

use fuser::{Config, Session, SessionACL};
use lith_reader::Image;

use crate::{
    idle::Activity,
    mount::{mount, raise_read_ahead},
    options::Options,
    requests::Server,
    unmount::unmount,
    watch::Watch,
};

/// A mounted image whose requests are not answered yet.
#[derive(Debug)]
pub struct Mounted {
    session: Session<Server>,
    directory: PathBuf,
    activity: Arc<Activity>,
    idle: Option<Duration>,
}

/// Ends a mount while it is served.
#[derive(Clone, Debug)]
pub struct Unmounter {
    directory: PathBuf,
}

impl Mounted {
    /// Mounts `image` at `directory`: directly with the right to mount, otherwise by the program `fusermount3`.
    ///
    /// # Errors
    /// Those of the kernel or the program.
    pub fn new(image: Arc<Image>, directory: &Path, options: &Options) -> io::Result<Self> {
        Self::start(Server::new(image, options), directory, options)
    }

    /// The same with someone who is told what is requested.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn watched(
        image: Arc<Image>,
        directory: &Path,
        options: &Options,
        watch: Arc<dyn Watch>,
    ) -> io::Result<Self> {
        Self::start(Server::new(image, options).watched(watch), directory, options)
    }

    fn start(server: Server, directory: &Path, options: &Options) -> io::Result<Self> {
        let directory = directory.canonicalize()?;
        let (activity, pusher) = (Arc::clone(&server.activity), Arc::clone(&server.pusher));
        let ahead = Arc::clone(&server.ahead);
        let connection = mount(&directory, options)?;
        let session = Session::from_fd(server, connection, acl(options), config(options));
        let session = session.inspect_err(|_| {
            // Without a session, requests would wait for ever.
            let _ = unmount(&directory, true);
        })?;
        pusher.begin(session.notifier());
        if raise_read_ahead(&directory) {
            ahead.only_files();
        }
        Ok(Self { session, directory, activity, idle: options.idle })
    }

    /// Where the image is mounted.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Ends the mount, from any thread.
    #[must_use]
    pub fn unmounter(&self) -> Unmounter {
        Unmounter { directory: self.directory.clone() }
    }

    /// Answers requests until it is unmounted.
    ///
    /// # Errors
    /// Those of the kernel's connection, and of starting threads.
    pub fn serve(self) -> io::Result<()> {
        if let Some(idle) = self.idle {
            let (activity, unmounter) = (Arc::clone(&self.activity), self.unmounter());
            thread::Builder::new().name("idle".to_owned()).spawn(move || {
                unmount_when_idle(&activity, &unmounter, idle);
            })?;
        }
        self.session.run()
    }
}

impl Unmounter {
    /// Unmounts if it is not in use.
    ///
    /// # Errors
    /// Those of the kernel, for example that it is busy.
    pub fn unmount(&self) -> io::Result<()> {
        unmount(&self.directory, false)
    }

    /// Detaches the mount from the file tree, in use or not.
    ///
    /// # Errors
    /// Those of the kernel.
    pub fn detach(&self) -> io::Result<()> {
        unmount(&self.directory, true)
    }
}

/// Unmounts once it is idle. Unmounting fails while a file is open: then it waits again.
fn unmount_when_idle(activity: &Activity, unmounter: &Unmounter, idle: Duration) {
    loop {
        activity.wait_until_idle(idle);
        if unmounter.unmount().is_ok() {
            return;
        }
    }
}

/// Access is checked by the kernel, but `allow_root` alone is not known to it.
fn acl(options: &Options) -> SessionACL {
    let only_root = options.allow_root && !options.allow_other;
    if only_root { SessionACL::RootAndOwner } else { SessionACL::All }
}

fn config(options: &Options) -> Config {
    let mut config = Config::default();
    config.n_threads = Some(options.threads());
    config.clone_fd = true;
    config
}
