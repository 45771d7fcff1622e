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
use lith_remote::{ChunkSize, cut_chunks};
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
    archives();
    lists();
    containers();
    answers();
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

/// Archives of cpio and zip: the first ones are read from pipes too.
fn archives() {
    let folder = place::folder();
    let tree = folder.path().join("tree");
    fs::create_dir_all(tree.join("a")).unwrap();
    fs::write(tree.join("a/file"), "content ".repeat(20)).unwrap();
    fs::hard_link(tree.join("a/file"), tree.join("b-link")).unwrap();
    symlink("a/file", tree.join("symlink")).unwrap();
    for format in ["newc", "crc", "odc", "bin"] {
        let pack = format!("find . | sort | cpio --quiet -o -H {format}");
        let archive = run(&tree, &pack);
        write("archive_file", &format!("cpio-{format}"), &archive);
        write("tar_source", &format!("cpio-{format}"), &archive);
    }
    for (name, options) in [("deflate", "-9"), ("store", "-0")] {
        let pack = format!("zip -q -y -r {options} ../{name}.zip . >&2; cat ../{name}.zip");
        write("archive_file", &format!("zip-{name}"), &run(&tree, &pack));
    }
    // Lengths follow the data.
    write("archive_file", "zip-stream", &run(&tree, "zip -q -y -r - . | cat"));
    for (name, options) in [("gnu", "--format=gnu"), ("posix", "--format=posix"), ("xz", "-J")] {
        let pack = format!("tar {options} --sort=name --mtime=@1700000000 -c .");
        write("archive_file", &format!("tar-{name}"), &run(&tree, &pack));
    }
}

/// What a command prints in a folder.
fn run(folder: &Path, command: &str) -> Vec<u8> {
    let output = Command::new("sh").args(["-c", command]).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// Lists of files in each form.
fn lists() {
    let list = "#mtree\n/set type=file uid=0 gid=0 mode=0644 time=1700000000.000000001\n. type=dir mode=0755\n\
        03-lz4.erofs size=94208 sha256digest=00 \\\n  nlink=2\nd type=dir\n  x\\040y type=link link=../a\\012b\n..\n\
        ./null type=char device=linux,1,3\nopt optional size=5\n/unset mode\nfifo type=fifo mode=0600 uname=root\n";
    write("manifest", "mtree", list.as_bytes());
    let list = "/ d 0755 0 0 -5 7 2 0 - - - - -\n/03-lz4.erofs f 0644 0 0 1 0 2 94208 - - - user.a=00ff,user.b= -\n\
        /hard f 0644 0 0 1 0 2 94208 - - - - /03-lz4.erofs\n/x\\x20y l 0777 1 2 0 0 1 3 - - a/b - -\n\
        /null c 0666 0 0 0 0 1 0 1:3 - - - -\n";
    write("manifest", "canonical", list.as_bytes());
    let list = "/ 4096 40755 2 0 0 0 1700000000.5 - - -\n/file 94208 100644 1 0 0 0 0.0 03-lz4.erofs - - user.a=\\x00b\n\
        /small 3 100600 1 0 0 0 0.0 - abc -\n/again 0 @120777 1 0 0 0 0.0 /file - -\n/link 3 120777 1 0 0 0 0.0 a/b - -\n\
        /null 0 20666 1 0 0 259 0.0 - - -\n";
    write("manifest", "composefs", list.as_bytes());
}

/// The parts of container images, and an archive of `docker save`: see `fuzz::container_image`.
fn containers() {
    let folder = place::folder();
    fs::write(folder.path().join("file"), "content").unwrap();
    fs::write(folder.path().join(".wh.gone"), "").unwrap();
    let layer = run(folder.path(), "tar --format=gnu --mtime=@1700000000 -c file .wh.gone");
    let index = r#"{"schemaVersion":2,"manifests":[{"digest":"sha256:1","size":-1,
        "annotations":{"org.opencontainers.image.ref.name":"a"}}]}"#;
    let manifest = r#"{"schemaVersion":2,"config":{"digest":"sha256:2","size":-2},
        "layers":[{"mediaType":"application/vnd.oci.image.layer.v1.tar","digest":"sha256:3","size":-3},
        {"digest":"sha256:3","size":-3}]}"#;
    let config = r#"{"os":"linux","architecture":"amd64","variant":"v2",
        "rootfs":{"type":"layers","diff_ids":["sha256:3","sha256:3"]}}"#;
    let parts = [index.as_bytes(), manifest.as_bytes(), config.as_bytes(), &layer];
    write("container_image", "layout", &parts.join(&0));
    let nested = r#"{"manifests":[{"digest":"sha256:1","size":-1,
        "platform":{"os":"linux","architecture":"arm64"}}]}"#;
    let further = r#"{"manifests":[{"digest":"sha256:2","size":-2,
        "platform":{"os":"unknown","architecture":"unknown"}}]}"#;
    write("container_image", "nested", &[nested.as_bytes(), further.as_bytes(), b"{}"].join(&0));

    let list = r#"[{"Config":"c.json","RepoTags":["a:latest"],"Layers":["l/layer.tar"]}]"#;
    fs::write(folder.path().join("manifest.json"), list).unwrap();
    fs::create_dir(folder.path().join("l")).unwrap();
    fs::write(folder.path().join("l/layer.tar"), &layer).unwrap();
    let digest = lith_remote::sha256_of(&*layer).unwrap().0;
    let config = config.replace("\"sha256:3\",\"sha256:3\"", &format!("\"{digest}\""));
    fs::write(folder.path().join("c.json"), config).unwrap();
    let pack = "tar --format=gnu --mtime=@1700000000 -c manifest.json c.json l/layer.tar";
    write("container_image", "docker-archive", &run(folder.path(), pack));
}

