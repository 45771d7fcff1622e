//! How does serving begin and end?

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
    idle::Activity, mount::mount, options::Options, readahead, requests::Server, unmount::unmount,
};

/// An image that is mounted, but doesn't answer yet.
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
    /// Mounts `image` at `directory`: with the rights for it right away, otherwise by the program `fusermount3`.
    ///
    /// # Errors
    /// What the kernel or the program says.
    pub fn new(image: Arc<Image>, directory: &Path, options: &Options) -> io::Result<Self> {
        let directory = directory.canonicalize()?;
        let server = Server::new(image, options);
        let (activity, pusher, ahead) = (server.activity(), server.pusher(), server.ahead());
        let connection = mount(&directory, options)?;
        let session = Session::from_fd(server, connection, acl(options), config(options));
        let session = session.inspect_err(|_| {
            // There is nobody who would answer.
            let _ = unmount(&directory, true);
        })?;
        pusher.begin(session.notifier());
        if readahead::raise(&directory)
            && let Some(ahead) = ahead
        {
            ahead.only_files();
        }
        Ok(Self { session, directory, activity, idle: options.idle })
    }

    /// Where the image is mounted.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// What ends it.
    #[must_use]
    pub fn unmounter(&self) -> Unmounter {
        Unmounter { directory: self.directory.clone() }
    }

    /// Answers requests until it is unmounted.
    ///
    /// # Errors
    /// What the kernel says when the connection fails, or that there are no threads.
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
    /// Unmounts if nobody uses it.
    ///
    /// # Errors
    /// What the kernel says, as that it is busy.
    pub fn unmount(&self) -> io::Result<()> {
        unmount(&self.directory, false)
    }

    /// Takes it out of sight, whoever uses it.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn detach(&self) -> io::Result<()> {
        unmount(&self.directory, true)
    }
}

/// A busy mount can't be unmounted: then it is not idle either.
fn unmount_when_idle(activity: &Activity, unmounter: &Unmounter, idle: Duration) {
    loop {
        activity.wait_until_idle(idle);
        if unmounter.unmount().is_ok() {
            return;
        }
    }
}

/// Who may ask is the kernel's business, but that it can't tell root from others.
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
