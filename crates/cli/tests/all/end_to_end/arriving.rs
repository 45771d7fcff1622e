//! Tests images whose metadata comes first (`lith build --stream`), read from a pipe while they arrive.

use std::{
    ffi::OsString,
    fs,
    io::{self, Read, Write},
    path::{Path, PathBuf},
    process::Stdio,
    thread,
    time::Duration,
};

use super::{
    args,
    mount::{self, MountPoint, wait_until},
    sample::{Sample, command, complaint, lith, noise, printed},
};

/// An image of `early` and `late`, 1 MB each that can't be compressed, and of other files between them.
fn early_and_late(options: &[&str]) -> (Sample, PathBuf) {
    let sample = Sample::new();
    let mut bytes = noise(1_000_000);
    fs::write(sample.src().join("early"), &bytes).unwrap();
    bytes.reverse();
    fs::write(sample.src().join("late"), &bytes).unwrap();
    fs::write(sample.path("order"), "early\nhello\nsub/large\nsub/noise\nlate\n").unwrap();
    let image = sample.path("image.erofs");
    let arguments = args!["build", "-q", "--order", sample.path("order"), sample.src(), image];
    let options = options.iter().map(OsString::from);
    printed(arguments.into_iter().chain(options).collect::<Vec<_>>());
    (sample, image)
}

/// The image up to the middle of its last file, and the rest.
fn halves(image: &Path) -> (Vec<u8>, Vec<u8>) {
    let mut start = fs::read(image).unwrap();
    let rest = start.split_off(start.len() - 500_000);
    (start, rest)
}

/// What a verb prints about an image of which only the start has arrived; it must end before more does.
fn with_start(start: &[u8], arguments: &[OsString]) -> Vec<u8> {
    let (reader, mut writer) = io::pipe().unwrap();
    let mut verb = command();
    let mut child = verb.args(arguments).stdin(reader).stdout(Stdio::piped()).spawn().unwrap();
    drop(verb);
    let mut stdout = child.stdout.take().unwrap();
    let printed = thread::spawn(move || {
        let mut bytes = Vec::new();
        stdout.read_to_end(&mut bytes).map(|_length| bytes)
    });
    let feeder = thread::scope(|scope| {
        // It fails if the verb ends before it has taken everything.
        let feeder = scope.spawn(|| writer.write_all(start));
        wait_until("the verb ends", || child.try_wait().unwrap().is_some());
        feeder.join().unwrap()
    });
    drop((feeder, writer));
    assert!(child.wait().unwrap().success());
    printed.join().unwrap().unwrap()
}

#[test]
fn what_has_arrived_is_listed_and_read() {
    for options in [
        &["--stream"][..],
        &["--stream", "-z", "none"],
        &["--stream", "-z", "none", "--chunk-size", "16K"],
        &["--stream", "-z", "zstd", "-E", "48bit"],
        &["--stream", "-E", "^fragments", "--index", "full"],
        &["--stream", "-m", "16K", "--kernel", "6.17"],
        &["--stream", "--preset", "small", "--kernel", "6.17"],
        &["--stream", "-z", "none", "-m", "4K:zstd"],
    ] {
        let (sample, image) = early_and_late(options);
        assert_eq!(printed(args!["check", "-q", image]), "");
        assert_eq!(printed(args!["diff", sample.src(), image]), "");
        let (start, _) = halves(&image);
        let listed = with_start(&start, &args!["ls", "-lR", "-"]);
        assert_eq!(String::from_utf8(listed).unwrap(), printed(args!["ls", "-lR", image]));
        let early = with_start(&start, &args!["cat", "-", "early"]);
        assert!(early == fs::read(sample.src().join("early")).unwrap(), "{options:?}");
    }
}

