//! How are the fuzzers' first inputs made? `cargo run -p lith-testkit --example seeds` writes them anew; inputs of
//! other names, found by fuzzers, stay.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a program for developers, that may fail loudly"
)]

use std::{
    fs, num::NonZeroUsize, os::unix::fs::symlink, path::Path, process::Command, sync::Mutex,
};

use lith::{device::MemoryDevice, reader::Image, tree::Filesystem};
use lith_codec::{Compressor, Encoder};
use lith_format::{
    addr::{Blkaddr, BlockBits},
    zmap::{EncodeParams, EncodedExtent, HeadKind, encode_compact, encode_full},
};
use lith_testkit::{
    corpus, image, matrix,
    noise::{Texture, bytes},
    place, recipe,
};
use lith_verity::{Superblock, format};

fn main() {
    images();
    tars();
    maps();
    streams();
    trees();
    for length in [0, 20, 100, 400, 1000] {
        let mut input = bytes(Texture::Noise, length as u64, length);
        // Small files keep fuzzing quick.
        input.iter_mut().skip(1).step_by(3).for_each(|byte| *byte &= 0x3f);
        write("build_roundtrip", &format!("steps-{length}"), &input);
    }
}

fn write(target: &str, name: &str, input: &[u8]) {
    fs::create_dir_all(corpus::folder(target)).unwrap();
    fs::write(corpus::folder(target).join(name), input).unwrap();
}

/// Images with the smallest blocks, and the blocks of their root directories.
fn images() {
    let mut input = bytes(Texture::Noise, 3, 600);
    input.iter_mut().skip(1).step_by(3).for_each(|byte| *byte &= 0x3f);
    let (tree, contents) = recipe::from_bytes(&input).follow();
    for (name, options) in
        matrix::all(9).into_iter().filter(|(name, _)| name.contains("blocks of 512"))
    {
        let built = image::build(Filesystem::new(&tree, &contents), &options);
        let name = name.replace([' ', ','], "-");
        write("reader_open_walk", &name, &built);
        let opened = Image::open(MemoryDevice::new(built)).unwrap();
        let root = opened.root().unwrap();
        let file = opened.file(&root).unwrap();
        let mut block = vec![0; usize::try_from(file.size()).unwrap().min(512)];
        file.read_at(&mut block, 0).unwrap();
        write("dirent_block", &name, &block);
    }
    for golden in ["13-interlaced-tail", "28-xattr-prefix-packed", "16-tar-index", "24-zone"] {
        let path = lith_testkit::golden::folder().join(format!("{golden}.erofs"));
        write("reader_open_walk", golden, &fs::read(path).unwrap());
    }
}

/// Data of a few blocks of 512 bytes, which begins with its length, and its hash tree.
fn trees() {
    for blocks in [1, 3, 40] {
        let mut data = bytes(Texture::Noise, blocks, usize::try_from(blocks).unwrap() * 512);
        let length = (data.len() as u64).to_le_bytes();
        data.splice(..length.len(), length);
        let (uuid, salt) = ([1; 16], vec![2; 32]);
        let superblock =
            Superblock { uuid, data_block: 512, hash_block: 512, data_blocks: blocks, salt };
        let all = Mutex::new(data.clone());
        let put = |part: &[u8], position: u64| {
            let (mut all, start) = (all.lock().unwrap(), usize::try_from(position).unwrap());
            let length = all.len().max(start + part.len());
            all.resize(length, 0);
            all.splice(start..start + part.len(), part.iter().copied());
            Ok(())
        };
        let place = (&superblock, data.len() as u64);
        format(&MemoryDevice::new(data), place, &put, NonZeroUsize::MIN).unwrap();
        write("verity_device", &format!("blocks-{blocks}"), &all.into_inner().unwrap());
    }
}

