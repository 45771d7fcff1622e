//! Tests the applets erofsfuse and mount.erofs.

use std::{
    ffi::OsString,
    fs,
    os::unix::{
        fs::{MetadataExt, symlink},
        process::CommandExt,
    },
    path::Path,
    process::{Command, Output, Stdio},
};

use lith_testkit::tier;
use rustix::process::Signal;

use super::{
    args,
    mount::{MountPoint, assert_shows, is_there, signal, wait_until},
    sample::{Sample, command},
};

fn applet(name: &str, arguments: impl IntoIterator<Item = OsString>) -> Command {
    let mut applet = command();
    applet.arg0(name).args(arguments);
    applet
}

fn run(name: &str, arguments: impl IntoIterator<Item = OsString>) -> Output {
    applet(name, arguments).output().unwrap()
}

/// Runs an applet, which must succeed and print nothing.
fn silently(name: &str, arguments: impl IntoIterator<Item = OsString>) {
    let output = run(name, arguments);
    let message = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    assert_eq!((output.status.code(), message), (Some(0), [String::new(), String::new()]));
}

/// The first line on standard error of an applet that fails.
fn refusal(name: &str, arguments: impl IntoIterator<Item = OsString>) -> String {
    let output = run(name, arguments);
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{message}");
    message.lines().next().unwrap_or_default().to_owned()
}

/// The entry of a mount point in the list of mounts: source, type and options.
fn listed(at: &MountPoint) -> [String; 3] {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    let fields = |line: &str| line.split(' ').map(ToOwned::to_owned).collect::<Vec<_>>();
    let mut lines = mounts.lines().rev().map(fields);
    let place = at.path().to_str();
    let line = lines.find(|line| line.get(1).map(String::as_str) == place).unwrap();
    [0, 2, 3].map(|at| line.get(at).unwrap().clone())
}

fn has_all(options: &str, expected: &[&str]) -> bool {
    let options: Vec<_> = options.split(',').collect();
    expected.iter().all(|argument| options.contains(argument))
}

#[test]
fn options_of_mount_fuse_follow_the_paths() {
    if !is_there() {
        return;
    }
    let (sample, image) = Sample::built();
    let at = MountPoint::new(&sample);
    let options = "rw,nodev,nosuid,noexec,fsname=x,clone_fd,max_threads=2,max_read=65536";
    silently("erofsfuse", args![image, at.path(), "-o", options]);
    let [source, kind, options] = listed(&at);
    assert_eq!((&*source, &*kind), ("x", "fuse.erofsfuse"));
    let expected = ["ro", "nodev", "nosuid", "noexec", "max_read=65536"];
    assert!(has_all(&options, &expected), "{options}");
    assert_shows(&at, &sample);
    silently("mount.erofs", args!["-u", at.path()]);
    silently("fuse.erofs", args!["-s", "-osubtype=y,dev", "--dbglevel=9", image, at.path()]);
    let [_, kind, options] = listed(&at);
    assert_eq!(kind, "fuse.y");
    assert!(!has_all(&options, &["nodev"]), "{options}");
    assert_shows(&at, &sample);
}

/// As container runtimes run squashfuse.
#[test]
fn a_server_in_the_foreground_ends_by_signals() {
    if !is_there() {
        return;
    }
    let (sample, image) = Sample::built();
    let at = MountPoint::new(&sample);
    let program = sample.path("program");
    let bytes = [vec![0; 4096], fs::read(&image).unwrap()].concat();
    fs::write(&program, bytes).unwrap();
    for arguments in [
        args!["-f", "-o", "uid=7,gid=8,offset=4096", program, at.path()].to_vec(),
        args!["-d", "--offset=4096", "-ouid=7", program, at.path()].to_vec(),
        args![program, at.path(), "-o", "debug,uid=7", "--offset", "0x1000"].to_vec(),
    ] {
        let mut server = applet("erofsfuse", arguments).stderr(Stdio::null()).spawn().unwrap();
        wait_until("it is mounted", || at.shows());
        assert_eq!(fs::metadata(at.path().join("hello")).unwrap().uid(), 7);
        signal(&server, Signal::TERM);
        assert!(server.wait().unwrap().success());
        assert!(!at.is_mounted());
    }
}

#[test]
fn unsupported_options_of_erofsfuse_are_refused_by_name() {
    let (sample, image) = Sample::built();
    let (dir, bad) = (sample.path("mnt"), sample.path("bad"));
    fs::create_dir(&dir).unwrap();
    fs::write(&bad, vec![1; 8192]).unwrap();
    for (arguments, part) in [
        (args!["-o", "ro,nonsense=1", image, dir], "nonsense=1"),
        (args!["-o", "cache_strategy=disabled", image, dir], "cache_strategy"),
        (args!["-o", "max_threads=no", image, dir], "no"),
        (args!["--nonsense", "-f", image, dir], "--nonsense"),
        (args!["-f", image, dir, "more"], "more"),
        (args!["--offset=x", "-f", image, dir], "--offset"),
        (args!["-f", "-s", bad, dir], "magic"),
        (args!["-s", "-s", sample.path("none"), dir], "none"),
        (args!["-f", "-s", image, sample.path("nowhere")], "nowhere"),
    ] {
        let message = refusal("erofsfuse", arguments);
        assert!(message.contains(part), "{part}: {message}");
    }
    assert!(refusal("erofsfuse", args![image]).contains("MOUNTPOINT"));
}

