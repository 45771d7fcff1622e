//! Each choice of layout changes the image as documented, and nothing that the image holds.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "in tests failures should be loud"
)]

use std::{fs, path::Path};

use lith::{
    builder::{Fragments, InodeForm, Options},
    check,
    codec::Compressor,
    device::{FileDevice, MemoryDevice},
    format::{features::Compat, file_type::FileType, inode::Layout, kernel::KernelVersion},
    reader::{Image, Inode, Place},
    source::Source,
    tree::{Filesystem, InodeIndex, Kind, MemoryContents, Metadata, Name, Timestamp, Tree, Xattr},
};
use lith_testkit::{
    chunks, compare, image, layouts,
    noise::{self, Texture},
    oracle::kernel,
    place, recipe,
};

type Made = (Tree, MemoryContents);

/// A tree with a bit of everything.
fn mixed() -> Made {
    recipe::from_bytes(&noise::bytes(Texture::Noise, 1, 6000)).as_linux_allows().follow()
}

/// An image of a tree, which it holds.
fn open((tree, contents): &Made, options: &Options) -> Image {
    let bytes = image::build(Filesystem::new(tree, contents), options);
    let read = image::open_bytes(bytes.clone());
    compare::assert_same(
        Filesystem::new(tree, contents),
        read.filesystem(),
        &format!("{options:?}"),
    );
    Image::open(MemoryDevice::new(bytes)).unwrap()
}

/// All inodes that have a name.
fn inodes(tree: &Tree, image: &Image) -> Vec<Inode> {
    let paths = tree.walk().map(|visit| tree.path(visit.inode));
    paths.map(|path| image.resolve(&path).unwrap()).collect()
}

/// Linux mounts an image, and sees a tree in it.
fn assert_linux_sees((tree, contents): (&Tree, &MemoryContents), path: &Path, name: &str) {
    let mounted = kernel::mount(path).unwrap();
    compare::assert_same(Filesystem::new(tree, contents), mounted.tree().filesystem(), name);
    mounted.assert_stats(tree);
}

#[test]
fn linux_sees_the_same_in_each_layout() {
    if !kernel::is_there() {
        return;
    }
    let folder = place::folder();
    let path = folder.path().join("image");
    for (tree, contents) in [mixed(), labelled()] {
        for (name, options) in layouts::kinds() {
            image::build_at(&path, Filesystem::new(&tree, &contents), &options);
            assert_linux_sees((&tree, &contents), &path, &name);
        }
    }
}

#[test]
fn linux_reads_pclusters_of_more_than_256_small_blocks() {
    if !kernel::is_there() {
        return;
    }
    let folder = place::folder();
    let path = folder.path().join("image");
    let bytes: Vec<u8> =
        noise::bytes(Texture::Noise, 5, 2 << 20).iter().map(|byte| byte % 16).collect();
    let made = written(&[("large", bytes.clone()), ("end", bytes[..1_100_000].to_vec())]);
    let compressors = ["deflate,1", "lzma,1", "zstd,3"];
    let sizes = [(9, (1 << 20) - 512), (9, 512 << 10), (10, 1 << 20), (11, 1 << 20)];
    for (name, (bits, pcluster)) in
        compressors.iter().flat_map(|name| sizes.map(|size| (name, size)))
    {
        let options = image::with_blocks(image::compressed(name.parse().unwrap(), pcluster), bits);
        for options in
            [options.clone(), image::with_full_index(options.clone()), image::with_records(options)]
        {
            let what = format!("{name}, {pcluster}, blocks of 2^{bits}");
            let (tree, contents) = &made;
            let fs = Filesystem::new(tree, contents);
            let report = image::build_at(&path, fs, &options);
            assert!(report.image_bytes < bytes.len() as u64, "{what}");
            compare::assert_same(fs, image::open(&path).filesystem(), &what);
            assert_linux_sees((tree, contents), &path, &what);
        }
    }
}

