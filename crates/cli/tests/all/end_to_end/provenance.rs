//! Tests `lith build --provenance`, `lith info --provenance` and `lith rebuild`.

use std::{fs, path::Path};

use lith_testkit::oracle::kernel;
use serde_json::{Value, json};

use super::{
    args,
    sample::{Sample, command, complaint, json, lith, printed},
};

/// Builds with a provenance.
fn build(sample: &Sample, options: &[&str], image: &Path) {
    let verb = ["build", "-q", "--provenance"].iter().chain(options).map(Into::into);
    printed(verb.chain(args![sample.src(), image]));
}

fn recorded(image: &Path) -> Value {
    json(args!["info", "--provenance", "--json", image])
}

/// Whether `lith rebuild --check` finds the same bytes, and what it prints.
fn check(options: &[&str], image: &Path, source: &Path) -> (Option<i32>, String) {
    let verb = ["rebuild", "--check"].iter().chain(options).map(Into::into);
    let output = lith(verb.chain(args![image, source]));
    let text = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(text).unwrap())
}

#[test]
fn the_source_gives_the_same_bytes_again() {
    let sample = Sample::new();
    let image = sample.path("image.erofs");
    for options in [
        &[][..],
        &["-U", "random", "-L", "name", "--exclude", "*.o", "--all-root"],
        &["--preset", "small", "--kernel", "6.17", "-T", "1600000000"],
        &["-z", "none", "-b", "512", "--kernel", "6.12"],
        &["-z", "lz4hc,12", "-C", "16K", "-E", "^fragments,dedupe", "--rule", "hello=none"],
        &["--verity", "--salt", "00ff", "--digests", "--set", "hello:mode=0600"],
        &["--chunk-size", "4K", "-z", "none", "--uid", "7", "--mtime", "keep"],
    ] {
        build(&sample, options, &image);
        let first = fs::read(&image).unwrap();
        let found = recorded(&image);
        let (code, text) = check(&[], &image, &sample.src());
        assert_eq!(code, Some(0), "{options:?}: {text}");
        assert!(text.ends_with("every byte is the same\n"), "{text}");
        let again = sample.path("again.erofs");
        printed(args!["rebuild", "-q", image, sample.src(), "-o", again]);
        assert_eq!(fs::read(&again).unwrap(), first, "{options:?}");
        fs::remove_file(again).unwrap();
        // Any tool can compute the digest.
        let list = printed(args!["dump", image]);
        let listed = sample.path("list");
        fs::write(&listed, list).unwrap();
        let sum = std::process::Command::new("sha256sum").arg(&listed).output().unwrap();
        let sum = String::from_utf8(sum.stdout).unwrap();
        assert_eq!(sum.split(' ').next(), found["tree"].as_str(), "{options:?}");
    }
    let found = recorded(&image);
    assert_eq!(found["layout"], json!(8));
    assert_eq!(found["sources"], json!(1));
    let options =
        ["--mtime=keep", "--uid=7", "--chunk-size=4K", "--compress=none"].map(|text| json!(text));
    let listed = found["options"].as_array().unwrap();
    assert!(options.iter().all(|option| listed.contains(option)), "{listed:?}");
}

#[test]
fn images_with_a_provenance_are_as_others() {
    let sample = Sample::new();
    let [image, plain] = ["image.erofs", "plain.erofs"].map(|name| sample.path(name));
    build(&sample, &[], &image);
    printed(args!["build", "-q", sample.src(), plain]);
    assert_eq!(printed(args!["diff", image, plain]), "");
    assert_eq!(printed(args!["dump", image]), printed(args!["dump", plain]));
    let report = json(args!["check", "--json", image]);
    assert_eq!(report["findings"], json!([]), "{report}");
    let complaint = complaint(&lith(args!["info", "--provenance", plain]));
    assert!(complaint.contains("records no provenance"), "{complaint}");
    // An image in a file of an image is not mistaken for it.
    let outer = sample.path("outer.erofs");
    let folder = sample.path("folder");
    fs::create_dir(&folder).unwrap();
    fs::copy(&image, folder.join("image")).unwrap();
    printed(args!["build", "-q", "-z", "none", folder, outer]);
    assert_eq!(lith(args!["info", "--provenance", outer]).status.code(), Some(1));
    let Some(mounted) = kernel::mount(&image) else { return };
    // The program has other descriptors.
    let own = format!("/proc/{}/", std::process::id());
    let at = mounted.path().to_str().unwrap().replace("/proc/self/", &own);
    assert_eq!(printed(args!["diff", sample.src(), at]), "");
}

