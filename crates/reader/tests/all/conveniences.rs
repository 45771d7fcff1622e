//! Do handles, walks and reads of several buffers give what positioned reads and directories give?

use std::{
    collections::{BTreeMap, HashSet},
    io::{ErrorKind, IoSliceMut, Read, Seek, SeekFrom},
    sync::Arc,
};

use crate::common::{Golden, bytes, goldens, open_bytes, read_all};
use lith_device::MemoryDevice;
use lith_format::file_type::FileType;
use lith_reader::{
    Corruption, Error, FileHandle, Image, Inode, Limits, Options, OwnedFile, ReadRange,
};

fn golden(name: &str) -> Golden {
    goldens().into_iter().find(|golden| golden.name == name).unwrap()
}

/// All paths and inodes below the root, by recursion.
fn tree(image: &Image) -> BTreeMap<Vec<u8>, Inode> {
    fn below(image: &Image, path: &[u8], inode: &Inode, all: &mut BTreeMap<Vec<u8>, Inode>) {
        for entry in image.read_dir(inode).unwrap() {
            let entry = entry.unwrap();
            let child = image.inode(entry.nid).unwrap();
            let path = [path, &entry.name].concat();
            if child.file_type == FileType::Directory {
                below(image, &[&path[..], b"/"].concat(), &child, all);
            }
            all.insert(path, child);
        }
    }
    let mut all = BTreeMap::new();
    below(image, b"", &image.root().unwrap(), &mut all);
    all
}

fn files(image: &Image) -> Vec<Inode> {
    tree(image).into_values().filter(|inode| inode.file_type == FileType::Regular).collect()
}

#[test]
fn walks_visit_everything_once_behind_its_directory() {
    for golden in goldens() {
        let image = golden.open();
        let expected = tree(&image);
        let visits: Vec<_> = image.walk().unwrap().map(Result::unwrap).collect();
        assert_eq!(visits.len(), expected.len(), "{}", golden.name);
        let mut told = HashSet::from([b"".to_vec()]);
        for visit in visits {
            assert_eq!(expected.get(&visit.path), Some(&visit.inode), "{}", golden.name);
            assert_eq!(image.resolve(&visit.path).unwrap(), visit.inode);
            let slash = visit.path.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
            assert!(told.contains(&visit.path[..slash]));
            told.insert(visit.path);
        }
    }
}

#[test]
fn walks_skip_and_begin_where_they_are_told() {
    let image = golden("02-noinline-data").open();
    let mut walk = image.walk().unwrap();
    let mut paths = Vec::new();
    while let Some(visit) = walk.next() {
        let visit = visit.unwrap();
        if visit.inode.file_type == FileType::Directory {
            walk.skip_below();
        }
        paths.push(String::from_utf8(visit.path).unwrap());
    }
    assert_eq!(paths, ["empty", "link", "one", "text", "zz-noise"]);
    let one = image.resolve(b"one").unwrap();
    let below: Vec<_> = image.walk_below(&one).unwrap().map(|visit| visit.unwrap().path).collect();
    assert_eq!(below, [b"file"]);
    let text = image.resolve(b"text").unwrap();
    assert!(matches!(image.walk_below(&text), Err(Error::NotADirectory { .. })));
}

/// `02-noinline-data` with the entry `one/file` leading somewhere else.
fn with_entry(nid: impl Fn(&Image) -> u64) -> Image {
    let mut bytes = bytes("02-noinline-data.erofs");
    let opened = open_bytes(bytes.clone()).unwrap();
    let file = opened.resolve(b"one/file").unwrap().nid.0.to_le_bytes();
    let start = opened.resolve(b"one").unwrap().position as usize;
    let found = bytes[start..].windows(8).position(|window| window == file).unwrap();
    bytes[start + found..start + found + 8].copy_from_slice(&nid(&opened).to_le_bytes());
    // The directory is in block 0, which has a checksum.
    bytes[1024 + 8] &= !1;
    open_bytes(bytes).unwrap()
}

