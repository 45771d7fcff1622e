//! Tests errors: their messages and exit codes, and that nothing is lost.

use std::{
    ffi::OsString,
    fs::{self, File},
    io::{self, Write},
    path::Path,
    thread,
};

use super::{
    args,
    sample::{Sample, command, complaint, lith, printed},
};

#[test]
fn a_missing_file_is_named_in_one_line() {
    let (sample, image) = Sample::built();
    let nothing = sample.path("nothing");
    let name = nothing.to_str().unwrap();
    for (args, code) in [
        (args!["build", nothing, sample.path("new")].to_vec(), 1),
        (args!["ls", nothing].to_vec(), 1),
        (args!["cat", nothing, "/x"].to_vec(), 1),
        (args!["stat", nothing, "/x"].to_vec(), 1),
        (args!["map", nothing, "/x"].to_vec(), 1),
        (args!["info", nothing].to_vec(), 1),
        (args!["report", "-o", sample.path("new"), nothing].to_vec(), 1),
        (args!["dump", nothing].to_vec(), 1),
        (args!["tar", "-o", sample.path("new"), nothing].to_vec(), 1),
        (args!["extract", "-C", sample.path("new"), nothing].to_vec(), 1),
        (args!["diff", nothing, image].to_vec(), 2),
        (args!["check", nothing].to_vec(), 8),
    ] {
        let output = lith(&args);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(code), 0), "{args:?}");
        let line = complaint(&output);
        assert!(line.starts_with(&format!("lith: {name}: ")), "{line}");
        assert!(line.ends_with(": No such file or directory"), "{line}");
    }
    assert_eq!(sample.names(), ["image.erofs", "src"]);
}

#[test]
fn a_missing_path_is_named_and_nothing_printed() {
    let (_sample, image) = Sample::built();
    for verb in ["ls", "cat", "stat", "map"] {
        let output = lith(args![verb, image, "/sub/not\nthere"]);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{verb}");
        let line = complaint(&output);
        assert!(line.ends_with(": /sub/not\\x0athere does not exist"), "{line}");
    }
    let output = lith(args!["cat", image, "/hello", "/sub"]);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0));
    assert!(complaint(&output).ends_with(": /sub: is a directory"));
    let output = lith(args!["stat", image, "/hello/below"]);
    assert!(complaint(&output).ends_with(": /hello/below: not a directory"));
}

#[test]
fn wrong_usage_has_its_code_and_touches_nothing() {
    let (sample, image) = Sample::built();
    let before = fs::read(&image).unwrap();
    for (args, code) in [
        (args!["build", "--nonsense", sample.src(), image].to_vec(), 2),
        (args!["build", "-z", "zip", sample.src(), image].to_vec(), 2),
        (args!["build", "-C", "5000", sample.src(), image].to_vec(), 2),
        (args!["build", "-C", "64K", "--kernel", "5.4", sample.src(), image].to_vec(), 2),
        (args!["build", sample.src()].to_vec(), 2),
        (args!["build", "--mtime", "clamp", sample.src(), image].to_vec(), 2),
        (args!["check"].to_vec(), 16),
        (args!["check", "--nonsense", image].to_vec(), 16),
        (args!["diff", image].to_vec(), 2),
        (args!["nonsense"].to_vec(), 2),
        (vec![], 2),
    ] {
        let output = lith(&args);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(code), 0), "{args:?}");
        assert!(!output.stderr.is_empty(), "{args:?}");
    }
    assert!(fs::read(&image).unwrap() == before);
    assert_eq!(sample.names(), ["image.erofs", "src"]);
}

#[test]
fn a_failed_build_leaves_the_old_image() {
    let (sample, image) = Sample::built();
    let before = fs::read(&image).unwrap();
    let tar = sample.path("tar");
    fs::write(&tar, "this is no tar, whatever it is called").unwrap();
    let output = lith(args!["build", tar, image]);
    assert_eq!(output.status.code(), Some(1));
    assert!(complaint(&output).contains(tar.to_str().unwrap()));
    assert!(fs::read(&image).unwrap() == before);
    assert_eq!(sample.names(), ["image.erofs", "src", "tar"]);
}

#[test]
fn a_file_that_is_no_image_is_refused() {
    let sample = Sample::new();
    let file = sample.src().join("sub/large");
    for (verb, code) in [("ls", 1), ("info", 1), ("check", 8)] {
        let output = lith(args![verb, file]);
        assert_eq!(output.status.code(), Some(code), "{verb}");
        assert!(complaint(&output).contains("no EROFS"), "{verb}");
    }
}

