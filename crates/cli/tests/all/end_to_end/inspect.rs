//! Tests the verbs that show the content of an image.

use std::{fs, os::unix::ffi::OsStringExt, path::Path};

use serde_json::Value;

use super::{
    args,
    sample::{ODD_NAME, Sample, command, compressible, json, lith, printed},
};

#[test]
fn ls_lists_names_in_order() {
    let (_sample, image) = Sample::built();
    assert_eq!(printed(args!["ls", image]), "empty\nhello\nlink\npipe\nsub\nway\n");
    assert_eq!(printed(args!["ls", image, "/sub/"]), "deep\nhard\nlarge\nnoise\n");
    assert_eq!(printed(args!["ls", image, "way/hard"]), "way/hard\n");
    assert_eq!(printed(args!["ls", image, "way"]), "way\n");
    assert_eq!(printed(args!["ls", image, "way/"]), "deep\nhard\nlarge\nnoise\n");
    assert_eq!(printed(args!["ls", image, "/sub/deep"]), "odd\\x0a\\xff\\\\\n");
    let below = "/sub/deep\n/sub/deep/odd\\x0a\\xff\\\\\n/sub/hard\n/sub/large\n/sub/noise\n";
    assert_eq!(printed(args!["ls", "-R", image, "/sub"]), below);
    let raw = lith(args!["ls", "-0R", image, "/sub/deep"]).stdout;
    assert_eq!(raw, [b"/sub/deep/", ODD_NAME, b"\0"].concat());
}

#[test]
fn ls_shows_attributes() {
    let (_sample, image) = Sample::built();
    let long = printed(args!["ls", "-l", image]);
    let lines: Vec<_> = long.lines().collect();
    assert!(lines[1].starts_with("-rw-"), "{long}");
    assert!(lines[1].ends_with("         13 2023-11-14 22:13:20 hello"), "{long}");
    assert!(lines[2].starts_with("lrwxrwxrwx  1 "), "{long}");
    assert!(lines[2].ends_with(" link -> sub/large"), "{long}");
    assert!(lines[3].starts_with("prw-------  1 "), "{long}");
    assert!(lines[4].starts_with("drwx"), "{long}");
    let records = printed(args!["ls", "-R", "--json", image]);
    let records: Vec<Value> =
        records.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(records.len(), 11);
    let find = |path: &str| records.iter().find(|record| record["path"] == path).unwrap();
    assert_eq!(
        (&find("/link")["type"], &find("/link")["target"]),
        (&"symlink".into(), &"sub/large".into())
    );
    assert_eq!(find("/hello")["nid"], find("/sub/hard")["nid"]);
    let odd = records.iter().find(|record| record.get("path_hex").is_some()).unwrap();
    assert_eq!(odd["path"], "/sub/deep/odd\n\u{fffd}\\");
    assert_eq!(odd["path_hex"], "2f7375622f646565702f6f64640aff5c");
}

#[test]
fn cat_prints_several_files() {
    let (sample, image) = Sample::built();
    let output = lith(args!["cat", image, "/hello", "link", "way/noise", "empty"]);
    let noise = fs::read(sample.src().join("sub/noise")).unwrap();
    assert!(output.stdout == [b"hello, world\n", &compressible(300_000)[..], &noise].concat());
    let odd = std::ffi::OsString::from_vec([b"/sub/deep/", ODD_NAME].concat());
    assert_eq!(printed(args!["cat", image, odd]), "odd");
}

