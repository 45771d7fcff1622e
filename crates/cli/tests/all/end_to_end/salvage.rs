//! Tests what is saved of damaged images.

use std::{
    fs::{self, File},
    os::unix::fs::FileExt,
    path::Path,
};

use serde_json::Value;

use super::{
    args,
    mount::{self, MountPoint},
    sample::{Sample, complaint, json, lith, printed},
};

/// Makes the first pcluster of a file impossible to decode.
fn damage(image: &Path, path: &str) {
    let map = json(args!["map", "--json", image, path]);
    let extent = map.pointer("/extents/0").unwrap();
    let number = |field: &str| extent.get(field).and_then(Value::as_u64).unwrap();
    let bytes = vec![0xff; usize::try_from(number("stored")).unwrap()];
    let file = File::options().write(true).open(image).unwrap();
    file.write_all_at(&bytes, number("physical")).unwrap();
}

#[test]
fn all_that_can_be_read_is_saved_and_the_rest_listed() {
    let (sample, image) = Sample::built();
    printed(args!["build", "-q", "-C", "4K", "-E", "^fragments", sample.src(), image]);
    damage(&image, "sub/large");
    let failed = lith(args!["extract", "-q", image, sample.path("none")]);
    let said = String::from_utf8(failed.stderr).unwrap();
    assert_eq!(failed.status.code(), Some(1), "{said}");
    assert!(said.ends_with(" (`lith check` lists all damage)\n"), "{said}");
    let (out, tar) = (sample.path("out"), sample.path("tar"));
    for command in [
        args!["extract", "-q", "--keep-going", image, out].to_vec(),
        args!["tar", "-q", "--keep-going", "-o", tar, image].to_vec(),
        args!["dump", "--keep-going", image].to_vec(),
        args!["cat", "--keep-going", image, "hello", "sub/large", "sub/noise"].to_vec(),
    ] {
        let output = lith(&command);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{command:?}: {said}");
        let lines: Vec<_> = said.lines().collect();
        let [loss, sum] = *lines else { panic!("{command:?}: {said}") };
        assert!(
            loss.starts_with("lith: /sub/large: ") && loss.contains(" of 300000 bytes are lost"),
            "{said}"
        );
        assert_eq!(sum, "lith: 1 file damaged; all else is complete", "{command:?}");
    }
    let (old, new) = (
        fs::read(sample.src().join("sub/large")).unwrap(),
        fs::read(out.join("sub/large")).unwrap(),
    );
    assert_eq!(old.len(), new.len());
    assert!(new.iter().zip(&old).all(|(new, old)| *new == *old || *new == 0));
    assert!(new.contains(&0) && new.iter().any(|byte| *byte != 0));
    let rest = lith(args!["diff", sample.src(), out]);
    let rest = String::from_utf8(rest.stdout).unwrap();
    assert!(rest.lines().count() == 1 && rest.contains("sub/large"), "{rest}");
    // What is not requested is not tried.
    printed(args!["extract", "-q", "--keep-going", image, sample.path("part"), "/hello"]);
}

#[test]
fn a_wrong_checksum_can_be_ignored() {
    let (sample, image) = Sample::built();
    // A byte of the label.
    File::options().write(true).open(&image).unwrap().write_all_at(b"x", 1024 + 64).unwrap();
    for verb in ["ls", "dump", "info", "tar"] {
        let failed = lith(args![verb, image]);
        let said = String::from_utf8_lossy(&failed.stderr).into_owned();
        assert_eq!(failed.status.code(), Some(1), "{verb}");
        assert!(said.contains("checksum"), "{verb}: {said}");
        assert_eq!(lith(args![verb, "--ignore-checksum", image]).status.code(), Some(0), "{verb}");
    }
    let out = sample.path("out");
    printed(args!["extract", "-q", "--ignore-checksum", image, out]);
    assert_eq!(printed(args!["diff", sample.src(), out]), "");
    assert_eq!(lith(args!["diff", image, out]).status.code(), Some(2));
    assert_eq!(printed(args!["diff", "--ignore-checksum", image, out]), "");
    if mount::is_there() {
        let at = MountPoint::new(&sample);
        assert_eq!(lith(args!["mount", "--fuse", image, at.path()]).status.code(), Some(1));
        printed(args!["mount", "--fuse", "--ignore-checksum", image, at.path()]);
        assert!(at.shows());
    }
}