#[test]
fn a_place_that_can_not_be_is_refused_before_the_work() {
    let (sample, image) = Sample::built();
    let missing = sample.path("missing");
    for (at, problem) in [(&missing, "No such file or directory"), (&image, "not a directory")] {
        let output = lith(args!["mount", image, at]);
        assert_eq!(output.status.code(), Some(1));
        let line = complaint(&output);
        let name = at.file_name().unwrap().to_str().unwrap();
        assert!(line.contains(&format!("{name}: cannot mount: {problem}")), "{line}");
    }
    for args in [
        args!["build", sample.src(), sample.path("new/")].to_vec(),
        args!["tar", "-o", sample.path("new/"), image].to_vec(),
    ] {
        let line = complaint(&lith(&args));
        assert!(line.contains("new/: cannot create: not a directory"), "{line}");
    }
}

#[test]
fn standard_input_and_output_are_refused_where_they_can_not_be() {
    let (sample, image) = Sample::built();
    let (out, root) = (sample.path("out"), "0".repeat(64));
    for args in [
        args!["delta", image, image, "-o", "-"].to_vec(),
        args!["apply", image, image, "-o", "-"].to_vec(),
        args!["flatten", image, "-o", "-"].to_vec(),
        args!["merge", image, image, "-o", "-"].to_vec(),
        args!["pull", "oci://localhost/a", "-"].to_vec(),
        args!["push", "--config-file", "-", image, "oci://localhost/a"].to_vec(),
        args!["man", "-"].to_vec(),
        args!["umount", "-"].to_vec(),
        args!["verity", "add", "-"].to_vec(),
        args!["verity", "fsverity", "-"].to_vec(),
        args!["ls", "--device", "-", image].to_vec(),
        args!["ls", "--verity", "-", "--root-hash", &root, image].to_vec(),
        args!["build", "--base", "-", sample.src(), out].to_vec(),
        args!["build", "--compress-hints", "-", sample.src(), out].to_vec(),
        args!["build", "--file-contexts", "-", sample.src(), out].to_vec(),
        args!["build", "--fs-config-file", "-", sample.src(), out].to_vec(),
        args!["build", "--chunk-size", "4K", "--blob", "-", sample.src(), out].to_vec(),
    ] {
        let output = lith(&args);
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {text}");
        assert!(text.contains("standard input or output can't be used here"), "{args:?}: {text}");
    }
    assert!(!out.exists() && !Path::new("-").exists());
}

#[test]
fn every_verb_calls_a_file_that_is_no_image_by_its_type() {
    let sample = Sample::new();
    let (tar, program) = (sample.path("tar"), sample.path("program"));
    let squash = sample.path("squash");
    let image = sample.path("image");
    printed(args!["build", "-q", sample.src(), image]);
    printed(args!["tar", "-o", tar, image]);
    fs::write(&program, b"\x7fELF etc.").unwrap();
    fs::write(&squash, b"hsqs etc.").unwrap();
    let short = sample.path("short");
    fs::write(&short, [0; 500]).unwrap();
    let root = "0".repeat(64);
    for (file, is_tree, expected) in [
        (&tar, true, "is a tar; expected an EROFS image; `lith build` makes one of it"),
        (&squash, true, "is a SquashFS image; expected an EROFS image; `lith build` makes one"),
        (&program, false, "is a program; expected an EROFS image; --offset names where"),
        (&sample.src(), false, "is a directory; expected an EROFS image; `lith build` makes"),
        (&short, false, "is no EROFS image, which has more than 500 bytes"),
    ] {
        let out = sample.path("out");
        let of_images = [
            args!["stat", file, "/x"].to_vec(),
            args!["check", file].to_vec(),
            args!["info", file].to_vec(),
            args!["report", "-o", out, file].to_vec(),
            args!["map", file, "/x"].to_vec(),
            args!["mount", file, sample.src()].to_vec(),
            args!["delta", file, image, "-o", out].to_vec(),
            args!["merge", "-o", out, image, file].to_vec(),
            args!["flatten", "-o", out, file].to_vec(),
            args!["verity", "info", file].to_vec(),
            args!["verity", "add", file].to_vec(),
            args!["verity", "verify", "--root-hash", &root, file].to_vec(),
        ];
        let as_base = args!["build", "--base", file, sample.src(), out].to_vec();
        let as_base = Some(as_base).filter(|_| !file.is_dir());
        let of_trees = [
            args!["ls", file].to_vec(),
            args!["cat", file, "/x"].to_vec(),
            args!["extract", "-C", out, file].to_vec(),
            args!["tar", "-o", out, file].to_vec(),
        ];
        let of_trees = of_trees.into_iter().filter(|_| !is_tree);
        for args in of_images.into_iter().chain(of_trees).chain(as_base) {
            let output = lith(&args);
            assert_ne!(output.status.code(), Some(0), "{args:?}");
            let line = complaint(&output);
            assert!(line.contains(expected), "{args:?}: {line}");
        }
        assert!(!out.exists());
    }
}

