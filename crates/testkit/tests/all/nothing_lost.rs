//! Whatever goes wrong while an image is made, the old image is still there, and nothing else.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "in tests failures should be loud"
)]

use std::{
    error::Error as _,
    fs, io,
    os::unix::{fs::PermissionsExt, process::CommandExt},
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use lith::{
    Builder, Error,
    builder::BuildError,
    codec::Compressor,
    source::{self, Source},
    tree::ContentError,
};
use lith_testkit::{
    changing::Changing,
    image,
    noise::{self, Noise, Texture},
    place, tarball, tier,
};
use rustix::mount::{MountFlags, UnmountFlags};
use tempfile::TempDir;

const OLD: &str = "what was there before";

/// A tree, and beside it a folder with an image that must not be lost.
struct Bed {
    folder: TempDir,
}

impl Bed {
    fn new() -> Self {
        let bed = Self { folder: place::folder() };
        fs::create_dir_all(bed.tree().join("sub")).unwrap();
        for number in 0..40 {
            let content = noise::bytes(Texture::Mixed, number, 50_000);
            fs::write(bed.tree().join(format!("sub/file-{number:02}")), content).unwrap();
        }
        let large = noise::bytes(Texture::Mixed, 1, 13 << 20);
        fs::write(bed.tree().join("large"), large).unwrap();
        fs::create_dir(bed.images()).unwrap();
        fs::write(bed.image(), OLD).unwrap();
        bed
    }

    fn tree(&self) -> PathBuf {
        self.folder.path().join("tree")
    }

    fn images(&self) -> PathBuf {
        self.folder.path().join("images")
    }

    fn image(&self) -> PathBuf {
        self.images().join("image.erofs")
    }

    fn assert_untouched(&self, what: &str) {
        assert_eq!(place::names(&self.images()), ["image.erofs"], "{what}");
        assert_eq!(fs::read(self.image()).unwrap(), OLD.as_bytes(), "{what}");
    }

    fn build(&self, source: Source) -> Result<(), Error> {
        let options = image::compressed(Compressor::Lz4, 65536);
        let build = image::workers(2).builder(source, &options);
        build.build_to(self.image()).map(|_built| ())
    }
}

fn child() -> Command {
    Command::new(env!("CARGO_BIN_EXE_lith-test-child"))
}

/// What a failed command said, in one string.
fn complaint(output: &Output) -> String {
    assert!(!output.status.success());
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_full_filesystem() {
    if let Err(reason) = tier::can_mount() {
        return tier::skip("full filesystem", reason);
    }
    tier::ran("full filesystem");
    let bed = Bed::new();
    let place = bed.images();
    bed.build(image::directory(&bed.tree())).unwrap();
    let whole = fs::metadata(bed.image()).unwrap().len();
    fs::write(bed.image(), OLD).unwrap();
    // What lacks is most of it, half, some metadata, or a single page: that of the old image.
    for size in [whole / 50, whole / 2, whole - 20_000, whole.next_multiple_of(4096)] {
        let options = std::ffi::CString::new(format!("size={size}")).unwrap();
        rustix::mount::mount("tmpfs", &place, "tmpfs", MountFlags::empty(), &*options).unwrap();
        let _mounted = Unmount(place.clone());
        fs::write(bed.image(), OLD).unwrap();
        let error = bed.build(image::directory(&bed.tree())).unwrap_err();
        let said = chain(&error);
        assert!(said.contains("No space left"), "{said}");
        bed.assert_untouched("full");
        let output = child().arg("build").args([bed.tree(), bed.image()]).output().unwrap();
        assert!(complaint(&output).contains("No space left"));
        bed.assert_untouched("full");
    }
}

struct Unmount(PathBuf);

impl Drop for Unmount {
    fn drop(&mut self) {
        rustix::mount::unmount(&self.0, UnmountFlags::DETACH).unwrap();
    }
}

fn chain(error: &Error) -> String {
    let mut said = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        said = format!("{said}: {error}");
        cause = error.source();
    }
    said
}

#[test]
fn a_limit_on_file_sizes() {
    let bed = Bed::new();
    for blocks in [1, 100, 2000, 10_000] {
        let script = format!("ulimit -f {blocks}; trap '' XFSZ; exec \"$@\"");
        let program = env!("CARGO_BIN_EXE_lith-test-child");
        let output = Command::new("sh")
            .args(["-euc", &script, "sh", program, "build"])
            .args([bed.tree(), bed.image()])
            .output()
            .unwrap();
        let said = complaint(&output);
        assert!(said.contains("File too large"), "{said}");
        bed.assert_untouched(&said);
    }
}

#[test]
fn folders_that_cannot_be_written() {
    let bed = Bed::new();
    let image = bed.folder.path().join("nowhere/image");
    let error = Builder::source(image::directory(&bed.tree())).build_to(image);
    let said = chain(&error.unwrap_err());
    assert!(said.contains("nowhere") && said.contains("No such file"), "{said}");
    let as_folder = bed.build_at(&bed.images());
    assert!(chain(&as_folder.unwrap_err()).contains("images"));
    bed.assert_untouched("images");
}

impl Bed {
    fn build_at(&self, image: &Path) -> Result<(), Error> {
        let source = image::directory(&self.tree());
        Builder::source(source).build_to(image).map(|_built| ())
    }
}

/// What is done to a file, and a word of the complaint.
type Meddling = (&'static str, fn(&Path), &'static str);

const MEDDLINGS: [Meddling; 6] = [
    ("removed", |path| fs::remove_file(path).unwrap(), "was removed"),
    ("shortened", |path| open(path).set_len(100).unwrap(), "changed"),
    ("emptied", |path| open(path).set_len(0).unwrap(), "changed"),
    ("grown", |path| open(path).set_len(20 << 20).unwrap(), "changed"),
    ("written into", |path| io::Write::write_all(&mut open(path), b"other").unwrap(), "changed"),
    ("replaced by a pipe", replace_by_pipe, "changed"),
];

fn open(path: &Path) -> fs::File {
    fs::File::options().write(true).open(path).unwrap()
}

fn replace_by_pipe(path: &Path) {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    fs::remove_file(path).unwrap();
    mknodat(CWD, path, FileType::Fifo, Mode::RUSR, 0).unwrap();
}

#[test]
fn files_that_change_between_scan_and_read() {
    for (what, meddle, complaint) in MEDDLINGS {
        for name in ["large", "sub/file-20"] {
            let bed = Bed::new();
            let source = image::directory(&bed.tree());
            let victim = bed.tree().join(name);
            meddle(&victim);
            let error = bed.build(source).unwrap_err();
            let said = chain(&error);
            assert!(said.contains(name) && said.contains(complaint), "{what}: {said}");
            assert!(
                matches!(error, Error::Build(BuildError::Content(ContentError::Changed { .. }))),
                "{error:?}"
            );
            bed.assert_untouched(what);
        }
    }
}

#[test]
fn files_that_change_while_they_are_read() {
    for (what, meddle, _) in &MEDDLINGS[1..5] {
        for after in [0, 1, 2, 3] {
            let bed = Bed::new();
            let Source { tree, contents, notes } = image::directory(&bed.tree());
            let victim = bed.tree().join("large");
            let meddle = *meddle;
            let contents = Box::new(Changing::new(contents, after, move || meddle(&victim)));
            // Small files are read before or after; only what is read of the large one counts.
            let error = bed.build(Source { tree, contents, notes }).unwrap_err();
            let said = chain(&error);
            assert!(
                said.contains("large") && said.contains("changed"),
                "{what} after {after}: {said}"
            );
            bed.assert_untouched(what);
        }
    }
}

#[test]
fn files_that_cannot_be_read() {
    let bed = Bed::new();
    let victim = bed.tree().join("sub/file-07");
    fs::set_permissions(&victim, fs::Permissions::from_mode(0o000)).unwrap();
    // Root reads everything, so somebody else is asked to, with a copy of the program that they can reach.
    let program = bed.folder.path().join("child");
    // Copied by another process: a descriptor of ours that is open for writing could be inherited by a child of another
    // test, and a file that is open for writing can't be executed.
    let copied =
        Command::new("cp").arg(env!("CARGO_BIN_EXE_lith-test-child")).arg(&program).status();
    assert!(copied.unwrap().success());
    for open in [bed.folder.path().to_owned(), bed.images()] {
        fs::set_permissions(open, fs::Permissions::from_mode(0o777)).unwrap();
    }
    let mut command = Command::new(&program);
    command.arg("build").args([bed.tree(), bed.image()]);
    if tier::is_root() {
        command.uid(65_534).gid(65_534);
    }
    let said = complaint(&command.output().unwrap());
    assert!(said.contains("file-07") && said.contains("Permission denied"), "{said}");
    bed.assert_untouched("unreadable");
}

/// A read that fails as it does when a disk is broken.
struct BrokenDisk(Box<dyn lith::tree::Contents>);

struct BrokenFile;

impl lith::tree::Contents for BrokenDisk {
    fn open(
        &self,
        tree: &lith::tree::Tree,
        inode: lith::tree::InodeIndex,
    ) -> Result<Box<dyn lith::tree::Content + '_>, ContentError> {
        if tree.path(inode).ends_with(b"file-33") {
            return Ok(Box::new(BrokenFile));
        }
        self.0.open(tree, inode)
    }
}

