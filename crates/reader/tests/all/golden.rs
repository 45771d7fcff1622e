//! Does every golden image read back as the tree that it was made from?

use crate::common::{
    Dump, FIELDS, Golden, dump, goldens, open_bytes, parse_dump, ranges, read_all, text,
};
use lith_format::{addr::Nid, file_type::FileType};
use lith_reader::{Error, ExtentKind, Image};

/// Where an image is known to differ from its tree: path (`*` for any), field, the image's value.
fn exceptions(name: &str) -> Vec<(String, String, String)> {
    let rows = text("exceptions.txt");
    let rows = rows.lines().filter(|line| !line.starts_with('#'));
    let rows = rows.map(|line| line.split_whitespace().collect::<Vec<_>>());
    rows.filter(|row| row[0] == name && row[3] == "mkfs")
        .map(|row| (row[1].to_owned(), row[2].to_owned(), row[4].to_owned()))
        .collect()
}

fn compare(golden: &Golden, found: &Dump) {
    let mut expected = parse_dump(&text(&format!("{}.txt", golden.tree)));
    for (path, field, value) in exceptions(&golden.name) {
        let column = FIELDS.iter().position(|name| *name == field).unwrap();
        let matching = expected.iter_mut().filter(|(_, row)| path == "*" || row[0] == path);
        for (path, row) in matching {
            // Inodes that are extended for another reason have the tree's value.
            if found.get(path).is_some_and(|found| found[column] == value) {
                row[column].clone_from(&value);
            }
        }
    }
    for (path, row) in &expected {
        let found = found.get(path);
        assert_eq!(found, Some(row), "{}: {}", golden.name, String::from_utf8_lossy(path));
    }
    assert_eq!(found.len(), expected.len(), "{}: there are other names", golden.name);
}

#[test]
fn every_image_reads_back_as_its_tree() {
    let goldens = goldens();
    assert!(goldens.len() >= 39);
    for golden in goldens {
        compare(&golden, &dump(&golden.open()));
    }
}

#[test]
fn devices_may_follow_on_the_primary_one() {
    let with_devices: Vec<_> = goldens().into_iter().filter(|g| !g.devices.is_empty()).collect();
    assert_eq!(with_devices.len(), 3);
    for golden in with_devices {
        compare(&golden, &dump(&open_bytes(golden.concatenated()).unwrap()));
    }
}

/// Every inode with content of an image.
fn inodes(image: &Image) -> Vec<lith_reader::Inode> {
    let mut inodes = vec![image.root().unwrap()];
    let mut at = 0;
    while let Some(inode) = inodes.get(at).copied() {
        at += 1;
        if inode.file_type == FileType::Directory {
            let entries = image.read_dir(&inode).unwrap().map(|entry| entry.unwrap());
            inodes.extend(entries.map(|entry| image.inode(entry.nid).unwrap()));
        }
    }
    inodes.retain(|inode| inode.file_type.has_content());
    inodes.extend(image.packed_inode());
    inodes.extend(image.metabox_inode());
    inodes
}

#[test]
fn extents_and_ranges_tile_every_file_and_agree() {
    for golden in goldens() {
        let image = golden.open();
        for inode in inodes(&image) {
            let mut at = 0;
            let ranges = ranges(&image, &inode);
            for extent in image.extents(&inode).unwrap() {
                let extent = extent.unwrap();
                assert_eq!(extent.la, at, "{}: inode {}", golden.name, inode.nid);
                assert!(extent.len > 0);
                let is_hole = extent.kind == ExtentKind::Hole;
                let range = ranges.iter().find(|range| range.0 <= at && at < range.1).unwrap();
                assert_eq!(range.2, is_hole);
                at = extent.end();
                let file = image.file(&inode).unwrap();
                for byte in [extent.la, extent.la + extent.len / 2, extent.end() - 1] {
                    let found = file.extents_from(byte).next().unwrap().unwrap();
                    assert!(found.la <= byte && found.end() == extent.end());
                }
            }
            assert_eq!(at, inode.size);
        }
    }
}

#[test]
fn parts_are_what_the_whole_has_there() {
    for golden in goldens() {
        let image = golden.open();
        for inode in inodes(&image) {
            let whole = read_all(&image, &inode).unwrap();
            let file = image.file(&inode).unwrap();
            for step in [1, 100, 512, 4096, 5000] {
                if whole.len() / step > 2000 {
                    continue;
                }
                let mut again = vec![0x5a; whole.len()];
                for (number, part) in again.chunks_mut(step).enumerate() {
                    file.read_at(part, (number * step) as u64).unwrap();
                }
                assert!(again == whole, "{}: inode {} by {step}", golden.name, inode.nid);
            }
            let backwards = (0..whole.len()).step_by(777).rev();
            for position in backwards {
                let mut part = vec![0; (whole.len() - position).min(3000)];
                file.read_at(&mut part, position as u64).unwrap();
                assert_eq!(part, whole[position..position + part.len()]);
            }
        }
    }
}

#[test]
fn threads_read_at_once() {
    let golden = goldens().into_iter().find(|golden| golden.name == "11-fragments-dedupe").unwrap();
    let (image, inodes) = (golden.open(), inodes(&golden.open()));
    let expected: Vec<_> = inodes.iter().map(|inode| read_all(&image, inode).unwrap()).collect();
    let image = golden.open();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (image, inodes, expected) = (&image, &inodes, &expected);
            scope.spawn(move || {
                for round in 0..inodes.len() * 3 {
                    let index = (round * (2 * thread + 1) + thread) % inodes.len();
                    let bytes = read_all(image, &inodes[index]).unwrap();
                    assert!(bytes == expected[index]);
                }
            });
        }
    });
}

