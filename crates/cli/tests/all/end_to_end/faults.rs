//! Tests that a system call that fails, and a signal, leave the old file or the new one, and end in a documented exit code.
//!
//! `LITH_FAULTS=all` lets each call of each verb fail, once; otherwise it is a sample of them.

use std::{
    ffi::OsString,
    fs,
    os::unix::process::ExitStatusExt,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use lith_testkit::{
    oracle::strace::{self, Fault},
    tier,
};

use super::{
    args,
    sample::{Sample, lith, printed},
};

const OLD: &[u8] = b"what was there before";

/// A verb with its arguments, run in a folder of its own.
struct Run {
    args: Vec<OsString>,
    codes: &'static [i32],
    effect: Effect,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Effect {
    /// Prints the same each time.
    Prints,
    /// Writes a file, the same each time.
    Writes,
    /// Writes something that differs each time.
    Varies,
}

/// Where runs take place.
struct Bed {
    sample: Sample,
    folder: PathBuf,
}

fn program() -> Command {
    let mut program = Command::new(assert_cmd::cargo::cargo_bin!("lith"));
    program.env_remove("SOURCE_DATE_EPOCH");
    program
}

impl Bed {
    fn new() -> Self {
        let (sample, _) = Sample::built();
        let folder = sample.path("folder");
        Self { sample, folder }
    }

    fn runs(&self) -> Vec<Run> {
        use Effect::{Prints, Varies, Writes};
        let (source, image) = (self.sample.src(), self.sample.path("image.erofs"));
        let tar = self.sample.path("sample.tar");
        printed(args!["tar", "-o", tar, image]);
        let run = |effect, codes, args: &[OsString]| Run { args: args.to_vec(), codes, effect };
        let usual = &[0, 1];
        vec![
            run(Writes, usual, &args!["build", "-q", "--force", "-z", "lz4", source, "file"]),
            run(Writes, usual, &args!["build", "-q", "--force", "-z", "zstd", tar, "file"]),
            run(Writes, usual, &args!["build", "-q", "--force", "--preset", "fast", image, "file"]),
            run(Varies, usual, &args!["mkfs.erofs", "--quiet", "file", source]),
            run(Varies, usual, &args!["extract", image, "tree"]),
            run(Writes, usual, &args!["tar", "-o", "file", image]),
            run(Varies, usual, &args!["report", "--no-presets", "-o", "file", image]),
            run(Prints, &[0, 4, 8], &args!["check", image]),
            run(Prints, &[0, 2], &args!["diff", source, image]),
            run(Prints, usual, &args!["dump", image]),
            run(Prints, usual, &args!["ls", "-R", image]),
            run(Prints, usual, &args!["cat", image, "/sub/large"]),
            run(Prints, usual, &args!["stat", image, "/hello"]),
            run(Prints, usual, &args!["map", image, "/sub/large"]),
            // What can't be read is a type of its own there.
            run(Varies, usual, &args!["info", "--all", image]),
        ]
    }

    /// A folder with nothing but an old file.
    fn clear(&self) {
        let _ = fs::remove_dir_all(&self.folder);
        fs::create_dir(&self.folder).unwrap();
        fs::write(self.folder.join("file"), OLD).unwrap();
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.folder).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.collect()
    }
}

/// All faults, or every so-manieth, so that a run of all verbs takes seconds.
fn chosen(all: Vec<Fault>) -> Vec<Fault> {
    const SAMPLE: usize = 12;
    if std::env::var_os("LITH_FAULTS").is_some_and(|value| value == "all") {
        return all;
    }
    // What fails late finds more to lose.
    let step = all.len().div_ceil(SAMPLE).max(1);
    all.into_iter().rev().step_by(step).collect()
}

#[test]
fn whatever_system_call_fails_the_file_is_the_old_or_the_new_one() {
    if let Err(reason) = strace::is_there() {
        return tier::skip("faults", reason);
    }
    tier::ran("faults");
    let bed = Bed::new();
    for run in bed.runs() {
        bed.clear();
        let mut plain = program();
        plain.args(&run.args).current_dir(&bed.folder);
        let good = plain.output().unwrap();
        assert_eq!(good.status.code(), Some(0), "{:?}", run.args);
        let new = fs::read(bed.folder.join("file")).unwrap();
        bed.clear();
        for fault in chosen(strace::faults(&bed.sample.path("log"), &plain)) {
            bed.clear();
            let mut failing = strace::with(&[&fault.to_string()]);
            failing.arg(plain.get_program()).args(&run.args).current_dir(&bed.folder);
            assert_kept(&bed, &run, (&good, &new), (&fault, &failing.output().unwrap()));
        }
    }
}

/// Checks what a run that met a fault left, given the output and the file of one without.
fn assert_kept(
    bed: &Bed,
    run: &Run,
    (good, new): (&Output, &[u8]),
    (fault, output): (&Fault, &Output),
) {
    let what = format!("{:?} with {fault}", run.args);
    let said = String::from_utf8_lossy(&output.stderr);
    let code = output.status.code();
    let is_aborted = output.status.signal() == Some(6) || code == Some(134);
    let is_documented = code.is_some_and(|code| run.codes.contains(&code));
    assert!(is_documented || (is_aborted && fault.is_of_memory()), "{what}: {code:?} {said}");
    let left = bed.names();
    assert!(!left.iter().any(|name| name.contains("lith-tmp")), "{what}: {left:?}");
    if code == Some(0) && run.effect == Effect::Prints {
        assert!(output.stdout == good.stdout, "{what}: prints something else");
    }
    if run.effect == Effect::Writes {
        let found = fs::read(bed.folder.join("file")).unwrap();
        assert!(found == OLD || found == new, "{what}: half a file");
        assert!(code != Some(0) || found == new, "{what}: no new file");
    }
}

/// Builds an image on a filesystem that, as far as lith can see, has no `O_TMPFILE`; this signal comes when its data is
/// synced.
fn build_with_signal(bed: &Bed, signal: &str) -> Output {
    let arrives = format!("fdatasync:signal={signal}:when=1");
    let mut command = strace::with(&["open:error=EOPNOTSUPP:when=1", &arrives]);
    command.arg(program().get_program()).args(["build", "-q", "--force", "-z", "lz4"]);
    command.arg(bed.sample.src()).arg("file").current_dir(&bed.folder).output().unwrap()
}

#[test]
fn a_signal_removes_temporary_files_also_without_nameless_ones() {
    if let Err(reason) = strace::is_there() {
        return tier::skip("signals", reason);
    }
    tier::ran("signals");
    let bed = Bed::new();
    for (signal, number) in [("HUP", 1), ("INT", 2), ("TERM", 15)] {
        bed.clear();
        let output = build_with_signal(&bed, signal);
        // The build may end before the signal is obeyed.
        let codes = [Some(0), Some(128 + number)];
        let code = output.status.code().or_else(|| Some(128 + output.status.signal()?));
        assert!(codes.contains(&code), "{signal}: {code:?}");
        assert_eq!(bed.names(), ["file"], "{signal}");
        let found = fs::read(bed.folder.join("file")).unwrap();
        assert!(found == OLD || found.len() > 4096, "{signal}: half a file");
    }
}

#[test]
fn what_a_killed_build_left_is_removed_by_the_next_one_to_that_name() {
    if let Err(reason) = strace::is_there() {
        return tier::skip("signals", reason);
    }
    let bed = Bed::new();
    bed.clear();
    build_with_signal(&bed, "KILL");
    let left = bed.names();
    assert!(left.iter().any(|name| name.ends_with(".lith-tmp")), "{left:?}");
    let build = |to: &Path| {
        let output = lith(args!["build", "-q", "--force", bed.sample.src(), to]);
        assert!(output.status.success());
    };
    build(&bed.folder.join("other"));
    assert_eq!(bed.names().len(), left.len() + 1);
    build(&bed.folder.join("file"));
    let mut names = bed.names();
    names.sort();
    assert_eq!(names, ["file", "other"]);
}

#[test]
fn an_ignored_signal_stays_ignored() {
    if let Err(reason) = strace::is_there() {
        return tier::skip("signals", reason);
    }
    let bed = Bed::new();
    bed.clear();
    let mut command = strace::with(&["fdatasync:signal=HUP:when=1"]);
    command.arg("nohup").arg(program().get_program()).args(["build", "-q", "--force"]);
    command.arg(bed.sample.src()).arg("file");
    let output = command.current_dir(&bed.folder).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_ne!(fs::read(bed.folder.join("file")).unwrap(), OLD);
}
