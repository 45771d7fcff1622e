//! Tests where `lith build` puts its image, and what it replaces there.

use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt, chown},
};

use super::{
    args,
    sample::{Sample, command, complaint, is_root, json, lith, printed},
};

#[test]
fn only_images_and_empty_files_are_replaced_without_force() {
    let sample = Sample::new();
    let precious = sample.path("notes.txt");
    fs::write(&precious, "precious").unwrap();
    let refused = lith(args!["build", "-q", sample.src(), precious]);
    assert_eq!(refused.status.code(), Some(1));
    let said = complaint(&refused);
    assert!(
        said.ends_with("notes.txt: is no EROFS image, and not replaced without --force"),
        "{said}"
    );
    assert_eq!(fs::read(&precious).unwrap(), b"precious");
    printed(args!["build", "-q", "--force", sample.src(), precious]);
    printed(args!["check", precious]);
    printed(args!["build", "-q", sample.src(), precious]);
    fs::write(&precious, "").unwrap();
    printed(args!["build", "-q", sample.src(), precious]);
    assert_eq!(sample.names(), ["notes.txt", "src"]);
}

#[test]
fn mode_and_owner_of_the_old_image_are_kept() {
    let (sample, image) = Sample::built();
    fs::set_permissions(&image, fs::Permissions::from_mode(0o640)).unwrap();
    let root = is_root("the owner of the old image");
    if root {
        chown(&image, Some(65534), Some(65533)).unwrap();
    }
    let old = fs::metadata(&image).unwrap();
    printed(args!["build", "-q", sample.src(), image]);
    let new = fs::metadata(&image).unwrap();
    assert_ne!(new.ino(), old.ino());
    let owner = |of: &fs::Metadata| (of.mode(), of.uid(), of.gid());
    assert_eq!(owner(&new), owner(&old));
    assert!(!root || new.uid() == 65534);
}

#[test]
fn an_image_in_its_own_source_is_left_out_and_told() {
    let sample = Sample::new();
    let image = sample.src().join("sub/self.erofs");
    let report = json(args!["build", "--json", sample.src(), image]);
    assert_eq!(report["notes"], serde_json::json!([]));
    std::os::unix::fs::symlink(sample.path("src"), sample.path("other")).unwrap();
    for source in [sample.src(), sample.path("other"), sample.src().join("sub/..")] {
        let report = json(args!["build", "--json", source, image]);
        let note = "/sub/self.erofs: is replaced by what is built, and left out";
        assert_eq!(report["notes"], serde_json::json!([note]), "{}", source.display());
        let listed = printed(args!["ls", "-R", image]);
        assert!(!listed.contains("self.erofs") && listed.contains("/sub/noise"), "{listed}");
    }
}

#[test]
fn an_image_goes_to_standard_output() {
    let (sample, image) = Sample::built();
    let folder = sample.path("tmp");
    fs::create_dir(&folder).unwrap();
    let arguments = args!["build", "-E", "^fragments", sample.src(), "-"];
    let output = command().args(arguments).env("TMPDIR", &folder).output().unwrap();
    assert!(output.status.success());
    assert!(output.stdout == fs::read(&image).unwrap());
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.starts_with("-: ") && said.contains("files    5 ("), "{said}");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
    let nowhere = args!["build", "-q", sample.src(), "-"];
    let failed = command().args(nowhere).env("TMPDIR", sample.path("none")).output().unwrap();
    assert_eq!((failed.status.code(), failed.stdout.len()), (Some(1), 0));
    assert!(complaint(&failed).contains("none: cannot keep the image there"));
}

#[test]
fn deltas_and_what_they_make_replace_only_their_like() {
    let (sample, old) = Sample::built();
    let (new, delta) = (sample.path("new.erofs"), sample.path("1.delta"));
    let (made, precious) = (sample.path("made.erofs"), sample.path("notes.txt"));
    printed(args!["build", "-q", "-z", "lz4", sample.src(), new]);
    for _ in 0..2 {
        printed(args!["delta", "-q", old, new, "-o", delta]);
        printed(args!["apply", "-q", old, delta, "-o", made]);
    }
    let apply = args!["apply", "-q", old, delta, "-o", precious];
    let delta_of = args!["delta", "-q", old, new, "-o", precious];
    for (arguments, what) in [(delta_of, "delta"), (apply, "EROFS image")] {
        fs::write(&precious, "precious").unwrap();
        let refused = lith(arguments.clone());
        assert_eq!(refused.status.code(), Some(1), "{what}");
        let said = complaint(&refused);
        let expected = format!("notes.txt: is no {what}, and not replaced without --force");
        assert!(said.ends_with(&expected), "{said}");
        assert_eq!(fs::read(&precious).unwrap(), b"precious");
        printed(arguments.into_iter().chain(args!["--force"]));
        assert_ne!(fs::read(&precious).unwrap(), b"precious");
    }
    let refused = lith(args!["delta", "-q", old, new, "-o", made]);
    assert!(complaint(&refused).contains("is no delta"));
}