fn tars() {
    let folder = place::folder();
    let tree = folder.path().join("tree");
    fs::create_dir_all(tree.join("a").join("n".repeat(150))).unwrap();
    fs::write(tree.join("a/file"), "content").unwrap();
    fs::write(tree.join("a").join("n".repeat(150)).join("long"), "far").unwrap();
    fs::hard_link(tree.join("a/file"), tree.join("b-link")).unwrap();
    symlink("l".repeat(120), tree.join("symlink")).unwrap();
    fs::write(tree.join(".wh.gone"), "").unwrap();
    let sparse = fs::File::create(tree.join("sparse")).unwrap();
    sparse.set_len(30_000).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&sparse, b"data", 20_000).unwrap();
    let _ = rustix::fs::setxattr(
        tree.join("a/file"),
        "user.note",
        b"value",
        rustix::fs::XattrFlags::empty(),
    );
    for format in ["posix", "gnu", "ustar", "v7", "oldgnu"] {
        for pack in ["", "gzip", "xz", "zstd", "bzip2"] {
            if !pack.is_empty() && format != "gnu" {
                continue;
            }
            tar(&tree, format, pack);
        }
    }
}

fn tar(tree: &Path, format: &str, pack: &str) {
    let mut command = Command::new("tar");
    if format != "ustar" && format != "v7" {
        command.arg("--sparse");
    }
    command.args([
        "-cf-",
        "--sort=name",
        "--mtime=@1700000000.5",
        "--owner=root:0",
        "--group=root:0",
    ]);
    if format == "posix" {
        command.args(["--xattrs", "--pax-option=delete=atime,delete=ctime,exthdr.name=%f"]);
    }
    if !pack.is_empty() {
        command.arg(format!("--{pack}"));
    }
    // Old formats can't take long names, which is no reason to have no input of theirs.
    let output =
        command.arg(format!("--format={format}")).arg("-C").arg(tree).arg(".").output().unwrap();
    write("tar_source", &format!("{format}{pack}"), &output.stdout);
}

fn maps() {
    let block = BlockBits::DEFAULT;
    let extent =
        |llen: u32, blocks: u16, kind| EncodedExtent { llen, blocks, kind, partial: false };
    let (head, plain) = (HeadKind::Head1, HeadKind::Plain);
    let small = [extent(9000, 1, head), extent(4096, 1, plain), extent(20_000, 1, head)];
    let big = [extent(70_000, 4, head), extent(9000, 1, head), extent(300_000, 16, head)];
    for (name, extents, big_pcluster) in [("small", small, false), ("big", big, true)] {
        let size: u64 = extents.iter().map(|extent| u64::from(extent.llen)).sum();
        let mut params = EncodeParams::new(block, size, Blkaddr(5), 0);
        params.big_pcluster = big_pcluster;
        let full = encode_full(&extents, &params, None).unwrap();
        let compact = encode_compact(&extents, &params, 8).unwrap();
        for (form, shape, table) in [("full", 0_u8, full), ("compact", 1, compact)] {
            let input = [&[shape, 3][..], &size.to_le_bytes(), &table].concat();
            write("zmap_tables", &format!("{name}-{form}"), &input);
        }
    }
}

fn streams() {
    for texture in Texture::ALL {
        let content = bytes(texture, 2, 3000);
        let mut out = vec![0; 512];
        let fit = Encoder::new(&Compressor::Lz4).fill(&content, &mut out).unwrap();
        let (consumed, stream) =
            fit.map_or((100, &content[..100]), |fit| (fit.consumed, &out[..fit.written]));
        let length = u16::try_from(consumed).unwrap().to_le_bytes();
        write("lz4_decode", &format!("{texture:?}"), &[&length, stream].concat());
    }
    for (shape, compressor) in [(0_u8, "lz4"), (1, "lzma,1"), (2, "deflate,6"), (3, "zstd,3")] {
        for texture in Texture::ALL {
            let content = bytes(texture, 2, 4000);
            let mut out = vec![0; 1024];
            let mut encoder = Encoder::new(&compressor.parse().unwrap());
            let Some(fit) = encoder.fill(&content, &mut out).unwrap() else { continue };
            let quarter = u16::try_from(fit.consumed / 4).unwrap();
            let header = [quarter.to_le_bytes(), (quarter / 2).to_le_bytes()].concat();
            let input = [&[shape][..], &header, &out[..fit.written]].concat();
            write("decode_ways", &format!("{compressor}-{texture:?}"), &input);
        }
    }
}
