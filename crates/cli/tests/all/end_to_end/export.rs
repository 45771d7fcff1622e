//! Tests `lith extract` and `lith tar`.

use std::{
    fs,
    io::{Read, Write},
    path::Path,
    process::Stdio,
};

use super::{
    args,
    sample::{Sample, command, complaint, files_in, lith, printed},
};

#[test]
fn the_whole_tree_is_extracted() {
    let (sample, image) = Sample::built();
    let copy = sample.path("copy");
    assert_eq!(printed(args!["extract", "-C", copy, image]), "");
    assert_eq!(printed(args!["diff", sample.src(), copy]), "");
}

#[test]
fn only_given_paths_are_extracted() {
    let (sample, image) = Sample::built();
    let copy = sample.path("copy");
    printed(args!["extract", "-C", copy, image, "/sub/large", "link"]);
    assert_eq!(files_in(&copy), ["link", "sub", "sub/large"].map(Path::new));
    let missing = lith(args!["extract", "-C", sample.path("none"), image, "/hello", "/nothing"]);
    assert_eq!(missing.status.code(), Some(1));
    assert!(complaint(&missing).contains("/nothing"));
    assert!(!sample.path("none").exists());
}

#[test]
fn without_a_destination_files_go_to_a_directory_of_the_image_s_name() {
    let (sample, image) = Sample::built();
    let here = sample.path("here");
    fs::create_dir_all(here.join("sub")).unwrap();
    let run = |args: &[&str]| {
        let mut command = command();
        command.current_dir(&here).arg("extract").arg("../image.erofs").args(args);
        command.output().unwrap()
    };
    assert!(image.exists());
    let part = run(&["hello"]);
    assert_eq!(complaint(&part), "lith: ../image.erofs: extracting to image");
    assert_eq!(files_in(&here.join("image")), [Path::new("hello")]);
    // `sub` is a directory here and in the image.
    let both = run(&["sub", "hello"]);
    assert_eq!(both.status.code(), Some(1));
    let line = complaint(&both);
    assert!(line.contains("`lith extract -C sub ../image.erofs`"), "{line}");
    assert!(line.contains("`lith extract -C DIR ../image.erofs sub`"), "{line}");
    // Neither in the image nor possible as a directory.
    assert!(complaint(&run(&["nowhere/file"])).ends_with(": /nowhere does not exist"));
    // The form of before -C.
    assert_eq!(complaint(&run(&["old"])), "lith: ../image.erofs: extracting to old");
    assert_eq!(printed(args!["diff", sample.src(), here.join("old")]), "");
    assert_eq!(files_in(&here.join("sub")), [""; 0].map(Path::new));
    let refused = lith(args!["extract", "-C", "-", image]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8(refused.stderr).unwrap().contains("standard input or output"));
}

#[test]
fn patterns_and_lists_choose_paths() {
    let (sample, image) = Sample::built();
    let copy = sample.path("copy");
    printed(args!["extract", "-C", copy, image, "sub/[ln]*", "he{llo,ap}"]);
    assert_eq!(files_in(&copy), ["hello", "sub", "sub/large", "sub/noise"].map(Path::new));
    let none = lith(args!["extract", "-C", sample.path("none"), image, "hello", "sub/*.list"]);
    assert_eq!(none.status.code(), Some(1));
    assert!(complaint(&none).ends_with(": sub/*.list: nothing matches this pattern"));
    assert!(!sample.path("none").exists());
    let list = sample.path("list");
    fs::write(&list, "hello\n/sub/*\n\n").unwrap();
    fs::write(&list, "\n").unwrap();
    let none = lith(args!["extract", "-C", sample.path("none"), "-T", list, image]);
    assert!(complaint(&none).ends_with(": has no paths"));
    assert!(!sample.path("none").exists());
    fs::write(&list, "hello\n/sub/*\n\n").unwrap();
    let names = printed(args!["ls", "-d", "--files-from", list, image, "link"]);
    assert_eq!(names, "link\nhello\nsub/deep\nsub/hard\nsub/large\nsub/noise\n");
    // A pattern finds no directories for cat, which prints none.
    let both = printed(args!["cat", image, "sub/h*", "**/hello"]);
    assert_eq!(both, "hello, world\n".repeat(2));
    let deep = printed(args!["ls", "-d", image, "**/deep/**", "sub/**/deep", "**/sub"]);
    assert_eq!(deep, "sub/deep/odd\\x0a\\xff\\\\\nsub/deep\nsub\n");
    let mut tar = command();
    tar.args(args!["tar", "-0", "-T", "-", image]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = tar.spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"hello\0sub/deep\0").unwrap();
    let tar = child.wait_with_output().unwrap();
    assert!(tar.status.success());
    fs::write(&list, tar.stdout).unwrap();
    assert_eq!(printed(args!["dump", list]).lines().count(), 5);
}

