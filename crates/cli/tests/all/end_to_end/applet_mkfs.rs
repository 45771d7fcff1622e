//! Tests the applet mkfs.erofs, and links with the names of applets.

use std::{
    ffi::OsString,
    fs,
    os::unix::{fs::MetadataExt, process::CommandExt},
    path::Path,
    process::{Command, Output, Stdio},
};

use super::{
    args,
    sample::{Sample, command, complaint, json, lith, printed},
};

/// Runs the applet in the directory of a sample.
fn mkfs(sample: &Sample, line: &str) -> Output {
    let arguments = line.split_whitespace();
    command()
        .arg0("/usr/bin/mkfs.erofs")
        .args(arguments)
        .current_dir(sample.path(""))
        .output()
        .unwrap()
}

/// Makes an image; nothing must be printed.
fn made(sample: &Sample, line: &str) {
    let output = mkfs(sample, &format!("--quiet {line}"));
    let message = [output.stdout, output.stderr].concat();
    let message = String::from_utf8_lossy(&message);
    assert_eq!((output.status.code(), &*message), (Some(0), ""), "{line}");
}

fn oldest_kernel(image: &Path) -> String {
    let info = json(args!["info", "--json", image]);
    info.pointer("/kernel/oldest").unwrap().as_str().unwrap().to_owned()
}

#[test]
fn links_lead_to_the_program() {
    let sample = Sample::new();
    let bin = sample.path("deep/bin");
    printed(args!["applets", "--install", bin]);
    let names = printed(args!["applets"]);
    assert!(names.lines().count() >= 6);
    for name in names.lines() {
        assert!(bin.join(name).is_symlink(), "{name}");
    }
    let image = sample.path("image");
    let output = Command::new(bin.join("mkfs.erofs")).args(args![image, sample.src()]).output();
    assert!(output.unwrap().status.success());
    assert_eq!(printed(args!["diff", sample.src(), image]), "");
    // Once more changes nothing; other files are only replaced with --force.
    printed(args!["applets", "--install", bin]);
    fs::remove_file(bin.join("fsck.erofs")).unwrap();
    fs::write(bin.join("fsck.erofs"), "another's").unwrap();
    let refused = lith(args!["applets", "--install", bin]);
    assert!(complaint(&refused).contains("fsck.erofs: exists already"));
    assert_eq!(fs::read(bin.join("fsck.erofs")).unwrap(), b"another's");
    printed(args!["applets", "--force", "--install", bin, "--target", "../lith"]);
    assert_eq!(fs::read_link(bin.join("fsck.erofs")).unwrap(), Path::new("../lith"));
}

#[test]
fn options_can_be_anywhere_joined_and_shortened() {
    let sample = Sample::new();
    for line in [
        "image src -T0 -zlz4hc,12 -C65536",
        "-T 0 image -z lz4hc,level=12 -C 64k src",
        "-C4096 -C 0x10000 -zlz4hc,12 -T0 -- image src",
        "--pres -T0 -zlz4hc,12:zstd,3 -C65536 --work 1 image src",
    ] {
        made(&sample, line);
        fs::rename(sample.path("image"), sample.path("last")).unwrap();
        made(&sample, "-zlz4hc,12 -C65536 -T0 image src");
        let (image, last) = (sample.path("image"), sample.path("last"));
        assert!(fs::read(image).unwrap() == fs::read(last).unwrap(), "{line}");
    }
    assert_eq!(lith(args!["mkfs.erofs", "-V"]).status.code(), Some(0));
}

#[test]
fn an_image_mounts_on_the_oldest_kernel_with_the_requested_features() {
    let sample = Sample::new();
    let image = sample.path("image");
    for (options, kernel) in [
        ("", "5.4"),
        ("-zlz4", "5.4"),
        ("-zlz4hc,12 -C65536", "5.13"),
        ("-zlz4 -Eztailpacking", "5.17"),
        ("-zlz4 -C65536 -Eall-fragments", "6.1"),
        ("-zzstd", "6.10"),
        ("-b512", "6.4"),
        ("--chunksize=4096", "5.15"),
        ("--chunksize=4096 --blobdev=blob", "5.16"),
    ] {
        made(&sample, &format!("{options} image src"));
        assert_eq!(oldest_kernel(&image), kernel, "{options}");
    }
}

