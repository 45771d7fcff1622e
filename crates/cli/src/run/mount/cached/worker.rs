//! The process that fetches what readers of a mount wait for.

use std::{
    fs::File,
    io,
    ops::Range,
    os::{
        fd::{AsFd, OwnedFd},
        unix::{net::UnixStream, process::CommandExt},
    },
    path::Path,
    process::{Command, Stdio},
    sync::Arc,
    thread,
    time::Duration,
};

use lith::{
    device::{OffsetDevice, ReadAt},
    reader::{Image, Options},
    remote::RemoteDevice,
};
use lith_fanotify::{Filler, Left, work};

use super::mounting::{arguments, named};
use crate::{
    args::{
        location::Location,
        mount::{Mount, Prefetch, Settings},
    },
    exit::{self, Outcome},
    run::{
        mount::{memory, prefetch::ranges_of},
        remote, subject,
    },
};

/// How long a worker that can't read the cache answers so, before another one tries it.
const TRIAL: Duration = Duration::from_secs(5);

/// Fetches what the guard requests on standard input; standard output is the group (`lith mount --fetch`).
pub(in crate::run::mount) fn run(
    request: &Mount,
    settings: &Settings,
    file: &Path,
) -> anyhow::Result<Outcome> {
    rustix::thread::set_name(c"lith")?;
    let connection = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    // As long as this is open, readers wait, even if the guard dies.
    let group = io::stdout().as_fd().try_clone_to_owned()?;
    let null = File::options().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    let device = remote::resume(&request.image.image, file).ok();
    // What is filled must be what is mounted.
    let device = device.filter(|device| device.identity().ok().map(named) == request.inode);
    let filler: Arc<dyn Filler> = if let Some(device) = device {
        read_ahead(&device, request, settings);
        Arc::new(Fetching(device))
    } else {
        thread::Builder::new().spawn(|| {
            thread::sleep(TRIAL);
            exit::now(Outcome::Reported)
        })?;
        Arc::new(Unreadable)
    };
    match work(connection, &filler)? {
        Left::Done => Ok(Outcome::Success),
        Left::Alone => Err(become_guard(request, settings, (file, group)).into()),
    }
}

/// Takes the place of the guard. Returns only if that fails.
fn become_guard(
    request: &Mount,
    settings: &Settings,
    (file, group): (&Path, OwnedFd),
) -> io::Error {
    let mut command = Command::new("/proc/self/exe");
    let mut arguments = arguments(request, settings, ("--guard", file));
    arguments.insert(2, "--again".into());
    command.arg0("lith").args(arguments).stdin(Stdio::null()).stdout(Stdio::from(group));
    memory::limit(&mut command).exec()
}

/// Begins to fetch what is read first, or all.
fn read_ahead(device: &Arc<RemoteDevice>, request: &Mount, settings: &Settings) {
    if request.prefetch == Prefetch::None {
        return;
    }
    let (device, prefetch) = (Arc::clone(device), request.prefetch);
    let (offset, path) = (settings.offset, request.image.image.clone());
    let (search, size) = (settings.devices.clone(), device.size());
    let find = move || -> anyhow::Result<()> {
        if prefetch == Prefetch::All {
            device.will_need(0, size);
            return Ok(());
        }
        let primary: Box<dyn ReadAt> = Box::new(OffsetDevice::new(Arc::clone(&device), offset));
        let location = Location { offset, ..Location::new(&path, search) };
        let image =
            Image::open_with(subject::with_further(primary, &location)?, Options::default())?;
        for Range { start, end } in ranges_of(&image, prefetch) {
            device.will_need(offset.saturating_add(start), end.saturating_sub(start));
        }
        Ok(())
    };
    // It is an offer: what isn't fetched ahead is fetched when it is read.
    let _none = thread::Builder::new().name("ahead".to_owned()).spawn(find);
}

/// Fetches into the cache.
struct Fetching(Arc<RemoteDevice>);

impl Filler for Fetching {
    fn has(&self, range: &Range<u64>) -> bool {
        self.0.has(range)
    }

    fn fill(&self, range: Range<u64>) -> io::Result<()> {
        self.0.fill(&range).map_err(io::Error::other)
    }

    fn settle(&self) -> bool {
        // What is not durable is fetched again after a crash.
        self.0.settle().unwrap_or(false)
    }
}

/// Has nothing.
struct Unreadable;

impl Filler for Unreadable {
    fn has(&self, _range: &Range<u64>) -> bool {
        false
    }

    fn fill(&self, _range: Range<u64>) -> io::Result<()> {
        Err(io::ErrorKind::NotFound.into())
    }

    fn settle(&self) -> bool {
        false
    }
}