#[test]
fn the_check_finds_nothing_in_any_layout() {
    let (tree, contents) = mixed();
    for (name, options) in layouts::kinds() {
        let device = MemoryDevice::new(image::build(Filesystem::new(&tree, &contents), &options));
        let how = check::Options::default();
        let report = check::check_devices(vec![Box::new(device)], &how, &()).unwrap();
        assert!(report.findings.is_empty(), "{name}: {:?}", report.findings);
    }
}

#[test]
fn without_inline_data_only_directories_and_links_have_any() {
    let made = mixed();
    let inline = |options: &Options| {
        let inodes = inodes(&made.0, &open(&made, options));
        let inline = inodes.into_iter().filter(|inode| inode.layout == Layout::FlatInline);
        let (files, others): (Vec<_>, Vec<_>) =
            inline.partition(|inode| inode.file_type == FileType::Regular);
        assert!(others.iter().any(|inode| inode.file_type == FileType::Directory));
        files.len()
    };
    assert!(inline(&image::plain()) > 0);
    assert_eq!(inline(&image::plain().with(|o| o.layout.inline_data = false)), 0);
}

/// A file each with these owners and times, besides the root with that of `0`.
fn timed(files: &[(&str, u32, i64)]) -> Made {
    let metadata =
        |uid, sec| Metadata { uid, mtime: Timestamp { sec, nsec: 0 }, ..Metadata::default() };
    let (mut tree, mut contents) = (Tree::new(metadata(0, 0)), MemoryContents::default());
    for (name, uid, sec) in files {
        let place = (InodeIndex::ROOT, Name::new(name.as_bytes()).unwrap());
        contents.add(&mut tree, place, metadata(*uid, *sec), name.as_bytes()).unwrap();
    }
    (tree, contents)
}

/// Files of these bytes.
fn written(files: &[(&str, Vec<u8>)]) -> Made {
    let (mut tree, mut contents) = (Tree::new(Metadata::default()), MemoryContents::default());
    for (name, bytes) in files {
        let place = (InodeIndex::ROOT, Name::new(name.as_bytes()).unwrap());
        contents.add(&mut tree, place, Metadata::default(), bytes.as_slice()).unwrap();
    }
    (tree, contents)
}

/// Inodes that all have the same extended attributes.
fn labelled() -> Made {
    let (mut tree, contents) = timed(&[("a", 0, 0), ("b", 7, 0)]);
    let xattr = |name: &str| Xattr { name: name.as_bytes().into(), value: name.as_bytes().into() };
    let set = tree.xattrs.intern(["trusted.one", "user.name"].map(xattr).into());
    tree.inodes_mut().for_each(|inode| inode.metadata.xattrs = set);
    (tree, contents)
}

/// Builds as users do, and says of each inode by its path how large it is and what time it shows.
fn forms((tree, contents): &Made, options: &Options) -> Result<Vec<(usize, i64)>, lith::Error> {
    let folder = place::folder();
    let path = folder.path().join("image");
    let source =
        Source { tree: tree.clone(), contents: Box::new(contents.clone()), notes: Vec::new() };
    image::builder(source, options).build_to(&path)?;
    let image = Image::open(FileDevice::open(&path).unwrap()).unwrap();
    let all = inodes(tree, &image);
    Ok(all.iter().map(|inode| (inode.size_on_disk(), inode.mtime)).collect())
}

#[test]
fn inodes_have_the_form_that_is_asked_for() {
    let made = timed(&[("a", 0, 0), ("b", 0, 7), ("c", 70_000, 7)]);
    let plain = image::plain;
    let form = |inode_form| plain().with(|o| o.attributes.inode_form = inode_form);
    let read = |options: Options| forms(&made, &options).unwrap();
    assert_eq!(read(plain()), [(32, 0), (32, 0), (64, 7), (64, 7)]);
    assert_eq!(read(form(InodeForm::Extended)), [(64, 0), (64, 0), (64, 7), (64, 7)]);
    let timeless = || plain().with(|o| o.attributes.ignore_mtime = true);
    assert_eq!(read(timeless()), [(32, 0), (32, 0), (32, 0), (64, 7)]);
    assert_eq!(
        read(timeless().with(|o| o.layout.wide = true)),
        [(32, 0), (32, 0), (32, 7), (64, 7)]
    );
    let refused = forms(&made, &form(InodeForm::Compact)).unwrap_err().to_string();
    assert!(refused.starts_with("c: has no compact inode"), "{refused}");
    let made = timed(&[("a", 0, 0), ("b", 0, 7), ("c", 0, 9)]);
    let read = forms(&made, &form(InodeForm::Compact)).unwrap();
    assert_eq!(read, [(32, 0); 4]);
}

