//! FUSE shows what is in the source tree, whatever else happens.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "in tests failures should be loud"
)]

use std::{
    collections::HashSet,
    fs::{self, File},
    io::{self, Read},
    os::unix::fs::{FileExt, MetadataExt},
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use lith::{
    codec::Compressor,
    device::{MemoryDevice, OffsetDevice},
    reader::{Image, Limits},
    source::Source,
    tree::Filesystem,
};
use lith_fuse::{ImageFile, Options};
use lith_testkit::{
    compare, image, mutation, nasty,
    nasty::Nasty,
    noise::{self, Noise, Texture},
    oracle::{
        fuse::{self, Served},
        kernel, stats, tools,
    },
    place,
    planted::Planted,
    tier,
};
use rustix::{
    fs::{SeekFrom, seek, statvfs},
    io::Errno,
};

pub(super) fn assert_fuse_sees(source: Filesystem<'_>, served: &Served, what: &str) {
    let root = served.root();
    stats::read_at_random(&root, source, 7);
    compare::assert_same(source, served.tree().filesystem(), what);
    stats::assert_stats(&root, source.tree);
}

/// An image of a folder that `fill` fills.
fn image_of(
    options: &lith::builder::Options,
    fill: impl FnOnce(&Path),
) -> (tempfile::TempDir, Source) {
    let Planted { source, image: path, folder, .. } = Planted::new(fill);
    image::build_at(&path, source.filesystem(), options);
    (folder, source)
}

fn serve(folder: &tempfile::TempDir) -> Served {
    fuse::serve(fuse::open(&folder.path().join("image")), &Options::default())
}

/// Some files that are large enough for several extents.
fn plant_files(folder: &Path, count: u64) {
    for number in 0..count {
        let length = 1 + (number * 37_123 % 400_000) as usize;
        let bytes = noise::bytes(Texture::Text, number, length);
        fs::write(folder.join(format!("file{number:03}")), bytes).unwrap();
    }
}

fn lz4() -> lith::builder::Options {
    image::compressed(Compressor::Lz4, 16 << 10)
}

#[test]
fn attributes_are_those_of_the_kernels_own_mount() {
    if !fuse::is_there() || !kernel::is_there() {
        return;
    }
    let (folder, source) = image_of(&lz4(), |tree| nasty::plant(tree, Nasty::Whole));
    let served = serve(&folder);
    let mounted = kernel::mount(&folder.path().join("image")).unwrap();
    for visit in source.tree.walk() {
        let path = source.tree.path(visit.inode);
        let path = lith_testkit::tarball::as_path(&path);
        if path.as_os_str().len() > 3000 || path.as_os_str().is_empty() {
            continue;
        }
        let ours = fs::symlink_metadata(served.path().join(path)).unwrap();
        let theirs = fs::symlink_metadata(mounted.path().join(path)).unwrap();
        let all = |stat: &fs::Metadata| {
            let times = [stat.mtime(), stat.mtime_nsec(), stat.ctime(), stat.atime()];
            let numbers = [stat.ino(), stat.blocks(), stat.blksize(), stat.rdev(), stat.nlink()];
            (times, numbers, stat.mode(), stat.uid(), stat.gid(), stat.size())
        };
        assert_eq!(all(&ours), all(&theirs), "{}", path.display());
    }
    let (ours, theirs) = (statvfs(served.path()).unwrap(), mounted.statistics());
    assert_eq!(
        (ours.f_bsize, ours.f_frsize, ours.f_blocks, ours.f_bfree, ours.f_bavail, ours.f_namemax),
        (
            theirs.f_bsize,
            theirs.f_frsize,
            theirs.f_blocks,
            theirs.f_bfree,
            theirs.f_bavail,
            theirs.f_namemax
        )
    );
}

#[test]
fn many_readers_without_any_cache() {
    if !fuse::is_there() {
        return;
    }
    let packed = image::with_packing(lz4(), lith::builder::Fragments::Tails, true);
    for options in [packed, image::with_metabox(lz4(), "lz4", 16 << 10)] {
        let (folder, source) = image_of(&options, |tree| {
            nasty::plant(tree, Nasty::Whole);
            plant_files(tree, 60);
        });
        for bytes in [0, 1] {
            let mut limits = Limits::default();
            (limits.decoded_cache, limits.metadata_cache) = (bytes, bytes);
            let image = fuse::open_within(&folder.path().join("image"), limits);
            let served = fuse::serve(image, &Options::default());
            let root = served.root();
            thread::scope(|scope| {
                for seed in 0..4 {
                    let (root, source) = (&root, &source);
                    scope.spawn(move || stats::read_at_random(root, source.filesystem(), seed));
                }
            });
        }
    }
}

#[test]
fn unmounting_under_load_ends_everything() {
    if !fuse::is_there() {
        return;
    }
    let (folder, _) = image_of(&lz4(), |tree| plant_files(tree, 40));
    let mut served = serve(&folder);
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..4 {
            let (stop, root) = (&stop, served.path());
            scope.spawn(move || {
                // Files are there, and a moment later none is.
                while !stop.load(Ordering::Relaxed) {
                    for entry in fs::read_dir(root).into_iter().flatten().flatten() {
                        let _ = fs::read(entry.path());
                    }
                }
            });
        }
        thread::sleep(Duration::from_millis(300));
        served.unmounter().detach().unwrap();
        stop.store(true, Ordering::Relaxed);
    });
    assert!(served.ends_within(Duration::from_secs(20)));
    assert_eq!(fs::read_dir(served.path()).unwrap().count(), 0);
}

