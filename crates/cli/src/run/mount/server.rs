//! Mounts an image by FUSE and serves it until it is unmounted.

use std::{
    env,
    fs::File,
    io::{self, Write},
    os::unix::{fs::FileExt, process::CommandExt},
    path::Path,
    process::{Command, Stdio},
    sync::Arc,
    thread,
    time::Duration,
};

use anyhow::Context;
use lith::{
    device::{FileDevice, ReadAt},
    profile::Locations,
    reader::{Image, Limits, Options},
    source,
};
use lith_fuse::{Agent, Connection, Mounted, Unmounter, Watch};
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1},
    iterator::Signals,
};

use super::{confine, prefetch};
use crate::{
    args::{
        mount::{DecodeWay, Mount, Settings},
        mount_flags::MountFlags,
    },
    exit::{self, Outcome},
    output::{
        address::{is_address, shown},
        error::Place,
    },
    run::{log::Log, remote, subject, trees},
};

/// Mounts an image and serves it until it is unmounted.
///
/// The mount is made, and what must be open is opened, before the process gives up the right to; the image is opened after that.
pub(crate) fn run(request: &Mount, settings: &Settings) -> anyhow::Result<Outcome> {
    // As this file was executed by another name, ps(1) and pgrep(1) would show that.
    rustix::thread::set_name(c"lith")?;
    let (stats, record) = (create(request.stats.as_deref())?, create(request.record.as_deref())?);
    let null = File::options().read(true).write(true).open("/dev/null")?;
    let (directory, options) = (&request.directory, options(request, settings));
    let mut sandbox = confine::sandbox(request, settings);
    if sandbox.network {
        let location = request.location(settings);
        remote::prepare(location.path, &location.keep, settings.opened.as_deref())?;
    }
    // What is below the mount point can't be opened once there is a mount on it.
    let opens_first = confine::remove_below(&mut sandbox, directory)
        || request.no_sandbox
        || request.image.image == Path::new("-");
    let early = opens_first.then(|| open(request, settings)).transpose()?;
    let connection = Connection::open(directory, &options);
    let mut connection =
        connection.with_context(|| format!("{}: cannot mount", Place(directory)))?;
    // Without a watcher, the mount of a killed server stays, and each access to it fails with ENOTCONN.
    let agent = watcher(connection.directory());
    if let Some(agent) = agent {
        connection.unmount_by(agent);
        if !request.no_sandbox {
            let entered = confine::enter(&sandbox, request);
            entered.inspect_err(|_failed| drop(connection.unmounter().detach()))?;
        }
    } else if !request.no_sandbox {
        drop(connection.unmounter().detach());
        anyhow::bail!("cannot start the process that unmounts; --no-sandbox needs none");
    }
    let image = early.map_or_else(|| open(request, settings), Ok).map(Arc::new);
    let opened = image.and_then(|image| Ok((Files::new((stats, record), &image)?, image)));
    let (files, image) = opened.inspect_err(|_| drop(connection.unmounter().detach()))?;
    let watch = files.record.as_ref().map(|record| Arc::clone(&record.log) as Arc<dyn Watch>);
    let mounted = Mounted::on(connection, (image, watch), &options);
    let mounted = mounted.with_context(|| format!("{}: cannot mount", Place(directory)))?;
    obey_signals(mounted.unmounter(), files.clone())?;
    if request.server {
        leave_terminal(&null)?;
    }
    mounted.serve()?;
    files.write();
    Ok(Outcome::Success)
}

fn create(path: Option<&Path>) -> anyhow::Result<Option<File>> {
    let file = path.map(|path| File::create(path).with_context(|| Place(path).to_string()));
    file.transpose()
}

/// The files that are written at the end.
#[derive(Clone)]
struct Files {
    stats: StatsFile,
    record: Option<RecordFile>,
}

impl Files {
    /// Files that are open already.
    fn new(
        (stats, record): (Option<File>, Option<File>),
        image: &Arc<Image>,
    ) -> anyhow::Result<Self> {
        let record = record.map(|file| RecordFile::new(file, image)).transpose()?;
        let stats = StatsFile { image: Arc::clone(image), file: stats.map(Arc::new) };
        Ok(Self { stats, record })
    }

    fn write(&self) {
        self.stats.write();
        if let Some(record) = &self.record {
            let _ = replace(&record.file, &record.log.profile().to_string());
        }
    }
}

/// Replaces the content of a file.
fn replace(file: &File, text: &str) -> io::Result<()> {
    file.write_all_at(text.as_bytes(), 0)?;
    file.set_len(text.len() as u64)
}

/// The file for a profile of what is read.
#[derive(Clone)]
struct RecordFile {
    log: Arc<Log>,
    file: Arc<File>,
}

impl RecordFile {
    fn new(file: File, image: &Image) -> anyhow::Result<Self> {
        let locations = Locations::new(image).context("cannot list the image")?;
        Ok(Self { log: Arc::new(Log::new(locations)), file: Arc::new(file) })
    }
}

/// The file for statistics; `None`: they are not requested.
#[derive(Clone)]
struct StatsFile {
    image: Arc<Image>,
    file: Option<Arc<File>>,
}