/// Attributes that reach from the superblock's block into others, where no data keeps inodes apart from them.
#[test]
fn shared_attributes_of_any_size_keep_their_bytes() {
    let deflated = image::compressed(Compressor::Deflate { level: 1 }, 1 << 16);
    let metabox = image::with_metabox(image::plain(), "lz4", 4096);
    let bases = [image::plain(), image::with_48_bits(image::plain()), deflated, metabox];
    let sizes = (2500..3100).step_by(9).chain((6500..7200).step_by(90)).chain([20_000, 65_535]);
    for (size, base) in sizes.flat_map(|size| bases.iter().map(move |base| (size, base))) {
        let mut tree = Tree::new(Metadata::default());
        let value = noise::bytes(Texture::Noise, 3, size).into();
        let xattr = Xattr { name: b"user.large"[..].into(), value };
        let xattrs = tree.xattrs.intern(vec![xattr]);
        for name in [&b"a"[..], b"b"] {
            let metadata = Metadata { xattrs, ..Metadata::default() };
            tree.add(InodeIndex::ROOT, Name::new(name).unwrap(), metadata, Kind::Fifo).unwrap();
        }
        let made = (tree, MemoryContents::default());
        for root_xattr_size in [0, 534] {
            let options = base.clone().with(|o| {
                o.attributes.share_xattrs = Some(0);
                o.attributes.root_xattr_size = root_xattr_size;
            });
            drop(open(&made, &options));
        }
    }
}

#[test]
fn an_image_says_when_it_was_made_and_files_keep_their_times() {
    let made = timed(&[("a", 0, 0), ("b", 0, 7), ("c", 0, layouts::BUILT.sec)]);
    for wide in [false, true] {
        let own = open(&made, &image::plain().with(|o| o.layout.wide = wide));
        let build_time = Some(layouts::BUILT);
        let options = image::plain().with(|o| {
            o.layout.wide = wide;
            o.identity.build_time = build_time;
        });
        let image = open(&made, &options);
        let sb = image.superblock();
        assert_eq!(sb.epoch + i64::from(sb.build_time), layouts::BUILT.sec);
        assert_ne!(sb.uuid, own.superblock().uuid);
        let compact = inodes(&made.0, &image).iter().filter(|i| i.size_on_disk() == 32).count();
        assert_eq!(compact, if wide { 4 } else { 1 });
    }
}

#[test]
fn checksum_and_filter_can_be_left_out() {
    let made = mixed();
    let compat = |options: &Options| open(&made, options).superblock().compat;
    let usual = compat(&image::plain());
    assert!(usual.contains(Compat::SB_CHKSUM | Compat::XATTR_FILTER));
    let options = image::plain().with(|o| {
        o.identity.checksum = false;
        o.attributes.xattr_filter = false;
    });
    assert_eq!(compat(&options), usual - (Compat::SB_CHKSUM | Compat::XATTR_FILTER));
}

#[test]
fn the_root_has_the_room_that_is_asked_for() {
    let made = timed(&[("a", 0, 0)]);
    for (root_xattr_size, icount) in [(0, 0), (1, 2), (300, 73), (262_148, u16::MAX)] {
        let image =
            open(&made, &image::plain().with(|o| o.attributes.root_xattr_size = root_xattr_size));
        let icounts: Vec<_> = inodes(&made.0, &image).iter().map(|i| i.xattr_icount).collect();
        assert_eq!(icounts, [icount, 0]);
    }
    let most = image::plain().with(|o| o.attributes.root_xattr_size = 262_149);
    assert!(most.check().unwrap_err().to_string().contains("at most 262148"));
}

