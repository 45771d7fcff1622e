//! Mounts an image by FUSE and serves it until it is unmounted.

use std::{
    env,
    fs::File,
    io::{self, Write},
    os::unix::{fs::FileExt, process::CommandExt},
    path::Path,
    process::{ChildStdin, Command, Stdio},
    sync::Arc,
    thread,
    time::Duration,
};

use anyhow::Context;
use lith::{
    profile::Locations,
    reader::{Image, Limits, Options},
};
use lith_fuse::{Mounted, Unmounter, Watch};
use rustix::mount::MountFlags;
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1},
    iterator::Signals,
};

use super::prefetch;
use crate::{
    args::mount::{DecodeWay, Mount, Settings},
    exit::{self, Outcome},
    output::{
        address::{is_address, shown},
        error::Place,
    },
    run::{log::Log, remote, subject},
};

/// Mounts an image and serves it until it is unmounted.
pub(crate) fn run(request: &Mount, settings: &Settings) -> anyhow::Result<Outcome> {
    // As this file was executed by another name, ps(1) and pgrep(1) would show that.
    rustix::thread::set_name(c"lith")?;
    let image = Arc::new(open(request, settings)?);
    let files = Files {
        stats: StatsFile::create(request.stats.as_deref(), &image)?,
        record: request
            .record
            .as_deref()
            .map(|path| RecordFile::create(path, &image))
            .transpose()?,
    };
    let (directory, options) = (&request.directory, options(request, settings));
    let mounted = match &files.record {
        Some(record) => {
            Mounted::watched(image, directory, &options, Arc::clone(&record.log) as Arc<dyn Watch>)
        }
        None => Mounted::new(image, directory, &options),
    };
    let mounted =
        mounted.with_context(|| format!("{}: cannot mount", Place(&request.directory)))?;
    // Without a watcher, the mount of a killed server stays, and each access to it fails with ENOTCONN.
    let _watcher = watcher(mounted.directory());
    obey_signals(mounted.unmounter(), files.clone())?;
    if request.server {
        leave_terminal()?;
    }
    mounted.serve()?;
    files.write();
    Ok(Outcome::Success)
}

/// The files that are written at the end.
#[derive(Clone)]
struct Files {
    stats: StatsFile,
    record: Option<RecordFile>,
}

impl Files {
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
    fn create(path: &Path, image: &Image) -> anyhow::Result<Self> {
        let file = File::create(path).with_context(|| Place(path).to_string())?;
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
    fn create(path: Option<&Path>, image: &Arc<Image>) -> anyhow::Result<Self> {
        let file = path.map(|path| File::create(path).with_context(|| Place(path).to_string()));
        Ok(Self { image: Arc::clone(image), file: file.transpose()?.map(Arc::new) })
    }

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
    let devices = subject::open_all(&request.location(settings))?;
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

/// Starts a process that unmounts if this one is killed: it waits until its standard input, which is returned, is closed.
fn watcher(directory: &Path) -> Option<ChildStdin> {
    let mut command = Command::new("/proc/self/exe");
    command.arg0("lith").args(["umount", "--when-dead", "--"]).arg(directory).current_dir("/");
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    // A signal to the server's process group must not end the watcher.
    command.process_group(0);
    command.spawn().ok()?.stdin
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
pub(super) fn leave_terminal() -> anyhow::Result<()> {
    env::set_current_dir("/")?;
    rustix::process::setsid()?;
    let mut stdout = io::stdout();
    stdout.write_all(b"\n")?;
    stdout.flush()?;
    let null = File::options().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    rustix::stdio::dup2_stderr(&null)?;
    Ok(())
}