#[test]
fn ten_thousand_open_files() {
    if !fuse::is_there() {
        return;
    }
    let wanted = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let raised = rustix::process::Rlimit {
        current: Some(10_500.max(wanted.current.unwrap_or(0))),
        maximum: wanted.maximum.map(|most| most.max(10_500)),
    };
    if let Err(errno) = rustix::process::setrlimit(rustix::process::Resource::Nofile, raised) {
        return tier::skip("10,000 open files", errno);
    }
    let name = |number| format!("a-file-with-a-long-name-{number:05}");
    let (folder, _) = image_of(&lz4(), |tree| {
        for number in 0..10_000 {
            fs::write(tree.join(name(number)), number.to_string()).unwrap();
        }
    });
    let served = serve(&folder);
    let open = |number| File::open(served.path().join(name(number))).unwrap();
    let files: Vec<_> = (0..10_000).map(open).collect();
    for (number, mut file) in files.iter().enumerate().rev() {
        let mut text = String::new();
        file.read_to_string(&mut text).unwrap();
        assert_eq!(text, number.to_string());
    }
    drop(files);
    let names: HashSet<_> =
        fs::read_dir(served.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names.len(), 10_000);
}

#[test]
fn a_directory_is_read_on_from_any_place() {
    if !fuse::is_there() {
        return;
    }
    let dots = [lz4(), image::with_48_bits(lz4())];
    for options in dots {
        let (folder, _) = image_of(&options, |tree| {
            for number in 0..3000 {
                fs::write(tree.join(format!("{number:0200}")), "").unwrap();
            }
        });
        let served = serve(&folder);
        let mut directory = rustix::fs::Dir::new(File::open(served.path()).unwrap()).unwrap();
        let entries: Vec<_> = directory.by_ref().map(Result::unwrap).collect();
        let names: Vec<_> = entries.iter().map(|entry| entry.file_name().to_owned()).collect();
        assert_eq!(names.len(), 3002);
        assert_eq!(names.iter().collect::<HashSet<_>>().len(), 3002);
        for index in [0, 1, 2, 17, 1500, 3000] {
            directory.seek(entries[index].offset()).unwrap();
            let next = directory.read().unwrap().unwrap();
            assert_eq!(next.file_name(), &*names[index + 1]);
        }
    }
}