#[test]
fn standard_input_is_an_image_from_a_file_or_a_pipe() {
    let (sample, image) = Sample::built();
    let with = |input: File| command().args(args!["ls", "-"]).stdin(input).output().unwrap();
    let listed = with(File::open(&image).unwrap());
    assert!(listed.stdout.starts_with(b"empty\nhello\n"));
    let tar = sample.path("tar");
    printed(args!["tar", "-o", tar, image]);
    assert_eq!(with(File::open(&tar).unwrap()).stdout, listed.stdout);
    let (reader, writer) = io::pipe().unwrap();
    drop(writer);
    let refused = command().args(args!["ls", "-"]).stdin(reader).output().unwrap();
    assert_eq!(refused.status.code(), Some(1));
    assert!(complaint(&refused).contains("empty"));
    let piped = |arguments: &[OsString]| {
        let (reader, mut writer) = io::pipe().unwrap();
        let bytes = fs::read(&image).unwrap();
        let feeder = thread::spawn(move || drop(writer.write_all(&bytes)));
        let output = command().args(arguments).stdin(reader).output().unwrap();
        feeder.join().unwrap();
        output
    };
    assert_eq!(piped(&args!["ls", "-"]).stdout, listed.stdout);
    assert_eq!(piped(&args!["ls", "/dev/stdin"]).stdout, listed.stdout);
    for verb in ["check", "info", "dump"] {
        assert!(piped(&args![verb, "-"]).status.success(), "{verb}");
    }
    let same = piped(&args!["diff", "-", &image]);
    assert!(same.status.success(), "{}", complaint(&same));
    assert!(same.stdout.is_empty());
    let refused = piped(&args!["flatten", "-o", "flat.erofs", "-"]);
    assert!(complaint(&refused).contains("read more than once"), "{}", complaint(&refused));
}

#[test]
fn numbers_say_what_is_expected() {
    let (sample, image) = Sample::built();
    for (args, expected) in [
        (args!["check", "--workers", "0", image].to_vec(), "expected a number from 1 on"),
        (args!["mount", "--timeout", "2x", image, sample.src()].to_vec(), "2m"),
        (args!["ls", "--offset", "many", image].to_vec(), "expected a number of bytes"),
    ] {
        let text = String::from_utf8(lith(&args).stderr).unwrap();
        assert!(text.contains(expected), "{text}");
    }
}

#[test]
fn a_closed_pipe_is_success_for_every_verb() {
    let (sample, image) = Sample::built();
    let other = sample.path("other");
    fs::create_dir(&other).unwrap();
    for args in [
        args!["build", sample.src(), sample.path("new")].to_vec(),
        args!["build", "--json", sample.src(), sample.path("new")].to_vec(),
        args!["ls", "-lR", image].to_vec(),
        args!["ls", "--json", image].to_vec(),
        args!["cat", image, "/sub/large"].to_vec(),
        args!["stat", image, "/"].to_vec(),
        args!["tar", image].to_vec(),
        args!["check", image].to_vec(),
        args!["info", image].to_vec(),
        args!["map", image, "/sub/large"].to_vec(),
        args!["diff", image, other].to_vec(),
        args!["dump", image].to_vec(),
        args!["completions", "bash"].to_vec(),
        args!["man"].to_vec(),
        args!["--help"].to_vec(),
    ] {
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        let output = command().args(&args).stdout(writer).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), &*stderr), (Some(0), ""), "{args:?}");
    }
}

#[test]
fn output_that_can_not_be_written_is_an_error() {
    let (_sample, image) = Sample::built();
    for verb in ["ls", "info", "dump", "tar"] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let output = command().args(args![verb, image]).stdout(full).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{verb}");
        let line = complaint(&output);
        assert!(line.ends_with("No space left on device"), "{line}");
    }
}
