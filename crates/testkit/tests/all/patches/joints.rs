//! Pclusters of a file that are on different devices don't seem to follow each other, wherever they come from: Linux would read
//! both from the first file.

use lith::{
    format::addr::Blkaddr,
    profile::{Access, Entry, Hint, Profile},
    reader::{self, Image, Inode},
    tree::ExtraDevice,
};
use lith_builder::{Context, Known, KnownDevice, KnownParts, KnownPcluster, KnownStorage};

use super::*;

/// What Linux reads ahead by default.
const NEAR: u64 = 128 << 10;

fn open(image: &Path, others: &[PathBuf]) -> Image {
    Image::open_with(image::devices(image, others), reader::Options::default()).unwrap()
}

/// The pclusters of an inode: their bytes, the number of the device, and the bytes there.
fn pclusters(image: &Image, inode: &Inode) -> Vec<(std::ops::Range<u64>, u16, [u64; 2])> {
    let extents = image.extents(inode).unwrap().map(Result::unwrap);
    let placed = extents.filter_map(|extent| match (extent.kind, extent.place) {
        (ExtentKind::Compressed { .. } | ExtentKind::Plain { .. }, Place::Device(at)) => {
            Some((extent.la..extent.end(), at.device, [at.pa.0, at.pa.0 + extent.plen]))
        }
        _ => None,
    });
    placed.collect()
}

/// Looks whether pclusters of an inode touch on different devices: neighbours, and others that are near if the image itself has
/// neither. Returns how many devices it has.
fn assert_inode_apart(image: &Image, inode: &Inode, what: &str) -> usize {
    let all = pclusters(image, inode);
    for (number, (bytes, device, [_, end])) in all.iter().enumerate() {
        let distance = |next: &std::ops::Range<u64>| next.start - bytes.end;
        let near = all[number + 1..].iter().take_while(|(next, ..)| distance(next) <= NEAR);
        for (next, other, [start, _]) in near {
            let counts = distance(next) == 0 || (*device > 0 && *other > 0);
            let touch = device != other && end == start;
            assert!(!(counts && touch), "{what}: {bytes:?} and {next:?} of {all:?}");
        }
    }
    let mut devices: Vec<_> = all.iter().map(|(_, device, _)| device).collect();
    devices.sort_unstable();
    devices.dedup();
    devices.len()
}

/// Looks at all inodes of an image. Returns on how many devices its packed inode is, and at most a file.
fn assert_apart(image: &Image, what: &str) -> [usize; 2] {
    let files = image.files().map(|file| file.unwrap().inode);
    let files = files.filter(|inode| inode.file_type.has_content());
    let files = files.map(|inode| assert_inode_apart(image, &inode, what)).max();
    let packed = image.packed_inode();
    let packed = packed.map_or(0, |inode| assert_inode_apart(image, inode, what));
    [packed, files.unwrap_or(0)]
}

/// Compares an image with a tree, by the reader and by the kernel, and checks it.
fn assert_is(source: &Source, image: &Path, devices: &[PathBuf], what: &str) {
    let read = image::open_with(image, devices);
    compare::assert_same(source.filesystem(), read.filesystem(), what);
    assert_mounted_files(source, image, devices, what);
    let all = image::devices(image, devices);
    let report = check::check_devices(all, &check::Options::default(), &()).unwrap();
    assert!(report.findings.is_empty(), "{what}: {:?}", report.findings);
}

/// Compares what Linux reads with a tree, if it mounts files.
pub(super) fn assert_mounted_files(source: &Source, image: &Path, devices: &[PathBuf], what: &str) {
    const TIER: &str = "files as devices, read ahead";
    if !kernel::is_there() {
        return;
    }
    let Some(mounted) = kernel::try_mount_files(image, devices).unwrap() else {
        return tier::skip(
            TIER,
            "this kernel mounts no files, or none that are where the tests are",
        );
    };
    tier::ran(TIER);
    compare::assert_same(source.filesystem(), mounted.tree().filesystem(), what);
    mounted.read_at_random(source.filesystem(), 3);
}

#[test]
fn a_file_that_is_on_two_devices_in_turn_is_stored_again_in_part() {
    let folder = place::folder_on_disk();
    let (tree, options) = (folder.path().join("tree"), image::compressed(LZ4, 16 << 10));
    fs::create_dir(&tree).unwrap();
    fs::write(tree.join("file"), noise::bytes(Texture::Text, 1, 1_000_000)).unwrap();
    let [base, image] = ["base", "image"].map(|name| folder.path().join(name));
    let _report = image::build_directory(&tree, &base, &options);
    let opened = open(&base, &[]);
    let inode = opened.resolve(b"file").unwrap();
    // Two devices of which each has every other pcluster of the file, at the same blocks.
    let whole = fs::read(&base).unwrap();
    let (mut parts, starts) = ([whole.clone(), whole], [1 << 16, 1 << 17]);
    let mut extents = Vec::new();
    for (number, extent) in opened.extents(&inode).unwrap().map(Result::unwrap).enumerate() {
        let (Place::Device(at), ExtentKind::Compressed { algorithm, partial }) =
            (extent.place, extent.kind)
        else {
            panic!("{extent:?}")
        };
        let (first, blocks) = (at.pa.0 / 4096, u16::try_from(extent.plen / 4096).unwrap());
        let (at, len) = (usize::try_from(at.pa.0).unwrap(), usize::try_from(extent.plen).unwrap());
        parts[1 - number % 2][at..at + len].fill(0);
        extents.push(KnownPcluster {
            llen: u32::try_from(extent.len).unwrap(),
            blocks,
            algorithm: Some(algorithm),
            partial,
            address: Blkaddr(starts[number % 2] + first),
        });
    }
    let count = extents.len();
    assert!(count > 20, "{count}");
    let devices = ["first", "second"].map(|name| folder.path().join(name));
    let mut known = Known::new();
    for ((path, bytes), start) in devices.iter().zip(&parts).zip(starts) {
        fs::write(path, bytes).unwrap();
        let device = ExtraDevice { bytes: bytes.len() as u64, tag: Vec::new() };
        known.devices.push(KnownDevice { device, uniaddr: Some(Blkaddr(start)) });
    }
    known.configs = *opened.configs();
    let source = image::directory(&tree);
    let file = source.tree.find(b"file").unwrap();
    let whole = KnownStorage::Pclusters { extents, tail: None };
    known.own.insert(file, KnownParts::Whole(whole));
    let output = fs::File::options().read(true).write(true).create_new(true).open(&image).unwrap();
    let input = lith_builder::Input::from(source.filesystem()).with_known(&known);
    let context = Context::new(folder.path());
    lith_builder::build(input, (&output).into(), &options, &context).unwrap();
    assert_is(&source, &image, &devices, "in turn");
    let opened = open(&image, &devices);
    assert_apart(&opened, "in turn");
    let inode = opened.resolve(b"file").unwrap();
    let kept = pclusters(&opened, &inode).iter().filter(|(_, device, _)| *device > 0).count();
    assert!((count / 2..=count / 2 + 1).contains(&kept), "{kept} of {count}");
}

