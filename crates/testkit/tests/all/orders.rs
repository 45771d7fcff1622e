//! Images in the order in which they are read hold the same, for any profile.
#![allow(clippy::unwrap_used, reason = "in tests failures should be loud")]

use std::{fs, num::NonZeroUsize, path::Path};

use lith::{
    Builder,
    builder::Options,
    check,
    device::FileDevice,
    profile::{Access, Entry, Hint, Profile, priorities},
    reader::Place,
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
        build(&path, &made, &options, Hint::Profile(profile.clone()), 3);
        let expected = Filesystem::new(&made.0, &made.1);
        compare::assert_same(
            expected,
            image::open_bytes(fs::read(&path).unwrap()).filesystem(),
            &what,
        );
        let device = FileDevice::open(&path).unwrap();
        let report =
            check::check_devices(vec![Box::new(device)], &check::Options::default(), &()).unwrap();
        assert!(report.findings.is_empty(), "{what}: {:?}", report.findings);
        if kernel::is_there() {
            let mounted = kernel::mount(&path).unwrap();
            compare::assert_same(expected, mounted.tree().filesystem(), &what);
            mounted.assert_stats(&made.0);
        }
        let first = fs::read(&path).unwrap();
        build(&path, &made, &options, Hint::Profile(profile), 1);
        assert!(first == fs::read(&path).unwrap(), "{what}");
    }
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