#[test]
fn version_and_help_are_printed() {
    for (name, argument) in [("erofsfuse", "--offset"), ("mount.erofs", "-o")] {
        for option in ["-V", "--version"] {
            let output = run(name, args![option]);
            assert!(output.status.success());
            assert!(String::from_utf8(output.stdout).unwrap().starts_with(&format!("{name} ")));
        }
        for option in ["-h", "--help"] {
            let output = run(name, args![option]);
            assert!(output.status.success());
            assert!(String::from_utf8(output.stdout).unwrap().contains(argument));
        }
    }
}

#[test]
fn mount_erofs_mounts_by_the_kernel() {
    if !is_there() {
        return;
    }
    let (sample, image) = Sample::built();
    let at = MountPoint::new(&sample);
    silently(
        "mount.erofs",
        args![image, at.path(), "-n", "-s", "-o", "rw,nodev,nosuid,unheard_of"],
    );
    let [_, kind, options] = listed(&at);
    assert_eq!(kind, "erofs");
    assert!(has_all(&options, &["ro", "nodev", "nosuid"]), "{options}");
    assert_shows(&at, &sample);
    silently("mount.erofs", args!["-o", "remount,noexec", "none", at.path()]);
    let [.., options] = listed(&at);
    assert!(has_all(&options, &["ro", "noexec"]) && !has_all(&options, &["nodev"]), "{options}");
    silently("mount.erofs", args!["-u", at.path()]);
    assert!(!at.is_mounted());
    assert!(refusal("mount.erofs", args!["-u", at.path()]).contains("cannot unmount"));
    silently("mount.erofs", args!["-f", image, at.path()]);
    assert!(!at.is_mounted());
}

#[test]
fn mount_erofs_follows_the_type() {
    if !is_there() {
        return;
    }
    let (sample, image) = Sample::built();
    let at = MountPoint::new(&sample);
    for (kind, listed_kind, options) in [
        ("erofs.local", "erofs", "ro,loop"),
        ("erofs.local", "erofs", "noatime,user_xattr"),
        ("erofs.fuse", "fuse.erofsfuse", "rw,noatime"),
        ("erofs", "fuse.erofsfuse", "uid=0"),
    ] {
        let output = run("mount.erofs", args!["-t", kind, "-o", options, "-v", image, at.path()]);
        assert!(output.status.success(), "{kind} {options}");
        let [source, kind, _] = listed(&at);
        assert_eq!(kind, listed_kind);
        assert_eq!(source.starts_with("/dev/loop"), options == "ro,loop", "{source}");
        assert_shows(&at, &sample);
        silently("mount.erofs", args!["-u", at.path()]);
    }
    for (arguments, part) in [
        (args!["-t", "erofs.nbd", image, at.path()], "erofs.nbd"),
        (args!["-o", "oci.layer=0", image, at.path()], "oci.layer=0"),
        (args!["-o", "unheard_of", image, at.path()], "unheard_of"),
        (args!["-t", "erofs.local", image, sample.path("none")], "none: cannot mount"),
    ] {
        let message = refusal("mount.erofs", arguments);
        assert!(message.contains(part), "{part}: {message}");
    }
    assert!(!at.is_mounted());
}

/// In a namespace of its own, where mount(8) finds the helper.
const BY_MOUNT_8: &str = r#"
cd "$1"
mount -t overlay -o lowerdir="$1/sbin:/usr/sbin" overlay /usr/sbin 2>/dev/null || exit 77
for options in ro nosuid,nodev loop,offset=4096; do
    case $options in *offset*) image=$1/program ;; *) image=$1/image.erofs ;; esac
    mount -t erofs -o "$options" "$image" "$1/mnt"
    grep " $1/mnt erofs ro," /proc/self/mounts | grep -c ''
    cmp src/hello mnt/hello
    umount "$1/mnt"
done
mount -t erofs.fuse image.erofs "$1/mnt"
grep -c " $1/mnt fuse.erofsfuse " /proc/self/mounts
umount "$1/mnt"
echo "$1/image.erofs $1/mnt erofs defaults,noexec 0 0" >fstab
mount -a -T "$1/fstab"
mount -a -T "$1/fstab"
grep " $1/mnt erofs ro,.*noexec" /proc/self/mounts | grep -c ''
umount "$1/mnt"
grep -c " $1/mnt " /proc/self/mounts || true
"#;

#[test]
fn mount_8_calls_the_helper() {
    if !is_there() {
        return;
    }
    let (sample, image) = Sample::built();
    let at = MountPoint::new(&sample);
    let bytes = [vec![0; 4096], fs::read(&image).unwrap()].concat();
    fs::write(sample.path("program"), bytes).unwrap();
    fs::create_dir(sample.path("sbin")).unwrap();
    fs::create_dir(sample.path("links")).unwrap();
    symlink(command().get_program(), sample.path("links/mount.erofs")).unwrap();
    let root = at.path().parent().unwrap().to_str().unwrap();
    let script =
        format!("#!/bin/sh\necho \"$*\" >>{root}/log\nexec {root}/links/mount.erofs \"$@\"\n");
    fs::write(sample.path("sbin/mount.erofs"), script).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(sample.path("sbin/mount.erofs"), mode).unwrap();
    let mut unshared = Command::new("timeout");
    unshared.args(["60", "unshare", "--mount", "--propagation", "private"]);
    unshared.args(["sh", "-euc", BY_MOUNT_8, "sh", root]);
    let output = unshared.output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    if output.status.code() == Some(77) || !Path::new("/usr/sbin/losetup").exists() {
        return tier::skip("mount(8)", "no overlay on /usr/sbin");
    }
    assert_eq!(output.status.code(), Some(0), "{message}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "1\n1\n1\n1\n1\n0\n", "{message}");
    let log = fs::read_to_string(sample.path("log")).unwrap();
    assert_eq!(log.lines().count(), 5, "{log}");
}