impl lith::tree::Content for BrokenFile {
    fn read_at(&self, _: &mut [u8], _: u64) -> Result<(), ContentError> {
        let source = rustix::io::Errno::IO.into();
        Err(ContentError::Io { path: "file-33".into(), action: "read", source })
    }

    fn range_at(&self, _: u64) -> Result<lith::tree::DataRange, ContentError> {
        Ok(lith::tree::DataRange::Data { end: 50_000 })
    }

    fn check_unchanged(&self) -> Result<(), ContentError> {
        Ok(())
    }
}

#[test]
fn a_disk_that_fails() {
    let bed = Bed::new();
    let Source { tree, contents, notes } = image::directory(&bed.tree());
    let error =
        bed.build(Source { tree, contents: Box::new(BrokenDisk(contents)), notes }).unwrap_err();
    let said = chain(&error);
    assert!(said.contains("file-33") && said.contains("Input/output error"), "{said}");
    bed.assert_untouched("broken disk");
}

fn tar_of(bed: &Bed) -> Option<Vec<u8>> {
    let tar = bed.folder.path().join("tree.tar");
    let source = image::directory(&bed.tree());
    tarball::make(&source.tree, &bed.tree(), &tar, 5).then(|| fs::read(&tar).unwrap())
}

fn try_tar(bed: &Bed, bytes: &[u8]) -> Result<(), String> {
    let path = bed.folder.path().join("broken.tar");
    fs::write(&path, bytes).unwrap();
    let options = source::Options::with(|options| options.spool_dir = bed.images());
    let read = source::tar(fs::File::open(&path).unwrap(), &path, &options);
    let source = read.map_err(|error| {
        let mut said = error.to_string();
        let mut cause = error.source();
        while let Some(error) = cause {
            said = format!("{said}: {error}");
            cause = error.source();
        }
        said
    })?;
    bed.build(source).map_err(|error| chain(&error))
}

