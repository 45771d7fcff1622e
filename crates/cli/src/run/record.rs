//! Runs a command and records what it reads (`lith record`).

use std::{
    env, fs, io,
    os::unix::process::ExitStatusExt,
    path::{Path, PathBuf},
    process::{self, Command, ExitStatus},
    sync::{Arc, atomic::AtomicBool},
    thread,
    time::Duration,
};

use anyhow::Context;
use lith::{
    profile::{Access, FolderWatch, ImageWatch, Locations, Profile},
    reader::{Image, Options},
};
use lith_fuse::{Mounted, Sandbox, Watch};
use lith_report::number::{Bytes, Count};
use rustix::mount::{UnmountFlags, mount_bind, unmount};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};

use super::{log::Log, mount::kernel, profile::Destination, subject};
use crate::{
    args::{MessageArgs, location::Location, mount::Mount, record::Record},
    exit::Outcome,
    output::error::{Place, tell, without_number},
};

/// How long events are waited for before looking whether the command has ended.
const PAUSE: Duration = Duration::from_millis(20);

/// The variable that tells the command where the image is mounted.
const PLACE: &str = "LITH_MOUNT";

pub(crate) fn run(request: &Record, messages: MessageArgs) -> anyhow::Result<Outcome> {
    // They end the command, and with it the recording.
    for signal in [SIGHUP, SIGINT, SIGQUIT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)))?;
    }
    // Before the command runs, perhaps for hours, it is known that the profile can be written.
    let output = Destination::create(&request.output)?;
    let (profile, status) = match &request.image {
        Some(image) => record_image(request, image, messages)?,
        None => record_folder(request)?,
    };
    output.write(&profile)?;
    if !messages.quiet {
        tell(format_args!("lith: {}", summary(&profile)));
    }
    let killed = |signal: i32| u8::try_from(128 + signal).ok();
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(Outcome::OfCommand(code.or_else(|| killed(status.signal()?)).unwrap_or(1)))
}

fn summary(profile: &Profile) -> String {
    let (mut ranges, mut bytes) = (0, 0_u64);
    let mut files: Vec<&[u8]> = Vec::new();
    for entry in profile.entries() {
        if let Access::Read { start, end } = entry.access {
            ranges += 1;
            bytes = bytes.saturating_add(end - start);
            files.push(&entry.path);
        }
    }
    files.sort_unstable();
    files.dedup();
    let (ranges, files) = (Count(ranges, "range"), Count(files.len() as u64, "file"));
    format!("read {ranges} of {files}, {}", Bytes(bytes))
}

type Recorded = (Profile, ExitStatus);

fn record_image(request: &Record, image: &Path, messages: MessageArgs) -> anyhow::Result<Recorded> {
    let folder = MountPoint::new(request.mount.as_deref())?;
    let search = request.devices.search();
    let location = Location { offset: request.offset.0, ..Location::new(image, search) };
    let devices = subject::open_all(&location)?;
    let has_one_device = devices.len() == 1;
    let opened = Image::open_with(devices, Options::default());
    let opened = opened.with_context(|| Place(image).to_string())?;
    let about = |error| anyhow::Error::new(error).context(Place(image).to_string());
    let locations = Locations::new(&opened).map_err(about)?;
    forget(image).with_context(|| Place(image).to_string())?;
    let can_watch = !request.fuse && has_one_device && request.offset.0 == 0;
    if can_watch && rustix::process::geteuid().is_root() {
        match by_kernel(request, image, (&folder, &locations)) {
            Ok(recorded) => return Ok(recorded),
            Err(Refusal::Command(error)) => return Err(error),
            Err(Refusal::Watch(error)) if !messages.quiet => {
                let why = without_number(&error.to_string());
                tell(format_args!("lith: by FUSE: the kernel doesn't tell what is read: {why}"));
            }
            Err(Refusal::Watch(_)) => {}
        }
    }
    by_fuse(request, opened, (&folder, locations))
}

/// Drops what is in memory of a file.
fn forget(path: &Path) -> io::Result<()> {
    let file = fs::File::open(path)?;
    Ok(rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed)?)
}

/// Why the kernel's driver did not record.
enum Refusal {
    /// The command can't be run.
    Command(anyhow::Error),
    /// The kernel can't mount the image, or can't tell what is read of it.
    Watch(io::Error),
}