#[test]
fn a_damaged_file_leaves_the_others_alone() {
    if !fuse::is_there() {
        return;
    }
    let (folder, _) = image_of(&lz4(), |tree| plant_files(tree, 40));
    let (path, tree) = (folder.path().join("image"), folder.path().join("tree"));
    let whole = fs::read(&path).unwrap();
    let mut overwritten = whole.clone();
    let middle = whole.len() / 2;
    overwritten[middle..middle + 10_000].fill(0xff);
    let truncated = whole[..whole.len() / 8 * 7].to_vec();
    // What the end of an image holds may be the inodes of most files.
    for (what, bytes, least) in [("overwritten", overwritten, 30), ("truncated", truncated, 1)] {
        fs::write(&path, &bytes).unwrap();
        let served = serve(&folder);
        let (mut sound, mut damaged) = (0, 0);
        for entry in fs::read_dir(&tree).unwrap() {
            let entry = entry.unwrap();
            let expected = fs::read(entry.path()).unwrap();
            match fs::read(served.path().join(entry.file_name())) {
                Ok(found) => {
                    assert!(what == "overwritten" || found == expected, "{what}");
                    sound += usize::from(found == expected);
                }
                Err(error) => {
                    let numbers = [Errno::UCLEAN, Errno::IO].map(Errno::raw_os_error);
                    assert!(numbers.contains(&error.raw_os_error().unwrap()), "{what}: {error}");
                    damaged += 1;
                }
            }
        }
        assert!(damaged > 0 && sound >= least, "{what}: {sound} sound, {damaged} damaged");
    }
}

#[test]
fn hostile_images_are_served_to_the_end() {
    if !fuse::is_there() {
        return;
    }
    let options = image::with_packing(lz4(), lith::builder::Fragments::Tails, true);
    let (folder, _) = image_of(&options, |tree| nasty::plant(tree, Nasty::Whole));
    let whole = fs::read(folder.path().join("image")).unwrap();
    let hot = mutation::hot_ranges(&whole);
    let mut mounted = 0;
    for seed in 0..60 {
        let mut bytes = whole.clone();
        mutation::mutate(&mut bytes, &hot, seed);
        let Ok(image) = Image::open(MemoryDevice::new(bytes)) else { continue };
        let served = fuse::serve(Arc::new(image), &Options::default());
        look_everywhere(served.path(), 0);
        mounted += 1;
    }
    assert!(mounted > 10, "{mounted}");
}

/// Touches everything, whatever fails.
fn look_everywhere(folder: &Path, depth: usize) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten().take(200) {
        let path = entry.path();
        let _ = fs::read_link(&path);
        let mut names = [0; 1000];
        let _ = rustix::fs::llistxattr(&path, &mut names);
        match entry.metadata() {
            Ok(found) if found.is_dir() && depth < 6 => look_everywhere(&path, depth + 1),
            Ok(found) if found.is_file() => {
                let mut piece = [0; 10_000];
                let _ = File::open(&path).and_then(|file| file.read_at(&mut piece, 0));
            }
            _ => {}
        }
    }
}

#[test]
fn holes_are_told() {
    if !fuse::is_there() {
        return;
    }
    let plain = image::plain();
    let (folder, _) = image_of(&plain, |tree| {
        let file = File::create(tree.join("sparse")).unwrap();
        file.set_len(10 << 20).unwrap();
        file.write_all_at(&[7; 8192], 1 << 20).unwrap();
        file.write_all_at(&[8; 8192], 5 << 20).unwrap();
        fs::write(tree.join("dense"), [1; 5000]).unwrap();
    });
    let served = serve(&folder);
    let places = |path: &Path| {
        let file = File::open(path).unwrap();
        let mut places = Vec::new();
        let mut at = 0;
        while let Ok(data) = seek(&file, SeekFrom::Data(at)) {
            at = seek(&file, SeekFrom::Hole(data)).unwrap();
            places.push((data, at));
        }
        assert_eq!(seek(&file, SeekFrom::Data(u64::MAX >> 1)), Err(Errno::NXIO));
        places
    };
    let sparse = served.path().join("sparse");
    assert_eq!(places(&sparse), [(1 << 20, (1 << 20) + 8192), (5 << 20, (5 << 20) + 8192)]);
    assert_eq!(places(&served.path().join("dense")), [(0, 5000)]);
}

#[test]
fn files_may_all_belong_to_one() {
    if !fuse::is_there() {
        return;
    }
    let (folder, _) = image_of(&lz4(), |tree| plant_files(tree, 3));
    let mut options = Options::default();
    (options.uid, options.gid) = (Some(1234), Some(99));
    let served = fuse::serve(fuse::open(&folder.path().join("image")), &options);
    for path in [served.path().to_owned(), served.path().join("file001")] {
        let found = fs::metadata(path).unwrap();
        assert_eq!((found.uid(), found.gid()), (1234, 99));
    }
}

