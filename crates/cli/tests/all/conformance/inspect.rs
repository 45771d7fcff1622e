//! Compares our fsck.erofs and dump.erofs with those of erofs-utils.

use std::{fs, path::Path, process::Output};

use lith_testkit::{compare, image};

use super::bed::Bed;

/// Options of mkfs.erofs for the images of `tree` that both inspect.
const IMAGES: [&str; 16] = [
    "",
    "-Enoinline_data",
    "-zlz4",
    "-zlz4hc,12 -C65536 -Eztailpacking",
    "-zlz4hc -C65536 -Efragments,dedupe",
    "-zlzma -C65536 -Eall-fragments",
    "-zdeflate -C16384",
    "-zzstd -C65536",
    "-zlz4 -b1024",
    "-zlz4 -Elegacy-compress",
    "-zzstd -E48bit -C16384",
    "-zlz4 -m4096",
    "-zlz4 --MZ",
    "--chunksize=65536",
    "-Eforce-inode-extended -x1",
    "--xattr-prefix=user.long. -zlz4 -Efragments",
];

/// Command lines of dump.erofs whose output is the same, byte for byte.
const SAME: [&str; 22] = [
    "IMG",
    "-s IMG",
    "IMG -s",
    "-s -S IMG",
    "-sS IMG",
    "--blkid-udev IMG",
    "-s -S --ls --path=/ IMG",
    "--ls --path=/ IMG",
    "--path /sub/deep --ls IMG",
    "--path=sub//deep/ IMG",
    "-e --path=/text IMG",
    "-e --path=/noise IMG",
    "-e --path=/nothing IMG",
    "IMG --path=/linked -e",
    "--path=/sub/same IMG -e",
    "--path=/link -e IMG",
    "--pa=/sub/half.bin IMG",
    "--cat --path=/text IMG",
    "--cat --path=/noise IMG",
    "--cat --path=/link IMG",
    "--cat --path=/nothing IMG",
    "--cat --path=/sub IMG",
];

/// Command lines of either program that both execute, or both refuse.
const CODES: [(&str, &str); 55] = [
    ("dump.erofs", ""),
    ("dump.erofs", "-V"),
    ("dump.erofs", "--version"),
    ("dump.erofs", "-h"),
    ("dump.erofs", "--help"),
    ("dump.erofs", "missing"),
    ("dump.erofs", "hints"),
    ("dump.erofs", "IMG IMG"),
    ("dump.erofs", "--nid"),
    ("dump.erofs", "--nid IMG"),
    ("dump.erofs", "--nid=x IMG"),
    ("dump.erofs", "--unknown IMG"),
    ("dump.erofs", "-x IMG"),
    ("dump.erofs", "--offset=x IMG"),
    ("dump.erofs", "--offset=512 IMG"),
    ("dump.erofs", "--offset=0x1000 shifted"),
    ("dump.erofs", "--device=missing IMG"),
    ("dump.erofs", "--device=IMG IMG"),
    ("dump.erofs", "checksum"),
    ("fsck.erofs", ""),
    ("fsck.erofs", "IMG"),
    ("fsck.erofs", "-p IMG"),
    ("fsck.erofs", "-- IMG"),
    ("fsck.erofs", "-V"),
    ("fsck.erofs", "--help"),
    ("fsck.erofs", "missing"),
    ("fsck.erofs", "hints"),
    ("fsck.erofs", "IMG IMG"),
    ("fsck.erofs", "-a -A -y IMG"),
    ("fsck.erofs", "-aAyp IMG"),
    ("fsck.erofs", "-d0 IMG"),
    ("fsck.erofs", "IMG -d 9"),
    ("fsck.erofs", "-d10 IMG"),
    ("fsck.erofs", "-d"),
    ("fsck.erofs", "-q IMG"),
    ("fsck.erofs", "--extract IMG"),
    ("fsck.erofs", "--extract IMG -p"),
    ("fsck.erofs", "--extract= IMG"),
    ("fsck.erofs", "--extract=/ IMG"),
    ("fsck.erofs", "--force IMG"),
    ("fsck.erofs", "--overwrite IMG"),
    ("fsck.erofs", "--preserve IMG"),
    ("fsck.erofs", "--no-preserve-owner --extract IMG"),
    ("fsck.erofs", "--xattrs IMG"),
    ("fsck.erofs", "--no-xattrs --extract IMG"),
    ("fsck.erofs", "--path=/sub IMG"),
    ("fsck.erofs", "--path=/none IMG"),
    ("fsck.erofs", "--extract --path=/text IMG"),
    ("fsck.erofs", "--nid=99999999 IMG"),
    ("fsck.erofs", "--offset=4096 shifted"),
    ("fsck.erofs", "--offset=4096 IMG"),
    ("fsck.erofs", "--no-sbcrc checksum"),
    ("fsck.erofs", "--extract damaged"),
    ("fsck.erofs", "--xattr-inode-digest IMG"),
    ("fsck.erofs", "--xattr-inode-digest digests"),
];

