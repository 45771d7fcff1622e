//! Tests images in registries in chunks, with a registry of the tests and with that of the project `distribution`.

use std::{
    fs,
    io::{self, Read},
    process::Command,
};

use lith_testkit::{
    cutting::Cutting,
    noise::Noise,
    registry::{Demand, RealRegistry, Registry, digest},
    tier,
};
use serde_json::json;

use super::{
    args,
    mount::{self, MountPoint, assert_shows},
    registry::{printed, program, run},
    sample::{Sample, complaint, printed as made},
};

/// The sample with some MiB that compress to nothing less.
fn sample() -> Sample {
    let sample = Sample::new();
    let mut noise = Noise::new(1);
    for number in 0..40 {
        let bytes: Vec<u8> = (0..25_000).flat_map(|_| noise.next().to_le_bytes()).collect();
        fs::write(sample.src().join(format!("noise{number}")), bytes).unwrap();
    }
    sample
}

/// The number of bytes at the start of what follows a word.
fn bytes_after(text: &str, word: &str) -> f64 {
    let rest = text.split_once(word).unwrap().1.trim_start();
    let mut words = rest.split([' ', ',']);
    let number: f64 = words.next().unwrap().parse().unwrap();
    let units = [("bytes", 1.0), ("KiB", 1024.0), ("MiB", 1_048_576.0)];
    let unit = words.next().unwrap();
    number * units.iter().find(|(name, _)| *name == unit).unwrap().1
}

/// Sends two versions of an image, fetches and reads them.
fn versions_there_and_back(sample: &Sample, host: &str) {
    let [old, new] = ["old.erofs", "new.erofs"].map(|name| sample.path(name));
    let (one, two) = (format!("oci://{host}/box:1"), format!("oci://{host}/box:2"));
    made(args!["build", "-q", sample.src(), old]);
    let sent = printed(sample, args!["push", "--chunks=64K", old, one]);
    let whole = f64::from(u32::try_from(fs::metadata(&old).unwrap().len()).unwrap());
    assert!(bytes_after(&sent, "sent") >= 0.99 * whole, "{sent}");
    fs::write(sample.src().join("noise20"), "other\n").unwrap();
    fs::write(sample.src().join("added"), "added\n").unwrap();
    made(args!["build", "-q", sample.src(), new]);
    let sent = printed(sample, args!["push", "--chunks=64K", new, two]);
    assert!(bytes_after(&sent, "sent") < 0.2 * whole, "{sent}");
    assert!(bytes_after(&sent, "present") > 0.8 * whole, "{sent}");
    let by_digest = sent.lines().next().unwrap();
    // All that reads images reads these.
    assert_eq!(printed(sample, args!["diff", sample.src(), two]), "");
    assert_eq!(printed(sample, args!["cat", by_digest, "/added"]), "added\n");
    assert_eq!(run(sample, args!["cat", one, "/added"]).status.code(), Some(1));
    // The older version is replaced, then one beside it is used.
    let [slot, other] = ["slot.erofs", "other.erofs"].map(|name| sample.path(name));
    let fetched = printed(sample, args!["pull", one, slot]);
    assert!(bytes_after(&fetched, "of which") >= 0.99 * whole, "{fetched}");
    assert_eq!(fs::read(&slot).unwrap(), fs::read(&old).unwrap());
    let fetched = printed(sample, args!["pull", "--reuse", slot, two, other]);
    assert!(bytes_after(&fetched, "of which") < 0.2 * whole, "{fetched}");
    assert_eq!(fs::read(&other).unwrap(), fs::read(&new).unwrap());
    let fetched = printed(sample, args!["pull", two, slot]);
    assert!(bytes_after(&fetched, "of which") < 0.2 * whole, "{fetched}");
    assert_eq!(fs::read(&slot).unwrap(), fs::read(&new).unwrap());
    let again = printed(sample, args!["pull", two, slot]);
    assert!(again.ends_with("was there\n"), "{again}");
    if mount::is_there() {
        let at = MountPoint::new(sample);
        assert_eq!(printed(sample, args!["mount", "--fuse", two, at.path()]), "");
        assert_shows(&at, sample);
    }
}

