//! Compares our mkfs.erofs with that of erofs-utils.

use std::fs;

use lith::tree::{Aspects, Change, Difference};
use lith_testkit::compare;

use super::bed::Bed;

/// Options for the directory `tree`. The time of the image is that of no file, so that all files keep their own times.
const DIRECTORY: [&str; 78] = [
    "",
    "-zlz4",
    "-z lz4hc,12 -C 65536",
    "-zlz4hc,level=9 -C65536 -Eztailpacking",
    "-zlzma,9 -C65536 -Efragments",
    "-zlzma,level=6,dictsize=65536,lc=3,lp=0,pb=2",
    "-zzstd,level=3,dictsize=131072 -C0x10000",
    "-zzstd,8 -Ededupe,all-fragments -C 64k",
    "-zdeflate,9",
    "-zlibdeflate,12 -C1m",
    "-zlz4hc,12:lzma,6 -C65536",
    "-zlz4 -z lzma -C65536",
    "-zlz4 -C65536 --compress-hints=hints",
    "-zlz4 -C65536 -Efragments=65536",
    "-zlz4 -C65536 -Eall-fragments=16384,^fragdedupe",
    "-zlz4 -Efragments,fragdedupe=inode",
    "-zlz4 -Elegacy-compress",
    "-zlz4 --max-extent-bytes=65536 -C65536",
    "-zlz4 --zfeature-bits=6",
    "-zlz4 -E48bit",
    "-zlz4 -Edot-omitted",
    "-zlz4 -m4096",
    "-m4096",
    "-m4096:lzma",
    "-zlz4:zstd -m4096:1",
    "-zlz4 -C8192 -m 8192:lzma",
    "-zlz4 --zD -Efragments -m4096",
    "-zlz4 --zD=0",
    "-Enoinline_data",
    "-E^inline_data",
    "-Einline_data",
    "-Eforce-inode-extended",
    "-Enosbcrc",
    "-Exattr-name-filter",
    "-E^xattr-name-filter",
    "-Eplain-xattr-prefixes --xattr-prefix=user.long.",
    "--xattr-prefix user. --xattr-prefix=security.sel",
    "-b512",
    "-b 1024 -zlz4",
    "-x-1",
    "-x 0",
    "-x 1000",
    "-L label",
    "-U clear",
    "-U 00112233-4455-6677-8899-aabbccddeeff",
    "--all-root",
    "--force-uid=7 --force-gid 8",
    "--force-uid=0x10 --uid-offset=1000 --gid-offset=1",
    "--preserve-mtime",
    "--hard-dereference",
    "--exclude-path=sub/deep",
    "--exclude-path text --exclude-path=nothing",
    "--exclude-regex=\\.o$",
    "--exclude-regex ^sub/(deep|half) --exclude-regex=^l",
    "--exclude-regex=[[:digit:]]|emp+ty",
    "--chunksize=4096",
    "--chunksize=65536 -Eforce-chunk-indexes",
    "--chunksize=0x8000 -Eforce-inode-blockmap",
    "-Ededupe",
    "--dsunit=16",
    "--dsunit=4 -zlz4",
    "--fsalignblks=256",
    "--root-xattr-isize=200",
    "--offset=1048576",
    "--MZ",
    "--MZ=i",
    "--ovlfs-strip=1",
    "--ovlfs-strip",
    "--mount-point=/usr",
    "--file-contexts=contexts",
    "--file-contexts=contexts --mount-point=/system",
    "--file-contexts=contexts --mount-point=/system/",
    "--file-contexts=contexts --mount-point=system",
    "--workers=1 --async-queue-limit=4",
    "-d0",
    "-d9",
    "--quiet",
    "--clean=data",
];

/// Command lines with `IMAGE` for the image's name.
const WHOLE: [&str; 19] = [
    "-T1000000000 IMAGE tree",
    "-T0x3b9aca00 --all-time IMAGE tree",
    "-T 1000000000 --ignore-mtime IMAGE tree",
    "-Eforce-inode-compact -T1000000000 IMAGE tree",
    "-T1000000000 --mkfs-time --all-time IMAGE tree",
    "IMAGE tree -T0 --quiet -zlz4,",
    "IMAGE tree --quiet -z lz4hc,9 -E all-fragments,dedupe -C 65536 --exclude-regex ^sub -T0",
    "--quiet -Enoinline_data -b4096 -T0 -- IMAGE tree",
    "--qui --work=2 --all-ro -T0 IMAGE tree",
    "--tar=f IMAGE tree.tar",
    "--tar IMAGE tree.tar -zlz4hc",
    "--tar=f --sort=none -E^inline_data IMAGE tree.tar",
    "--tar=f --aufs --quiet IMAGE tree.tar",
    "--tar=f --ungzip IMAGE tree.tar.gz",
    "--tar=f --gzip IMAGE tree.tar.gz",
    "--tar=f --ungzip=IMAGE.raw IMAGE tree.tar.gz",
    "--tar=f --force-uid=0 --force-gid=0 -T 0 IMAGE tree.tar",
    "--tar=f -x-1 IMAGE tree.tar",
    "--tar=f --ovlfs-strip=1 IMAGE tree.tar",
];