/// What servers answer: indexes of chunks, headers, documents.
fn answers() {
    for (name, texture, length) in
        [("empty", Texture::Noise, 0), ("few", Texture::Noise, 200_000), ("one", Texture::Zeros, 9)]
    {
        let size = ChunkSize::new(16 << 10).unwrap();
        let (index, _) = cut_chunks(&*bytes(texture, 1, length), size).unwrap();
        write("chunk_index", name, &index.to_bytes());
    }
    let digest = format!("sha256:{}", "5".repeat(64));
    let layer = |media_type: &str, more: &str| {
        format!(r#"{{"mediaType":"{media_type}","digest":"{digest}","size":4096{more}}}"#)
    };
    let device = layer("application/vnd.erofs", r#","annotations":{"org.erofs.role":"device"}"#);
    let tree = r#","annotations":{"org.erofs.dmverity.root_digest":"ab","org.erofs.dmverity.hash_offset":"4096"}"#;
    let layers =
        [layer("application/vnd.lith.chunk.v1", ""), device, layer("application/vnd.erofs", tree)];
    let platform = r#""platform":{"os":"linux","architecture":"amd64","os.features":["erofs"]}"#;
    for (name, text) in [
        ("content-range", "bytes 0-99/1000".to_owned()),
        ("challenge", r#"Bearer realm="https://auth/token",service=a,scope="b:c,d""#.to_owned()),
        ("reference", format!("oci://host:5000/a/b:tag@{digest}")),
        ("docker", "docker://debian:12".to_owned()),
        ("address", "https://user:pass@host:80/a%20b?c=d#e".to_owned()),
        ("version", r#"{"length":7,"etag":"\"x\"","modified":null}"#.to_owned()),
        ("cached", format!("lith-cache 1\n{}\nhttp://host/x\n7\n\"x\"\n\nend\n", 64 << 10)),
        ("manifest", format!(r#"{{"schemaVersion":2,"layers":[{}]}}"#, layers.join(","))),
        ("index", format!(r#"{{"manifests":[{{"digest":"{digest}","size":9,{platform}}}]}}"#)),
    ] {
        write("registry_answers", name, text.as_bytes());
    }
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