#[test]
fn the_first_difference_is_named() {
    let sample = Sample::new();
    let image = sample.path("image.erofs");
    build(&sample, &[], &image);
    fs::write(sample.src().join("sub/large"), "other").unwrap();
    sample.set_time("sub/large", 1_700_000_000);
    let (code, text) = check(&[], &image, &sample.src());
    assert_eq!(code, Some(1));
    assert!(text.contains("not the same: ") && text.contains("sub/large"), "{text}");
    let two = lith(args!["rebuild", "--check", image, sample.src(), sample.src()]);
    assert!(complaint(&two).contains("it was made of 1 sources, not of 2"));
}

#[test]
fn changed_bytes_of_an_image_are_found() {
    let sample = Sample::new();
    let image = sample.path("image.erofs");
    build(&sample, &["-z", "none"], &image);
    let mut bytes = fs::read(&image).unwrap();
    bytes.push(0);
    fs::write(&image, &bytes).unwrap();
    let (code, text) = check(&[], &image, &sample.src());
    let expected = format!("byte {} differs; all files are equal\n", bytes.len() - 1);
    assert_eq!((code, text.ends_with(&expected)), (Some(1), true), "{text}");
}

#[test]
fn files_of_options_must_be_given_again() {
    let sample = Sample::new();
    let [image, order, patterns] =
        ["image.erofs", "hot.list", "patterns"].map(|name| sample.path(name));
    fs::write(&order, "/hello\n/sub/noise\n").unwrap();
    fs::write(&patterns, "*.o\n").unwrap();
    let options =
        ["--order", order.to_str().unwrap(), "--exclude-from", patterns.to_str().unwrap()];
    build(&sample, &options, &image);
    let (code, text) = check(&[], &image, &sample.src());
    assert_eq!(code, Some(1));
    assert!(text.contains("--exclude-from patterns, which --with must name"), "{text}");
    let with = ["--with", options[1], "--with", options[3]];
    assert_eq!(check(&with, &image, &sample.src()).0, Some(0));
    fs::write(&order, "/hello\n").unwrap();
    let (code, text) = check(&with, &image, &sample.src());
    assert_eq!(code, Some(1));
    assert!(text.contains("--order hot.list, which --with must name"), "{text}");
    let stdin = lith(args!["build", "--provenance", "--order=-", sample.src(), image]);
    let text = String::from_utf8(stdin.stderr).unwrap();
    assert!(text.contains("--order must name a file"), "{text}");
}

#[test]
fn patches_need_their_bases_again() {
    let sample = Sample::new();
    let [base, image] = ["base.erofs", "image.erofs"].map(|name| sample.path(name));
    printed(args!["build", "-q", sample.src(), base]);
    fs::write(sample.src().join("new"), "new\n").unwrap();
    build(&sample, &["--base", base.to_str().unwrap()], &image);
    let (code, text) = check(&[], &image, &sample.src());
    assert!(code == Some(1) && text.contains("--base base.erofs"), "{text}");
    let (code, text) = check(&["--with", base.to_str().unwrap()], &image, &sample.src());
    assert_eq!(code, Some(0), "{text}");
}

#[test]
fn the_environment_is_recorded_as_options() {
    let sample = Sample::new();
    let image = sample.path("image.erofs");
    let mut build = command();
    build.env("SOURCE_DATE_EPOCH", "1500000000");
    build.args(args!["build", "-q", "--provenance", sample.src(), image]);
    assert!(build.status().unwrap().success());
    let options = recorded(&image)["options"].clone();
    assert_eq!(options, json!(["--timestamp=1500000000", "--mtime=clamp"]));
    assert_eq!(check(&[], &image, &sample.src()).0, Some(0));
    let mut rebuild = command();
    rebuild.env("SOURCE_DATE_EPOCH", "7").args(args![
        "rebuild",
        "-q",
        "--check",
        image,
        sample.src()
    ]);
    assert!(rebuild.status().unwrap().success());
}