impl StatsFile {
    /// Replaces the content of the file. An error is ignored: serving is more important.
    fn write(&self) {
        if let Some(file) = &self.file {
            let text = self.image.stats().to_string();
            let _ = replace(file, &text);
        }
    }
}

fn open(request: &Mount, settings: &Settings) -> anyhow::Result<Image> {
    let place = &request.image.image;
    let location = request.location(settings);
    let devices = if place == Path::new("-") {
        subject::with_further(standard_input()?, &location)?
    } else {
        subject::open_all(&location)?
    };
    let mut options = Options::default();
    // A cache larger than the address space is as good as unlimited.
    options.limits = limits(usize::try_from(request.cache.0).unwrap_or(usize::MAX));
    options.way = request.decode.map(DecodeWay::way);
    options.whole_again = true;
    options.any_checksum = request.image.ignore_checksum;
    let image = Image::open_with(devices, options).with_context(|| Place(place).to_string())?;
    if is_address(place) {
        remote::read_ahead(place, settings.offset, prefetch::ranges_of(&image, request.prefetch));
    }
    Ok(image)
}

/// The image that standard input has, which may be a pipe that it still arrives from.
fn standard_input() -> anyhow::Result<Box<dyn ReadAt>> {
    let path = Path::new("-");
    match source::open(path, &trees::everything())? {
        source::Opened::Arriving(device) => Ok(Box::new(device)),
        source::Opened::Image(file) => {
            Ok(Box::new(FileDevice::new(file).with_context(|| Place(path).to_string())?))
        }
        _ => anyhow::bail!("{}: is no EROFS image, which a mount needs", Place(path)),
    }
}

/// Divides `cache` bytes between metadata and decoded data. A server of a large tree needs more metadata than the library's
/// default, so metadata gets up to a quarter.
fn limits(cache: usize) -> Limits {
    let mut limits = Limits::default();
    let least = limits.metadata_cache;
    limits.metadata_cache = least.max(cache / 4);
    limits.decoded_cache = cache.saturating_sub(limits.metadata_cache - least);
    limits
}

fn options(request: &Mount, settings: &Settings) -> lith_fuse::Options {
    let image = &request.image.image;
    let image =
        if is_address(image) { Some(shown(image).into()) } else { image.canonicalize().ok() };
    let name = image.as_deref().and_then(Path::to_str);
    let name = name.map(ToOwned::to_owned);
    let mut options = lith_fuse::Options::default();
    options.threads = request.threads;
    // With the kernel's driver, other users always have access.
    options.allow_other =
        settings.allow_other || (rustix::process::geteuid().is_root() && !settings.allow_root);
    options.allow_root = settings.allow_root;
    (options.uid, options.gid) = (settings.uid, settings.gid);
    options.idle = settings.timeout.filter(|seconds| *seconds > 0).map(Duration::from_secs);
    options.source = settings.source.clone().or(name);
    options.devices = settings.cleared.contains(MountFlags::NODEV);
    options.suid = settings.cleared.contains(MountFlags::NOSUID);
    options.noexec = settings.set.contains(MountFlags::NOEXEC);
    options.nosymfollow = settings.set.contains(MountFlags::NOSYMFOLLOW);
    options.subtype.clone_from(&settings.subtype);
    options.max_read = settings.max_read;
    options.passthrough = settings.passthrough.then(|| lith_fuse::ImageFile {
        path: request.image.image.clone(),
        offset: settings.offset,
    });
    options
}

/// Starts a process that unmounts on request, and if this one is killed: then its standard input is closed.
fn watcher(directory: &Path) -> Option<Agent> {
    let mut command = Command::new("/proc/self/exe");
    command.arg0("lith").args(["umount", "--when-dead", "--"]).arg(directory).current_dir("/");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    // A signal to the server's process group must not end the watcher.
    command.process_group(0);
    Agent::new(&mut command.spawn().ok()?)
}

/// Unmounts on a signal, but for SIGUSR1, which writes statistics. A mount in use is detached, because the sender wants
/// this process to end.
fn obey_signals(unmounter: Unmounter, files: Files) -> io::Result<()> {
    let mut signals = Signals::new([SIGHUP, SIGINT, SIGTERM, SIGUSR1])?;
    thread::Builder::new().name("signals".to_owned()).spawn(move || {
        for signal in signals.forever() {
            if signal == SIGUSR1 {
                files.write();
            } else if unmounter.unmount().is_err() {
                // If this fails too, the watcher unmounts after the end of the process.
                let _ = unmounter.detach();
                files.write();
                exit::now(Outcome::Success);
            }
        }
    })?;
    Ok(())
}

/// Reports the mount to the parent process, then leaves the terminal and the working directory.
pub(super) fn leave_terminal(null: &File) -> anyhow::Result<()> {
    env::set_current_dir("/")?;
    rustix::process::setsid()?;
    let mut stdout = io::stdout();
    stdout.write_all(b"\n")?;
    stdout.flush()?;
    rustix::stdio::dup2_stdin(null)?;
    rustix::stdio::dup2_stdout(null)?;
    rustix::stdio::dup2_stderr(null)?;
    Ok(())
}
