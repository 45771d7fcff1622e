//! Tests what a FUSE server can still do once it serves.

use std::fs;

use super::{
    args,
    mount::{self, MountPoint, assert_shows, wait_until},
    sample::{Sample, json, lith, printed},
};

/// A field of the status of the server of a mount.
fn status_of(at: &MountPoint, field: &str) -> Option<String> {
    let pid = mount::server_pid(at)?;
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    line.map(|value| value.trim().to_owned())
}

#[test]
fn servers_are_confined_before_they_read() {
    if !mount::is_there() {
        return;
    }
    let (sample, image) = Sample::built();
    let at = MountPoint::new(&sample);
    printed(args!["mount", "--fuse", image, at.path()]);
    let confined = [status_of(&at, "NoNewPrivs"), status_of(&at, "Seccomp")];
    assert_eq!(confined, [Some("1".to_owned()), Some("2".to_owned())]);
    assert_shows(&at, &sample);
    printed(args!["umount", at.path()]);
    assert!(!at.is_mounted());
    printed(args!["mount", "--fuse", "--no-sandbox", image, at.path()]);
    assert_eq!(status_of(&at, "Seccomp").as_deref(), Some("0"));
    assert_shows(&at, &sample);
}

#[test]
fn an_image_below_its_mount_point_is_opened_before_it_is_hidden() {
    if !mount::is_there() {
        return;
    }
    let (sample, image) = Sample::built();
    let at = MountPoint::new(&sample);
    let hidden = at.path().join("image.erofs");
    fs::copy(image, &hidden).unwrap();
    printed(args!["mount", "--fuse", hidden, at.path()]);
    assert_eq!(status_of(&at, "Seccomp").as_deref(), Some("2"));
    assert_shows(&at, &sample);
}

#[test]
fn confined_servers_read_patches_with_bases_and_verify() {
    if !mount::is_there() {
        return;
    }
    let sample = Sample::new();
    let [base, image] = ["base.erofs", "image.erofs"].map(|name| sample.path(name));
    printed(args!["build", "-q", "--verity", sample.src(), base]);
    fs::write(sample.src().join("new"), "new\n").unwrap();
    let built = json(args!["build", "--json", "--verity", "--base", base, sample.src(), image]);
    let root = built.pointer("/verity/root_hash").unwrap().as_str().unwrap().to_owned();
    let at = MountPoint::new(&sample);
    for options in [&[][..], &["--root-hash", &root]] {
        let verb = ["mount", "--fuse"].iter().chain(options).map(Into::into);
        printed(verb.chain(args![image, at.path()]));
        assert_eq!(status_of(&at, "Seccomp").as_deref(), Some("2"));
        assert_shows(&at, &sample);
        printed(args!["umount", at.path()]);
    }
}

#[test]
fn an_image_that_cannot_be_served_leaves_no_mount() {
    if !mount::is_there() {
        return;
    }
    let (sample, image) = Sample::built();
    let at = MountPoint::new(&sample);
    let mut bytes = fs::read(&image).unwrap();
    // The root's NID.
    bytes[1024 + 14] ^= 0xff;
    bytes[1024 + 15] ^= 0x7f;
    fs::write(&image, bytes).unwrap();
    let output = lith(args!["mount", "--fuse", "--ignore-checksum", image, at.path()]);
    assert_eq!(output.status.code(), Some(1));
    wait_until("nothing is mounted", || !at.is_mounted());
}
