//! Handles, lists of files and reads of ranges return what positioned reads and directories do.

use std::{
    collections::{BTreeMap, HashSet},
    io::{ErrorKind, Read, Seek, SeekFrom},
    path::Path,
    sync::Arc,
};

use crate::common::{Golden, bytes, folder, goldens, open_bytes, read_all};
use lith_format::file_type::FileType;
use lith_reader::{Corruption, Error, FileHandle, Image, Inode, OpenError, OwnedFile, Readable};

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
fn files_are_listed_once_after_their_directory() {
    for golden in goldens() {
        let image = golden.open();
        let expected = tree(&image);
        let visits: Vec<_> = image.files().map(Result::unwrap).collect();
        assert_eq!(visits.len(), expected.len(), "{}", golden.name);
        let mut listed = HashSet::from([b"".to_vec()]);
        for visit in visits {
            assert_eq!(expected.get(&visit.path), Some(&visit.inode), "{}", golden.name);
            assert_eq!(image.resolve(&visit.path).unwrap(), visit.inode);
            let slash = visit.path.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
            assert!(listed.contains(&visit.path[..slash]));
            listed.insert(visit.path);
        }
    }
}

#[test]
fn lists_of_files_skip_directories_and_begin_anywhere() {
    let image = golden("02-noinline-data").open();
    let mut walk = image.files();
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
    let below: Vec<_> = image.files_below(&one).map(|visit| visit.unwrap().path).collect();
    assert_eq!(below, [b"file"]);
    let text = image.resolve(b"text").unwrap();
    let mut none = image.files_below(&text);
    assert!(matches!(none.next(), Some(Err(Error::NotADirectory { .. }))));
    assert!(none.next().is_none());
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
fn lists_end_where_directories_contain_themselves() {
    for path in [&b"/"[..], b"one"] {
        let image = with_entry(|image| image.resolve(path).unwrap().nid.0);
        let walked: Vec<_> = image.files().collect();
        assert_eq!(walked.len(), 7);
        let refused = walked.iter().filter_map(|visit| visit.as_ref().err()).collect::<Vec<_>>();
        let [Error::File { path, source }] = refused[..] else { panic!("{refused:?}") };
        assert_eq!(path, b"one/file");
        let twice = Corruption::DirectoryTwice;
        assert!(matches!(&**source, Error::Corrupt { source, .. } if *source == twice));
    }
}

#[test]
fn lists_continue_after_a_damaged_file() {
    let image = with_entry(|_| 1 << 40);
    let walked: Vec<_> = image.files().collect();
    let failed = walked.iter().filter_map(|visit| visit.as_ref().err()).collect::<Vec<_>>();
    let [failed] = failed[..] else { panic!("{failed:?}") };
    assert_eq!(failed.path(), Some(Path::new("one/file")));
    assert_eq!(failed.nid().map(|nid| nid.0), Some(1 << 40));
    assert_eq!(failed.to_string(), "can't read one/file");
    let last = walked.last().unwrap().as_ref().unwrap();
    assert_eq!(last.path, b"zz-noise");
}

fn check_handle<F: Readable>(mut handle: FileHandle<F>, whole: &[u8]) {
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
fn handles_return_the_images_errors_and_go_to_other_threads() {
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
fn images_are_opened_by_path_and_errors_name_it() {
    let image = Image::open_path(folder().join("03-lz4.erofs")).unwrap();
    assert!(image.files().count() > 0);
    let missing = Image::open_path("/nowhere/image").unwrap_err();
    assert!(matches!(&missing, Error::Open { source: OpenError::File(_), .. }));
    assert_eq!(missing.path(), Some(Path::new("/nowhere/image")));
    assert_eq!(missing.to_string(), "the image /nowhere/image can't be opened");
    assert_eq!(missing.errno(), 2);
    let text = folder().join("images.txt");
    let no_image = Image::open_path(&text).unwrap_err();
    assert!(matches!(&no_image, Error::Open { source: OpenError::Superblock(_), .. }));
    assert_eq!(no_image.path(), Some(&*text));
}

#[test]
fn a_range_of_a_file_is_read_by_its_path() {
    for golden in goldens() {
        let image = golden.open();
        for entry in image.files().map(Result::unwrap) {
            if entry.inode.file_type != FileType::Regular {
                continue;
            }
            let whole = read_all(&image, &entry.inode).unwrap();
            let file = image.open_file(&entry.path).unwrap();
            let (start, end) = (whole.len() / 3, whole.len() / 3 * 2);
            let range = file.read_range(start as u64..end as u64).unwrap();
            assert!(range == whole[start..end], "{}", golden.name);
            let beyond = file.read_range(0..file.size() + 1).unwrap_err();
            assert!(matches!(beyond, Error::BeyondEnd { .. }));
            assert_eq!(beyond.nid(), Some(entry.inode.nid));
        }
    }
    let image = golden("02-noinline-data").open();
    let linked = image.open_file("link").unwrap();
    assert_eq!(linked.inode().file_type, FileType::Regular);
    let missing = image.open_file("/one/none").unwrap_err();
    assert_eq!(missing.path(), Some(Path::new("/one/none")));
}
