//! Makes a sample tree and its image, and runs the program.

use std::{
    ffi::OsStr,
    fs::{self, File},
    os::unix::{ffi::OsStrExt, fs::symlink},
    path::{Path, PathBuf},
    process::{Command, Output},
    time::{Duration, UNIX_EPOCH},
};

use lith_testkit::tier;
use rustix::fs::{CWD, FileType, Mode, XattrFlags};
use serde_json::Value;
use tempfile::TempDir;

/// Runs the program and waits for it.
pub(crate) fn lith<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) -> Output {
    command().args(args).output().unwrap()
}

/// The program, without environment variables that change its behaviour.
pub(crate) fn command() -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("lith"));
    command.env_remove("SOURCE_DATE_EPOCH");
    command
}

/// Copies the program to a place that others than root reach. Another process copies it: if this one had it open for
/// writing while another thread starts a program, that one would hold it open too, and the copy could not be executed.
pub(crate) fn copy_program(to: &Path) {
    let copied = Command::new("cp").arg(command().get_program()).arg(to).status();
    assert!(copied.unwrap().success());
}

/// Runs the program, which must succeed without messages, and returns its output.
pub(crate) fn printed<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) -> String {
    let output = lith(args);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), &*stderr), (Some(0), ""));
    String::from_utf8(output.stdout).unwrap()
}

/// As [`printed`], but read as JSON.
pub(crate) fn json<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) -> Value {
    serde_json::from_str(&printed(args)).unwrap()
}

/// Standard error, which must be one line.
pub(crate) fn complaint(output: &Output) -> String {
    let text = String::from_utf8(output.stderr.clone()).unwrap();
    assert_eq!(text.lines().count(), 1, "{text}");
    text.trim_end().to_owned()
}

/// A directory with a tree of all file types in `src`; images are written next to it.
pub(crate) struct Sample {
    dir: TempDir,
}

/// A name that is not UTF-8.
pub(crate) const ODD_NAME: &[u8] = b"odd\n\xff\\";

impl Sample {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let src = dir.path().join("src");
        fs::create_dir_all(src.join("sub/deep")).unwrap();
        fs::write(src.join("empty"), "").unwrap();
        fs::write(src.join("hello"), "hello, world\n").unwrap();
        fs::write(src.join("sub/large"), compressible(300_000)).unwrap();
        fs::write(src.join("sub/noise"), noise(50_000)).unwrap();
        fs::write(src.join("sub/deep").join(OsStr::from_bytes(ODD_NAME)), "odd").unwrap();
        fs::hard_link(src.join("hello"), src.join("sub/hard")).unwrap();
        symlink("sub/large", src.join("link")).unwrap();
        symlink("sub", src.join("way")).unwrap();
        let mode = Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(CWD, src.join("pipe"), FileType::Fifo, mode, 0).unwrap();
        let sample = Self { dir };
        for name in ["hello", "sub/large", "sub/noise", "empty", "sub", ""] {
            sample.set_time(name, 1_700_000_000);
        }
        sample
    }

    /// A sample with its image, whose files have extents of their own.
    pub(crate) fn built() -> (Self, PathBuf) {
        let sample = Self::new();
        let image = sample.path("image.erofs");
        printed(args!["build", "-q", "-E", "^fragments", sample.src(), image]);
        (sample, image)
    }

    pub(crate) fn src(&self) -> PathBuf {
        self.path("src")
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// The names in the directory, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.dir.path()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names.collect();
        names.sort();
        names
    }

    pub(crate) fn set_time(&self, name: &str, seconds: u64) {
        let file = File::open(self.src().join(name)).unwrap();
        file.set_modified(UNIX_EPOCH + Duration::new(seconds, 123_456_789)).unwrap();
    }

    /// Sets an extended attribute, if the filesystem has such.
    pub(crate) fn set_xattr(&self, name: &str, xattr: &str, value: &[u8]) -> bool {
        let path = self.src().join(name);
        rustix::fs::setxattr(&path, xattr, value, XattrFlags::empty()).is_ok()
    }
}

/// A list of arguments of several types.
macro_rules! args {
    ($($arg:expr),* $(,)?) => {
        [$(std::ffi::OsString::from(&$arg)),*]
    };
}
pub(crate) use args;

/// Bytes that compress well.
pub(crate) fn compressible(count: usize) -> Vec<u8> {
    let lines = (0..).flat_map(|number: u64| format!("line {}\n", number % 977).into_bytes());
    lines.take(count).collect()
}

/// Bytes that don't compress.
pub(crate) fn noise(count: usize) -> Vec<u8> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let bytes = std::iter::from_fn(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        Some(state.to_le_bytes()[3])
    });
    bytes.take(count).collect()
}

/// Whether the tests run as root; if not, `what` is reported as skipped.
pub(crate) fn is_root(what: &str) -> bool {
    let is_root = tier::is_root();
    if !is_root {
        tier::skip(what, "not root");
    }
    is_root
}

/// All that is below a directory, as paths relative to it.
pub(crate) fn files_in(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut left = vec![directory.to_owned()];
    while let Some(next) = left.pop() {
        for entry in fs::read_dir(next).unwrap().map(Result::unwrap) {
            if entry.file_type().unwrap().is_dir() {
                left.push(entry.path());
            }
            found.push(entry.path().strip_prefix(directory).unwrap().to_owned());
        }
    }
    found.sort();
    found
}