#[test]
fn stat_shows_links_or_their_targets() {
    let (_sample, image) = Sample::built();
    let text = printed(args!["stat", image, "/link", "/hello"]);
    for expected in [
        "  File: /link -> sub/large\n",
        "symbolic link\n",
        "  File: /hello\n",
        "Links: 2\n",
        "Modify: 2023-11-14 22:13:20.123456789 +0000\n",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    let followed = json(args!["stat", "-L", "--json", image, "/link"]);
    assert_eq!((&followed["type"], &followed["size"]), (&"file".into(), &300_000.into()));
    assert!(followed["stored"].as_u64() < Some(100_000), "{followed}");
    assert!(followed["layout"].as_str().unwrap().starts_with("compressed"), "{followed}");
}

#[test]
fn map_tiles_the_file() {
    let (_sample, image) = Sample::built();
    let map = json(args!["map", "--json", image, "/sub/large"]);
    let mut end = 0;
    for extent in map["extents"].as_array().unwrap() {
        assert_eq!(extent["logical"], end, "{extent}");
        end += extent["length"].as_u64().unwrap();
        assert_eq!((&extent["kind"], &extent["device"]), (&"lz4".into(), &"0".into()));
        assert_eq!(extent["physical"].as_u64().unwrap() % 4096, 0, "{extent}");
    }
    assert_eq!(map["size"], end);
    let text = printed(args!["map", image, "/sub/large"]);
    assert!(text.starts_with("/sub/large: NID "), "{text}");
    assert!(text.contains("    0:           0.."), "{text}");
    let tail = printed(args!["map", image, "/hello"]);
    assert!(tail.contains(" inline "), "{tail}");
}

#[test]
fn info_counts_files_and_extents() {
    let (_sample, image) = Sample::built();
    let info = json(args!["info", "--json", image]);
    assert_eq!(info["size"], fs::metadata(&image).unwrap().len());
    assert_eq!(info["inodes"], 11);
    let kinds = serde_json::json!({"directory": 3, "fifo": 1, "file": 5, "symlink": 2});
    assert_eq!(info["contents"]["kinds"], kinds);
    assert_eq!(
        (&info["contents"]["names"], &info["contents"]["bytes"]),
        (&11.into(), &350_016.into())
    );
    let data = info["contents"]["data"].as_object().unwrap();
    let sum: u64 = data.values().map(|tally| tally["bytes"].as_u64().unwrap()).sum();
    assert_eq!(sum, 350_016);
    let text = printed(args!["info", image]);
    assert!(text.contains("5 regular files, 3 directories, 1 fifo, 2 symbolic links"), "{text}");
    assert!(text.contains("mounts on   Linux 5."), "{text}");
    assert!(json(args!["info", "--superblock", "--json", image]).get("contents").is_none());
}

#[test]
fn ls_takes_what_other_programs_take() {
    let (sample, image) = Sample::built();
    let long = printed(args!["ls", "-lha1", "-A", "-n", image, "sub/large"]);
    assert!(long.contains(" 293K 2023-11-14 22:13:20 sub/large\n"), "{long}");
    let local =
        command().args(args!["ls", "-l", "--local", image, "hello"]).env("TZ", "UTC-3").output();
    let local = String::from_utf8(local.unwrap().stdout).unwrap();
    assert!(local.contains(" 2023-11-15 01:13:20 hello\n"), "{local}");
    let several = printed(args!["ls", image, "sub/deep", "hello", "sub"]);
    let expected = "hello\n\nsub/deep:\nodd\\x0a\\xff\\\\\n\nsub:\ndeep\nhard\nlarge\nnoise\n";
    assert_eq!(several, expected);
    assert_eq!(printed(args!["ls", "-d", image]), "/\n");
    fs::create_dir(sample.src().join("etc")).unwrap();
    fs::write(sample.src().join("etc/passwd"), "boss:x:0:0::/:\n").unwrap();
    let other = sample.path("other");
    printed(args!["build", "-q", "--all-root", sample.src(), other]);
    let named = printed(args!["ls", "-l", "--names", other, "hello"]);
    assert!(named.contains(" boss     0 "), "{named}");
}

#[test]
fn an_image_can_start_within_a_file() {
    let (sample, image) = Sample::built();
    let program = sample.path("program");
    let mut bytes = b"\x7fELF".to_vec();
    bytes.resize(128 << 10, 0);
    bytes.extend(fs::read(&image).unwrap());
    fs::write(&program, bytes).unwrap();
    for args in [
        args!["ls", "--offset", "128K"].to_vec(),
        args!["info", "--offset", "131072"].to_vec(),
        args!["dump", "--offset", "128K"].to_vec(),
        args!["check", "--offset", "128K"].to_vec(),
    ] {
        let shown = printed(args.iter().chain(&[program.clone().into()]));
        let plain = printed(args![args[0], image]);
        let name = image.to_str().unwrap();
        assert_eq!(shown.replace(program.to_str().unwrap(), name), plain, "{args:?}");
    }
}

#[test]
fn check_finds_damage_and_returns_its_exit_code() {
    let (_sample, image) = Sample::built();
    let sound = lith(args!["check", image]);
    assert_eq!(sound.status.code(), Some(0));
    assert!(String::from_utf8(sound.stdout).unwrap().contains(": sound"));
    let map = json(args!["map", "--json", image, "/sub/large"]);
    let extent = &map["extents"][0];
    let end = extent["physical"].as_u64().unwrap() + extent["stored"].as_u64().unwrap();
    let mut bytes = fs::read(&image).unwrap();
    let hit = usize::try_from(end).unwrap() - 4096..usize::try_from(end).unwrap();
    bytes[hit].fill(0xff);
    fs::write(&image, bytes).unwrap();
    let damaged = lith(args!["check", image]);
    assert_eq!(damaged.status.code(), Some(4));
    let text = String::from_utf8(damaged.stdout).unwrap();
    assert!(text.contains("/sub/large") && text.contains(": not sound"), "{text}");
    let record = lith(args!["check", "--json", image]);
    assert_eq!(record.status.code(), Some(4));
    let record: Value = serde_json::from_slice(&record.stdout).unwrap();
    assert_eq!(
        (&record["sound"], &record["findings"][0]["path"]),
        (&false.into(), &"/sub/large".into())
    );
    let quiet = lith(args!["check", "-q", image]);
    assert_eq!((quiet.status.code(), quiet.stdout.len()), (Some(4), 0));
    let structure = lith(args!["check", "--no-data", "-q", image]);
    assert_eq!(structure.status.code(), Some(0));
}

#[test]
fn an_image_can_have_several_devices() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden");
    let (image, device) = (golden.join("15-blobdev.erofs"), golden.join("15-blobdev.blob"));
    let expected = fs::read_to_string(golden.join("meta.txt")).unwrap();
    assert!(printed(args!["dump", "--device", device, image]) == expected);
    assert!(printed(args!["check", "--device", device, image]).contains(": sound"));
    let map = json(args!["map", "--json", "--device", device, image, "/block"]);
    assert_eq!(
        (&map["extents"][0]["kind"], &map["extents"][0]["device"]),
        (&"chunk".into(), &"1".into())
    );
    let copy = tempfile::tempdir().unwrap();
    let rebuilt = copy.path().join("image");
    printed(args!["build", "-q", "--device", device, image, rebuilt]);
    assert!(printed(args!["dump", rebuilt]) == expected);
    let refused = lith(args!["dump", "--device", device, copy.path()]);
    assert_eq!(refused.status.code(), Some(1));
}
