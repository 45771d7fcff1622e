//! Images in the order in which they are read hold the same, for any profile.
#![allow(clippy::unwrap_used, reason = "in tests failures should be loud")]

use std::{
    collections::HashSet,
    fmt::Write as _,
    fs,
    num::NonZeroUsize,
    path::Path,
    time::{Duration, Instant},
};

use lith::{
    Builder,
    builder::{Compression, Heat, Options},
    check,
    device::FileDevice,
    profile::{Access, Earlier, Entry, Hint, Profile, priorities},
    reader::{ExtentKind, Place},
    source::Source,
    tree::{Filesystem, InodeIndex, Kind, MemoryContents, Metadata, Name, Tree},
};
use lith_testkit::{
    compare, image, layouts,
    noise::{self, Texture},
    oracle::kernel,
    place, recipe,
};

fn mixed(seed: u64) -> (Tree, MemoryContents) {
    let recipe = recipe::from_bytes(&noise::bytes(Texture::Noise, seed, 2000)).as_linux_allows();
    let (mut tree, mut contents) = recipe.follow();
    for (number, length) in (0_u64..).zip([4_097, 20_000, 70_001, 300_000, 1_400_000, 300_000]) {
        let texture = if number == 2 { Texture::Noise } else { Texture::Text };
        // The last is a duplicate.
        let bytes = noise::bytes(texture, if number == 5 { 3 } else { number }, length);
        let place = (InodeIndex::ROOT, Name::new(format!("large {number}").as_bytes()).unwrap());
        contents.add(&mut tree, place, Metadata::default(), bytes).unwrap();
    }
    (tree, contents)
}

/// Anything that a program could have done with a tree, and some that none could.
fn random_profile(tree: &Tree, random: &mut fastrand::Rng) -> Profile {
    let paths: Vec<_> = tree.walk().map(|visit| (tree.path(visit.inode), visit.inode)).collect();
    let entries = (0..random.u64(0..60)).map(|order| {
        let (path, inode) = random.choice(&paths).expect("the root is there");
        let size = match tree.get(*inode).kind {
            Kind::Regular { size } => size,
            _ => 0,
        };
        let start = random.u64(0..size + 2);
        let len =
            if random.bool() { random.u64(1..20_000) } else { random.u64(1..u64::MAX - start) };
        let access = match random.u8(0..4) {
            0 => Access::Lookup,
            1 => Access::List,
            _ => Access::Read { start, end: start + len },
        };
        let mut path = path.clone();
        if random.u8(0..8) == 0 {
            path.extend(b"/no\nsuch");
        }
        Entry { path, access, order, count: 1 }
    });
    Profile::new(entries.collect::<Vec<_>>())
}

fn build(
    path: &Path,
    (tree, contents): &(Tree, MemoryContents),
    options: &Options,
    hint: Hint,
    workers: usize,
) {
    let source =
        Source { tree: tree.clone(), contents: Box::new(contents.clone()), notes: Vec::new() };
    let builder = Builder::source(source).hints([hint]).options(|all| *all = options.clone());
    builder.workers(NonZeroUsize::new(workers).unwrap()).build_to(path).unwrap();
}

/// Asserts that the image of a tree under a profile has the tree's content for our reader and the kernel, that a check
/// finds nothing, and that its bytes don't depend on the number of workers.
fn assert_built(
    path: &Path,
    made: &(Tree, MemoryContents),
    options: &Options,
    profile: &Profile,
    what: &str,
) {
    build(path, made, options, Hint::Profile(profile.clone()), 3);
    let bytes = fs::read(path).unwrap();
    let expected = Filesystem::new(&made.0, &made.1);
    compare::assert_same(expected, image::open_bytes(bytes.clone()).filesystem(), what);
    let device = FileDevice::open(path).unwrap();
    let report = check::check_devices(vec![Box::new(device)], &check::Options::default(), &());
    let report = report.unwrap();
    assert!(report.findings.is_empty(), "{what}: {:?}", report.findings);
    if kernel::is_there() {
        let mounted = kernel::mount(path).unwrap();
        compare::assert_same(expected, mounted.tree().filesystem(), what);
        mounted.assert_stats(&made.0);
    }
    build(path, made, options, Hint::Profile(profile.clone()), 1);
    assert!(bytes == fs::read(path).unwrap(), "{what}");
}

