//! Boots other kernels in qemu, and mounts images there.
//!
//! `tests/kernels/get` gets kernels. A machine has its files in memory: the program `lith-test-child` as its first process,
//! `losetup`, for hash trees `veritysetup`, what these need, modules and images.

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    fs::{self, File},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
    process::Command,
};

use lith::format::kernel::KernelVersion;

use super::tools::find_in_path;
use crate::{guest, place, tier};

const TIER: &str = "other kernels";

/// The program that emulates.
const QEMU: &str = "qemu-system-x86_64";
/// What sets dm-verity up.
const VERITYSETUP: &str = "veritysetup";
/// Seconds after which a machine is taken to hang.
const PATIENCE: &str = "540";
/// Memory of a machine, for its files and all that it does.
const MEMORY: &str = "3G";

/// A kernel that can be booted.
#[derive(Clone, Debug)]
pub struct Machine {
    /// Where it came from.
    pub suite: String,
    /// Its version.
    pub version: KernelVersion,
    folder: PathBuf,
    configuration: BTreeSet<String>,
}

/// An image that a machine is to mount.
#[derive(Clone, Debug)]
pub struct Shown {
    /// Its devices, the primary one first.
    pub devices: Vec<PathBuf>,
    /// The root hash and the position in the primary device of a hash tree, if it is read through dm-verity.
    pub hash_tree: Option<(String, u64)>,
}

/// Images by their names.
pub type Images = BTreeMap<String, Shown>;

/// All kernels that are there, if `LITH_KERNELS=1` asks for them; what is missing is reported.
#[must_use]
pub fn all() -> Vec<Machine> {
    if env::var_os("LITH_KERNELS").is_none_or(|value| value != "1") {
        tier::skip(TIER, "LITH_KERNELS=1 boots them, after tests/kernels/get");
        return Vec::new();
    }
    for tool in [QEMU, "losetup", "ldd"] {
        if find_in_path(tool).is_none() {
            tier::skip(TIER, format!("no {tool}"));
            return Vec::new();
        }
    }
    let entries = fs::read_dir(cache()).into_iter().flatten().flatten();
    let mut machines: Vec<_> =
        entries.filter_map(|entry| Machine::in_folder(entry.path())).collect();
    machines.sort_by_key(|machine| machine.version);
    if machines.is_empty() {
        tier::skip(TIER, "none is there; tests/kernels/get gets them");
    }
    machines
}

fn cache() -> PathBuf {
    let named = env::var_os("LITH_KERNELS_DIR").map(PathBuf::from);
    let caches = || {
        let home = || PathBuf::from(env::var_os("HOME").unwrap_or_default()).join(".cache");
        env::var_os("XDG_CACHE_HOME").map_or_else(home, PathBuf::from)
    };
    named.unwrap_or_else(|| caches().join("lith-kernels"))
}

impl Machine {
    fn in_folder(folder: PathBuf) -> Option<Self> {
        let version = fs::read_to_string(folder.join("version")).ok()?.trim().parse().ok()?;
        let configuration = fs::read_to_string(folder.join("config")).ok()?;
        let set = configuration.lines().filter_map(|line| Some(line.split_once('=')?.0.to_owned()));
        let suite = folder.file_name()?.to_str()?.to_owned();
        Some(Self { suite, version, configuration: set.collect(), folder })
    }

    /// Whether an option of its configuration is set.
    #[must_use]
    pub fn has(&self, option: &str) -> bool {
        self.configuration.contains(option)
    }

    /// Whether it can set dm-verity up; what is missing for that is reported.
    #[must_use]
    pub fn has_verity(&self) -> bool {
        if find_in_path(VERITYSETUP).is_none() {
            tier::skip(TIER, format!("hash trees: no {VERITYSETUP}"));
            return false;
        }
        let modules = fs::read_dir(self.folder.join("modules")).into_iter().flatten().flatten();
        let mut names = modules.map(|module| module.file_name().display().to_string());
        let has_module = names.any(|name| name.ends_with("dm-verity.ko"));
        if !has_module {
            tier::skip(
                TIER,
                format!("hash trees: {} has no dm-verity; tests/kernels/get", self.suite),
            );
        }
        has_module
    }