#[test]
fn joints_of_packed_inodes_don_t_adjoin() {
    let folder = place::folder_on_disk();
    let options = packed(LZ4, 4 << 10);
    let plant = |name: &str, seed: u64| {
        let tree = folder.path().join(name);
        fs::create_dir(&tree).unwrap();
        for number in 0..60 {
            let bytes = noise::bytes(Texture::Text, seed * 100 + number, 3000);
            fs::write(tree.join(format!("{name}-{number}")), bytes).unwrap();
        }
        tree
    };
    let trees = [plant("one", 1), plant("two", 2)];
    let layers = ["one.erofs", "two.erofs"].map(|name| folder.path().join(name));
    let _report = image::build_directory(&trees[0], &layers[0], &options);
    let first = open(&layers[0], &[]);
    let of_first = pclusters(&first, first.packed_inode().unwrap());
    assert!(of_first.len() > 8, "{of_first:?}");
    for back in 1..=3 {
        // The second layer's packed inode starts at the block at which one of the last pclusters of the first one's ends.
        let (_, _, [_, end]) = of_first[of_first.len() - back];
        let what = format!("joined at {end}");
        let options = options.clone().with(|options| options.layout.data_start = end / 4096);
        let _report = image::build_directory(&trees[1], &layers[1], &options);
        let second = open(&layers[1], &[]);
        let (_, _, [start, _]) = pclusters(&second, second.packed_inode().unwrap())[0];
        assert_eq!(start, end, "{what}");
        let merged = || {
            let sources = layers.iter().map(|path| image::open(path)).collect();
            lith::source::merge(sources).unwrap()
        };
        let image = folder.path().join(format!("merged-{back}"));
        let builder = image::workers(2).builder(merged(), &options);
        let builder = layers.iter().fold(builder, lith::Builder::base).layers();
        builder.build_to(&image).unwrap();
        let devices = assert_apart(&open(&image, &layers), &what);
        assert!(devices[0] >= 3, "{what}: {devices:?}");
        assert_is(&merged(), &image, &layers, &what);
    }
}

#[test]
fn patches_with_profiles_are_kept_apart() {
    let versions = Versions::on_disk();
    for (what, options) in
        [("fragments", packed(LZ4, 16 << 10)), ("lz4", image::compressed(LZ4, 16 << 10))]
    {
        let entry = |name: &str, order: u64, end: u64| Entry {
            path: format!("changing/{name}").into_bytes(),
            access: Access::Read { start: 0, end },
            order,
            count: 1,
        };
        let entries = vec![
            entry("Text-1500000", 0, 200_000),
            entry("Mixed-1500000", 1, 900_000),
            entry("new", 2, 9000),
        ];
        let build = |version: usize, base: Option<usize>| {
            let hint = Hint::Profile(Profile::new(entries.clone()));
            let builder = image::workers(2).builder(image::directory(&versions.tree()), &options);
            let builder = builder.hints([hint]);
            let builder = match base {
                Some(base) => builder.base(versions.image(base)),
                None => builder,
            };
            builder.build_to(versions.image(version)).unwrap();
        };
        let before = fs::read(versions.tree().join("changing/Text-1500000")).unwrap();
        build(0, None);
        // In the first pcluster, as both images store what is hot first.
        for name in ["Text-1500000", "Mixed-1500000"] {
            let path = versions.tree().join("changing").join(name);
            let mut bytes = fs::read(&path).unwrap();
            bytes[0] ^= 1;
            fs::write(path, bytes).unwrap();
        }
        build(1, Some(0));
        let bases = [versions.image(0)];
        let devices = assert_apart(&open(&versions.image(1), &bases), what);
        assert_eq!(devices[1], 2, "{what}");
        versions.assert_holds(1, what);
        let source = || image::directory(&versions.tree());
        assert_mounted_files(&source(), &versions.image(1), &bases, what);
        // A patch on the patch, by another profile.
        versions.change(1 + u64::from(what == "lz4"));
        build(2, Some(1));
        let found = bases::find(&versions.image(2), 0, &Search::default()).unwrap();
        let found: Vec<_> = found.into_iter().map(|found| found.path).collect();
        assert_apart(&open(&versions.image(2), &found), what);
        versions.assert_holds(2, what);
        assert_mounted_files(&source(), &versions.image(2), &found, what);
        fs::write(versions.tree().join("changing/Text-1500000"), before).unwrap();
    }
}