#[test]
fn versions_go_to_a_registry_and_back_in_chunks() {
    let (sample, server) = (sample(), Registry::start(Demand::Token(None)));
    versions_there_and_back(&sample, &server.host());
}

#[test]
fn the_registry_of_distribution_takes_and_gives_chunks() {
    let sample = sample();
    let folder = sample.path("data");
    fs::create_dir(&folder).unwrap();
    let Some(server) = RealRegistry::start(&folder) else { return };
    versions_there_and_back(&sample, &server.host);
}

#[test]
fn distribution_goes_on_with_an_upload_that_was_cut() {
    let sample = sample();
    let folder = sample.path("data");
    fs::create_dir(&folder).unwrap();
    let Some(server) = RealRegistry::start(&folder) else { return };
    let image = sample.path("image.erofs");
    made(args!["build", "-q", sample.src(), image]);
    let sent = |proxy: &Cutting, name: &str, options: &[&str]| {
        let mut push = program(&sample);
        push.arg("push").args(options).arg(&image).arg(format!("oci://{}/{name}", proxy.host()));
        let output = push.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let to = sample.path(&name.replace(':', "-"));
        printed(&sample, args!["pull", format!("oci://{}/{name}", server.host), to]);
        assert_eq!(fs::read(to).unwrap(), fs::read(&image).unwrap());
    };
    // Of 8 MiB, 6 are sent and cut off; what goes through in the end is little more than the image.
    let proxy = Cutting::start(&server.host, 2 << 20, 3);
    sent(&proxy, "whole:1", &[]);
    assert_eq!(proxy.left(), 0);
    let whole = fs::metadata(&image).unwrap().len();
    assert!(proxy.forwarded() < whole + (1 << 20), "{} of {whole}", proxy.forwarded());
    let proxy = Cutting::start(&server.host, 200 << 10, 10);
    sent(&proxy, "parts:1", &["--chunks=64K"]);
    assert_eq!(proxy.left(), 0);
}

#[test]
fn patches_and_their_bases_go_in_chunks() {
    let (sample, server) = (sample(), Registry::start(Demand::Nothing));
    let [base, patch] = ["base.erofs", "patch.erofs"].map(|name| sample.path(name));
    made(args!["build", "-q", "-E", "^fragments", "--verity", sample.src(), base]);
    fs::write(sample.src().join("new"), "new\n").unwrap();
    made(args!["build", "-q", "--base", base, sample.src(), patch]);
    let name = format!("oci://{}/box:1", server.host());
    printed(&sample, args!["push", "--chunks", patch, name]);
    assert_eq!(printed(&sample, args!["diff", sample.src(), name]), "");
    fs::create_dir(sample.path("to")).unwrap();
    printed(&sample, args!["pull", "-q", name, sample.path("to/x.erofs")]);
    for (fetched, sent) in [("to/x.erofs", &patch), ("to/base.erofs", &base)] {
        assert_eq!(fs::read(sample.path(fetched)).unwrap(), fs::read(sent).unwrap());
    }
}