#[test]
fn compressed_metadata_comes_first_where_there_is_no_content() {
    let sample = Sample::new();
    let empty = sample.path("empty");
    fs::create_dir(&empty).unwrap();
    for names in 1..4 {
        let image = sample.path("empty.erofs");
        printed(args!["build", "-q", "--stream", "-m", "4K", empty, image]);
        assert_eq!(printed(args!["check", "-q", image]), "");
        assert_eq!(printed(args!["diff", empty, image]), "");
        for name in 0..names * 300 {
            std::os::unix::fs::symlink("nowhere", empty.join(format!("{names}-{name}"))).unwrap();
        }
    }
}

#[test]
fn an_image_is_extracted_as_it_arrives_and_one_that_is_cut_off_is_an_error() {
    let (sample, image) = early_and_late(&["--stream"]);
    let (start, rest) = halves(&image);
    let copy = sample.path("copy");
    let (reader, mut writer) = io::pipe().unwrap();
    let mut verb = command();
    let mut child = verb.args(args!["extract", "-C", copy, "-"]).stdin(reader).spawn().unwrap();
    drop(verb);
    writer.write_all(&start).unwrap();
    let expected = fs::read(sample.src().join("early")).unwrap();
    wait_until("the first file is there", || {
        fs::read(copy.join("early")).is_ok_and(|bytes| bytes == expected)
    });
    assert!(child.try_wait().unwrap().is_none());
    writer.write_all(&rest).unwrap();
    drop(writer);
    assert!(child.wait().unwrap().success());
    assert_eq!(printed(args!["diff", sample.src(), copy]), "");

    fs::write(sample.path("cut"), &start).unwrap();
    let (reader, mut writer) = io::pipe().unwrap();
    let feeder = thread::spawn(move || drop(writer.write_all(&start)));
    let mut verb = command();
    verb.args(args!["extract", "-q", "-C", sample.path("part"), "-"]).stdin(reader);
    let cut = verb.output().unwrap();
    feeder.join().unwrap();
    assert_eq!(cut.status.code(), Some(1));
    assert!(complaint(&cut).contains("past the end of the device"), "{}", complaint(&cut));
}

#[test]
fn an_image_is_mounted_while_it_arrives() {
    if !mount::is_there() {
        return;
    }
    let (sample, image) = early_and_late(&["--stream"]);
    let (start, rest) = halves(&image);
    let at = MountPoint::new(&sample);
    let (reader, mut writer) = io::pipe().unwrap();
    let mut mount = command();
    let mut child = mount.args(args!["mount", "-", at.path()]).stdin(reader).spawn().unwrap();
    drop(mount);
    writer.write_all(&start).unwrap();
    wait_until("it is mounted", || child.try_wait().unwrap().is_some());
    assert!(child.wait().unwrap().success());
    let read = |name: &str| fs::read(at.path().join(name)).unwrap();
    assert!(read("early") == fs::read(sample.src().join("early")).unwrap());
    thread::scope(|scope| {
        let late = scope.spawn(|| read("late"));
        thread::sleep(Duration::from_millis(100));
        assert!(!late.is_finished());
        writer.write_all(&rest).unwrap();
        drop(writer);
        assert!(late.join().unwrap() == fs::read(sample.src().join("late")).unwrap());
    });
    mount::assert_shows(&at, &sample);
    let kernel = lith(args!["mount", "--kernel", "-", at.path()]);
    assert!(complaint(&kernel).contains("not with --kernel"), "{}", complaint(&kernel));
}

#[test]
fn metadata_in_the_packed_inode_or_that_refers_to_others_does_not_come_first() {
    let (sample, image) = Sample::built();
    for (refused, why) in [
        (&["--stream", "-m", "64K", "--zD"][..], "metadata before the content"),
        (&["--stream", "--base", "image.erofs"], "--stream"),
    ] {
        let mut build = command();
        build.current_dir(sample.path("")).args(["build", "-q"]).args(refused);
        let output = build.args(["src", "other.erofs"]).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(error.contains(why), "{error}");
    }
    assert!(image.exists());
    let made = sample.path("made.erofs");
    printed(args!["build", "-q", "--provenance", "--stream", sample.src(), made]);
    assert!(lith(args!["rebuild", "--check", made, sample.src()]).status.success());
}