/// Arguments that both refuse.
const REFUSED: [&str; 33] = [
    "",
    "IMAGE",
    "IMAGE nowhere",
    "IMAGE tree other",
    "-zfoo IMAGE tree",
    "-zlz4hc,13 IMAGE tree",
    "-zlz4hc,fast IMAGE tree",
    "-zlzma,10 IMAGE tree",
    "-zzstd,23 IMAGE tree",
    "-zlzma,dictsize=x IMAGE tree",
    "-C1000 -zlz4 IMAGE tree",
    "-C2097152 -zlz4 IMAGE tree",
    "-Cx -zlz4 IMAGE tree",
    "-b0 IMAGE tree",
    "-b x IMAGE tree",
    "--frobnicate IMAGE tree",
    "-Q IMAGE tree",
    "-z",
    "-Efrobnicate IMAGE tree",
    "-Ededupe=1 IMAGE tree",
    "-U junk IMAGE tree",
    "-T junk IMAGE tree",
    "-L sixteen-letters-and-more IMAGE tree",
    "-d10 IMAGE tree",
    "-x y IMAGE tree",
    "--force-uid=-1 IMAGE tree",
    "--chunksize=5000 IMAGE tree",
    "--chunksize=512 IMAGE tree",
    "--blobdev=blob IMAGE tree",
    "--compress-hints=nowhere -zlz4 IMAGE tree",
    "--workers=x IMAGE tree",
    "--zfeature-bits=512 IMAGE tree",
    "--tar=f IMAGE nowhere.tar",
];

fn arguments(line: &str, image: &str) -> Vec<String> {
    line.split_whitespace().map(|argument| argument.replace("IMAGE", image)).collect()
}

/// Runs a command line with both, which must accept it; returns what failed.
fn run_both(bed: &Bed, line: &str) -> Result<(), String> {
    let (ours, theirs) = (arguments(line, "ours"), arguments(line, "theirs"));
    let ours: Vec<_> = ours.iter().map(String::as_str).collect();
    let theirs: Vec<_> = theirs.iter().map(String::as_str).collect();
    let (ours, theirs) = (bed.ours("mkfs.erofs", &ours, None), bed.theirs("mkfs.erofs", &theirs));
    for (whose, output) in [("theirs", theirs), ("ours", ours)] {
        if !output.status.success() {
            let message = String::from_utf8_lossy(&output.stderr);
            return Err(format!("{line}: {whose} fails: {message}"));
        }
    }
    compare_images(bed, line)
}

/// Errors of upstream, and intended differences.
fn is_known(line: &str, difference: &Difference) -> bool {
    match difference.change {
        // With a metabox all inodes are compact, and their times are cut.
        Change::Mtime(..) => line.contains("-m"),
        // It looks for files' data that it has written as if the image began where the file does.
        Change::Content { .. } => line.contains("--offset"),
        _ => false,
    }
}

fn compare_images(bed: &Bed, line: &str) -> Result<(), String> {
    let offset = line.contains("--offset").then_some(1 << 20);
    let (ours, theirs) = (bed.open_at("ours", offset), bed.open_at("theirs", offset));
    let (ours, theirs) = (ours.filesystem(), theirs.filesystem());
    let mut found = compare::differences(theirs, ours, Aspects::empty());
    found.retain(|difference| !is_known(line, difference));
    let shown: Vec<_> = found.iter().take(5).map(ToString::to_string).collect();
    if shown.is_empty() { Ok(()) } else { Err(format!("{line}: {}", shown.join("; "))) }
}