#[test]
fn walks_end_where_directories_are_in_themselves() {
    for path in [&b"/"[..], b"one"] {
        let image = with_entry(|image| image.resolve(path).unwrap().nid.0);
        let walked: Vec<_> = image.walk().unwrap().collect();
        assert_eq!(walked.len(), 7);
        let refused = walked.iter().filter_map(|visit| visit.as_ref().err()).collect::<Vec<_>>();
        assert!(
            matches!(refused[..], [Error::Corrupt { source: Corruption::DirectoryTwice, .. }]),
            "{refused:?}"
        );
    }
}

#[test]
fn walks_go_on_behind_what_is_damaged() {
    let image = with_entry(|_| 1 << 40);
    let walked: Vec<_> = image.walk().unwrap().collect();
    assert_eq!(walked.iter().filter(|visit| visit.is_err()).count(), 1);
    let last = walked.last().unwrap().as_ref().unwrap();
    assert_eq!(last.path, b"zz-noise");
}

fn check_handle<F: lith_reader::Content>(mut handle: FileHandle<F>, whole: &[u8]) {
    let mut all = vec![7];
    assert_eq!(handle.read_to_end(&mut all).unwrap(), whole.len());
    assert!(all[1..] == *whole);
    assert_eq!(handle.read(&mut [0; 9]).unwrap(), 0);
    handle.rewind().unwrap();
    let mut part = [0; 777];
    for expected in whole.chunks(777) {
        assert_eq!(handle.read(&mut part).unwrap(), expected.len());
        assert!(part[..expected.len()] == *expected);
    }
    let middle = whole.len() as u64 / 2;
    assert_eq!(handle.seek(SeekFrom::Start(middle)).unwrap(), middle);
    let read = handle.read(&mut part).unwrap();
    assert!(part[..read] == whole[middle as usize..][..read]);
    assert_eq!(handle.stream_position().unwrap(), middle + read as u64);
    assert_eq!(
        handle.seek(SeekFrom::End(-middle.cast_signed())).unwrap(),
        whole.len() as u64 - middle
    );
    let back = handle.seek(SeekFrom::Current(i64::MIN)).unwrap_err();
    assert_eq!(back.kind(), ErrorKind::InvalidInput);
    handle.seek(SeekFrom::End(5)).unwrap();
    assert_eq!(handle.read(&mut part).unwrap(), 0);
    assert_eq!(handle.read_exact(&mut part).unwrap_err().kind(), ErrorKind::UnexpectedEof);
}

#[test]
fn handles_read_and_seek() {
    for golden in goldens() {
        let image = Arc::new(golden.open());
        for inode in files(&image) {
            let whole = read_all(&image, &inode).unwrap();
            check_handle(image.file(&inode).unwrap().into_handle(), &whole);
            let owned = OwnedFile::open(Arc::clone(&image), inode).unwrap();
            check_handle(owned.into_handle(), &whole);
        }
    }
}

#[test]
fn handles_tell_the_images_errors_and_go_to_other_threads() {
    let image = Arc::new(golden("02-noinline-data").open());
    let root = image.root().unwrap();
    let fifo = golden("01-plain").open();
    let fifo = fifo.file(&fifo.resolve(b"dev/fifo").unwrap()).unwrap_err();
    assert!(matches!(fifo, Error::NoContent { .. }));
    assert!(OwnedFile::open(Arc::clone(&image), root).is_ok());
    let text = image.resolve(b"text").unwrap();
    let mut handle = OwnedFile::open(image, text).unwrap().into_handle();
    let mut noise = handle.clone();
    let read = std::thread::spawn(move || {
        let mut text = String::new();
        handle.read_to_string(&mut text).map(|read| (read, text.len()))
    });
    assert_eq!(read.join().unwrap().unwrap(), (16_000, 16_000));
    assert_eq!(noise.read(&mut [0; 1]).unwrap(), 1, "the copy has a position of its own");

    let mut bytes = bytes("03-lz4.erofs");
    let opened = open_bytes(bytes.clone()).unwrap();
    let inode = opened.resolve(b"text").unwrap();
    let extent = opened.extents(&inode).unwrap().next().unwrap().unwrap();
    let lith_reader::Place::Device(place) = extent.place else { unreachable!() };
    bytes[place.pa.0 as usize..][..extent.plen as usize].fill(0xff);
    let opened = open_bytes(bytes).unwrap();
    let mut handle = opened.file(&inode).unwrap().into_handle();
    let error = handle.read(&mut [0; 100]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidData);
    let inner = error.get_ref().unwrap().downcast_ref::<Error>().unwrap();
    assert!(matches!(inner, Error::Corrupt { .. }), "{inner:?}");
    assert_eq!(handle.stream_position().unwrap(), 0);
}