#[test]
fn existing_files_are_only_replaced_on_request() {
    let (sample, image) = Sample::built();
    let copy = sample.path("copy");
    fs::create_dir(&copy).unwrap();
    fs::write(copy.join("hello"), "mine").unwrap();
    let refused = lith(args!["extract", "-C", copy, image]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(complaint(&refused).contains(copy.to_str().unwrap()));
    assert_eq!(fs::read(copy.join("hello")).unwrap(), b"mine");
    printed(args!["extract", "--overwrite", "-C", copy, image]);
    assert_eq!(printed(args!["diff", sample.src(), copy]), "");
}

#[test]
fn a_tar_on_standard_output_equals_that_in_a_file() {
    let (sample, image) = Sample::built();
    let (tar, other) = (sample.path("tar"), sample.path("other"));
    printed(args!["tar", "-o", tar, image]);
    assert_eq!(printed(args!["diff", sample.src(), tar]), "");
    let stdout = Stdio::from(fs::File::create(&other).unwrap());
    assert!(command().args(args!["tar", image]).stdout(stdout).status().unwrap().success());
    assert!(fs::read(&tar).unwrap() == fs::read(&other).unwrap());
    printed(args!["tar", "-o", tar, image, "/sub/deep"]);
    let listed = printed(args!["dump", tar]);
    assert_eq!(listed.lines().count(), 4, "{listed}");
    assert_eq!(sample.names(), ["image.erofs", "other", "src", "tar"]);
}

#[test]
fn a_tar_is_compressed_by_its_suffix_or_on_request() {
    let (sample, image) = Sample::built();
    for (name, magic) in [
        ("a.tar.gz", &b"\x1f\x8b"[..]),
        ("a.txz", b"\xfd7zXZ"),
        ("a.tar.zst", b"\x28\xb5\x2f\xfd"),
        ("a.tar.bz2", b"BZh9"),
    ] {
        let tar = sample.path(name);
        printed(args!["tar", "-o", tar, image]);
        assert!(fs::read(&tar).unwrap().starts_with(magic), "{name}");
        assert_eq!(printed(args!["diff", sample.src(), tar]), "", "{name}");
    }
    let plain = lith(args!["tar", "-o", "-", "--order", "stored", image]).stdout;
    let packed = lith(args!["tar", "--compress", "zstd,19", image]).stdout;
    assert!(packed.len() < plain.len() / 2);
    for (name, bytes) in [("plain.tar", plain), ("packed", packed)] {
        fs::write(sample.path(name), bytes).unwrap();
        assert_eq!(printed(args!["diff", sample.src(), sample.path(name)]), "", "{name}");
    }
    let refused = lith(args!["tar", "-o", sample.path("a.tar.lz4"), image]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(complaint(&refused).contains("no tar is written as .lz4"));
    assert!(!sample.path("a.tar.lz4").exists());
}

#[test]
fn a_closed_pipe_is_no_error() {
    let (_sample, image) = Sample::built();
    let mut child = command()
        .args(args!["tar", image])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut some = [0; 100];
    child.stdout.take().unwrap().read_exact(&mut some).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr.len()), (Some(0), 0));
}

#[test]
fn a_terminal_gets_no_tar() {
    let (sample, image) = Sample::built();
    let Ok(terminal) = fs::File::options().read(true).write(true).open("/dev/ptmx") else {
        eprintln!("skipped: no terminals here");
        return;
    };
    let refused = command().args(args!["tar", image]).stdout(terminal).output().unwrap();
    assert_eq!(refused.status.code(), Some(1));
    assert!(complaint(&refused).contains("terminal"));
    printed(args!["tar", "-o", sample.path("tar"), image]);
}
