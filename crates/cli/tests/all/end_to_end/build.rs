//! Tests `lith build`.

use std::{ffi::OsString, fs, path::Path, process::Stdio};

use serde_json::Value;

use super::{
    args,
    sample::{Sample, command, is_root, json, lith, printed},
};

#[test]
fn the_image_equals_the_directory() {
    let (sample, image) = Sample::built();
    assert_eq!(printed(args!["diff", sample.src(), image]), "");
    assert_eq!(printed(args!["dump", image]), printed(args!["dump", sample.src()]));
}

#[test]
fn the_library_makes_the_same_image_as_the_command() {
    let sample = Sample::new();
    let (by_command, by_library) = (sample.path("command.erofs"), sample.path("library.erofs"));
    printed(args!["build", "-q", sample.src(), by_command]);
    // As in the README.
    ::lith::Builder::directory(sample.src()).build_to(&by_library).unwrap();
    assert!(fs::read(&by_command).unwrap() == fs::read(&by_library).unwrap());
    let info = printed(args!["info", by_command]);
    assert!(info.contains("fragments"), "{info}");
}

#[test]
fn extended_attributes_are_kept_or_not() {
    let sample = Sample::new();
    if !sample.set_xattr("hello", "user.note", b"kept") {
        eprintln!("skipped: no extended attributes here");
        return;
    }
    let image = sample.path("image");
    printed(args!["build", "-q", sample.src(), image]);
    let stat = json(args!["stat", "--json", image, "/hello"]);
    assert_eq!(stat["xattrs"][0]["name"], "user.note");
    assert_eq!(stat["xattrs"][0]["value"], "kept");
    assert!(printed(args!["stat", image, "hello"]).contains("user.note=\"kept\""));
    printed(args!["build", "-q", "--xattrs", "off", sample.src(), image]);
    assert_eq!(printed(args!["diff", "--ignore", "xattrs", sample.src(), image]), "");
    assert_eq!(json(args!["stat", "--json", image, "/hello"])["xattrs"], serde_json::json!([]));
}

/// The kind of a file's first extent, and the bytes of its longest pcluster.
fn stored(image: &Path, path: &str) -> (String, u64) {
    let map = json(args!["map", "--json", image, path]);
    let extents = map.get("extents").and_then(Value::as_array).unwrap();
    let bytes = |extent: &Value| extent.get("stored").and_then(Value::as_u64);
    let kind = extents.first().and_then(|extent| extent.get("kind")?.as_str());
    (kind.unwrap().to_owned(), extents.iter().filter_map(bytes).max().unwrap())
}