#[test]
fn what_is_wrong_leaves_the_older_version() {
    let (sample, server) = (sample(), Registry::start(Demand::Nothing));
    let [image, slot] = ["image.erofs", "slot.erofs"].map(|name| sample.path(name));
    made(args!["build", "-q", sample.src(), image]);
    let name = format!("oci://{}/box:1", server.host());
    for (given, expected) in [("5K", "a power of two"), ("100000", "a power of two")] {
        let refused = run(&sample, args!["push", format!("--chunks={given}"), image, name]);
        assert_eq!(refused.status.code(), Some(2));
        assert!(String::from_utf8_lossy(&refused.stderr).contains(expected), "{refused:?}");
    }
    printed(&sample, args!["push", "-q", "--chunks=64K", image, name]);
    fs::write(sample.src().join("added"), "added\n").unwrap();
    made(args!["build", "-q", sample.src(), slot]);
    let before = fs::read(&slot).unwrap();
    let at = server.change(|held| {
        let longest = held.blobs.values_mut().max_by_key(|blob| blob.len()).unwrap();
        let digest = digest(longest);
        longest[1000] ^= 1;
        digest
    });
    fs::remove_file(&slot).unwrap();
    let empty = sample.path("empty.erofs");
    fs::create_dir(sample.path("none")).unwrap();
    made(args!["build", "-q", sample.path("none"), empty]);
    fs::copy(&empty, &slot).unwrap();
    let refused = run(&sample, args!["pull", name, slot]);
    assert!(complaint(&refused).contains(&at), "{refused:?}");
    assert_eq!(fs::read(&slot).unwrap(), fs::read(&empty).unwrap());
    // What another version has here need not be fetched, and so it works.
    fs::write(&slot, before).unwrap();
    printed(&sample, args!["pull", "-q", name, slot]);
    assert_eq!(fs::read(&slot).unwrap(), fs::read(&image).unwrap());
    let hidden = fs::read_dir(sample.path(""))
        .unwrap()
        .filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().starts_with('.'));
    assert_eq!(hidden.count(), 0, "no temporary file is left");
}

/// Fetches to a small filesystem in namespaces of its own, and lists what is there afterwards. Arguments: a folder, the size, the
/// program, the image's name.
const ON_A_SMALL_DISK: &str = r#"
    mount -t tmpfs -o "size=$2" tmpfs "$1"
    "$3" pull "$4" "$1/x.erofs" && code=0 || code=$?
    ls -A "$1"
    exit "$code"
"#;

#[test]
fn what_the_disk_has_no_room_for_is_refused_before_it_is_full() {
    const TIER: &str = "lith pull to a full disk";
    let (sample, server) = (sample(), Registry::start(Demand::Nothing));
    let image = sample.path("image.erofs");
    made(args!["build", "-q", sample.src(), image]);
    let name = |tag: &str| format!("oci://{}/box:{tag}", server.host());
    printed(&sample, args!["push", "-q", "--chunks=64K", image, name("chunks")]);
    printed(&sample, args!["push", "-q", image, name("whole")]);
    // Zeros that a few bytes become.
    let zeros = zstd::encode_all(io::repeat(0).take(1 << 30), 1).unwrap();
    let layer = json!({ "mediaType": "application/vnd.erofs+zstd", "digest": digest(&zeros), "size": zeros.len() });
    let manifest = json!({ "schemaVersion": 2, "layers": [layer] }).to_string().into_bytes();
    server.change(|held| {
        held.manifests.insert("box:bomb".to_owned(), (String::new(), manifest));
        held.blobs.insert(digest(&zeros), zeros);
    });
    let (place, program) = (sample.path("small"), program(&sample));
    fs::create_dir(&place).unwrap();
    for (size, tag, is_full) in [
        ("4M", "chunks", true),
        ("4M", "whole", true),
        ("64M", "bomb", true),
        ("64M", "chunks", false),
        ("64M", "whole", false),
    ] {
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--mount", "sh", "-euc", ON_A_SMALL_DISK, "sh"]);
        command.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.arg(&place).arg(size).arg(program.get_program()).arg(name(tag));
        let output = command.output().unwrap();
        let (text, left) = (String::from_utf8_lossy(&output.stderr), &output.stdout);
        if text.starts_with("unshare:") || text.starts_with("mount:") {
            return tier::skip(TIER, text.trim_end());
        }
        if is_full {
            assert_eq!((output.status.code(), &**left), (Some(1), &b""[..]), "{tag}: {text}");
            assert!(
                text.contains("and the disk has") && text.ends_with(" left\n"),
                "{tag}: {text}"
            );
        } else {
            assert!(output.status.success() && left.ends_with(b"x.erofs\n"), "{tag}: {text}");
        }
    }
    tier::ran(TIER);
}
