//! Tests what `lith build` leaves out of its source: by patterns, by filesystems, and what can't be read.

use std::{
    fs,
    io::Write,
    os::unix::{
        fs::{PermissionsExt, chown},
        process::CommandExt,
    },
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use lith_testkit::tier;
use rustix::mount::{MountFlags, UnmountFlags};
use serde_json::Value;

use super::{
    args,
    sample::{Sample, command, copy_program, is_root, json, lith, printed},
};

/// Builds with options, and returns the paths in the image and the notes.
fn build(sample: &Sample, options: &[&str]) -> (Vec<String>, Vec<String>) {
    let image = sample.path("image.erofs");
    let mut build = command();
    build.args(["build", "--json"]).args(options).args([sample.src(), image.clone()]);
    let output = build.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let listed = printed(args!["ls", "-R", image]);
    (listed.lines().map(str::to_owned).collect(), notes(&report))
}

fn notes(report: &Value) -> Vec<String> {
    let notes = report["notes"].as_array().unwrap().iter();
    notes.map(|note| note.as_str().unwrap().to_owned()).collect()
}

#[test]
fn patterns_leave_files_out_and_take_them_again() {
    let sample = Sample::new();
    fs::create_dir_all(sample.src().join("doc/a")).unwrap();
    fs::create_dir_all(sample.src().join("doc/b")).unwrap();
    for name in ["doc/a/copyright", "doc/a/readme", "doc/b/readme", "x.c", "x.h", "x.o"] {
        fs::write(sample.src().join(name), name).unwrap();
    }
    let list = sample.path("list");
    fs::write(&list, "# documents\n\n/doc\n!copyright\n").unwrap();
    let from_list = format!("--exclude-from={}", list.display());
    let tar = sample.path("src.tar");
    let whole = sample.path("whole.erofs");
    printed(args!["build", "-q", sample.src(), whole]);
    printed(args!["tar", "-o", tar, whole]);
    for (options, there, gone) in [
        (&["--exclude=/doc", "--include=/doc/*/copyright"][..], "doc/a/copyright", "doc/b"),
        (&["--exclude=/doc", "--exclude=!copyright"], "doc/a/copyright", "doc/a/readme"),
        (&[&from_list], "doc/a/copyright", "doc/b"),
        (&["--exclude=x.!(c|h)"], "x.h", "x.o"),
        (&["--exclude-regex=^doc/[^/]+/r"], "doc/b", "doc/b/readme"),
        (&["--exclude=/**", "--include=x.[ch]"], "x.c", "sub"),
    ] {
        let (files, notes) = build(&sample, options);
        let has = |path: &str| files.iter().any(|file| file.trim_start_matches('/') == path);
        assert!(has(there) && !has(gone), "{options:?}: {files:?}");
        assert_eq!(notes, [""; 0], "{options:?}");
        // The same from a tar and from an image.
        let image = sample.path("image.erofs");
        for source in [&tar, &whole] {
            let other = sample.path("other.erofs");
            let start = args!["build", "-q", source, other];
            printed(start.into_iter().chain(options.iter().map(Into::into)));
            assert_eq!(printed(args!["diff", image, other]), "", "{options:?}");
        }
    }
}

#[test]
fn patterns_that_match_nothing_are_told_or_refused() {
    let sample = Sample::new();
    let absolute = format!("{}/sub", fs::canonicalize(sample.src()).unwrap().display());
    let options = ["--exclude=src/sub", "--exclude", &absolute, "--exclude=*.O", "--rule=*.x=none"];
    let (files, notes) = build(&sample, &options);
    assert!(files.iter().any(|file| file.ends_with("sub/noise")));
    let expected = [
        "the exclusion *.O matches nothing",
        "the exclusion src/sub matches nothing; paths start at the source: /sub",
        &format!("the exclusion {absolute} matches nothing; paths start at the source: /sub"),
        "the rule for *.x matches nothing",
    ];
    assert_eq!(notes, expected);
    let image = sample.path("strict.erofs");
    let start = args!["build", "--strict", sample.src(), image];
    let strict = lith(start.into_iter().chain(options.iter().map(Into::into)));
    let said = String::from_utf8(strict.stderr).unwrap();
    assert_eq!(strict.status.code(), Some(1), "{said}");
    assert!(said.contains("lith: the exclusion *.O matches nothing\n"), "{said}");
    assert!(said.ends_with("4 unmatched patterns\n") && !image.exists(), "{said}");
    printed(args!["build", "-q", "--strict", "--exclude=/sub", sample.src(), image]);
}

#[test]
fn other_filesystems_are_left_out_on_demand() {
    if let Err(reason) = tier::can_mount() {
        return tier::skip("other filesystems", reason);
    }
    let sample = Sample::new();
    let place = sample.src().join("sub/deep");
    rustix::mount::mount("tmpfs", &place, "tmpfs", MountFlags::empty(), None).unwrap();
    let built = std::panic::catch_unwind(|| {
        fs::write(place.join("elsewhere"), "x").unwrap();
        (build(&sample, &[]), build(&sample, &["-x"]), build(&sample, &["--one-file-system"]))
    });
    rustix::mount::unmount(&place, UnmountFlags::empty()).unwrap();
    let (all, one, same) = built.unwrap();
    assert!(all.0.iter().any(|path| path.ends_with("elsewhere")) && all.1.is_empty());
    assert!(!one.0.iter().any(|path| path.ends_with("elsewhere")));
    assert!(one.0.iter().any(|path| path.ends_with("sub/deep")));
    assert_eq!(one.1, ["/sub/deep: on another filesystem, left out"]);
    assert_eq!(one, same);
}

/// Gives all files to a user without rights.
fn give_away(path: &Path) {
    for entry in fs::read_dir(path).unwrap().map(Result::unwrap) {
        if entry.file_type().unwrap().is_dir() {
            give_away(&entry.path());
        }
        rustix::fs::chownat(
            rustix::fs::CWD,
            entry.path(),
            Some(rustix::fs::Uid::from_raw(65534)),
            None,
            rustix::fs::AtFlags::SYMLINK_NOFOLLOW,
        )
        .unwrap();
    }
    chown(path, Some(65534), None).unwrap();
}

#[test]
fn all_files_that_may_not_be_read_are_told_or_left_out() {
    if !is_root("files that may not be read") {
        return;
    }
    let sample = Sample::new();
    let program = sample.path("lith");
    copy_program(&program);
    give_away(sample.path("").as_path());
    for closed in ["hello", "sub/noise", "sub/deep"] {
        let closed = sample.src().join(closed);
        chown(&closed, Some(0), Some(0)).unwrap();
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o600)).unwrap();
    }
    let image = sample.path("image.erofs");
    let run = |options: &[&str]| {
        let mut build = std::process::Command::new(&program);
        build.uid(65534).gid(65534).arg("build").args(options).args([sample.src(), image.clone()]);
        build.output().unwrap()
    };
    let failed = run(&["-q"]);
    let said = String::from_utf8(failed.stderr).unwrap();
    assert_eq!(failed.status.code(), Some(1), "{said}");
    let told: Vec<_> =
        said.lines().map(|line| line.rsplit_once("/src/").unwrap_or(("", line)).1).collect();
    let expected = [
        "hello: cannot open: Permission denied",
        "sub/deep: cannot open: Permission denied",
        "sub/hard: cannot open: Permission denied",
        "sub/noise: cannot open: Permission denied",
        "lith: 4 files can't be read; --on-error skip leaves them out",
    ];
    assert_eq!(told, expected);
    assert!(!image.exists());
    let skipped = run(&["--json", "--on-error", "skip"]);
    assert!(skipped.status.success(), "{}", String::from_utf8_lossy(&skipped.stderr));
    let report: Value = serde_json::from_slice(&skipped.stdout).unwrap();
    let expected = ["hello", "sub/deep", "sub/hard", "sub/noise"]
        .map(|path| format!("/{path}: left out: cannot open: Permission denied"));
    assert_eq!(notes(&report), expected);
    let listed = printed(args!["ls", "-R", image]);
    assert!(listed.contains("/sub/large") && !listed.contains("noise"), "{listed}");
    printed(args!["check", image]);
}

#[test]
fn a_file_that_changes_is_left_out_on_demand() {
    let sample = Sample::new();
    let mut log = fs::File::create(sample.src().join("log")).unwrap();
    let is_done = AtomicBool::new(false);
    let found = thread::scope(|scope| {
        scope.spawn(|| {
            while !is_done.load(Ordering::Relaxed) {
                log.write_all(b"line\n").unwrap();
            }
        });
        let image = sample.path("image.erofs");
        let found = (0..50).find_map(|_| {
            let report = json(args!["build", "--json", "--on-error=skip", sample.src(), image]);
            notes(&report).pop()
        });
        is_done.store(true, Ordering::Relaxed);
        found
    });
    let found = found.expect("a build meets a change");
    assert!(found.starts_with("/log: left out: changed while it was read: "), "{found}");
    let listed = printed(args!["ls", "-R", sample.path("image.erofs")]);
    assert!(!listed.contains("/log") && listed.contains("/hello"), "{listed}");
}