#[test]
fn xattrs_are_asked_for_in_vain_only_for_a_while() {
    if !fuse::is_there() {
        return;
    }
    let get = |path: &Path| rustix::fs::lgetxattr(path, "user.some", &mut [0; 100]);
    for has in [false, true] {
        let (folder, _) = image_of(&lz4(), |tree| {
            plant_files(tree, 3);
            if has {
                let flags = rustix::fs::XattrFlags::empty();
                rustix::fs::setxattr(tree.join("file002"), "user.some", b"value", flags).unwrap();
            }
        });
        let served = serve(&folder);
        let begin = Instant::now();
        let bare = served.path().join("file001");
        while get(&bare) == Err(Errno::NODATA) && begin.elapsed() < Duration::from_millis(500) {
            thread::sleep(Duration::from_millis(10));
        }
        let expected = if has { Errno::NODATA } else { Errno::OPNOTSUPP };
        assert_eq!(get(&bare), Err(expected));
        let expected = if has { Ok(5) } else { Err(Errno::OPNOTSUPP) };
        assert_eq!(get(&served.path().join("file002")), expected);
        let value = rustix::fs::lgetxattr(served.path().join("file002"), "user.some", &mut [0; 3]);
        assert_eq!(value, Err(if has { Errno::RANGE } else { Errno::OPNOTSUPP }));
        assert_eq!(rustix::fs::llistxattr(&bare, &mut [0; 100]), Ok(0));
    }
}

#[test]
fn an_image_behind_something_else() {
    if !fuse::is_there() {
        return;
    }
    let (folder, source) = image_of(&lz4(), |tree| plant_files(tree, 10));
    let mut bytes = vec![0xaa; 12_345];
    bytes.extend(fs::read(folder.path().join("image")).unwrap());
    let image = Image::open(OffsetDevice::new(MemoryDevice::new(bytes), 12_345)).unwrap();
    let served = fuse::serve(Arc::new(image), &Options::default());
    assert_fuse_sees(source.filesystem(), &served, "behind something else");
}

#[test]
fn it_goes_when_nobody_needs_it() {
    if !fuse::is_there() {
        return;
    }
    let (folder, _) = image_of(&lz4(), |tree| plant_files(tree, 3));
    let idle = Some(Duration::from_millis(400));
    let mut options = Options::default();
    options.idle = idle;
    let mut served = fuse::serve(fuse::open(&folder.path().join("image")), &options);
    let file = File::open(served.path().join("file001")).unwrap();
    assert!(!served.ends_within(Duration::from_secs(2)), "gone while a file is open");
    let mut bytes = Vec::new();
    (&file).read_to_end(&mut bytes).unwrap();
    assert_eq!(bytes, fs::read(folder.path().join("tree/file001")).unwrap());
    drop(file);
    let begin = Instant::now();
    assert!(served.ends_within(Duration::from_secs(20)));
    assert!(begin.elapsed() >= Duration::from_millis(300));
    let gone = fs::metadata(served.path().join("file001")).unwrap_err();
    assert_eq!(gone.kind(), io::ErrorKind::NotFound);
}

/// A filesystem that shares blocks between files, on a loop device.
struct Sharing(tempfile::TempDir);

impl Sharing {
    fn make() -> Option<Self> {
        if !tools::is_in_path("mkfs.xfs") {
            tier::skip("FUSE passthrough", "no mkfs.xfs");
            return None;
        }
        let folder = place::folder();
        let disk = folder.path().join("disk");
        File::create(&disk).unwrap().set_len(400 << 20).unwrap();
        let made = Self(folder);
        fs::create_dir(made.path()).unwrap();
        let run = |program: &str, words: &[&str], paths: &[&Path]| {
            let done = Command::new(program).args(words).args(paths).output().unwrap();
            let said = String::from_utf8_lossy(&done.stderr).trim().to_owned();
            done.status.success().then_some(()).ok_or(said)
        };
        let mounted = run("mkfs.xfs", &["-q"], &[&disk])
            .and_then(|()| run("mount", &["-o", "loop"], &[&disk, &made.path()]));
        if let Err(said) = mounted {
            tier::skip("FUSE passthrough", said);
            return None;
        }
        Some(made)
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("mount")
    }
}

