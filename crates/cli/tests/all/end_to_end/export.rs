//! Tests `lith extract` and `lith tar`.

use std::{fs, io::Read, path::Path, process::Stdio};

use super::{
    args,
    sample::{Sample, command, complaint, files_in, lith, printed},
};

#[test]
fn the_whole_tree_is_extracted() {
    let (sample, image) = Sample::built();
    let copy = sample.path("copy");
    assert_eq!(printed(args!["extract", image, copy]), "");
    assert_eq!(printed(args!["diff", sample.src(), copy]), "");
}

#[test]
fn only_given_paths_are_extracted() {
    let (sample, image) = Sample::built();
    let copy = sample.path("copy");
    printed(args!["extract", image, copy, "/sub/large", "link"]);
    assert_eq!(files_in(&copy), ["link", "sub", "sub/large"].map(Path::new));
    let missing = lith(args!["extract", image, sample.path("none"), "/hello", "/nothing"]);
    assert_eq!(missing.status.code(), Some(1));
    assert!(complaint(&missing).contains("/nothing"));
    assert!(!sample.path("none").exists());
}

#[test]
fn existing_files_are_only_replaced_on_request() {
    let (sample, image) = Sample::built();
    let copy = sample.path("copy");
    fs::create_dir(&copy).unwrap();
    fs::write(copy.join("hello"), "mine").unwrap();
    let refused = lith(args!["extract", image, copy]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(complaint(&refused).contains(copy.to_str().unwrap()));
    assert_eq!(fs::read(copy.join("hello")).unwrap(), b"mine");
    printed(args!["extract", "--overwrite", image, copy]);
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
