//! Mounts images and measures what serving them costs.

use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc::{self, RecvTimeoutError, Sender},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};

use crate::{
    error::{CommandError, failed},
    image::Image,
    machine, process,
    results::{Metric, Sample, number},
    workplace::{Words, Workplace},
};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Mount {
    /// The kernel, as a filesystem of this name.
    Kernel(&'static str),
    /// The kernel, by a command with IMAGE and MOUNT that ends when the image is mounted.
    Command(String),
    /// A program that stays in the foreground, by a command with IMAGE and MOUNT.
    Server(String),
}

/// How long a server has to answer first.
const READY: Duration = Duration::from_secs(30);
/// How long a server may be read from; one that hangs ends then.
const LONGEST: Duration = Duration::from_secs(900);
/// Ticks of a second in `/proc`, which Linux has on all machines.
const TICKS: f64 = 100.0;
const SECTOR: u64 = 512;

impl Mount {
    /// The command line, with names in capitals in place of paths.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Kernel(name) => format!("mount -t {name} -o ro,loop IMAGE MOUNT"),
            Self::Command(line) | Self::Server(line) => line.clone(),
        }
    }

    pub(crate) fn lacks(&self, place: &Workplace) -> Option<String> {
        match self {
            Self::Kernel(name) => {
                place.lacks_filesystem(name).or_else(|| place.lacks_program("mount"))
            }
            Self::Command(line) => {
                place.lacks_filesystem("erofs").or_else(|| place.lacks_program(line))
            }
            Self::Server(_) if !Path::new("/dev/fuse").exists() => {
                Some("there is no /dev/fuse".into())
            }
            Self::Server(line) => place.lacks_program(line),
        }
    }
}

/// An image that is mounted, until it is dropped.
pub(crate) struct Mounted {
    /// Where its tree is seen.
    pub(crate) folder: PathBuf,
    server: Option<Server>,
    /// What counts the bytes that are read.
    counter: Option<PathBuf>,
}

/// A process that serves, and a watch that ends it if it hangs.
struct Server {
    process: Child,
    _watch: Sender<()>,
}

impl Mounted {
    /// Mounts an image, and waits until it answers.
    pub(crate) fn new(place: &Workplace, mount: &Mount, image: &Image) -> anyhow::Result<Self> {
        let point = place.path("mount");
        let words = Words { image: image.path.clone(), mount: point.clone(), ..Words::default() };
        let (mut command, found) = place.command(&mount.text(), &words)?;
        if matches!(mount, Mount::Kernel(_)) {
            process::run(&mut command)?;
            let counter = counter_of_mount(&point);
            return Ok(Self { folder: point, server: None, counter });
        }
        if matches!(mount, Mount::Command(_)) {
            process::run(&mut command)?;
            let (folder, server) = (point, None);
            return Ok(Self { folder, server, counter: Self::counter_at(place, image) });
        }
        let folder = found.outside(&point);
        let server = Server::start(&command, &folder)?;
        Ok(Self { folder, server: Some(server), counter: Self::counter_at(place, image) })
    }

    /// What counts the bytes that are read of the file of an image.
    fn counter_at(place: &Workplace, image: &Image) -> Option<PathBuf> {
        let counter = place.has_disk.then(|| counter_of_mount(&place.images())).flatten();
        counter.or_else(|| counter_below(&image.path))
    }

    /// What was counted so far, of which the growth while an image is read is of interest.
    pub(crate) fn counters(&self) -> Sample {
        let mut counters = Sample::from([(Metric::MachineCpu, machine_cpu())]);
        if let Some(server) = &self.server {
            counters.insert(Metric::ServerCpu, cpu_of(&server.process.id().to_string()));
        }
        if let Some(counter) = &self.counter {
            let (requests, sectors) = read_counter(counter).unwrap_or_default();
            counters.insert(Metric::Fetched, number(sectors * SECTOR));
            counters.insert(Metric::Requests, number(requests));
        }
        counters
    }

    /// The server's memory, if there is a server.
    pub(crate) fn memory(&self) -> Option<Sample> {
        let status = format!("/proc/{}/status", self.server.as_ref()?.process.id());
        let bytes = |name| machine::bytes(&status, name).map(number);
        let (peak, resident) = (bytes("VmHWM")?, bytes("VmRSS")?);
        Some(Sample::from([(Metric::PeakMemory, peak), (Metric::Resident, resident)]))
    }
}

impl Server {
    fn start(command: &Command, folder: &Path) -> anyhow::Result<Self> {
        let text = process::text_of(command);
        let mut command = ending_with_us(command);
        let mut log =
            tempfile::tempfile().map_err(failed("create a file in", std::env::temp_dir()))?;
        let output = || log.try_clone().map_or_else(|_| Stdio::null(), Stdio::from);
        command.stdin(Stdio::null()).stdout(output()).stderr(output());
        let before = device_of(folder);
        let process = command.spawn().map_err(failed("start", &text))?;
        let watch = watch(process.id());
        let mut server = Self { process, _watch: watch };
        let start = Instant::now();
        while device_of(folder) == before {
            if let Ok(Some(status)) = server.process.try_wait() {
                return Err(process::ended_with(&text, status, &mut log).into());
            }
            if start.elapsed() > READY {
                let why = format!("no answer within {} s", READY.as_secs());
                server.end(folder);
                return Err(CommandError { command: text, why, output: String::new() }.into());
            }
            thread::sleep(Duration::from_millis(2));
        }
        Ok(server)
    }