#[test]
fn any_profile_leaves_the_content_as_it_is() {
    let folder = place::folder();
    let path = folder.path().join("image");
    let mut random = fastrand::Rng::with_seed(16);
    for (seed, (name, options)) in (1..).zip(layouts::kinds()) {
        let mut made = mixed(seed);
        image::add_digests(&mut made.0, &made.1, &options);
        let profile = random_profile(&made.0, &mut random);
        let what = format!("{name}\n{profile}");
        assert_built(&path, &made, &options, &profile, &what);
    }
}

/// How what is read first can be compressed beside the rest.
const HEATS: [(&str, u32); 6] = [
    ("none", 0),
    ("lz4", 16 << 10),
    ("lz4hc,9", 4 << 10),
    ("zstd,3", 64 << 10),
    ("deflate,6", 16 << 10),
    ("lzma,6", 32 << 10),
];

/// Whether some file has extents of two algorithms.
fn mixes(path: &Path) -> bool {
    let image = lith::Image::open_path(path).unwrap();
    let files = image.files().map(|entry| entry.unwrap().inode);
    let mut all = files.chain(image.packed_inode().copied());
    all.any(|inode| {
        let Ok(extents) = image.extents(&inode) else { return false };
        let mut algorithms = Vec::new();
        for extent in extents {
            if let ExtentKind::Compressed { algorithm, .. } = extent.unwrap().kind
                && !algorithms.contains(&algorithm)
            {
                algorithms.push(algorithm);
            }
        }
        algorithms.len() > 1
    })
}

#[test]
fn any_heat_leaves_the_content_as_it_is() {
    let folder = place::folder();
    let path = folder.path().join("image");
    let mut random = fastrand::Rng::with_seed(61);
    let (mut built, mut mixed_images) = (0, 0);
    for (seed, (name, options)) in (1..).zip(layouts::kinds()) {
        let mut made = mixed(seed);
        image::add_digests(&mut made.0, &made.1, &options);
        for number in 0..3 {
            // Each way occurs with each kind of image sooner or later.
            let (compressor, pcluster) =
                HEATS[(usize::try_from(seed).unwrap() + number * 2) % HEATS.len()];
            let mut options = options.clone();
            let compressor = compressor.parse().ok();
            options.compression.hot = Some(compressor.map_or(Heat::Raw, |compressor| {
                let pcluster = Some(pcluster);
                Heat::Compressed(Compression { pcluster, ..Compression::new(compressor) })
            }));
            if options.check().is_err() {
                continue;
            }
            let profile = random_profile(&made.0, &mut random);
            let what = format!("{name}, hot {:?}\n{profile}", options.compression.hot);
            assert_built(&path, &made, &options, &profile, &what);
            (built, mixed_images) = (built + 1, mixed_images + usize::from(mixes(&path)));
        }
    }
    assert!(built > 10 && mixed_images > 3, "{mixed_images} of {built} mix algorithms");
}

#[test]
fn hostile_profiles_are_no_burden() {
    let folder = place::folder();
    let path = folder.path().join("image");
    let made = mixed(1);
    let mut text = String::from("lith-profile 1\n");
    for number in 0..1_000_000_u64 {
        let place = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let (start, len, file) = (place % 1_400_000, u64::MAX - (1 << 24), number % 6);
        match number % 4 {
            0 => writeln!(text, "read /large\\x20{file} {start}+{len} {number} 1"),
            1 => writeln!(text, "read /large\\x20{file} {start}+1 {number} {}", u64::MAX),
            2 => writeln!(text, "read /no\\x0asuch/{number} 0+1 {number} 1"),
            _ => writeln!(text, "list /large\\x20{file} - {} 1", u64::MAX - number),
        }
        .unwrap();
    }
    let profile = Profile::read(text.as_bytes()).unwrap();
    let begun = Instant::now();
    let mut options = image::compressed(image::lz4hc(5), 16 << 10);
    options.compression.hot = Some(Heat::Raw);
    build(&path, &made, &options, Hint::Profile(profile), 2);
    // It takes seconds; what grows with the square of the lines would take days.
    assert!(begun.elapsed() < Duration::from_secs(300), "{:?}", begun.elapsed());
    let found = image::open_bytes(fs::read(&path).unwrap());
    compare::assert_same(Filesystem::new(&made.0, &made.1), found.filesystem(), "hostile");
}