fn by_kernel(
    request: &Record,
    image: &Path,
    (folder, locations): (&MountPoint, &Locations),
) -> Result<Recorded, Refusal> {
    let mount = Mount::plain(image.to_owned(), folder.path.clone());
    let mut watch = ImageWatch::new(locations, image).map_err(Refusal::Watch)?;
    let mounting = move || kernel::mount(&mount, &mount.settings(), false);
    let how = meanwhile(mounting, |timeout| watch.take(timeout)).map_err(Refusal::Watch)?;
    let _mounted = Attached(&folder.path);
    if how != kernel::FROM_FILE {
        return Err(Refusal::Watch(io::Error::other("it mounts no files")));
    }
    watch.watch_mount(&folder.path).map_err(Refusal::Watch)?;
    let mut command = command(request, &folder.path);
    let status = meanwhile(move || command.status(), |timeout| watch.take(timeout));
    let status = status.context("cannot run the command").map_err(Refusal::Command)?;
    Ok((watch.finish(), status))
}

fn record_folder(request: &Record) -> anyhow::Result<Recorded> {
    let folder = request.mount.as_deref().context("--mount is missing")?;
    let folder = folder.canonicalize().with_context(|| Place(folder).to_string())?;
    // Only what is read through this mount is seen.
    let bound = mount_bind(&folder, &folder);
    bound.with_context(|| format!("{}: cannot watch it", Place(&folder)))?;
    let _bound = Attached(&folder);
    let mut watch = FolderWatch::new(&folder)
        .with_context(|| format!("{}: cannot watch it", Place(&folder)))?;
    let mut command = command(request, &folder);
    let status = meanwhile(move || command.status(), |timeout| watch.take(timeout));
    Ok((watch.finish(), status.context("cannot run the command")?))
}

/// Does something that may have to wait for events, while these are taken.
fn meanwhile<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
    mut take: impl FnMut(Duration) -> io::Result<bool>,
) -> io::Result<T> {
    let working = thread::Builder::new().name("command".to_owned()).spawn(work)?;
    while !working.is_finished() {
        take(PAUSE)?;
    }
    while take(Duration::ZERO)? {}
    working.join().unwrap_or_else(|_panicked| Err(io::Error::other("a thread panicked")))
}

fn command(request: &Record, place: &Path) -> Command {
    let mut words = request.command.iter();
    let mut command = Command::new(words.next().map_or("".as_ref(), |word| word.as_os_str()));
    command.args(words).env(PLACE, place);
    command
}

fn by_fuse(
    request: &Record,
    image: Image,
    (folder, locations): (&MountPoint, Locations),
) -> anyhow::Result<Recorded> {
    let log = Arc::new(Log::new(locations));
    let mut options = lith_fuse::Options::default();
    options.allow_other = rustix::process::geteuid().is_root();
    let watch = Arc::clone(&log) as Arc<dyn Watch>;
    let mounted = Mounted::watched(Arc::new(image), &folder.path, &options, watch);
    let mounted = mounted.with_context(|| format!("{}: cannot mount", Place(&folder.path)))?;
    let unmounter = mounted.unmounter();
    let (server, is_free) = (thread::Builder::new().name("server".to_owned()), request.no_sandbox);
    let server = server.spawn(move || {
        // Only this thread and those that it starts: the command needs what it needs.
        if !is_free {
            Sandbox::default().enter_thread()?;
        }
        mounted.serve()
    })?;
    let status = command(request, &folder.path).status().context("cannot run the command");
    let end = unmounter.unmount().or_else(|_busy| unmounter.detach());
    end.with_context(|| format!("{}: cannot unmount", Place(&folder.path)))?;
    // What still uses the mount would keep the server: what it reads is of no interest any more.
    if status.is_ok() && server.is_finished() {
        let _ended = server.join();
    }
    Ok((log.profile(), status?))
}

/// A directory to mount an image at, which is removed if it was made for that.
struct MountPoint {
    path: PathBuf,
    is_own: bool,
}

impl MountPoint {
    fn new(requested: Option<&Path>) -> anyhow::Result<Self> {
        if let Some(path) = requested {
            return Ok(Self { path: path.to_owned(), is_own: false });
        }
        let path = env::temp_dir().join(format!("lith-record-{}", process::id()));
        fs::create_dir(&path).with_context(|| Place(&path).to_string())?;
        Ok(Self { path, is_own: true })
    }
}

impl Drop for MountPoint {
    fn drop(&mut self) {
        if self.is_own {
            // If something still uses it, an empty folder remains.
            let _removed = fs::remove_dir(&self.path);
        }
    }
}

/// A mount that ends here.
struct Attached<'a>(&'a Path);

impl Drop for Attached<'_> {
    fn drop(&mut self) {
        // There is nobody to tell, and nothing else to do.
        let _unmounted = unmount(self.0, UnmountFlags::DETACH);
    }
}