#[test]
fn an_image_is_whole_where_its_only_inode_ends_with_the_superblocks_block() {
    let folder = place::folder();
    let (tree, path) = (folder.path().join("tree"), folder.path().join("image"));
    fs::create_dir(&tree).unwrap();
    for root_xattr_size in 2700..2900 {
        let options = image::plain().with(|o| {
            o.attributes.inode_form = InodeForm::Extended;
            o.attributes.root_xattr_size = root_xattr_size;
        });
        let report = image::workers(1).build_directory(&tree, &path, &options);
        let len = fs::metadata(&path).unwrap().len();
        assert_eq!((len % 4096, len), (0, report.image_bytes), "{root_xattr_size}");
    }
}

#[test]
fn plain_prefixes_beside_a_packed_inode_need_a_kernel_that_finds_them() {
    let packed = image::compressed(image::lz4hc(3), 4096);
    let packed = image::with_packing(image::with_prefixes(packed), Fragments::All, false);
    let old = packed.with(|o| o.kernel = KernelVersion::new(6, 6));
    let is_plain = |options: &Options| {
        open(&labelled(), options).superblock().compat.contains(Compat::PLAIN_XATTR_PFX)
    };
    assert!(!is_plain(&old));
    let plain = old.with(|o| o.attributes.plain_xattr_prefixes = true);
    assert!(plain.check().unwrap_err().to_string().contains("6.17"));
    assert!(is_plain(&plain.with(|o| o.kernel = image::NEWEST)));
}

/// Where a file's extents are, and how many bytes they have in the file and there.
fn extents(image: &Image, path: &str) -> Vec<(Option<u64>, u64, u64)> {
    let inode = image.resolve(path.as_bytes()).unwrap();
    extents_of(image, &inode)
}

fn extents_of(image: &Image, inode: &Inode) -> Vec<(Option<u64>, u64, u64)> {
    let place = |place| match place {
        Place::Device(at) => Some(at.pa.0),
        _ => None,
    };
    let all = image.extents(inode).unwrap().map(Result::unwrap);
    all.map(|extent| (place(extent.place), extent.len, extent.plen)).collect()
}

#[test]
fn extents_are_as_short_as_is_asked_for() {
    let made = written(&[("text", noise::bytes(Texture::Text, 5, 500_000))]);
    let longest = |max_extent| {
        let options = image::compressed(Compressor::Lz4, 16 << 10)
            .with(|o| o.compression.max_extent = max_extent);
        let image = open(&made, &options);
        extents(&image, "text").iter().map(|(_, len, _)| *len).max().unwrap()
    };
    assert!(longest(None) > 17_000);
    assert_eq!([17_000, 9_001, 6000].map(|most| longest(Some(most))), [17_000, 9_001, 6000]);
    let options = image::plain().with(|o| o.compression.max_extent = Some(4095));
    assert!(options.check().unwrap_err().to_string().contains("at least a block, 4096"));
}

#[test]
fn the_packed_inode_has_pclusters_of_its_own_size() {
    let text = |seed| noise::bytes(Texture::Text, seed, 60_000);
    let made = written(&[("a", text(1)), ("b", text(2)), ("c", text(3))]);
    let files = image::compressed(image::lz4hc(5), 16 << 10);
    let largest = |fragments, packed_pcluster| {
        let image = open(
            &made,
            &files.clone().with(|o| {
                o.compression.fragments = fragments;
                o.compression.packed_pcluster = packed_pcluster;
            }),
        );
        let packed = image.inode(image.superblock().packed_nid.unwrap()).unwrap();
        extents_of(&image, &packed).iter().map(|(_, _, plen)| *plen).max().unwrap()
    };
    assert_eq!(largest(Fragments::All, None), 16 << 10);
    assert_eq!(largest(Fragments::All, Some(4096)), 4096);
    assert_eq!(largest(Fragments::All, Some(32 << 10)), 32 << 10);
    for (fragments, size) in [(Fragments::None, 4096), (Fragments::All, 4097)] {
        let options = files.clone().with(|o| {
            o.compression.fragments = fragments;
            o.compression.packed_pcluster = Some(size);
        });
        assert!(options.check().is_err(), "{fragments:?} {size}");
    }
}