#[test]
fn rules_and_hints_decide_how_files_are_compressed() {
    let sample = Sample::new();
    let (image, hints) = (sample.path("image"), sample.path("hints"));
    let build = |arguments: &[&str]| {
        let start = args!["build", "-q", sample.src(), image];
        let arguments = arguments.iter().map(OsString::from);
        lith(start.into_iter().chain(arguments))
    };
    let hints_word = format!("--compress-hints={}", hints.display());
    fs::write(&hints, "# pictures\n\n8192 1 ^sub/l\n0 sub\n").unwrap();
    for (arguments, expected) in [
        (&["--rule", "large=zstd,pcluster=4K"][..], ("zstd", 4096)),
        (&["--rule=/sub=lz4", "--rule=large=zstd", "-zlzma", "-C8K"], ("lz4", 8192)),
        (&["--rule=sub=none"], ("flat", 299_008)),
        (&["--rule=*=lz4|zstd,9", "-znone"], ("zstd", 4096)),
        (&["-zlz4:deflate,1", &hints_word], ("deflate", 8192)),
        (&["-zlz4:deflate,1", &hints_word, "--rule=large=lzma,1,pcluster=4K"], ("lzma", 4096)),
    ] {
        let output = build(&[arguments, &["--kernel", "6.12"]].concat());
        assert!(
            output.status.success(),
            "{arguments:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        let (kind, longest) = stored(&image, "sub/large");
        assert_eq!((&*kind, longest), expected, "{arguments:?}");
        assert_eq!(printed(args!["diff", sample.src(), image]), "");
        printed(args!["check", image]);
    }
    fs::write(&hints, "4096 a\n5000 b\n").unwrap();
    let output = build(&[&hints_word]);
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(
        message.contains(&format!("{}:2: ", hints.display())) && message.contains("5000"),
        "{message}"
    );
}

#[test]
fn workers_and_the_way_through_a_tar_change_no_byte() {
    let sample = Sample::new();
    let image = sample.path("image.erofs");
    printed(args!["build", "-q", sample.src(), image]);
    let expected = fs::read(&image).unwrap();
    let other = sample.path("other");
    for workers in ["1", "2", "8"] {
        printed(args!["build", "-q", "--workers", workers, sample.src(), other]);
        assert!(fs::read(&other).unwrap() == expected, "{workers} workers");
    }
    let tar = sample.path("tar");
    printed(args!["tar", "-o", tar, image]);
    printed(args!["build", "-q", tar, other]);
    assert!(fs::read(&other).unwrap() == expected, "by a tar");
    let stdin = Stdio::from(fs::File::open(&tar).unwrap());
    let built = command().args(args!["build", "-q", "-", other]).stdin(stdin).status();
    assert!(built.unwrap().success());
    assert!(fs::read(&other).unwrap() == expected, "by a tar on standard input");
    printed(args!["build", "-q", image, other]);
    assert!(fs::read(&other).unwrap() == expected, "from the image itself");
}

#[test]
fn requested_attributes_are_in_the_image() {
    let sample = Sample::new();
    let image = sample.path("image");
    let uuid = "00112233-4455-6677-8899-aabbccddeeff";
    let all = ["-zlz4", "-C4K", "-T1000", "-U", uuid, "-Lname", "--uid=7", "--gid=8"];
    let (head, tail) = (args!["build", "-q"], args![sample.src(), image]);
    printed(head.into_iter().chain(all.map(Into::into)).chain(tail));
    let info = json(args!["info", "--json", image]);
    assert_eq!((&info["uuid"], &info["label"]), (&uuid.into(), &"name".into()));
    assert_eq!(info["block_size"], 4096);
    assert!(info["contents"]["data"]["lz4"]["stored"].as_u64() > Some(0));
    let hello = json(args!["stat", "--json", image, "/hello"]);
    let shown = ["uid", "gid", "mtime", "mtime_nsec", "nlink", "size"].map(|field| &hello[field]);
    assert_eq!(shown, [7, 8, 1000, 0, 2, 13]);
}

#[test]
fn without_compression_data_is_flat() {
    let sample = Sample::new();
    let image = sample.path("image");
    printed(args!["build", "-q", "-z", "none", "--kernel", "5.4", sample.src(), image]);
    let info = json(args!["info", "--json", image]);
    assert_eq!(info["algorithms"], serde_json::json!([]));
    assert_eq!(info["kernel"]["oldest"], "5.4");
    assert!(info["contents"]["data"].get("lz4").is_none());
    assert_eq!(printed(args!["diff", sample.src(), image]), "");
}

#[test]
fn the_environment_clamps_times() {
    let sample = Sample::new();
    sample.set_time("hello", 500);
    let image = sample.path("image");
    let mut build = command();
    build.env("SOURCE_DATE_EPOCH", "1000").args(args!["build", "-q", sample.src(), image]);
    assert!(build.status().unwrap().success());
    let mtime = |path: &str| json(args!["stat", "--json", image, path])["mtime"].clone();
    assert_eq!((mtime("/hello"), mtime("/sub/large")), (500.into(), 1000.into()));
    let wrong = build.env("SOURCE_DATE_EPOCH", "yesterday").output().unwrap();
    assert_eq!(wrong.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("SOURCE_DATE_EPOCH is yesterday"));
}

#[test]
fn excluded_paths_are_omitted_with_everything_below() {
    let sample = Sample::new();
    let image = sample.path("image");
    let exclude =
        args!["build", "-q", "--exclude=l*e", "--exclude", "/sub/deep", sample.src(), image];
    printed(exclude);
    let listed = printed(args!["ls", "-R", image]);
    assert!(listed.contains("/sub/noise\n") && listed.contains("/link\n"), "{listed}");
    assert!(!listed.contains("large") && !listed.contains("deep"), "{listed}");
}

#[test]
fn hard_links_can_become_files_of_their_own() {
    let sample = Sample::new();
    let image = sample.path("image");
    printed(args!["build", "-q", "--dereference-hard-links", sample.src(), image]);
    assert_eq!(json(args!["stat", "--json", image, "/hello"])["nlink"], 1);
    assert_eq!(lith(args!["diff", sample.src(), image]).status.code(), Some(1));
    assert_eq!(printed(args!["diff", "--ignore=links", sample.src(), image]), "");
}

#[test]
fn the_result_is_text_or_json() {
    let sample = Sample::new();
    let image = sample.path("image");
    let text = printed(args!["build", sample.src(), image]);
    let size = fs::metadata(&image).unwrap().len();
    assert!(text.starts_with(&format!("{}: ", image.display())), "{text}");
    assert!(text.contains("files    5 ("), "{text}");
    let report = json(args!["build", "--json", sample.src(), image]);
    assert_eq!(report["image_bytes"], size);
    assert_eq!((&report["files"], &report["content_bytes"]), (&5.into(), &350_016.into()));
    assert_eq!(report["notes"], serde_json::json!([]));
}

#[test]
fn requested_features_raise_the_oldest_kernel_unless_it_is_given() {
    let sample = Sample::new();
    let image = sample.path("image");
    let oldest = |image: &Path| json(args!["info", "--json", image])["kernel"]["oldest"].clone();
    let report = json(args!["build", "--json", "-z", "zstd,3", sample.src(), image]);
    assert_eq!(report["notes"][0], "mounts on Linux 6.10 and later: zstd compression");
    assert_eq!(oldest(&image), "6.10");
    let output =
        lith(args!["build", "-z", "zstd,3", "-E", "48bit", "--kernel", "6.1", sample.src(), image]);
    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("needs Linux 6.15, but the target kernel is Linux 6.1"), "{text}");
    let report = json(args!["build", "--json", "--preset", "small", sample.src(), image]);
    assert_eq!(report["notes"][0], "the preset small makes smaller images with --kernel 6.17");
    let old =
        args!["build", "--json", "--preset", "small", "--kernel", "5.10", sample.src(), image];
    let note = "for Linux 5.10 the preset small is balanced; it makes much smaller images with --kernel 6.1, and the smallest with 6.17";
    assert_eq!(json(old)["notes"][0], note);
    printed(args!["build", "-q", "--preset", "small", sample.src(), image]);
    assert_eq!(oldest(&image), "6.1");
    for kernel in ["host", "6.1.0-13-amd64"] {
        printed(args!["build", "-q", "--kernel", kernel, sample.src(), image]);
    }
}

#[test]
fn devices_and_owners_are_kept() {
    if !is_root("devices_and_owners_are_kept") {
        return;
    }
    let sample = Sample::new();
    let device = sample.src().join("device");
    let (kind, mode) = (rustix::fs::FileType::CharacterDevice, rustix::fs::Mode::RUSR);
    let number = rustix::fs::makedev(7, 300);
    if rustix::fs::mknodat(rustix::fs::CWD, &device, kind, mode, number).is_err() {
        eprintln!("skipped: no devices can be made here");
        return;
    }
    std::os::unix::fs::lchown(&device, Some(70_000), Some(4_000_000_000)).unwrap();
    let (image, copy) = (sample.path("image"), sample.path("copy"));
    printed(args!["build", "-q", sample.src(), image]);
    let stat = json(args!["stat", "--json", image, "/device"]);
    assert_eq!(stat["rdev"], serde_json::json!({"major": 7, "minor": 300}));
    assert_eq!((&stat["uid"], &stat["gid"]), (&70_000.into(), &4_000_000_000_u64.into()));
    printed(args!["extract", "-C", copy, image]);
    assert_eq!(printed(args!["diff", sample.src(), copy]), "");
}
