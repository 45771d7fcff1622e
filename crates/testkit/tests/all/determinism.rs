//! The same tree and options give the same bytes, whatever the source and however it is read.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "in tests failures should be loud"
)]

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use lith::{
    builder::{Fragments, Options},
    codec::Compressor,
    source::{self, Source},
};
use lith_testkit::{
    compare, image, nasty,
    nasty::Nasty,
    noise::{self, Texture},
    oracle::{kernel::LoopDevice, tools::is_in_path},
    place, rules, tarball, tier,
};
use tempfile::TempDir;

struct Bed {
    folder: TempDir,
}

impl Bed {
    fn new(what: Nasty) -> Self {
        let bed = Self { folder: place::folder() };
        fs::create_dir(bed.tree()).unwrap();
        nasty::plant(&bed.tree(), what);
        bed
    }

    fn tree(&self) -> PathBuf {
        self.path("tree")
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

fn digest(source: &Source, options: &Options) -> String {
    image::digest(&image::build(source.filesystem(), options))
}

fn kinds() -> [(&'static str, Options); 6] {
    let packed = image::compressed(image::lz4hc(5), 16 << 10);
    let packed = image::with_packing(image::with_prefixes(packed), Fragments::Tails, true);
    let boxed = image::with_metabox(image::with_48_bits(packed), "zstd,3", 8 << 10);
    let boxed = boxed.with(|o| o.compression.pack_directories = true);
    let words = [("lz4", 8192), ("lzma,1", 65536), ("zstd,1", 16384), ("none", 0)];
    [
        ("plain", image::plain()),
        ("lz4 4K", image::compressed(Compressor::Lz4, 4096)),
        ("lz4hc,9 64K", image::compressed(image::lz4hc(9), 65536)),
        ("rules", rules::with(image::compressed(image::lz4hc(3), 65536), &words)),
        ("metabox, rules", rules::with(boxed.clone(), &words)),
        ("metabox", boxed),
    ]
}

#[test]
fn the_number_of_workers_and_the_memory_budget_change_nothing() {
    let bed = Bed::new(Nasty::Whole);
    let source = image::directory(&bed.tree());
    for (name, options) in kinds() {
        let with = |means: image::Means| image::digest(&means.build(source.filesystem(), &options));
        let one = with(image::workers(1));
        for workers in [2, 8] {
            let more = with(image::workers(workers));
            assert_eq!(one, more, "{name} with {workers} workers");
        }
        assert_eq!(one, with(image::workers(8).memory(1 << 20)), "{name} with little memory");
    }
}

#[test]
fn a_tar_in_any_order_is_as_good_as_the_directory() {
    let bed = Bed::new(Nasty::ForTar);
    let source = image::directory(&bed.tree());
    let expected: Vec<_> = kinds().iter().map(|(_, options)| digest(&source, options)).collect();
    for seed in 0..3 {
        let tar = bed.path("tar");
        if !tarball::make(&source.tree, &bed.tree(), &tar, seed) {
            return;
        }
        let from_tar = read_tar(&tar);
        compare::assert_same(source.filesystem(), from_tar.filesystem(), "directory and tar");
        for ((name, options), expected) in kinds().iter().zip(&expected) {
            assert_eq!(*expected, digest(&from_tar, options), "{name}, order {seed}");
        }
    }
    let (name, options) = &kinds()[1];
    for program in ["gzip", "xz", "zstd", "bzip2"] {
        let Some(packed) = pack(&bed.path("tar"), program) else { continue };
        assert_eq!(expected[1], digest(&read_tar(&packed), options), "{name}, packed by {program}");
    }
    let file = fs::File::open(bed.path("tar")).unwrap();
    let streamed = source::tar_stream(file, Path::new("stream"), &spooling(&bed)).unwrap();
    assert_eq!(expected[1], digest(&streamed, options), "{name}, streamed");
}

fn read_tar(path: &Path) -> Source {
    let options = source::Options::with(|options| {
        path.parent().unwrap().clone_into(&mut options.spool_dir);
    });
    source::tar(fs::File::open(path).unwrap(), path, &options).unwrap()
}

/// With so little memory that members' data go to the disk.
fn spooling(bed: &Bed) -> source::Options {
    source::Options::with(|options| {
        bed.folder.path().clone_into(&mut options.spool_dir);
        options.spool_memory = 100_000;
    })
}

fn pack(tar: &Path, program: &str) -> Option<PathBuf> {
    if !is_in_path(program) {
        tier::skip("packed tars", format!("no {program} in the PATH"));
        return None;
    }
    let packed = tar.with_extension(program);
    let output = fs::File::create(&packed).unwrap();
    let quick = if program == "xz" { "-0" } else { "-1" };
    let status =
        Command::new(program).args(["-c", quick]).arg(tar).stdout(Stdio::from(output)).status();
    assert!(status.unwrap().success());
    Some(packed)
}

#[test]
fn an_image_rebuilt_is_the_same_image() {
    let bed = Bed::new(Nasty::Whole);
    let source = image::directory(&bed.tree());
    let expected: Vec<_> = kinds().iter().map(|(_, options)| digest(&source, options)).collect();
    for (number, (from, options)) in kinds().into_iter().enumerate() {
        let path = bed.path("image");
        image::build_at(&path, source.filesystem(), &options);
        let read = image::open(&path);
        // To each kind from another one.
        let (to, options) = &kinds()[(number + 1) % 6];
        assert_eq!(expected[(number + 1) % 6], digest(&read, options), "{from} to {to}");
    }
}

#[test]
fn a_copy_made_in_another_order_gives_the_same_image() {
    let bed = Bed::new(Nasty::ForTar);
    let source = image::directory(&bed.tree());
    let (tar, copy) = (bed.path("tar"), bed.path("copy"));
    if !tarball::make(&source.tree, &bed.tree(), &tar, 99) {
        return;
    }
    fs::create_dir(&copy).unwrap();
    tarball::extract(&tar, &copy);
    let copy = image::directory(&copy);
    compare::assert_same(source.filesystem(), copy.filesystem(), "directory and copy");
    for (name, options) in kinds() {
        assert_eq!(digest(&source, &options), digest(&copy, &options), "{name}");
    }
}

#[test]
fn locale_time_zone_and_place_change_nothing() {
    let bed = Bed::new(Nasty::Whole);
    let build = |name: &str, variables: &[(&str, &str)]| {
        let image = bed.path(name);
        let mut child = Command::new(env!("CARGO_BIN_EXE_lith-test-child"));
        child.args(["build", "tree"]).arg(&image).args(["lz4", "65536", "2"]);
        child.current_dir(bed.folder.path()).envs(variables.iter().copied()).stdout(Stdio::null());
        assert!(child.status().unwrap().success());
        image::digest(&fs::read(image).unwrap())
    };
    let expected = build("one", &[("LC_ALL", "C"), ("TZ", "UTC")]);
    for variables in [
        [("LC_ALL", "de_DE.UTF-8"), ("TZ", "Asia/Kathmandu")],
        [("LC_ALL", "tr_TR"), ("TZ", "America/St_Johns")],
    ] {
        assert_eq!(expected, build("another", &variables), "{variables:?}");
    }
}

#[test]
fn a_block_device_gets_the_same_bytes_as_a_file() {
    let bed = Bed::new(Nasty::Whole);
    // Over half of it saves too little, so its pclusters are replaced by raw blocks; a hole precedes it in some images.
    let noise = noise::bytes(Texture::Noise, 1, 3 << 20);
    fs::write(bed.tree().join("raw"), [vec![b'a'; 200_000], noise].concat()).unwrap();
    let disk = bed.path("disk");
    fs::write(&disk, vec![0xa5; 64 << 20]).unwrap();
    let device = match LoopDevice::writable(&disk) {
        Ok(device) => device,
        Err(error) => return tier::skip("loop devices", error),
    };
    let aligned = image::plain().with(|o| {
        o.layout.alignment = 16;
        o.compression.files = image::compressed(image::lz4hc(5), 16 << 10).compression.files;
        o.compression.files.as_mut().unwrap().min_saving = 20;
    });
    let long = image::plain().with(|o| o.layout.size_alignment = 1000);
    for (name, options) in kinds().into_iter().chain([("aligned", aligned), ("long", long)]) {
        let made = image::build_directory(&bed.tree(), &bed.path("image"), &options);
        let again = image::build_directory(&bed.tree(), device.path(), &options);
        assert_eq!(again.image_bytes, made.image_bytes, "{name}");
        let expected = fs::read(bed.path("image")).unwrap();
        let found = fs::read(device.path()).unwrap();
        let first = expected.iter().zip(&found).position(|(one, other)| one != other);
        assert_eq!(first, None, "{name}");
    }
}