#[test]
fn a_failure_prints_one_line_and_leaves_no_file() {
    let sample = Sample::new();
    fs::create_dir(sample.path("other")).unwrap();
    let before = sample.names();
    for (line, expected) in [
        ("", "FILE"),
        ("image", "SOURCE"),
        ("image nowhere", "nowhere"),
        ("image src other", "other"),
        ("-zlzo image src", "\"lzo\""),
        ("-zlz4hc,13 image src", "\"13\""),
        ("-C1000 -zlz4 image src", "1000"),
        ("-b3000 image src", "3000"),
        ("--frobnicate image src", "--frobnicate"),
        ("-Efrobnicate image src", "\"frobnicate\""),
        ("-U junk image src", "junk"),
        ("-T junk image src", "junk"),
        ("--chunksize=5000 image src", "5000"),
        ("--blobdev=blob image src", "--chunksize"),
        ("--tar=x image src", "\"x\""),
        ("--tar=f image nowhere", "nowhere"),
        ("--MZ=x image src", "--MZ"),
        ("--clean=rvsp image src", "--clean=rvsp"),
        ("--incremental=data image src", "image"),
        ("--incremental=rvsp --tar=f image nowhere", "--incremental"),
        ("--incremental --tar=headerball image nowhere", "--incremental"),
        ("--product-out=out image src", "--product-out"),
        ("--fs-config-file=nowhere image src", "nowhere"),
        ("--file-contexts=nowhere image src", "nowhere"),
        ("--s3=host image bucket", "--s3"),
        ("--oci image name", "--oci"),
        ("--gzinfo --tar=f image src", "--gzinfo"),
    ] {
        let output = mkfs(&sample, line);
        let message = complaint(&output);
        assert_eq!((output.status.code(), &*output.stdout), (Some(1), &b""[..]), "{line}");
        assert!(
            message.starts_with("mkfs.erofs: ") && message.contains(expected),
            "{line}: {message}"
        );
        assert_eq!(sample.names(), before, "{line}");
    }
}

#[test]
fn a_tar_is_read_from_a_pipe_and_referred_to() {
    let (sample, built) = Sample::built();
    let (tar, image) = (sample.path("tar"), sample.path("image"));
    printed(args!["tar", "-o", tar, built]);
    let piped = |line: &str| {
        let stdin = Stdio::from(fs::File::open(&tar).unwrap());
        let mut mkfs = command();
        mkfs.arg0("mkfs.erofs").args(line.split(' ')).current_dir(sample.path(""));
        assert!(mkfs.stdin(stdin).status().unwrap().success(), "{line}");
    };
    piped("--tar=f --aufs --quiet -Enoinline_data -b4096 image");
    assert_eq!(printed(args!["diff", tar, image]), "");
    piped("--tar=i --aufs --quiet image");
    let index = fs::metadata(&image).unwrap().size();
    assert!(index < 20_000, "{index}");
    // After the index, as on a device of its own, the tar is where it is expected.
    let both = [fs::read(&image).unwrap(), fs::read(&tar).unwrap()].concat();
    fs::write(&image, both).unwrap();
    assert_eq!(printed(args!["diff", tar, image]), "");
}

#[test]
fn times_come_from_arguments_or_the_environment() {
    let sample = Sample::new();
    sample.set_time("hello", 500);
    let image = sample.path("image");
    let mtime = |path: &str| json(args!["stat", "--json", image, path])["mtime"].clone();
    made(&sample, "-T1000 image src");
    assert_eq!((mtime("/hello"), mtime("/sub/large")), (1000.into(), 1000.into()));
    made(&sample, "-T1000 --mkfs-time image src");
    assert_eq!((mtime("/hello"), mtime("/sub/large")), (500.into(), 1_700_000_000.into()));
    let mut mkfs = command();
    mkfs.arg0("mkfs.erofs")
        .env("SOURCE_DATE_EPOCH", "1000")
        .arg("-T7")
        .args(args![image, sample.src()]);
    assert!(mkfs.output().unwrap().status.success());
    assert_eq!((mtime("/hello"), mtime("/sub/large")), (500.into(), 1000.into()));
}

#[test]
fn images_become_layers_and_grow() {
    let sample = Sample::new();
    let upper = sample.path("upper");
    fs::create_dir_all(upper.join("sub")).unwrap();
    fs::write(upper.join("sub/large"), "replaced").unwrap();
    fs::write(upper.join("new"), "new").unwrap();
    made(&sample, "-Enoinline_data lower.erofs src");
    made(&sample, "-Enoinline_data upper.erofs upper");
    made(&sample, "--clean=data merged lower.erofs upper.erofs");
    made(&sample, "grown src");
    made(&sample, "--incremental=data grown upper");
    made(&sample, "-b1024 --offset=4096 behind src");
    made(&sample, "--offset=4096 --incremental behind upper");
    let behind = fs::read(sample.path("behind")).unwrap();
    fs::write(sample.path("cut"), behind.get(4096..).unwrap()).unwrap();
    assert_eq!(
        json(args!["info", "--json", sample.path("cut")]).pointer("/block_size"),
        Some(&1024.into())
    );
    for image in ["merged", "grown", "cut"] {
        let image = sample.path(image);
        assert_eq!(printed(args!["cat", image, "/sub/large"]), "replaced");
        assert_eq!(printed(args!["cat", image, "/new", "/hello"]), "newhello, world\n");
    }
    made(&sample, "index lower.erofs upper.erofs");
    let index = sample.path("index");
    let (lower, upper) = (sample.path("lower.erofs"), sample.path("upper.erofs"));
    let devices = args!["cat", "--device", lower, "--device", upper, index, "/sub/large", "/hello"];
    assert_eq!(printed(devices), "replacedhello, world\n");
}

