//! Tests that what the environment lacks, threads or a place for messages, changes no exit code.

use std::{
    fs::{self, File, Permissions},
    os::unix::{fs::PermissionsExt, process::ExitStatusExt},
    path::Path,
    process::{Command, Stdio},
};

use lith_testkit::tier;

use super::{
    args,
    sample::{Sample, command},
};

/// A command that runs the program as a user who may start no thread.
fn without_threads() -> Command {
    let mut command = if tier::is_root() {
        let mut command = Command::new("setpriv");
        command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups", "prlimit"]);
        command
    } else {
        Command::new("prlimit")
    };
    command.arg("--nproc=1").arg(assert_cmd::cargo::cargo_bin!("lith"));
    command
}

fn allow(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

#[test]
fn without_further_threads_all_work_is_done_by_one() {
    let runs = without_threads().arg("--version").output();
    if !runs.is_ok_and(|output| output.status.success()) {
        return tier::skip("no threads", "setpriv, prlimit, or the right to run the program");
    }
    tier::ran("no threads");
    let (sample, image) = Sample::built();
    let out = sample.path("out");
    fs::create_dir(&out).unwrap();
    allow(sample.path("").as_path(), 0o755);
    allow(&out, 0o777);
    let expected = fs::read(&image).unwrap();
    let new = out.join("new.erofs");
    for args in [
        args!["build", "-q", "--workers=4", "-E", "^fragments", sample.src(), new].to_vec(),
        args!["check", image].to_vec(),
        args!["diff", image, image].to_vec(),
        args!["extract", image, out.join("tree")].to_vec(),
        args!["report", "-o", out.join("page.html"), image].to_vec(),
        args!["info", "--presets", image].to_vec(),
        args!["mkfs.erofs", "--quiet", "-zlz4", out.join("applet.erofs"), sample.src()].to_vec(),
        args!["fsck.erofs", "--extract", image].to_vec(),
    ] {
        let output = without_threads().current_dir(&out).args(&args).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{args:?}: {said}");
    }
    // The tree was read by another user, who may read all of it.
    assert_eq!(fs::read(&new).unwrap().len(), expected.len());
}

#[test]
fn messages_that_cannot_be_written_change_no_exit_code() {
    let (sample, image) = Sample::built();
    let nothing = sample.path("nothing");
    for (args, code) in [
        (args!["check", nothing].to_vec(), 8),
        (args!["ls", nothing].to_vec(), 1),
        (args!["diff", nothing, image].to_vec(), 2),
        (args!["build", "--nonsense"].to_vec(), 2),
        (args!["check", "--nonsense"].to_vec(), 16),
        (args!["mkfs.erofs", "--nonsense"].to_vec(), 1),
        (args!["fsck.erofs", "-d3", image].to_vec(), 0),
        (args!["extract", image, sample.path("tree")].to_vec(), 0),
    ] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let status = command().args(&args).stdout(Stdio::null()).stderr(full).status().unwrap();
        assert_eq!(status.code(), Some(code), "{args:?}");
        fs::remove_dir_all(sample.path("tree")).ok();
        let mut closed = Command::new("sh");
        closed.args(["-c", "exec \"$@\" 2>&- >/dev/null", "sh"]);
        closed.arg(assert_cmd::cargo::cargo_bin!("lith")).args(&args);
        assert_eq!(closed.status().unwrap().code(), Some(code), "{args:?}");
        fs::remove_dir_all(sample.path("tree")).ok();
    }
}

#[test]
fn output_that_cannot_be_written_is_a_failure_also_for_help() {
    let (_sample, image) = Sample::built();
    for (args, code) in [
        (args!["--help"].to_vec(), 1),
        (args!["--version"].to_vec(), 1),
        (args!["check", "--help"].to_vec(), 8),
        (args!["mkfs.erofs", "--help"].to_vec(), 1),
        (args!["ls", image].to_vec(), 1),
    ] {
        let full = || File::options().write(true).open("/dev/full").unwrap();
        let output = command().args(&args).stdout(full()).stderr(Stdio::piped()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{args:?}");
        assert!(said.ends_with(": cannot write to standard output: No space left on device\n"));
        let status = command().args(&args).stdout(full()).stderr(full()).status().unwrap();
        assert_eq!(status.code(), Some(code), "{args:?}");
    }
}

#[test]
fn standard_output_that_is_closed_is_a_failure() {
    let (sample, image) = Sample::built();
    for (args, code) in [
        (args!["--help"].to_vec(), 1),
        (args!["ls", image].to_vec(), 1),
        (args!["dump", image].to_vec(), 1),
        (args!["tar", image].to_vec(), 1),
        (args!["check", image].to_vec(), 8),
        (args!["diff", image, sample.path("none")].to_vec(), 2),
        (args!["mkfs.erofs", "--help"].to_vec(), 1),
        // What prints nothing needs no output.
        (args!["extract", "-q", image, sample.path("tree")].to_vec(), 0),
    ] {
        let mut closed = Command::new("sh");
        closed.args(["-c", "exec \"$@\" >&-", "sh"]);
        closed.arg(assert_cmd::cargo::cargo_bin!("lith")).args(&args);
        let output = closed.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {said}");
        if code == 1 || code == 8 {
            let end = "cannot write to standard output: Bad file descriptor\n";
            assert!(said.ends_with(end), "{args:?}: {said}");
        }
        let status = command().args(&args).stdout(Stdio::null()).stderr(Stdio::null()).status();
        let without = if args.contains(&sample.path("none").into()) { 2 } else { 0 };
        if !args.contains(&"extract".into()) {
            assert_eq!(status.unwrap().code(), Some(without), "{args:?}");
        }
    }
}

/// With too little memory a program ends at once, as one that allocates does: it neither works on slowly nor writes another
/// image.
#[test]
fn too_little_memory_ends_the_work() {
    let (sample, image) = Sample::built();
    if Command::new("prlimit").arg("--version").stdout(Stdio::null()).status().is_err() {
        return tier::skip("little memory", "no prlimit");
    }
    tier::ran("little memory");
    let (page, small) = (sample.path("page.html"), sample.path("small.erofs"));
    for megabytes in [24, 32, 40, 48, 56, 64, 80] {
        for args in [
            args!["report", "-q", "-o", page, image].to_vec(),
            args!["build", "-q", "--preset", "small", "--workers=2", sample.src(), small].to_vec(),
        ] {
            let mut limited = Command::new("prlimit");
            limited.arg(format!("--as={}", megabytes << 20)).arg("--cpu=20");
            limited.arg(assert_cmd::cargo::cargo_bin!("lith")).args(&args);
            let output = limited.env_remove("SOURCE_DATE_EPOCH").output().unwrap();
            // SIGXCPU is 24: it works on for ever.
            assert_ne!(output.status.signal(), Some(24), "{megabytes} MiB: {args:?}");
        }
    }
}