#[test]
fn several_buffers_get_what_one_read_gives() {
    for golden in goldens() {
        let image = golden.open();
        for inode in files(&image) {
            let whole = read_all(&image, &inode).unwrap();
            let file = image.file(&inode).unwrap();
            let start = whole.len() / 3;
            let mut parts = [vec![0; 10], vec![], vec![0; 5000], vec![0; 1], vec![0; 70_000]];
            let mut left = whole.len() - start;
            for part in &mut parts {
                part.truncate(left);
                left -= part.len();
            }
            let mut bufs: Vec<_> = parts.iter_mut().map(|part| IoSliceMut::new(part)).collect();
            file.read_vectored_at(&mut bufs, start as u64).unwrap();
            let parts = parts.concat();
            assert!(parts == whole[start..start + parts.len()], "{}", golden.name);
            let mut one = [0];
            let mut beyond = [IoSliceMut::new(&mut one)];
            let error = file.read_vectored_at(&mut beyond, file.size()).unwrap_err();
            assert!(matches!(error, Error::BeyondEnd { .. }));
        }
    }
}

/// Numbers that look random.
fn numbers(mut seed: u64) -> impl FnMut(usize) -> usize {
    move |limit| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % limit.max(1)
    }
}

#[test]
fn ranges_anywhere_get_their_bytes() {
    let mut number = numbers(1);
    for golden in goldens() {
        let image = golden.open();
        for inode in files(&image) {
            let whole = read_all(&image, &inode).unwrap();
            let file = image.file(&inode).unwrap();
            let mut wanted: Vec<_> = (0..number(20))
                .map(|_| {
                    let start = number(whole.len() + 1);
                    (start, vec![0x5a; number((whole.len() - start + 1).min(9000))])
                })
                .collect();
            let mut ranges: Vec<_> = wanted
                .iter_mut()
                .map(|(start, buf)| ReadRange { position: *start as u64, buf })
                .collect();
            file.read_ranges(&mut ranges).unwrap();
            for (start, buf) in wanted {
                assert!(buf == whole[start..start + buf.len()], "{} at {start}", golden.name);
            }
        }
    }
}

#[test]
fn a_shared_extent_is_decoded_once() {
    let limits = Limits { decoded_cache: 0, ..Limits::default() };
    let options = Options { limits, ..Options::default() };
    let device = MemoryDevice::new(bytes("05-lz4hc-64k.erofs"));
    let image = Image::open_with(vec![Box::new(device)], options).unwrap();
    let largest = files(&image).into_iter().max_by_key(|inode| inode.size).unwrap();
    let file = image.file(&largest).unwrap();
    let extent = file.extents().map(Result::unwrap).max_by_key(|extent| extent.len).unwrap();
    assert!(extent.len > 20_000);
    let mut bufs = vec![[0; 100]; 50];
    let mut ranges: Vec<_> = bufs
        .iter_mut()
        .enumerate()
        .map(|(number, buf)| ReadRange { position: extent.la + 390 * number as u64, buf })
        .collect();
    let before = image.stats().decoded;
    file.read_ranges(&mut ranges).unwrap();
    let decoded = image.stats().decoded - before;
    assert!(decoded <= extent.len, "{decoded} bytes decoded for an extent of {}", extent.len);
}
