//! Runs erofs-utils on images.

use std::{
    env,
    ffi::{OsStr, OsString},
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use crate::tier;

const TIER: &str = "erofs-utils";

/// Where erofs-utils are.
#[derive(Clone, Debug)]
pub struct Tools {
    /// A program that runs them in a chroot.
    wrapper: Option<PathBuf>,
    /// The output of `mkfs.erofs -V`.
    pub version: (u32, u32),
}

impl Tools {
    /// Older ones lack `--mkfs-time` and algorithms, and their `fsck.erofs` refuses sound images.
    const OLDEST: (u32, u32) = (1, 7);

    /// Looks for erofs-utils: in the chroot that `bench/rivals.sh` makes, else in the `PATH`. If there are
    /// none, that is reported.
    #[must_use]
    pub fn find() -> Option<Self> {
        let candidates = [chroot_wrapper().map(Some), is_in_path("mkfs.erofs").then_some(None)];
        for wrapper in candidates.into_iter().flatten() {
            let mut tools = Self { wrapper, version: (0, 0) };
            if let Some(version) = tools.ask_version() {
                tools.version = version;
                if version < Self::OLDEST {
                    tier::skip(TIER, format!("{version:?} in the PATH are too old"));
                    return None;
                }
                tier::ran(TIER);
                return Some(tools);
            }
        }
        tier::skip(
            TIER,
            "neither in the PATH nor in the chroot of bench/rivals.sh (which needs root)",
        );
        None
    }

    /// Runs a tool in a folder; paths are relative to it.
    #[must_use]
    pub fn run(&self, folder: &Path, tool: &str, args: &[&OsStr]) -> Output {
        let mut command = match &self.wrapper {
            Some(wrapper) => {
                let mut command = Command::new(wrapper);
                command.arg(tool);
                command
            }
            None => Command::new(tool),
        };
        command
            .args(args)
            .current_dir(folder)
            .env("LITH_WORK", folder)
            .env("LC_ALL", "C")
            .output()
            .unwrap()
    }

    /// Runs a tool that must succeed; returns what it printed.
    #[must_use]
    pub fn expect(&self, folder: &Path, tool: &str, args: &[&OsStr]) -> Vec<u8> {
        let output = self.run(folder, tool, args);
        let words: Vec<_> = args.iter().map(|arg| arg.to_string_lossy()).collect();
        assert!(
            output.status.success(),
            "{tool} {}: {}\n{}{}",
            words.join(" "),
            output.status,
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        output.stdout
    }

    fn ask_version(&self) -> Option<(u32, u32)> {
        let output = self.run(Path::new("/tmp"), "mkfs.erofs", &[OsStr::new("-V")]);
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8_lossy(&text).into_owned();
        let number =
            text.split_whitespace().find(|word| word.starts_with(|c: char| c.is_ascii_digit()))?;
        let mut parts = number.split(|c: char| !c.is_ascii_digit()).map(str::parse);
        Some((parts.next()?.ok()?, parts.next()?.ok()?))
    }
}

/// The script that runs commands in the chroot, if root may use it and it is there.
fn chroot_wrapper() -> Option<PathBuf> {
    let corpora = env::var_os("LITH_CORPORA").map(PathBuf::from);
    let cache = || Some(PathBuf::from(env::var_os("HOME")?).join(".cache/lith-bench"));
    let sid = corpora.or_else(cache)?.join("sid/usr/bin/mkfs.erofs");
    let script =
        fs::canonicalize(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/rival")).ok()?;
    (tier::is_root() && sid.exists()).then_some(script)
}

/// Whether the `PATH` has a program.
#[must_use]
pub fn is_in_path(program: &str) -> bool {
    find_in_path(program).is_some()
}

/// Where in the `PATH` a program is.
#[must_use]
pub fn find_in_path(program: &str) -> Option<PathBuf> {
    let path: OsString = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).map(|folder| folder.join(program)).find(|path| path.is_file())
}