    /// Waits for the process to end by itself, as it does when its mount has gone, and ends it if it doesn't.
    fn end(&mut self, folder: &Path) {
        let start = Instant::now();
        while matches!(self.process.try_wait(), Ok(None)) {
            if start.elapsed() > Duration::from_secs(10) {
                let _ended_meanwhile = self.process.kill();
                let _status = self.process.wait();
                // A server that was killed may leave its mount.
                unmount(folder);
                return;
            }
            thread::sleep(Duration::from_millis(2));
        }
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        unmount(&self.folder);
        if let Some(server) = &mut self.server {
            server.end(&self.folder);
        }
    }
}

/// The command in a form that ends with this process, however that ends, if the system has the means.
fn ending_with_us(command: &Command) -> Command {
    let is_there = Command::new("setpriv").arg("--version").stdout(Stdio::null()).status();
    let mut bound = match is_there {
        Ok(status) if status.success() => {
            let mut setpriv = Command::new("setpriv");
            setpriv.args(["--pdeathsig", "KILL"]).arg(command.get_program());
            setpriv
        }
        _ => Command::new(command.get_program()),
    };
    bound.args(command.get_args()).env("LC_ALL", "C");
    if let Some(folder) = command.get_current_dir() {
        bound.current_dir(folder);
    }
    bound
}

/// Ends a process after a long time, unless what it returns is dropped before.
fn watch(id: u32) -> Sender<()> {
    let (keep, ended) = mpsc::channel();
    thread::spawn(move || {
        if ended.recv_timeout(LONGEST) == Err(RecvTimeoutError::Timeout)
            && let Some(pid) = i32::try_from(id).ok().and_then(Pid::from_raw)
        {
            let _ended_meanwhile = kill_process(pid, Signal::KILL);
        }
    });
    keep
}

/// Ends a mount, if need be as soon as it is no longer in use. Without root FUSE's own helper does it.
fn unmount(folder: &Path) {
    let quietly = |command: &mut Command| {
        let status = command.arg(folder).stdout(Stdio::null()).stderr(Stdio::null()).status();
        status.is_ok_and(|status| status.success())
    };
    let _gone = quietly(&mut Command::new("umount"))
        || quietly(Command::new("fusermount3").args(["-u", "-z"]))
        || quietly(Command::new("umount").arg("-l"));
}

fn device_of(folder: &Path) -> Option<u64> {
    fs::metadata(folder).ok().map(|metadata| metadata.dev())
}

/// What was read so far of the disk with the images, and how busy the machine was.
pub(crate) fn counters_of_disk(place: &Workplace) -> Sample {
    let mut counters = Sample::from([(Metric::MachineCpu, machine_cpu())]);
    if let Some(counter) = place.has_disk.then(|| counter_of_mount(&place.images())).flatten() {
        let (requests, sectors) = read_counter(&counter).unwrap_or_default();
        counters.insert(Metric::Fetched, number(sectors * SECTOR));
        counters.insert(Metric::Requests, number(requests));
    }
    counters
}

/// The counters of the loop device that is mounted on a folder.
fn counter_of_mount(folder: &Path) -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mounts").ok()?;
    let mut fields = mounts.lines().filter_map(|line| line.split_once(' '));
    let folder = folder.to_str()?;
    // The last one is on top.
    let found = fields.rfind(|(_, rest)| rest.split(' ').next() == Some(folder));
    let device = Path::new(found?.0).file_name()?;
    let stat = Path::new("/sys/class/block").join(device).join("stat");
    stat.exists().then_some(stat)
}

/// The counters of the device that a file is stored on, if there is one.
fn counter_below(file: &Path) -> Option<PathBuf> {
    let device = fs::metadata(file).ok()?.dev();
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    let stat = PathBuf::from(format!("/sys/dev/block/{major}:{minor}/stat"));
    stat.exists().then_some(stat)
}

/// Requests and sectors that were read.
fn read_counter(stat: &Path) -> Option<(u64, u64)> {
    let text = fs::read_to_string(stat).ok()?;
    let mut fields = text.split_whitespace().map(str::parse);
    let requests = fields.next()?.ok()?;
    Some((requests, fields.nth(1)?.ok()?))
}

/// Seconds of CPU of all threads of a process; zero if it is gone.
pub(crate) fn cpu_of(id: &str) -> f64 {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    // Its name, in brackets, may hold anything.
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    ticks(fields.split_whitespace().skip(11).take(2))
}

/// Seconds that all processors have been busy for.
fn machine_cpu() -> f64 {
    let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
    let fields = stat.lines().next().unwrap_or_default().split_whitespace().skip(1);
    // User, nice, system; then idle and waiting; then interrupts.
    let busy = fields.take(7).enumerate().filter(|(at, _)| !(3..5).contains(at));
    ticks(busy.map(|(_, field)| field))
}

fn ticks<'a>(fields: impl Iterator<Item = &'a str>) -> f64 {
    fields.filter_map(|field| field.parse::<f64>().ok()).sum::<f64>() / TICKS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_processors_are_seen() {
        let (own, machine) = (cpu_of("self"), machine_cpu());
        let start = Instant::now();
        while start.elapsed() < Duration::from_millis(60) {
            std::hint::spin_loop();
        }
        assert!(cpu_of("self") > own);
        assert!(machine_cpu() > machine);
        assert!(cpu_of("0").abs() < f64::EPSILON);
    }

    #[test]
    fn counters_are_read_where_there_are_any() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), "     12      3     4096      5 6 7 8\n").unwrap();
        assert_eq!(read_counter(file.path()), Some((12, 4096)));
        fs::write(file.path(), "x").unwrap();
        assert_eq!(read_counter(file.path()), None);
    }
}
