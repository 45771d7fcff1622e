//! Tests what `lith build` changes of attributes, and where it puts the image.

use std::fs;

use super::{
    args,
    sample::{Sample, json, lith, printed},
};

#[test]
fn attributes_are_set_by_patterns() {
    let sample = Sample::new();
    let image = sample.path("image");
    let report = json(args![
        "build",
        "--json",
        "--uid=root",
        "--uid-offset=100000",
        "--gid-offset=-1",
        "--gid=5",
        "--set=**:file-mode=0640,dir-mode=0750",
        "--set=/sub/noise:mode=4711,owner=3,group=root",
        "--set=no-such:mode=0",
        sample.src(),
        image
    ]);
    assert_eq!(report["notes"], serde_json::json!(["the setting for no-such matches nothing"]));
    let facts = |path: &str| {
        let stat = json(args!["stat", "--json", image, path]);
        ["mode", "uid", "gid"].map(|field| stat[field].to_string().replace('"', ""))
    };
    assert_eq!(facts("/sub"), ["0750", "100000", "4"]);
    assert_eq!(facts("/hello"), ["0640", "100000", "4"]);
    assert_eq!(facts("/sub/noise"), ["4711", "3", "0"]);
    assert_eq!(facts("/link"), ["0777", "100000", "4"]);
    let refused = lith(args!["build", "--set=a:mode=9", sample.src(), image]);
    assert_eq!(refused.status.code(), Some(2));
}

#[test]
fn labels_and_filters_choose_extended_attributes() {
    let sample = Sample::new();
    if !sample.set_xattr("hello", "user.keep", b"1")
        || !sample.set_xattr("hello", "user.drop", b"2")
    {
        eprintln!("skipped: no extended attributes here");
        return;
    }
    let (image, contexts) = (sample.path("image"), sample.path("contexts"));
    fs::write(&contexts, "/system/hello u:object_r:hello:s0\n").unwrap();
    let names = |options: &[&str]| {
        let start = args!["build", "-q", sample.src(), image];
        printed(start.into_iter().chain(options.iter().map(Into::into)));
        let shown = json(args!["stat", "--json", image, "/hello"]);
        let xattrs = shown["xattrs"].as_array().unwrap().iter();
        let mut names: Vec<String> =
            xattrs.map(|xattr| xattr["name"].as_str().unwrap().to_owned()).collect();
        names.sort();
        names
    };
    assert_eq!(names(&["--xattrs-exclude=*.drop"]), ["user.keep"]);
    assert_eq!(
        names(&["--xattrs-include=trusted.*", "--set=hello:xattr.user.new=x"]),
        ["user.new"]
    );
    let labels = format!("--file-contexts={}", contexts.display());
    let with_label = names(&["--xattrs-include=user.d*", &labels, "--mount-point=/system"]);
    assert_eq!(with_label, ["security.selinux", "user.drop"]);
}

#[test]
fn an_image_can_start_within_its_file() {
    let sample = Sample::new();
    let (plain, app) = (sample.path("plain.erofs"), sample.path("app"));
    printed(args!["build", "-q", sample.src(), plain]);
    let program = [b"program".as_slice(), &[7; 8185]].concat();
    fs::write(&app, &program).unwrap();
    let build = args!["build", "-q", "--offset=8K", sample.src(), app];
    printed(build.clone());
    let expected = [program, fs::read(&plain).unwrap()].concat();
    assert!(fs::read(&app).unwrap() == expected);
    // The image there is replaced, but nothing else.
    printed(build);
    let refused = lith(args!["build", "-q", "--offset=4K", sample.src(), app]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(fs::read(&app).unwrap() == expected);
}

#[test]
fn chunks_can_be_in_a_file_of_their_own() {
    let sample = Sample::new();
    let (image, blob) = (sample.path("image"), sample.path("blob"));
    let chunks = args!["build", "-q", "-z", "none", "--chunk-size=16K", sample.src(), image];
    printed(chunks);
    assert_eq!(printed(args!["diff", sample.src(), image]), "");
    let whole = fs::metadata(&image).unwrap().len();
    printed(args![
        "build",
        "-q",
        "-znone",
        "--chunk-size=16K",
        "--blob",
        blob,
        sample.src(),
        image
    ]);
    assert!(fs::metadata(&image).unwrap().len() < whole / 4);
    let text = printed(args!["cat", "--device", blob, image, "hello"]);
    assert_eq!(text, "hello, world\n");
    printed(args!["check", "--device", blob, image]);
}