/// Arguments after `--extract=DIR` with which both extract the same.
const EXTRACTIONS: [&str; 12] = [
    "",
    "--xattrs",
    "--no-xattrs",
    "--preserve",
    "--no-preserve",
    "--preserve-owner --no-preserve-perms",
    "--no-preserve --preserve-perms",
    "--preserve --no-preserve-owner",
    "--overwrite",
    "--force -p",
    "--path=/sub",
    "--path=/text",
];

/// Makes the image `IMG` of `tree` with erofs-utils.
fn make_theirs(bed: &Bed, options: &str) {
    let line = format!("{options} -T1000000000 IMG tree");
    let made = bed.theirs("mkfs.erofs", &arguments(&line));
    assert!(made.status.success(), "{line}: {}", text(&made));
}

/// Makes the image `IMG` and several corrupt ones.
fn plant(bed: &Bed) {
    make_theirs(bed, "-zlz4hc -C16384");
    let line = "--xattr-inode-digest=trusted.digest -zlz4 digests tree";
    assert!(bed.theirs("mkfs.erofs", &arguments(line)).status.success());
    let mut bytes = fs::read(bed.path("IMG")).unwrap();
    fs::write(bed.path("shifted"), [vec![7; 4096], bytes.clone()].concat()).unwrap();
    bytes[1024 + 4] ^= 1;
    fs::write(bed.path("checksum"), &bytes).unwrap();
    bytes[1024 + 4] ^= 1;
    let end = bytes.len();
    bytes[end - 65536..].fill(0xff);
    fs::write(bed.path("damaged"), bytes).unwrap();
}

/// The output of dump.erofs, without the chart in which upstream counts a part of an extension as the whole.
fn without_extensions(line: &str, output: &[u8]) -> Vec<u8> {
    let is_chart = |row: &&[u8]| row.starts_with(b".") || row.starts_with(b"others ");
    let rows = output.split_inclusive(|byte| *byte == b'\n');
    rows.filter(|row| !(line.contains('S') && is_chart(row))).flatten().copied().collect()
}