#[test]
fn reads_beyond_the_end_and_of_devices_are_refused() {
    let golden = goldens().into_iter().next().unwrap();
    let image = golden.open();
    let text = image.resolve(b"/text").unwrap();
    let file = image.file(&text).unwrap();
    let mut two = [0; 2];
    for position in [file.size() - 1, file.size(), u64::MAX] {
        let error = file.read_at(&mut two, position).unwrap_err();
        assert!(matches!(error, Error::BeyondEnd { .. }), "{error:?}");
    }
    file.read_at(&mut [], file.size()).unwrap();
    assert_eq!(file.range_at(file.size()).unwrap(), None);
    let fifo = image.resolve(b"dev/fifo").unwrap();
    assert!(matches!(image.file(&fifo), Err(Error::NoContent { .. })));
    assert!(matches!(image.read_link(&fifo), Err(Error::NotASymlink { .. })));
    assert!(matches!(image.read_dir(&fifo), Err(Error::NotADirectory { .. })));
}

#[test]
fn paths_lead_where_they_should() {
    let golden = goldens().into_iter().next().unwrap();
    let image = golden.open();
    let nid = |path: &str| image.resolve(path.as_bytes()).map(|inode| inode.nid);
    assert_eq!(nid("").unwrap(), image.superblock().root_nid);
    assert_eq!(nid("/../../").unwrap(), image.superblock().root_nid);
    assert_eq!(nid("//deep/./er/../er/twig").unwrap(), nid("deep/er/twig").unwrap());
    assert_eq!(nid("link-hard").unwrap(), nid("link-short").unwrap());
    let missing = nid("deep/no/where").unwrap_err();
    assert!(matches!(&missing, Error::NotFound { path } if path == b"/deep/no"), "{missing:?}");
    assert_eq!(missing.errno(), lith_system::errno::ENOENT);
    assert!(matches!(nid("text/x"), Err(Error::NotADirectory { .. })));
    assert!(matches!(nid("link-short/x"), Err(Error::NotADirectory { .. })));
    let following = |path: &str| image.resolve_following(path.as_bytes()).map(|inode| inode.nid);
    assert_eq!(following("link-short").unwrap(), nid("text").unwrap());
    assert!(matches!(following("link-dangling"), Err(Error::NotFound { .. })));
    assert!(matches!(image.inode(Nid(u64::MAX)), Err(Error::Corrupt { .. })));
}

#[test]
fn dots_are_shown_when_asked_for() {
    for golden in goldens() {
        let image = golden.open();
        let root = image.root().unwrap();
        let entries = image.read_dir(&root).unwrap().with_dots().map(|entry| entry.unwrap());
        let dots: Vec<_> = entries.filter(lith_reader::DirEntry::is_dot_or_dot_dot).collect();
        assert_eq!(dots.len(), if root.dot_omitted { 1 } else { 2 }, "{}", golden.name);
        for name in [&b"."[..], b".."] {
            assert_eq!(image.lookup(&root, name).unwrap().unwrap().nid, root.nid);
        }
    }
}

#[test]
fn hidden_digests_are_shown_when_asked_for() {
    use sha2::Digest;
    let golden = goldens().into_iter().find(|golden| golden.name == "39-inode-digest").unwrap();
    let image = golden.open();
    let text = image.resolve(b"text").unwrap();
    let xattrs = image.xattrs_with_hidden(&text).unwrap();
    let hidden: Vec<_> = xattrs.iter().filter(|xattr| xattr.hidden).collect();
    let digest = sha2::Sha256::digest(read_all(&image, &text).unwrap());
    assert_eq!(hidden[0].name, b"erofs.fingerprint.v1");
    assert_eq!(hidden[0].value, [b"sha256:", digest.as_slice()].concat());
    assert_eq!(hidden.len(), 1);
}

/// An image of full indexes, its inode `text`, and the indexes' place.
fn full_indexes() -> (Vec<u8>, lith_reader::Inode, std::ops::Range<usize>) {
    let mut bytes = crate::common::bytes("06-legacy-compress.erofs");
    bytes[1024 + 8] &= !1;
    let image = open_bytes(bytes.clone()).unwrap();
    let text = image.resolve(b"text").unwrap();
    let header = usize::try_from(text.position).unwrap() + text.layout_area();
    let count = usize::try_from(text.size.div_ceil(4096)).unwrap();
    (bytes, text, header..header + 16 + 8 * count)
}

#[test]
fn head2_lclusters_have_the_second_algorithm() {
    let (mut bytes, text, map) = full_indexes();
    let expected = read_all(&open_bytes(bytes.clone()).unwrap(), &text).unwrap();
    // Both big pcluster flags; HEAD1 has an algorithm that is not declared, HEAD2 has LZ4.
    bytes[map.start + 4] |= 4;
    bytes[map.start + 6] = 0x01;
    for index in bytes[map.start + 16..map.end].chunks_mut(8) {
        if index[0] & 3 == 1 {
            index[0] |= 2;
        }
    }
    let image = open_bytes(bytes).unwrap();
    assert!(read_all(&image, &image.resolve(b"text").unwrap()).unwrap() == expected);
}

#[test]
fn hole_heads_read_as_zeros() {
    let (mut bytes, text, map) = full_indexes();
    bytes[map.start + 16 + 1] |= 0x40;
    let image = open_bytes(bytes).unwrap();
    let text = image.inode(text.nid).unwrap();
    let first = image.extents(&text).unwrap().next().unwrap().unwrap();
    assert_eq!(first.kind, ExtentKind::Hole);
    let read = read_all(&image, &text).unwrap();
    let hole = &read[..usize::try_from(first.len).unwrap()];
    assert!(hole.iter().all(|byte| *byte == 0));
    assert_eq!(ranges(&image, &text)[0], (0, first.len, true));
}
