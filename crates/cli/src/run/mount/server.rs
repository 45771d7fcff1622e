//! How does one process serve a mount from its beginning to its end?

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
    device::{OffsetDevice, ReadAt},
    reader::{Image, Limits, Options},
};
use lith_fuse::{Mounted, Unmounter};
use rustix::mount::MountFlags;
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1},
    iterator::Signals,
};

use crate::{
    args::mount::{DecodeWay, Mount, Settings},
    exit::{self, Outcome},
    output::error::Place,
    run::subject,
};

/// Mounts an image and serves it until it is unmounted.
pub(crate) fn run(request: &Mount, settings: &Settings) -> anyhow::Result<Outcome> {
    let image = Arc::new(open(request, settings)?);
    let stats = StatsFile::create(request.stats.as_deref(), &image)?;
    let mounted = Mounted::new(image, &request.directory, &options(request, settings));
    let mounted =
        mounted.with_context(|| format!("{}: cannot mount", Place(&request.directory)))?;
    // Without one, a mount whose server is killed stays behind, and says so to whoever looks at it.
    let _watcher = watcher(mounted.directory());
    obey_signals(mounted.unmounter(), stats.clone())?;
    if request.server {
        leave_terminal()?;
    }
    mounted.serve()?;
    stats.write();
    Ok(Outcome::Success)
}

/// Where what serving took is written, if anywhere.
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

    /// Replaces what was written before. Serving goes on if it can't be.
    fn write(&self) {
        if let Some(file) = &self.file {
            let text = self.image.stats().to_string();
            let written = file.write_all_at(text.as_bytes(), 0);
            let _ = written.and_then(|()| file.set_len(text.len() as u64));
        }
    }
}

fn open(request: &Mount, settings: &Settings) -> anyhow::Result<Image> {
    let place = &request.image.image;
    let primary: Box<dyn ReadAt> = match settings.offset {
        0 => subject::device(place)?,
        offset => Box::new(OffsetDevice::new(subject::device(place)?, offset)),
    };
    let further = settings.devices.iter().map(|device| subject::device(device));
    let devices = std::iter::once(Ok(primary)).chain(further);
    let devices = devices.collect::<anyhow::Result<Vec<_>>>()?;
    let mut options = Options::default();
    options.limits = limits(usize::try_from(request.cache.0).unwrap_or(usize::MAX));
    options.way = request.decode.map(DecodeWay::way);
    options.whole_again = true;
    Image::open_with(devices, options).with_context(|| Place(place).to_string())
}

/// Shares out the memory for what is kept. A large tree has more metadata than the library's own limit: then that gets a
/// quarter.
fn limits(cache: usize) -> Limits {
    let mut limits = Limits::default();
    let least = limits.metadata_cache;
    limits.metadata_cache = least.max(cache / 4);
    limits.decoded_cache = cache.saturating_sub(limits.metadata_cache - least);
    limits
}

fn options(request: &Mount, settings: &Settings) -> lith_fuse::Options {
    let image = request.image.image.canonicalize().ok();
    let name = image.as_deref().and_then(Path::to_str);
    let name = name.map(ToOwned::to_owned);
    let mut options = lith_fuse::Options::default();
    options.threads = request.threads;
    // As with the kernel's driver.
    options.allow_other =
        settings.allow_other || (rustix::process::geteuid().is_root() && !settings.allow_root);
    options.allow_root = settings.allow_root;
    (options.uid, options.gid) = (settings.uid, settings.gid);
    options.idle = settings.timeout.map(Duration::from_secs);
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

/// A process that clears away the mount should this one be killed: it notices by the end of what is returned.
fn watcher(directory: &Path) -> Option<ChildStdin> {
    let mut command = Command::new("/proc/self/exe");
    command.args(["umount", "--when-dead", "--"]).arg(directory).current_dir("/");
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    // What ends a whole group of processes should leave it time.
    command.process_group(0);
    command.spawn().ok()?.stdin
}

/// A signal unmounts, but for SIGUSR1. Whoever uses the files then loses them: the sender wants this process to end.
fn obey_signals(unmounter: Unmounter, stats: StatsFile) -> io::Result<()> {
    let mut signals = Signals::new([SIGHUP, SIGINT, SIGTERM, SIGUSR1])?;
    thread::Builder::new().name("signals".to_owned()).spawn(move || {
        for signal in signals.forever() {
            if signal == SIGUSR1 {
                stats.write();
            } else if unmounter.unmount().is_err() {
                // Should this fail too, the end of the process leaves the rest to the watcher.
                let _ = unmounter.detach();
                stats.write();
                exit::now(Outcome::Success);
            }
        }
    })?;
    Ok(())
}

/// Tells that it is mounted, and from then on belongs to no terminal and no directory.
fn leave_terminal() -> anyhow::Result<()> {
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