#[test]
fn tars_that_are_cut_short() {
    let bed = Bed::new();
    let Some(tar) = tar_of(&bed) else { return };
    let mut noise = Noise::new(8);
    let mut cuts: Vec<usize> = (0..40).map(|_| noise.below(tar.len() - 20_000)).collect();
    // Right after a header, and after whole blocks.
    cuts.extend([1, 511, 512, 513, 1024, tar.len() / 2 / 512 * 512]);
    for cut in cuts {
        let said = try_tar(&bed, &tar[..cut]).unwrap_err();
        assert!(said.contains("broken.tar"), "cut at {cut}: {said}");
        bed.assert_untouched(&said);
    }
}

#[test]
fn tars_that_are_damaged() {
    let bed = Bed::new();
    let Some(tar) = tar_of(&bed) else { return };
    // Headers are what begins at a multiple of 512 and has the magic.
    let headers = (0..tar.len()).step_by(512).filter(|at| tar[at + 257..].starts_with(b"ustar"));
    let mut noise = Noise::new(9);
    for header in headers.step_by(5) {
        let mut damaged = tar.clone();
        let at = header + noise.below(500);
        damaged[at] ^= 1 + u8::try_from(noise.below(255)).unwrap();
        let said = try_tar(&bed, &damaged).unwrap_err();
        assert!(said.contains("broken.tar"), "damaged at {at}: {said}");
        bed.assert_untouched(&said);
    }
}