    /// Boots with `lith-test-child` as its first process, and returns what became of each image: [`guest::REFUSED`],
    /// [`guest::UNREADABLE`], or the digest of what it holds.
    #[must_use]
    pub fn see(&self, child: &Path, images: &Images) -> BTreeMap<String, String> {
        tier::ran(TIER);
        let folder = place::large_folder();
        let files = folder.path().join("files");
        self.write_files(&files, child, images).unwrap();
        let output = Command::new("timeout")
            .args([PATIENCE, QEMU, "-accel", "tcg", "-cpu", "max", "-m", MEMORY, "-net", "none"])
            .args(["-nographic", "-no-reboot", "-kernel"])
            .arg(self.folder.join("vmlinuz"))
            .args([
                "-append",
                "console=ttyS0 quiet no_timer_check panic=-1 rdinit=/init -- guest",
                "-initrd",
            ])
            .arg(&files)
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout).replace('\r', "");
        let found: BTreeMap<_, _> = text.lines().filter_map(verdict).collect();
        let missing = images.keys().find(|name| !found.contains_key(*name));
        assert_eq!(missing, None, "Linux {}: the console says\n{text}", self.version);
        found
    }

    /// Writes the files of a machine as a cpio.
    fn write_files(&self, to: &Path, child: &Path, images: &Images) -> io::Result<()> {
        let mut cpio = Cpio::create(to)?;
        let mut programs = vec![(child.to_owned(), "init".to_owned())];
        let has_hash_trees = images.values().any(|image| image.hash_tree.is_some());
        let tools = [Some("losetup"), has_hash_trees.then_some(VERITYSETUP)].into_iter().flatten();
        programs.extend(tools.map(|tool| (find_in_path(tool).unwrap(), format!("bin/{tool}"))));
        for (program, name) in &programs {
            cpio.file(name, program)?;
            for library in libraries(program) {
                cpio.file(library.strip_prefix('/').unwrap(), Path::new(&library))?;
            }
        }
        for module in fs::read_dir(self.folder.join("modules"))? {
            let module = module?;
            let name = format!("{}/{}", guest::MODULES, module.file_name().display());
            cpio.file(&name, &module.path())?;
        }
        for (name, image) in images {
            let folder = format!("{}/{name}", guest::IMAGES);
            for (number, device) in image.devices.iter().enumerate() {
                cpio.file(&format!("{folder}/{number}"), device)?;
            }
            if let Some((root_hash, position)) = &image.hash_tree {
                let text = format!("{root_hash} {position}");
                let name = format!("{folder}/{}", guest::ROOT_HASH);
                cpio.entry(&name, 0o100_644, text.as_bytes())?;
            }
        }
        cpio.end()
    }
}

fn verdict(line: &str) -> Option<(String, String)> {
    let (_, rest) = line.split_once(&format!("{}\t", guest::MARK))?;
    let (name, verdict) = rest.split_once('\t')?;
    Some((name.to_owned(), verdict.to_owned()))
}

/// The paths of the libraries that a program loads, and of its loader.
fn libraries(program: &Path) -> Vec<String> {
    let output = Command::new("ldd").arg(program).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let words = text.lines().filter_map(|line| {
        line.split_whitespace().find(|word| word.starts_with('/')).map(ToOwned::to_owned)
    });
    words.collect()
}

/// A cpio (newc) while it is written.
struct Cpio {
    writer: BufWriter<File>,
    known: BTreeSet<String>,
}

impl Cpio {
    fn create(path: &Path) -> io::Result<Self> {
        Ok(Self { writer: BufWriter::new(File::create(path)?), known: BTreeSet::new() })
    }

    /// Adds a file and the folders above it, unless they are there.
    fn file(&mut self, name: &str, from: &Path) -> io::Result<()> {
        for (at, _) in name.match_indices('/') {
            self.entry(&name[..at], 0o040_755, &[])?;
        }
        self.entry(name, 0o100_755, &fs::read(from)?)
    }

    fn entry(&mut self, name: &str, mode: u32, bytes: &[u8]) -> io::Result<()> {
        if !self.known.insert(name.to_owned()) {
            return Ok(());
        }
        let inode = self.known.len();
        write!(self.writer, "070701{inode:08x}{mode:08x}{:08x}{:08x}{:08x}{:08x}", 0, 0, 1, 0)?;
        write!(self.writer, "{:08x}{:08x}{:08x}{:08x}{:08x}", bytes.len(), 0, 0, 0, 0)?;
        write!(self.writer, "{:08x}{:08x}", name.len() + 1, 0)?;
        self.writer.write_all(name.as_bytes())?;
        // The name ends with a zero; it, with the header of 110 bytes, and the content are padded to four.
        self.writer.write_all(&[0; 4][..4 - (110 + name.len()) % 4])?;
        self.writer.write_all(bytes)?;
        self.writer.write_all(&[0; 4][..(4 - bytes.len() % 4) % 4])
    }

    fn end(mut self) -> io::Result<()> {
        self.entry("TRAILER!!!", 0, &[])?;
        self.writer.flush()
    }
}