fn arguments(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

fn text(output: &Output) -> String {
    [&output.stdout[..], &output.stderr].map(String::from_utf8_lossy).concat()
}

#[test]
fn dump_prints_the_same() {
    let Some(bed) = Bed::new() else { return };
    for options in IMAGES {
        make_theirs(&bed, options);
        for line in SAME {
            let (ours, theirs) = (
                bed.ours("dump.erofs", &arguments(line), None),
                bed.theirs("dump.erofs", &arguments(line)),
            );
            assert!(ours.status.success(), "{options}: {line}: {}", text(&ours));
            assert!(
                without_extensions(line, &ours.stdout) == without_extensions(line, &theirs.stdout),
                "mkfs.erofs {options}: dump.erofs {line}\nours:\n{}theirs:\n{}",
                text(&ours),
                text(&theirs)
            );
        }
    }
}

#[test]
fn dump_prints_the_same_of_golden_images() {
    let Some(bed) = Bed::new() else { return };
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden");
    let mut names: Vec<_> = fs::read_dir(&golden)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter_map(|name| name.strip_suffix(".erofs").map(str::to_owned))
        .collect();
    names.sort();
    assert!(names.len() >= 39);
    for name in names {
        let mut device = String::new();
        for extension in ["blob", "tar"] {
            let file = golden.join(format!("{name}.{extension}"));
            if fs::copy(file, bed.path("device")).is_ok() {
                device = "--device=device".to_owned();
            }
        }
        fs::copy(golden.join(format!("{name}.erofs")), bed.path("IMG")).unwrap();
        for options in ["-s", "--ls -e --path=/", "--path=/text -e", "--cat --path=/tiny"] {
            // Of LZ4 without 0padding erofs-utils 1.9 maps no extents, and fails.
            if name.contains("unpadded") && options.ends_with("-e") && options.contains("/text") {
                continue;
            }
            let line = format!("{options} {device} IMG");
            let theirs = bed.theirs("dump.erofs", &arguments(&line));
            let ours = bed.ours("dump.erofs", &arguments(&line), None);
            // Of a file that is not there theirs prints nothing and says that all is well.
            let is_there = !theirs.stdout.is_empty() || theirs.stderr.is_empty();
            assert_eq!(ours.status.success(), is_there, "{name}: {line}: {}", text(&ours));
            assert!(ours.stdout == theirs.stdout, "{name}: {line}: {}", text(&ours));
        }
    }
}

#[test]
fn both_refuse_and_accept_the_same() {
    let Some(bed) = Bed::new() else { return };
    plant(&bed);
    for (tool, line) in CODES {
        let (ours, theirs) =
            (bed.ours(tool, &arguments(line), None), bed.theirs(tool, &arguments(line)));
        assert_eq!(
            ours.status.success(),
            theirs.status.success(),
            "{tool} {line}: {}",
            text(&ours)
        );
        if !ours.status.success() {
            assert_eq!(ours.status.code(), Some(1), "{tool} {line}");
            assert!(!ours.stderr.is_empty(), "{tool} {line}");
        }
    }
}

#[test]
fn last_lines_of_fsck_are_the_same() {
    let Some(bed) = Bed::new() else { return };
    plant(&bed);
    for line in ["-d3 IMG", "-d3 --extract IMG", "-d3 -p IMG", "-d3 --extract=out IMG"] {
        let theirs = bed.theirs("fsck.erofs", &arguments(line));
        bed.shell("rm -rf out");
        let ours = bed.ours("fsck.erofs", &arguments(line), None);
        let last = |output: &Output| text(output).lines().last().map(str::to_owned);
        assert_eq!(last(&ours), last(&theirs), "{line}");
    }
}

#[test]
fn both_extract_the_same() {
    let Some(bed) = Bed::new() else { return };
    make_theirs(&bed, "-zlz4hc -C16384");
    for options in EXTRACTIONS {
        for (program, folder) in [("ours", "mine"), ("theirs", "yours")] {
            let line = format!("--extract={folder} {options} IMG");
            let output = match program {
                "ours" => bed.ours("fsck.erofs", &arguments(&line), None),
                _ => bed.theirs("fsck.erofs", &arguments(&line)),
            };
            assert!(output.status.success(), "{program}: {line}: {}", text(&output));
        }
        if bed.path("mine").is_dir() {
            let [mine, yours] = ["mine", "yours"].map(|folder| image::directory(&bed.path(folder)));
            compare::assert_same(mine.filesystem(), yours.filesystem(), options);
        } else {
            assert!(fs::read(bed.path("mine")).unwrap() == fs::read(bed.path("yours")).unwrap());
        }
        bed.shell("rm -rf mine yours");
    }
}

#[test]
fn everything_in_every_image_is_extracted() {
    let Some(bed) = Bed::new() else { return };
    for options in IMAGES {
        make_theirs(&bed, options);
        let line = "--extract=mine --xattrs IMG";
        let ours = bed.ours("fsck.erofs", &arguments(line), None);
        assert!(ours.status.success(), "{options}: {}", text(&ours));
        let (mine, there) = (image::directory(&bed.path("mine")), image::open(&bed.path("IMG")));
        compare::assert_same(mine.filesystem(), there.filesystem(), options);
        bed.shell("rm -rf mine");
    }
}
