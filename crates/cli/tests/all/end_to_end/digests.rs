//! Tests digests of files: `lith build --digests`, and who compares them.

use std::{fs, path::PathBuf};

use super::{
    args,
    sample::{Sample, complaint, files_in, json, lith, printed},
};

/// A sample and its image, whose content is not compressed, so that the check sees no change of it.
fn built(options: &[&str]) -> (Sample, PathBuf) {
    let sample = Sample::new();
    let image = sample.path("image.erofs");
    let build = ["build", "-q", "-z", "none"].iter().chain(options).map(Into::into);
    printed(build.chain(args![sample.src(), image]));
    (sample, image)
}

/// As [`built`], with digests; a bit of `sub/noise` is another one.
pub(super) fn changed() -> (Sample, PathBuf) {
    let (sample, image) = built(&["--digests"]);
    let map = json(args!["map", "--json", image, "sub/noise"]);
    let at =
        usize::try_from(map.pointer("/extents/0/physical").unwrap().as_u64().unwrap()).unwrap();
    let mut bytes = fs::read(&image).unwrap();
    *bytes.get_mut(at + 7).unwrap() ^= 1;
    fs::write(&image, bytes).unwrap();
    (sample, image)
}

#[test]
fn files_are_what_their_digests_say() {
    for option in ["--digests", "--digests=user.sha256"] {
        let (sample, image) = built(&[option]);
        let (out, tar) = (sample.path("out"), sample.path("out.tar"));
        let said = printed(args!["check", "--digests", image]);
        assert!(said.ends_with("all digests of files are right\n"), "{said}");
        let checked = json(args!["check", "--json", "--digests", image]);
        assert_eq!(checked["wrong_digests"].as_array().map(Vec::len), Some(0));
        printed(args!["extract", "-q", "--digests", "-C", out, image]);
        assert_eq!(files_in(&out), files_in(&sample.src()));
        printed(args!["tar", "-q", "--digests", "-o", tar, image]);
        assert!(fs::metadata(tar).unwrap().len() > 350_000);
    }
}

#[test]
fn a_changed_file_is_named_and_nothing_is_written() {
    let (sample, image) = changed();
    printed(args!["check", image]);
    let found = lith(args!["check", "--digests", image]);
    assert_eq!(found.status.code(), Some(4));
    let found = String::from_utf8(found.stdout).unwrap();
    assert!(found.contains("/sub/noise: inode "), "{found}");
    assert!(found.contains("the content does not match its digest"), "{found}");
    assert!(found.ends_with("1 file without a right digest\n"), "{found}");
    let (out, tar) = (sample.path("out"), sample.path("out.tar"));
    for args in [
        args!["extract", "--digests", "-C", out, image],
        args!["tar", "--digests", "-o", tar, image],
    ] {
        let refused = lith(&args);
        assert_eq!(refused.status.code(), Some(1), "{args:?}");
        let said = String::from_utf8(refused.stderr).unwrap();
        assert!(said.contains("/sub/noise: inode ") && said.lines().count() == 2, "{said}");
    }
    assert!(!out.exists() && !tar.exists());
}

#[test]
fn an_image_without_digests_says_so() {
    let (sample, image) = built(&[]);
    let tar = sample.path("sample.tar");
    printed(args!["tar", "-q", "-o", tar, image]);
    for (file, reason) in [(&image, "has no digests of files"), (&tar, "only an EROFS image")] {
        let refused = lith(args!["extract", "--digests", "-C", sample.path("out"), file]);
        assert_eq!(refused.status.code(), Some(1));
        assert!(complaint(&refused).contains(reason), "{}", complaint(&refused));
    }
    assert_eq!(lith(args!["check", "--digests", "--no-data", image]).status.code(), Some(16));
}