#[test]
fn the_superblock_of_a_truncated_image_is_told() {
    let (_sample, image) = Sample::built();
    let uuid = json(args!["info", "--json", image])["uuid"].as_str().unwrap().to_owned();
    let file = File::options().write(true).open(&image).unwrap();
    file.set_len(1024 + 144).unwrap();
    let output = lith(args!["info", "--ignore-checksum", image]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(
        text.contains(&uuid) && text.contains("missing  ") && text.contains("1168 bytes"),
        "{text}"
    );
    let output = lith(args!["info", "--json", "--ignore-checksum", image]);
    assert_eq!((output.status.code(), &*output.stdout), (Some(1), &b""[..]));
}

#[test]
fn what_is_sound_of_a_damaged_image_is_json_on_request() {
    let sample = Sample::new();
    let image = sample.path("image");
    // The inodes of so many files are at the end.
    (0..400).for_each(|name| fs::write(sample.src().join(name.to_string()), "").unwrap());
    printed(args!["build", "-q", "-z", "none", sample.src(), image]);
    let whole = json(args!["info", "--json", "--superblock", image]);
    let file = File::options().write(true).open(&image).unwrap();
    file.set_len(file.metadata().unwrap().len() - 4096).unwrap();
    let output = lith(args!["info", "--json", image]);
    assert_eq!(output.status.code(), Some(1));
    let printed: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(printed["uuid"], whole["uuid"]);
}

/// Replaces bytes of an image, which must be there once, by others.
fn rename(image: &Path, old: &[u8], new: &[u8]) {
    let mut bytes = fs::read(image).unwrap();
    let found = |bytes: &[u8]| bytes.windows(old.len()).position(|window| window == old);
    let at = found(&bytes).unwrap();
    bytes.splice(at..at + old.len(), new.iter().copied());
    assert_eq!(found(&bytes), None);
    fs::write(image, bytes).unwrap();
}

#[test]
fn a_file_that_lost_its_name_is_missed() {
    let sample = Sample::new();
    fs::create_dir(sample.src().join("sub/~!")).unwrap();
    fs::write(sample.src().join("sub/~!/~^"), "lost").unwrap();
    let (image, out) = (sample.path("image.erofs"), sample.path("out"));
    // Names of a directory follow each other. A lost directory is one link less, too.
    for (old, new, folder, others) in
        [(&b"...~^"[..], &b"....."[..], "sub/~!", 1), (b"noise~!", b"noise..", "sub", 3)]
    {
        printed(args![
            "build",
            "-q",
            "-z",
            "none",
            "-E",
            "nosbcrc",
            "--force",
            sample.src(),
            image
        ]);
        rename(&image, old, new);
        let said = format!("{folder}/..: ");
        for args in [
            args!["extract", "-q", image, out].to_vec(),
            args!["tar", "-q", "-o", out, image].to_vec(),
            args!["dump", image].to_vec(),
            args!["build", "-q", image, out].to_vec(),
            args!["diff", image, sample.src()].to_vec(),
        ] {
            let output = lith(&args);
            assert!(matches!(output.status.code(), Some(1 | 2)), "{args:?}");
            let line = complaint(&output);
            let expected = format!("{said}the name is damaged: it leads to inode ");
            assert!(line.contains(&expected), "{line}");
            assert!(!out.exists(), "{args:?}");
        }
        let saved = lith(args!["extract", "-q", "--keep-going", image, out]);
        let text = String::from_utf8(saved.stderr).unwrap();
        assert_eq!(saved.status.code(), Some(1), "{text}");
        assert!(text.contains(&format!("/{said}left out: the name is damaged: ")), "{text}");
        let lost = lith(args!["diff", sample.src(), out]);
        assert_eq!(String::from_utf8(lost.stdout).unwrap().lines().count(), others);
        fs::remove_dir_all(&out).unwrap();
    }
}
