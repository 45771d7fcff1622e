//! Tests `lith mount` and `lith umount`.

use std::{
    fs::{self, File},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use lith_testkit::tier;
use rustix::process::{Pid, Signal, kill_process};

use super::{
    args,
    sample::{Sample, command, complaint, copy_program, lith, printed},
};

/// A mount point, which is unmounted when it is dropped.
pub(crate) struct MountPoint(PathBuf);

impl MountPoint {
    pub(crate) fn new(sample: &Sample) -> Self {
        let path = sample.path("mnt");
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Whether the image is mounted.
    pub(crate) fn shows(&self) -> bool {
        self.0.join("hello").exists()
    }

    pub(crate) fn is_mounted(&self) -> bool {
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
        mounts.lines().any(|line| line.split(' ').nth(1) == self.0.to_str())
    }
}

impl Drop for MountPoint {
    fn drop(&mut self) {
        let _ = lith(args!["umount", "--lazy", self.0]);
    }
}

/// Whether FUSE can be tried here; if not, the reason is reported.
pub(crate) fn is_there() -> bool {
    let fuse = || File::open("/dev/fuse").map_err(|error| format!("/dev/fuse: {error}"));
    match tier::can_mount().and_then(|()| fuse()) {
        Ok(_) => tier::ran("lith mount"),
        Err(reason) => {
            tier::skip("lith mount", reason);
            return false;
        }
    }
    true
}

pub(crate) fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < Duration::from_secs(20), "waited in vain until {what}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// The process that serves a mount.
pub(crate) fn server_pid(at: &MountPoint) -> Option<u32> {
    let end = format!("\0{}\0", at.path().display());
    let find = |process: fs::DirEntry| {
        let line = fs::read_to_string(process.path().join("cmdline")).ok()?;
        let is_server = line.contains("\0--server\0") && line.ends_with(&end);
        process.file_name().to_str()?.parse().ok().filter(|_pid| is_server)
    };
    fs::read_dir("/proc").unwrap().flatten().find_map(find)
}

/// The name of the server in the list of processes, and its command line, shortened.
fn server_of(at: &MountPoint) -> Option<(String, String)> {
    let end = format!("\0{}\0", at.path().display());
    let find = |process: fs::DirEntry| {
        let line = fs::read_to_string(process.path().join("cmdline")).ok()?;
        let (start, _) = line.strip_suffix(&end)?.split_once("--server\0")?;
        let name = fs::read_to_string(process.path().join("comm")).ok()?;
        Some((name, format!("{start}--server\0[...]{end}")))
    };
    fs::read_dir("/proc").unwrap().flatten().find_map(find)
}

/// Starts a server in the foreground and waits for its mount.
fn serve(image: &Path, at: &MountPoint) -> Child {
    let mut command = command();
    command.args(args!["mount", "--foreground", image, at.path()]).stderr(Stdio::piped());
    let server = command.spawn().unwrap();
    wait_until("it is mounted", || at.shows());
    server
}

/// Asserts that the mounted files equal the sample.
pub(crate) fn assert_shows(at: &MountPoint, sample: &Sample) {
    let output = lith(args!["diff", sample.src(), at.path()]);
    let output = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    assert_eq!(output, ["", ""]);
}

pub(crate) fn signal(server: &Child, signal: Signal) {
    kill_process(Pid::from_child(server), signal).unwrap();
}

#[test]
fn mount_and_umount_return_when_they_are_done() {
    if !is_there() {
        return;
    }
    let (sample, image) = Sample::built();
    let at = MountPoint::new(&sample);
    printed(args!["mount", "--fuse", "--cache", "1M", "--threads", "2", image, at.path()]);
    assert!(at.is_mounted());
    assert_shows(&at, &sample);
    let again = lith(args!["mount", image, at.path()]);
    assert_eq!(again.status.code(), Some(1));
    assert!(complaint(&again).ends_with("/image.erofs is mounted there already"));
    let line = format!("lith\0mount\0--server\0[...]\0{}\0", at.path().display());
    assert_eq!(server_of(&at), Some(("lith\n".to_owned(), line)));
    printed(args!["umount", at.path()]);
    assert!(!at.is_mounted());
    let nothing = lith(args!["umount", at.path()]);
    assert_eq!(nothing.status.code(), Some(1));
    assert!(complaint(&nothing).ends_with("cannot unmount: nothing is mounted there"));
}

#[test]
fn statistics_are_written() {
    if !is_there() {
        return;
    }
    let (sample, image) = Sample::built();
    let (at, stats) = (MountPoint::new(&sample), sample.path("stats"));
    for way in ["direct", "buffered", "rolling", "in-place"] {
        let options = args!["mount", "--fuse", "--stats", stats, "--decode", way, image, at.path()];
        printed(options);
        assert_shows(&at, &sample);
        printed(args!["umount", at.path()]);
        let served = || {
            let text = fs::read_to_string(&stats).unwrap();
            let line = text.lines().find_map(|line| line.strip_prefix("served "));
            line.and_then(|number| number.parse::<u64>().ok())
        };
        wait_until("the numbers are there", || served() > Some(0));
        fs::remove_file(&stats).unwrap();
    }
}

#[test]
fn the_kernel_mounts_what_it_can() {
    if !is_there() {
        return;
    }
    let (sample, image) = Sample::built();
    let at = MountPoint::new(&sample);
    let mounted = lith(args!["mount", image, at.path()]);
    assert_eq!(mounted.status.code(), Some(0));
    let message = complaint(&mounted);
    assert!(
        message.contains("kernel's EROFS") || message.contains("by FUSE: the kernel"),
        "{message}"
    );
    assert_shows(&at, &sample);
    printed(args!["umount", at.path()]);
    let mapped = lith(args!["mount", "-o", "uid=77,gid=78,ro", image, at.path()]);
    assert!(complaint(&mapped).contains("by FUSE: the kernel's driver has no uid="));
    let found = fs::metadata(at.path().join("hello")).unwrap();
    assert_eq!(std::os::unix::fs::MetadataExt::uid(&found), 77);
    printed(args!["umount", at.path()]);
    let refused = lith(args!["mount", "--kernel", "-o", "uid=77", image, at.path()]);
    assert_eq!(refused.status.code(), Some(1));
}

#[test]
fn a_file_that_is_no_image_is_refused_at_once() {
    if !is_there() {
        return;
    }
    let (sample, image) = Sample::built();
    let at = MountPoint::new(&sample);
    let bad = sample.path("bad");
    fs::write(&bad, vec![1; 100_000]).unwrap();
    let nowhere = sample.path("nowhere");
    for (arguments, part) in [
        (args!["mount", "--fuse", bad, at.path()], "magic"),
        (args!["mount", "--foreground", bad, at.path()], "magic"),
        (args!["mount", "--fuse", image, nowhere], "nowhere"),
        (args!["mount", "--fuse", nowhere, at.path()], "nowhere"),
    ] {
        let refused = lith(arguments);
        assert_eq!(refused.status.code(), Some(1));
        let message = complaint(&refused);
        assert!(message.contains(part), "{message}");
        assert!(!at.is_mounted());
    }
    let unknown = lith(args!["mount", "-o", "nonsense", image, at.path()]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("nonsense"));
    let kernels = lith(args!["mount", "--fuse", "-o", "cache_strategy=disabled", image, at.path()]);
    assert!(complaint(&kernels).contains("cache_strategy"));
}

#[test]
fn signals_unmount() {
    if !is_there() {
        return;
    }
    let (sample, image) = Sample::built();
    let at = MountPoint::new(&sample);
    for which in [Signal::TERM, Signal::INT, Signal::HUP] {
        let mut server = serve(&image, &at);
        signal(&server, which);
        assert!(server.wait().unwrap().success());
        assert!(!at.is_mounted(), "{which:?}");
    }
    let mut server = serve(&image, &at);
    let busy = File::open(at.path().join("hello")).unwrap();
    signal(&server, Signal::TERM);
    assert!(server.wait().unwrap().success());
    assert!(!at.is_mounted());
    drop(busy);
}

#[test]
fn the_mount_of_a_killed_server_is_removed() {
    if !is_there() {
        return;
    }
    let (sample, image) = Sample::built();
    let at = MountPoint::new(&sample);
    for _ in 0..2 {
        let mut server = serve(&image, &at);
        let file = File::open(at.path().join("sub/large")).unwrap();
        signal(&server, Signal::KILL);
        server.wait().unwrap();
        wait_until("the mount is gone", || !at.is_mounted());
        assert!(std::io::copy(&mut &file, &mut std::io::sink()).is_err());
        assert_eq!(fs::read_dir(at.path()).unwrap().count(), 0);
    }
}

#[test]
fn an_image_can_follow_a_program() {
    if !is_there() {
        return;
    }
    let (sample, image) = Sample::built();
    let at = MountPoint::new(&sample);
    let program = sample.path("program");
    let mut bytes = vec![0x7f; 8192];
    bytes.extend(fs::read(&image).unwrap());
    fs::write(&program, bytes).unwrap();
    for how in [&["--offset", "8192"], &["-o", "offset=8192"]] {
        for driver in ["--fuse", "--kernel"] {
            let arguments = args!["mount", driver, how[0], how[1], program, at.path()];
            let mounted = lith(arguments);
            assert_eq!(mounted.status.code(), Some(0), "{}", complaint(&mounted));
            assert_shows(&at, &sample);
            printed(args!["umount", at.path()]);
        }
    }
}

/// A server can end after its mount: it must not unmount the next one at the same place.
#[test]
fn mounts_follow_each_other_quickly() {
    if !is_there() {
        return;
    }
    let (sample, image) = Sample::built();
    let at = MountPoint::new(&sample);
    for round in 0..40 {
        let driver = if round % 2 == 0 { "--fuse" } else { "--kernel" };
        lith(args!["mount", driver, image, at.path()]);
        assert!(at.shows(), "{round}");
        // Whoever looks through all mounts of the machine keeps this one busy for a moment.
        wait_until("it is unmounted", || lith(args!["umount", at.path()]).status.success());
    }
}

#[test]
fn a_mount_point_may_be_a_symbolic_link() {
    if !is_there() {
        return;
    }
    let (sample, image) = Sample::built();
    let at = MountPoint::new(&sample);
    let link = sample.path("to-mnt");
    std::os::unix::fs::symlink("mnt", &link).unwrap();
    for driver in ["--fuse", "--kernel"] {
        lith(args!["mount", driver, image, link]);
        assert!(at.shows(), "{driver}");
        printed(args!["umount", link]);
        assert!(!at.is_mounted(), "{driver}");
    }
    let refused = lith(args!["umount", link]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(complaint(&refused).contains("to-mnt: cannot unmount: "), "{}", complaint(&refused));
}

#[test]
fn a_timeout_of_zero_never_ends() {
    if !is_there() {
        return;
    }
    let (sample, image) = Sample::built();
    let at = MountPoint::new(&sample);
    printed(args!["mount", "--fuse", "-o", "timeout=0", image, at.path()]);
    thread::sleep(Duration::from_millis(400));
    assert!(at.shows());
    printed(args!["umount", at.path()]);
}

#[test]
fn an_idle_mount_is_removed() {
    if !is_there() {
        return;
    }
    let (sample, image) = Sample::built();
    let at = MountPoint::new(&sample);
    printed(args!["mount", "--fuse", "-o", "timeout=1", image, at.path()]);
    assert!(at.is_mounted());
    wait_until("nobody needed it", || !at.is_mounted());
}

/// In a namespace of its own, where every user may open the FUSE device, `nobody` mounts, reads and unmounts; then a
/// server is killed.
const BY_NOBODY: &str = r#"
cd "$1"
mknod device c 10 229
chmod 666 device
mount --bind device /dev/fuse
exec setpriv --reuid=65534 --regid=65534 --clear-groups sh -euc '
    ./lith mount image mnt
    cmp file mnt/hello
    grep -c "$PWD/mnt fuse" /proc/self/mounts
    ./lith umount mnt
    grep -c "$PWD/mnt fuse" /proc/self/mounts || true
    ./lith mount -f image mnt &
    until [ -e mnt/hello ]; do sleep 0.1; done
    kill -KILL $!
    while grep -q "$PWD/mnt fuse" /proc/self/mounts; do sleep 0.1; done
    ls mnt
'
"#;

#[test]
fn every_user_mounts_by_fusermount3() {
    let has = |name: &&str| Path::new("/usr/bin").join(name).exists();
    if !is_there() {
        return;
    }
    if !["setpriv", "fusermount3", "unshare"].iter().all(has) {
        return tier::skip("lith mount by users", "no setpriv, fusermount3 or unshare");
    }
    let (sample, image) = Sample::built();
    let place = tempfile::tempdir_in("/tmp").unwrap();
    let at = |name: &str| place.path().join(name);
    fs::copy(&image, at("image")).unwrap();
    fs::copy(sample.src().join("hello"), at("file")).unwrap();
    copy_program(&at("lith"));
    fs::create_dir(at("mnt")).unwrap();
    for path in [place.path(), &at("mnt")] {
        std::os::unix::fs::chown(path, Some(65534), Some(65534)).unwrap();
    }
    fs::set_permissions(at("image"), PermissionsExt::from_mode(0o644)).unwrap();
    let mut command = Command::new("timeout");
    command.args(["30", "unshare", "--mount", "--propagation", "private", "sh", "-euc", BY_NOBODY]);
    let output = command.arg("sh").arg(place.path()).output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{message}");
    assert!(message.contains("only root mounts by the kernel"), "{message}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "1\n0\n");
}
