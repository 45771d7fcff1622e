//! Compares images that refer to tars, to other images and to devices, and merged images, with those of erofs-utils.

use std::{fs, sync::Arc};

use lith::{
    device::{FileDevice, ReadAt},
    reader::{self, Image},
    source::{self, Source},
    tree::Aspects,
};
use lith_testkit::{compare, oracle::kernel, tier};
use rustix::fs::{XattrFlags, setxattr};

use super::bed::Bed;

/// Opens an image of several files.
fn open(bed: &Bed, files: &[&str]) -> Source {
    let device =
        |name: &&str| Box::new(FileDevice::open(bed.path(name)).unwrap()) as Box<dyn ReadAt>;
    let image = Image::open_with(files.iter().map(device).collect(), reader::Options::default());
    let path = bed.path(files[0]);
    source::image(Arc::new(image.unwrap()), &path, &source::Options::default()).unwrap()
}

/// Runs both with the same arguments, in which `OUT` stands for `ours` and `theirs`.
fn make(bed: &Bed, line: &str) {
    for whose in ["ours", "theirs"] {
        let arguments: Vec<String> =
            line.split(' ').map(|argument| argument.replace("OUT", whose)).collect();
        let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
        let output = match whose {
            "ours" => bed.ours("mkfs.erofs", &arguments, None),
            _ => bed.theirs("mkfs.erofs", &arguments),
        };
        assert!(
            output.status.success(),
            "{whose} {line}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
}

/// Compares both images, and ours as the kernel mounts it, if it can.
fn assert_same(bed: &Bed, line: &str, devices: &[&str]) {
    let ours = open(bed, &["ours"].iter().chain(devices).copied().collect::<Vec<_>>());
    let theirs_devices =
        devices.iter().map(|name| name.replace("ours", "theirs")).collect::<Vec<_>>();
    let theirs = std::iter::once("theirs").chain(theirs_devices.iter().map(String::as_str));
    let theirs = open(bed, &theirs.collect::<Vec<_>>());
    let (left, right) = (theirs.filesystem(), ours.filesystem());
    let mut found = compare::differences(left, right, Aspects::empty());
    // The root of merged images has the uppermost root's attributes, and in theirs none of them.
    found.retain(|difference| !(line.contains("layers") && difference.path.is_empty()));
    assert!(found.is_empty(), "{line}: {found:?}");
    let paths: Vec<_> = devices.iter().map(|name| bed.path(name)).collect();
    if kernel::is_there() {
        let mounted = kernel::try_mount_with(&bed.path("ours"), &paths).unwrap();
        let (shown, ignored) = (mounted.tree(), Aspects::empty());
        compare::assert_same_but_for(ours.filesystem(), shown.filesystem(), ignored, line);
    }
}

#[test]
fn an_index_of_a_tar_refers_to_it() {
    let Some(bed) = Bed::new() else { return };
    make(&bed, "--tar=i --aufs --quiet OUT tree.tar");
    assert_same(&bed, "--tar=i", &["tree.tar"]);
    // As containerd has it: the tar comes from a pipe and is stored after the index.
    let index =
        bed.ours("mkfs.erofs", &["--tar=i", "--aufs", "--quiet", "piped"], Some("tree.tar"));
    assert!(index.status.success(), "{}", String::from_utf8_lossy(&index.stderr));
    bed.shell("cat tree.tar >> piped");
    let (flat, expected) = (open(&bed, &["piped"]), open(&bed, &["ours", "tree.tar"]));
    let what = "a tar after its index";
    compare::assert_same_but_for(expected.filesystem(), flat.filesystem(), Aspects::empty(), what);
}

#[test]
fn data_is_stored_on_a_further_device() {
    let Some(bed) = Bed::new() else { return };
    make(&bed, "--chunksize=4096 --blobdev=OUT.blob -T1000 OUT tree");
    assert_same(&bed, "--blobdev", &["ours.blob"]);
    make(&bed, "--chunksize=65536 --blobdev OUT.blob -T1000 --tar=f OUT tree.tar");
    assert_same(&bed, "--blobdev, tar", &["ours.blob"]);
}

#[test]
fn images_become_layers_of_one() {
    let Some(bed) = Bed::new() else { return };
    if !tier::is_root() {
        return tier::skip("layers", "only root makes whiteouts");
    }
    bed.shell(
        "mkdir -p upper/sub upper/empty/new; echo upper > upper/text; mknod upper/noise c 0 0
         mkdir upper/sub/deep; echo 1 > upper/sub/deep/x",
    );
    let opaque = "trusted.overlay.opaque";
    setxattr(bed.path("upper/sub/deep"), opaque, b"y", XattrFlags::empty()).unwrap();
    for folder in ["tree", "upper"] {
        let arguments =
            ["-Enoinline_data", "-T1000", "--quiet", &format!("{folder}.erofs"), folder];
        assert!(bed.theirs("mkfs.erofs", &arguments).status.success());
    }
    make(&bed, "--quiet -T1000 OUT tree.erofs upper.erofs");
    assert_same(&bed, "two layers", &["tree.erofs", "upper.erofs"]);
    make(&bed, "--quiet -T1000 --clean=data OUT tree.erofs upper.erofs");
    assert_same(&bed, "two layers with all data", &[]);
    make(&bed, "--quiet -T1000 --ovlfs-strip=1 OUT tree.erofs upper.erofs");
    assert_same(&bed, "two layers without marks", &["tree.erofs", "upper.erofs"]);
}

#[test]
fn a_source_is_added_to_an_image() {
    let Some(bed) = Bed::new() else { return };
    bed.shell(
        "mkdir more; echo more > more/text; mkdir -p more/sub/new; echo 2 > more/sub/new/file",
    );
    make(&bed, "--quiet -T1000 OUT tree");
    make(&bed, "--quiet -T1000 --incremental=data OUT more");
    assert_same(&bed, "--incremental", &[]);
}

#[test]
fn a_stream_of_headers_makes_an_image_without_data() {
    let Some(bed) = Bed::new() else { return };
    bed.shell("tar --format=ustar -C tree -cf whole.tar .");
    let whole = fs::read(bed.path("whole.tar")).unwrap();
    let (mut headers, mut at) = (Vec::new(), 0);
    while whole[at] != 0 {
        headers.extend_from_slice(&whole[at..at + 512]);
        let size = std::str::from_utf8(&whole[at + 124..at + 135]).unwrap();
        at += 512 + usize::from_str_radix(size, 8).unwrap().next_multiple_of(512);
    }
    headers.extend([0; 1024]);
    fs::write(bed.path("headers.tar"), headers).unwrap();
    make(&bed, "--quiet -T1000 --tar=headerball OUT headers.tar");
    assert_same(&bed, "--tar=headerball", &[]);
    assert!(fs::metadata(bed.path("ours")).unwrap().len() <= 8192, "zeros are stored");
}

#[test]
fn space_is_reserved_for_the_data_of_a_tar() {
    let Some(bed) = Bed::new() else { return };
    make(&bed, "--quiet -T1000 --tar=f --clean=rvsp OUT tree.tar");
    let (ours, theirs) = (open(&bed, &["ours"]), open(&bed, &["theirs"]));
    let (ours, theirs) = (ours.filesystem(), theirs.filesystem());
    compare::assert_same_but_for(theirs, ours, Aspects::CONTENT, "--clean=rvsp");
    make(&bed, "--quiet -T1000 --tar=i,OUT.map OUT tree.tar");
    let (ours, theirs) = (bed.path("ours.map"), bed.path("theirs.map"));
    let sources = |path| -> Vec<String> {
        let text = fs::read_to_string(path).unwrap();
        let mut places: Vec<_> = text
            .lines()
            .map(|line| line.split_whitespace().skip(1).collect::<Vec<_>>().join(" "))
            .collect();
        places.sort();
        places
    };
    assert_eq!(sources(ours), sources(theirs));
}

#[test]
fn a_vmdk_descriptor_lists_the_parts_of_a_disk() {
    let Some(bed) = Bed::new() else { return };
    make(&bed, "--quiet -T1000 -U clear --tar=i --vmdk-desc=OUT.vmdk OUT tree.tar");
    let text = |name: &str| fs::read_to_string(bed.path(name)).unwrap();
    let ours = text("ours.vmdk");
    assert!(ours.contains("FLAT \"tree.tar\" 0"), "{ours}");
    assert_eq!(ours.lines().count(), text("theirs.vmdk").lines().count());
}