/// Fails the test if there is a problem.
fn assert_none(problems: impl Iterator<Item = Result<(), String>>) {
    let problems: Vec<_> = problems.filter_map(Result::err).collect();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn directories_become_the_same_trees() {
    let Some(bed) = Bed::new() else { return };
    assert_none(DIRECTORY.iter().map(|options| {
        for image in ["ours", "theirs"] {
            let _not_there_at_first = fs::remove_file(bed.path(image));
        }
        run_both(&bed, &format!("{options} -T1600000000 --mkfs-time IMAGE tree"))
    }));
}

#[test]
fn whole_command_lines_make_the_same_trees() {
    let Some(bed) = Bed::new() else { return };
    assert_none(WHOLE.iter().map(|line| run_both(&bed, line)));
    assert!(fs::read(bed.path("ours.raw")).unwrap() == fs::read(bed.path("theirs.raw")).unwrap());
}

/// Runs a command line with both, which must refuse it; ours with one line that names the program, and without output
/// files.
fn refuse_both(bed: &Bed, line: &str) -> Result<(), String> {
    let _none_before = fs::remove_file(bed.path("ours"));
    let (ours, theirs) = (arguments(line, "ours"), arguments(line, "theirs"));
    let ours: Vec<_> = ours.iter().map(String::as_str).collect();
    let theirs: Vec<_> = theirs.iter().map(String::as_str).collect();
    let (ours, theirs) = (bed.ours("mkfs.erofs", &ours, None), bed.theirs("mkfs.erofs", &theirs));
    let message = String::from_utf8_lossy(&ours.stderr);
    let is_one_line = message.lines().count() == 1 && message.starts_with("mkfs.erofs: ");
    let names = fs::read_dir(bed.folder()).unwrap().map(|entry| entry.unwrap().file_name());
    let is_left = |name: &str| name == "ours" || name.contains("lith-tmp");
    let left: Vec<_> = names.filter(|name| is_left(&name.to_string_lossy())).collect();
    if theirs.status.success() {
        Err(format!("{line}: theirs takes it"))
    } else if ours.status.code() != Some(1) || !is_one_line || !ours.stdout.is_empty() {
        Err(format!("{line}: ours: {}: {message}", ours.status))
    } else if !left.is_empty() {
        Err(format!("{line}: ours leaves {left:?}"))
    } else {
        Ok(())
    }
}

#[test]
fn both_refuse_the_same_and_ours_prints_one_line_and_writes_nothing() {
    let Some(bed) = Bed::new() else { return };
    assert_none(REFUSED.iter().map(|line| refuse_both(&bed, line)));
}

#[test]
fn a_tar_comes_on_standard_input() {
    let Some(bed) = Bed::new() else { return };
    for options in ["--tar=f --aufs --quiet -Enoinline_data -b4096", "--tar=f -zlz4 --sort=none"] {
        let uuid = "-U 00112233-4455-6677-8899-aabbccddeeff";
        let line = format!("{options} {uuid} IMAGE");
        let ours = arguments(&line, "ours");
        let ours: Vec<_> = ours.iter().map(String::as_str).collect();
        let ours = bed.ours("mkfs.erofs", &ours, Some("tree.tar"));
        assert!(ours.status.success(), "{}", String::from_utf8_lossy(&ours.stderr));
        let script = format!("mkfs.erofs {} < tree.tar", arguments(&line, "theirs").join(" "));
        assert!(bed.theirs("sh", &["-c", &script]).status.success(), "{script}");
        compare_images(&bed, &line).unwrap();
    }
}

#[test]
fn configure_scripts_find_the_features() {
    let Some(bed) = Bed::new() else { return };
    let help = bed.ours("mkfs.erofs", &["--help"], None);
    let text = String::from_utf8(help.stdout).unwrap();
    assert!(help.status.success() && text.contains("--tar="), "{text}");
    let (ours, theirs) = (bed.ours("mkfs.erofs", &["-V"], None), bed.theirs("mkfs.erofs", &["-V"]));
    let lines = |output: Vec<u8>| -> Vec<String> {
        String::from_utf8(output).unwrap().lines().map(str::to_owned).collect()
    };
    let (ours, theirs) = (lines(ours.stdout), lines(theirs.stdout));
    assert_eq!(ours[1], theirs[1]);
    assert!(ours[0].starts_with("mkfs.erofs (erofs-utils) 1."), "{ours:?}");
    // Every long option that theirs tells of is known.
    let theirs = bed.theirs("mkfs.erofs", &["--help"]);
    let shown = String::from_utf8(theirs.stdout).unwrap();
    let options = shown.split_whitespace().filter_map(|argument| argument.strip_prefix("--"));
    for option in options {
        let name: String =
            option.chars().take_while(|c| c.is_alphanumeric() || *c == '-').collect();
        let is_known = text.contains(&format!("--{name}"));
        assert!(is_known, "--{name} is not in our help");
    }
}