#[test]
fn files_begin_at_multiples_and_the_image_ends_at_one() {
    let noise = |len| noise::bytes(Texture::Noise, 9, len);
    let files = [("a", 5000), ("b", 100), ("c", 3 << 20), ("d", 9000), ("e", 4096)];
    let mut files = files.map(|(name, len)| (name, noise(len))).to_vec();
    files.push(("f", noise::bytes(Texture::Text, 2, 2 << 20)));
    let made = written(&files);
    for options in [image::plain(), image::compressed(image::lz4hc(3), 16 << 10)] {
        let options = options.with(|o| {
            o.layout.alignment = 6;
            o.layout.size_alignment = 1000;
        });
        let image = open(&made, &options);
        assert_eq!(image.superblock().blocks % 1000, 0);
        let start = |name: &str| extents(&image, name)[0].0;
        let starts: Vec<_> = ["a", "c", "d", "e", "f"].iter().filter_map(|it| start(it)).collect();
        assert_eq!(starts.len(), 5);
        assert!(starts.iter().all(|start| start.is_multiple_of(6 << 12)), "{starts:?}");
        assert_eq!(start("b"), None);
    }
    // Its first megabytes are holes.
    let sparse = [vec![0; 5 << 20], noise(9000)].concat();
    let made = written(&[("a", noise(5000)), ("sparse", sparse)]);
    let image = open(&made, &image::plain().with(|o| o.layout.alignment = 6));
    assert_eq!(extents(&image, "sparse").iter().find_map(|(at, ..)| *at), Some(12 << 12));
    for (alignment, size_alignment) in [(0, 1), (1, 0)] {
        let options = image::plain().with(|o| {
            o.layout.alignment = alignment;
            o.layout.size_alignment = size_alignment;
        });
        assert!(options.check().unwrap_err().to_string().contains("at least 1"));
    }
    let options = image::plain().with(|o| o.layout.size_alignment = 1 << 40);
    let folder = place::folder();
    let path = folder.path().join("image");
    let source = Source { tree: made.0, contents: Box::new(made.1), notes: Vec::new() };
    let refused = image::builder(source, &options).build_to(path).unwrap_err();
    assert!(refused.to_string().contains("more than 4294967294 blocks"), "{refused}");
}

#[test]
fn an_image_can_begin_anywhere_in_its_file() {
    let folder = place::folder();
    let path = folder.path().join("image");
    let (tree, contents) = mixed();
    let packed =
        image::with_packing(image::compressed(Compressor::Lz4, 4096), Fragments::All, true);
    let boxed = image::with_metabox(packed, "zstd,3", 4096);
    let chunked = chunks::with(image::plain(), 4096);
    for options in [image::plain(), chunked, boxed.with(|o| o.layout.size_alignment = 99)] {
        let expected = image::build(Filesystem::new(&tree, &contents), &options);
        for (old, start) in [(0, 4096), (100, 77), (9_000_000, 8192)] {
            let old = noise::bytes(Texture::Noise, 3, old);
            fs::write(&path, &old).unwrap();
            let contents = Box::new(contents.clone());
            let source = Source { tree: tree.clone(), contents, notes: Vec::new() };
            let offset = start as u64;
            image::builder(source, &options).offset(offset).build_to(&path).unwrap();
            let written = fs::read(&path).unwrap();
            let (before, image) = written.split_at(start);
            let kept = old.len().min(before.len());
            assert_eq!(before[..kept], old[..kept]);
            assert!(before[kept..].iter().all(|byte| *byte == 0));
            assert_eq!(image::digest(image), image::digest(&expected), "{offset}");
        }
    }
}
