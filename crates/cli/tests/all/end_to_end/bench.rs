//! Tests that `lith bench` starts `lith-bench` with all arguments and returns its exit code.

use std::{
    env, fs,
    os::unix::{fs::PermissionsExt, process::ExitStatusExt},
    path::{Path, PathBuf},
    process::{Command, Output},
};

use tempfile::TempDir;

/// The program in a folder of its own, without the real `lith-bench` beside it.
struct Alone(TempDir);

impl Alone {
    fn new() -> Self {
        // On the filesystem of the program, so that a link will do; the system may refuse that to users.
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let (from, to) = (assert_cmd::cargo::cargo_bin!("lith"), folder.path().join("lith"));
        if fs::hard_link(from, &to).is_err() {
            // By another process, as a file that is open for writing in any process of ours can't be executed.
            assert!(Command::new("cp").args([from, to.as_path()]).status().unwrap().success());
        }
        Self(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a script to a path where `lith-bench` is expected.
    fn plant(&self, folder: &str, script: &str) {
        let program = self.path(folder).join("lith-bench");
        fs::create_dir_all(self.path(folder)).unwrap();
        fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn bench(&self, arguments: &[&str]) -> Output {
        let path = env::var_os("PATH").unwrap();
        let folders = env::split_paths(&path).filter(|folder| !folder.join("lith-bench").exists());
        let path = env::join_paths(folders.chain([self.path("in-path")])).unwrap();
        let mut command = Command::new(self.path("lith"));
        command.arg("bench").args(arguments).env("PATH", path).output().unwrap()
    }
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// The path of lith and the arguments that a script printed.
fn received(output: &Output) -> (PathBuf, Vec<&str>) {
    let mut lines = text(&output.stdout).lines();
    assert_eq!(lines.next(), Some("--lith"), "{output:?}");
    (Path::new(lines.next().unwrap()).to_owned(), lines.collect())
}

const ECHO: &str = "printf '%s\\n' \"$@\"; exit 7";

#[test]
fn the_program_beside_this_one_gets_all_arguments() {
    let alone = Alone::new();
    alone.plant(".", ECHO);
    alone.plant("in-path", "exit 1");
    let cases: [&[&str]; 6] = [
        &[],
        &["--help"],
        &["-h", "--version"],
        &["erofs", "--corpus", "a b", "--repeat=5"],
        &["--list", "--", "--out"],
        &["--nosuchoption", ""],
    ];
    for arguments in cases {
        let output = alone.bench(arguments);
        assert_eq!(output.status.code(), Some(7), "{output:?}");
        let (lith, rest) = received(&output);
        assert_eq!(lith, fs::canonicalize(alone.path("lith")).unwrap());
        assert_eq!(rest, arguments);
    }
}

#[test]
fn otherwise_the_one_in_the_path_is_started() {
    let alone = Alone::new();
    alone.plant("in-path", ECHO);
    assert_eq!(received(&alone.bench(&["--list"])).1, ["--list"]);
}

#[test]
fn it_ends_as_that_program_ends() {
    let alone = Alone::new();
    alone.plant(".", "kill -TERM $$");
    assert_eq!(alone.bench(&[]).status.signal(), Some(15));
}

#[test]
fn without_it_the_error_names_how_to_make_it() {
    let alone = Alone::new();
    let output = alone.bench(&["--list"]);
    assert_eq!(output.status.code(), Some(1));
    let complaint = text(&output.stderr);
    assert_eq!(complaint.lines().count(), 1);
    assert!(complaint.contains("cargo build --release"), "{complaint}");
    let folder = fs::canonicalize(alone.0.path()).unwrap();
    assert!(complaint.contains(folder.to_str().unwrap()), "{complaint}");
}