#[test]
fn owners_labels_and_block_lists_of_android_are_applied() {
    let sample = Sample::new();
    let root = sample.path("root");
    fs::create_dir_all(root.join("bin")).unwrap();
    fs::write(root.join("bin/sh"), "#!/bin/true\n").unwrap();
    fs::write(
        sample.path("config"),
        "/ 0 0 755\nsystem/bin 0 2000 751\nsystem/bin/sh 1 2000 755\n",
    )
    .unwrap();
    let contexts =
        "/system(/.*)? u:object_r:system_file:s0\n/system/bin/sh u:object_r:shell_exec:s0\n";
    fs::write(sample.path("contexts"), contexts).unwrap();
    let options =
        "--mount-point=system --product-out=out --fs-config-file=config --file-contexts=contexts";
    made(&sample, &format!("-T0 -Enoinline_data {options} --block-list-file=blocks image root"));
    let shell = json(args!["stat", "--json", sample.path("image"), "/bin/sh"]);
    assert_eq!((&shell["uid"], &shell["gid"]), (&1.into(), &2000.into()));
    let label = |field| shell.pointer(field).unwrap().as_str().unwrap();
    assert_eq!(label("/xattrs/0/name"), "security.selinux");
    let value = label("/xattrs/0/value");
    assert!(value.starts_with("u:object_r:shell_exec:s0"), "{value}");
    let blocks = fs::read_to_string(sample.path("blocks")).unwrap();
    assert!(blocks.starts_with("/system/bin/sh "), "{blocks}");
    // A file that isn't listed has no owner.
    fs::write(root.join("unlisted"), "").unwrap();
    let refused = complaint(&mkfs(&sample, &format!("{options} other root")));
    assert!(refused.contains("system/unlisted"), "{refused}");
    assert!(!sample.path("other").exists());
}

#[test]
fn the_file_before_an_offset_is_unchanged() {
    let sample = Sample::new();
    let image = sample.path("image");
    fs::write(&image, vec![7; 10_000]).unwrap();
    made(&sample, "--offset=8192 -zlz4 image src");
    let bytes = fs::read(&image).unwrap();
    assert!(bytes.iter().take(8192).all(|byte| *byte == 7));
    let extracted = sample.path("extracted");
    let mut argument = OsString::from("--extract=");
    argument.push(&extracted);
    let fsck =
        lith([&args!["fsck.erofs", "--offset=8192"][..], &[argument], &args![image][..]].concat());
    assert!(fsck.status.success());
    assert_eq!(fs::read(extracted.join("hello")).unwrap(), b"hello, world\n");
}

#[test]
fn a_summary_is_printed_unless_quiet() {
    let sample = Sample::new();
    let output = mkfs(&sample, "-U 00112233-4455-6677-8899-aabbccddeeff image src");
    let message = String::from_utf8(output.stdout).unwrap();
    assert!(
        message.contains("Filesystem UUID: 00112233-4455-6677-8899-aabbccddeeff\n"),
        "{message}"
    );
    assert!(message.contains("(of 4096-byte blocks)\nFilesystem total inodes: 11\n"), "{message}");
    for quiet in ["-d0", "--quiet"] {
        assert_eq!(mkfs(&sample, &format!("{quiet} image src")).stdout, b"");
    }
}

#[test]
fn directories_stay_uncompressed_where_no_packed_inode_can_hold_them() {
    let sample = Sample::new();
    made(&sample, "-zlz4 -Efragments -T1 plain src");
    let output = mkfs(&sample, "-zlz4 -Efragments -T1 --zD image src");
    assert_eq!(output.status.code(), Some(0));
    let note = "mkfs.erofs: --zD compresses directories only with -m and -E fragments; they are stored uncompressed\n";
    assert!(String::from_utf8(output.stderr).unwrap().contains(note));
    assert!(fs::read(sample.path("image")).unwrap() == fs::read(sample.path("plain")).unwrap());
}