impl Drop for Sharing {
    fn drop(&mut self) {
        let _ = lith_fuse::unmount(&self.path(), true);
    }
}

#[test]
fn the_kernel_reads_plain_files_from_the_images_own_blocks() {
    if !fuse::is_there() {
        return;
    }
    let Some(disk) = Sharing::make() else { return };
    let tree = disk.path().join("tree");
    fs::create_dir(&tree).unwrap();
    fs::write(tree.join("large"), noise::bytes(Texture::Text, 1, 3_000_001)).unwrap();
    fs::write(tree.join("blocks"), noise::bytes(Texture::Text, 2, 1 << 20)).unwrap();
    plant_files(&tree, 20);
    let (source, path) = (image::directory(&tree), disk.path().join("image"));
    image::build_at(&path, source.filesystem(), &image::plain());
    let (image, file) = (fuse::open(&path), ImageFile { path, offset: 0 });
    let mut options = Options::default();
    options.passthrough = Some(file);
    let served = fuse::serve(Arc::clone(&image), &options);
    let before = image.stats().served;
    for name in ["large", "blocks", "large"] {
        let expected = fs::read(tree.join(name)).unwrap();
        let open = [(); 2].map(|()| File::open(served.path().join(name)).unwrap());
        for file in open {
            let mut found = vec![0; expected.len()];
            file.read_exact_at(&mut found, 0).unwrap();
            assert!(found == expected, "{name}");
        }
    }
    // But for tails, which are copied.
    assert!(image.stats().served - before < 64 << 10, "the server was asked for the bytes");
    assert_fuse_sees(source.filesystem(), &served, "passthrough");
}

#[test]
fn random_reads_by_many_are_those_of_the_kernels_own_mount() {
    if !fuse::is_there() || !kernel::is_there() {
        return;
    }
    let rounds = if tier::is_heavy() { 40_000 } else { 2000 };
    let (folder, _) = image_of(&lz4(), |tree| {
        plant_files(tree, 100);
        fs::write(tree.join("large"), noise::bytes(Texture::Mixed, 5, 30_000_000)).unwrap();
    });
    let path = folder.path().join("image");
    let mounted = kernel::mount(&path).unwrap();
    // Too small for what is read, so that pieces come and go.
    let mut limits = Limits::default();
    limits.decoded_cache = 1 << 20;
    let served = fuse::serve(fuse::open_within(&path, limits), &Options::default());
    let names: Vec<_> = (0..100).map(|number| format!("file{number:03}")).collect();
    thread::scope(|scope| {
        for seed in 0..4 {
            let (names, served, mounted) = (&names, &served, &mounted);
            scope.spawn(move || {
                let mut noise = Noise::new(seed);
                for _ in 0..rounds {
                    let is_large = noise.below(3) > 0;
                    let name = if is_large { "large" } else { &names[noise.below(100)] };
                    let open = |folder: &Path| File::open(folder.join(name)).unwrap();
                    let (ours, theirs) = (open(served.path()), open(&mounted.path()));
                    let position = noise.next() % theirs.metadata().unwrap().len();
                    let longest = [100, 4096, 200_000][noise.below(3)];
                    let length = 1 + noise.below(longest);
                    let read = |file: &File| {
                        let mut bytes = vec![0; length];
                        let read = file.read_at(&mut bytes, position).unwrap();
                        bytes.truncate(read);
                        bytes
                    };
                    let (found, expected) = (read(&ours), read(&theirs));
                    assert!(!expected.is_empty());
                    // What the page cache holds is not asked for again.
                    if noise.below(50) == 0 {
                        let all = rustix::fs::Advice::DontNeed;
                        rustix::fs::fadvise(&ours, 0, None, all).unwrap();
                    }
                    let common = found.len().min(expected.len());
                    assert!(common > 0 && found[..common] == expected[..common], "{name}");
                }
            });
        }
    });
}