#[test]
fn packed_tars_that_are_cut_short() {
    let bed = Bed::new();
    let Some(tar) = tar_of(&bed) else { return };
    let path = bed.folder.path().join("whole.tar");
    fs::write(&path, &tar[..1 << 20]).unwrap();
    for program in ["gzip", "xz", "bzip2", "zstd"] {
        let packed = Command::new(program).args(["-c", "-1"]).arg(&path).output();
        let Ok(packed) = packed else {
            tier::skip("packed tars", format!("no {program} in the PATH"));
            continue;
        };
        let packed = packed.stdout;
        for cut in [10, packed.len() / 3, packed.len() - 30, packed.len() - 1] {
            let said = try_tar(&bed, &packed[..cut]).unwrap_err();
            assert!(said.contains("broken.tar"), "{program} cut at {cut}: {said}");
            bed.assert_untouched(&said);
        }
    }
}

#[test]
fn a_process_that_is_killed() {
    let bed = Bed::new();
    let build = || {
        let mut command = child();
        command.arg("build").args([bed.tree(), bed.image()]).args(["lz4hc,9", "65536", "2"]);
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    };
    let started = Instant::now();
    assert!(build().wait().unwrap().success());
    let took = started.elapsed();
    let new = fs::read(bed.image()).unwrap();
    let mut noise = Noise::new(u64::try_from(took.as_nanos()).unwrap());
    let mut killed = 0;
    for round in 0..60 {
        fs::write(bed.image(), OLD).unwrap();
        let mut process = build();
        let part = u32::try_from(noise.below(1000)).unwrap();
        thread::sleep(took * part / 950);
        process.kill().unwrap();
        killed += u32::from(!process.wait().unwrap().success());
        // In time or too late, but never a part.
        let found = fs::read(bed.image()).unwrap();
        assert!(found == OLD.as_bytes() || found == new, "round {round}: {} bytes", found.len());
        assert_leftovers(&bed, &new);
    }
    assert!(killed > 20, "only {killed} of 60 were killed in time");
}

/// A new image gets its hidden name just before its own, when it is complete. A kill can hit that moment; on
/// filesystems without nameless files, any.
fn assert_leftovers(bed: &Bed, new: &[u8]) {
    let strict = place::has_nameless_files(&bed.images());
    for name in place::names(&bed.images()).iter().filter(|name| *name != "image.erofs") {
        let path = bed.images().join(name);
        assert!(!strict || fs::read(&path).unwrap() == new, "{name} is left");
        fs::remove_file(path).unwrap();
    }
}

#[test]
fn a_build_that_panics_ends() {
    let bed = Arc::new(Bed::new());
    let Source { tree, contents, notes } = image::directory(&bed.tree());
    let contents =
        Box::new(Changing::new(contents, 9, || panic!("this panic is part of the test")));
    let building = Arc::clone(&bed);
    let build = thread::spawn(move || building.build(Source { tree, contents, notes }).is_err());
    let deadline = Instant::now() + Duration::from_secs(60);
    while !build.is_finished() {
        assert!(Instant::now() < deadline, "the build hangs");
        thread::sleep(Duration::from_millis(10));
    }
    assert!(build.join().unwrap_or(true));
    bed.assert_untouched("panic");
}

#[test]
fn little_memory_for_temporary_data_leaves_nothing() {
    let bed = Bed::new();
    let options = image::compressed(Compressor::Lz4, 4096);
    let build = image::workers(2).memory(1000).builder(image::directory(&bed.tree()), &options);
    build.build_to(bed.image()).unwrap();
    assert_eq!(place::names(&bed.images()), ["image.erofs"]);
}