/// Many small files and some large ones; the next version lacks some, has new ones, and others with other content.
fn version(number: u64) -> (Tree, MemoryContents) {
    let (mut tree, mut contents) = (Tree::new(Metadata::default()), MemoryContents::default());
    for file in 0..3000_u64 {
        let is_new = file % 1000 == 3;
        let is_gone = file % 1500 == 5;
        if (number == 0 && is_new) || (number == 1 && is_gone) {
            continue;
        }
        let seed = file + if file % 1000 == 7 { number << 32 } else { 0 };
        let length = if file % 300 == 0 { 200_000 } else { 300 + (file * 37 % 4000) as usize };
        let bytes = noise::bytes(Texture::Text, seed, length);
        let name = Name::new(format!("file {file}").as_bytes()).unwrap();
        contents.add(&mut tree, (InodeIndex::ROOT, name), Metadata::default(), bytes).unwrap();
    }
    (tree, contents)
}

/// How many blocks of an image another one has, too, of how many.
fn common(old: &[u8], new: &[u8]) -> (usize, usize) {
    let known: HashSet<&[u8]> = old.chunks(4096).collect();
    let found = new.chunks(4096).filter(|block| known.contains(block)).count();
    (found, new.len().div_ceil(4096))
}

#[test]
fn the_order_of_an_earlier_image_keeps_its_blocks() {
    let folder = place::folder();
    let (before, plain, stable) =
        (folder.path().join("before"), folder.path().join("plain"), folder.path().join("stable"));
    let options = Options::default();
    let (first, second) = (version(0), version(1));
    build(&before, &first, &options, Hint::Paths(Vec::new()), 2);
    build(&plain, &second, &options, Hint::Paths(Vec::new()), 2);
    let earlier = || Earlier::read(&lith::Image::open_path(&before).unwrap()).unwrap();
    build(&stable, &second, &options, Hint::Earlier(earlier()), 2);
    let read = |path: &Path| fs::read(path).unwrap();
    let found = image::open_bytes(read(&stable));
    compare::assert_same(Filesystem::new(&second.0, &second.1), found.filesystem(), "stable");
    let (without, of) = common(&read(&before), &read(&plain));
    let (with, of_stable) = common(&read(&before), &read(&stable));
    println!(
        "{without} of {of} blocks are those of the image before, {with} of {of_stable} in its order"
    );
    assert!(with > without + of_stable / 4, "{without} of {of}, {with} of {of_stable}");
    assert!(of_stable * 100 < of * 106, "{of} {of_stable}");
    build(&plain, &second, &options, Hint::Earlier(earlier()), 1);
    assert!(read(&plain) == read(&stable));
}

#[test]
fn a_sort_file_orders_the_blocks_of_files() {
    let folder = place::folder();
    let path = folder.path().join("image");
    let made = mixed(1);
    let text = "large\\ 3 -5\nlarge\\ 4 7\nlarge\\ 1 9\n";
    let options = image::compressed(image::lz4hc(5), 16 << 10);
    build(&path, &made, &options, Hint::Sort(priorities(text.as_bytes()).unwrap()), 2);
    let image = lith::Image::open_path(&path).unwrap();
    let start = |name: &[u8]| {
        let inode = image.resolve(name).unwrap();
        let extent = image.extents(&inode).unwrap().next().unwrap().unwrap();
        match extent.place {
            Place::Device(at) => at.pa.0,
            other => panic!("{other:?}"),
        }
    };
    let starts = [&b"large 1"[..], b"large 4", b"large 0", b"large 2"].map(start);
    assert!(starts[0] < starts[1] && starts[1] < starts[2].min(starts[3]), "{starts:?}");
    assert!(start(b"large 3") > starts[2].max(starts[3]));
}
