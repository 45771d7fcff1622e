//! Starts and ends a mount.

use std::{
    fs::File,
    io,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::Duration,
};

use fuser::{Config, Session, SessionACL};
use lith_reader::Image;

use crate::{
    agent::{Agent, DETACH, UNMOUNT},
    idle::Activity,
    mount::{mount, raise_read_ahead, read_ahead_file},
    options::Options,
    requests::Server,
    unmount::unmount,
    watch::Watch,
};

/// A mount without an image: who uses it waits until there is one.
#[derive(Debug)]
pub struct Connection {
    kernel: OwnedFd,
    read_ahead: Option<File>,
    config: Config,
    unmounter: Unmounter,
}

impl Connection {
    /// Mounts at `directory`: directly with the right to mount, otherwise by the program `fusermount3`.
    ///
    /// # Errors
    /// Those of the kernel or the program.
    pub fn open(directory: &Path, options: &Options) -> io::Result<Self> {
        let directory = directory.canonicalize()?;
        let kernel = mount(&directory, options)?;
        let (read_ahead, config) = (read_ahead_file(&directory), config(options));
        let unmounter = Unmounter { directory, agent: None };
        Ok(Self { kernel, read_ahead, config, unmounter })
    }

    /// Leaves unmounting to a process, for a server that is about to lose the right to.
    pub fn unmount_by(&mut self, agent: Agent) {
        self.unmounter.agent = Some(Arc::new(agent));
    }

    /// Ends the mount, from any thread.
    #[must_use]
    pub fn unmounter(&self) -> Unmounter {
        self.unmounter.clone()
    }

    /// Where it is mounted.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.unmounter.directory
    }
}

/// A mounted image whose requests are not answered yet.
#[derive(Debug)]
pub struct Mounted {
    session: Session<Server>,
    unmounter: Unmounter,
    activity: Arc<Activity>,
    idle: Option<Duration>,
}

/// Ends a mount while it is served.
#[derive(Clone, Debug)]
pub struct Unmounter {
    directory: PathBuf,
    agent: Option<Arc<Agent>>,
}

impl Mounted {
    /// Mounts `image` at `directory`: directly with the right to mount, otherwise by the program `fusermount3`.
    ///
    /// # Errors
    /// Those of the kernel or the program.
    pub fn new(image: Arc<Image>, directory: &Path, options: &Options) -> io::Result<Self> {
        Self::on(Connection::open(directory, options)?, (image, None), options)
    }

    /// The same with a watch, which gets all requests: the kernel reads ahead as on its own filesystems.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn watched(
        image: Arc<Image>,
        directory: &Path,
        options: &Options,
        watch: Arc<dyn Watch>,
    ) -> io::Result<Self> {
        Self::on(Connection::open(directory, options)?, (image, Some(watch)), options)
    }

    /// Begins to serve an image where there is a mount, which ends if this fails; `watch` gets all requests.
    ///
    /// # Errors
    /// Those of the kernel's connection.
    pub fn on(
        connection: Connection,
        (image, watch): (Arc<Image>, Option<Arc<dyn Watch>>),
        options: &Options,
    ) -> io::Result<Self> {
        let server = Server::new(image, options);
        // What reaches the kernel without its request would be missing in what the watch gets.
        let is_watched = watch.is_some();
        let server = match watch {
            Some(watch) => server.watched(watch),
            None => server,
        };
        let Connection { kernel, read_ahead, config, unmounter } = connection;
        let (activity, pusher) = (Arc::clone(&server.activity), Arc::clone(&server.pusher));
        let ahead = Arc::clone(&server.ahead);
        let session = Session::from_fd(server, kernel, acl(options), config);
        let session = session.inspect_err(|_| {
            // Without a session, requests would wait for ever.
            let _ = unmounter.detach();
        })?;
        if !is_watched {
            pusher.begin(session.notifier());
        }
        if !is_watched && read_ahead.is_some_and(|file| raise_read_ahead(&file)) {
            ahead.only_files();
        }
        Ok(Self { session, unmounter, activity, idle: options.idle })
    }

    /// Where the image is mounted.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.unmounter.directory
    }

    /// Ends the mount, from any thread.
    #[must_use]
    pub fn unmounter(&self) -> Unmounter {
        self.unmounter.clone()
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
        self.end(UNMOUNT)
    }

    /// Detaches the mount from the file tree, in use or not.
    ///
    /// # Errors
    /// Those of the kernel.
    pub fn detach(&self) -> io::Result<()> {
        self.end(DETACH)
    }

    fn end(&self, how: u8) -> io::Result<()> {
        match &self.agent {
            Some(agent) => agent.ask(how),
            None => unmount(&self.directory, how == DETACH),
        }
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
