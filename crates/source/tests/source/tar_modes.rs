//! What does a tar give that is only referred to, has no data, or is copied while it is read?

use crate::common::*;
use lith_source::{Data, NoteKind, Options, Source, TarEnd};
use lith_tree::{Elsewhere, ExtraDevice};

fn refer() -> Options {
    Options::with(|options| options.data = Data::Refer)
}

fn stretches(source: &Source, path: &str) -> Option<Vec<Elsewhere>> {
    let inode = source.tree.find(path.as_bytes()).unwrap();
    source.contents.open(&source.tree, inode).unwrap().elsewhere().unwrap()
}

/// The bytes that stretches lead to in a tar.
fn follow(tar: &[u8], stretches: &[Elsewhere]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for Elsewhere { place, len } in stretches {
        let len = *len as usize;
        match place {
            Some((device, at)) => {
                assert_eq!((*device, at % 512), (0, 0));
                bytes.extend_from_slice(&tar[*at as usize..*at as usize + len]);
            }
            None => bytes.resize(bytes.len() + len, 0),
        }
    }
    bytes
}

#[test]
fn files_are_referred_to_in_a_file_and_in_a_pipe() {
    let (long, short) = (noise(70_001, 5), noise(512, 6));
    let tar = Builder::default().file("a", &long).dir("d").file("d/b", &short).file("e", b"").end();
    let in_file = lith_source::tar(file_of(&tar), "test.tar".as_ref(), &refer()).unwrap();
    let piped = read_stream(&tar, &refer()).unwrap();
    let zipped = read_stream(&pipe("gzip", &[], &tar), &refer()).unwrap();
    for source in [&in_file, &piped, &zipped] {
        let device = ExtraDevice { bytes: tar.len() as u64, tag: Vec::new() };
        assert_eq!(source.contents.devices(), [device]);
        assert_eq!(follow(&tar, &stretches(source, "a").unwrap()), long);
        assert_eq!(follow(&tar, &stretches(source, "d/b").unwrap()), short);
        assert_eq!(stretches(source, "e"), None);
    }
    let a = piped.tree.find(b"a").unwrap();
    let content = piped.contents.open(&piped.tree, a).unwrap();
    let error = content.read_at(&mut [0; 4], 0).unwrap_err();
    assert!(chain(&error).contains("a: cannot read"), "{}", chain(&error));
    assert!(in_file.contents.open(&in_file.tree, a).unwrap().read_at(&mut [0; 4], 0).is_ok());
    assert_eq!(stretches(&read_tar(&tar).unwrap(), "a"), None);
}

#[test]
fn holes_stay_holes_where_stretches_are_whole_blocks() {
    let data = noise(1024, 7);
    let sparse = |at: &str| {
        let map = format!("{at},512,4096,512");
        let records: [(&str, &[u8]); 3] = [
            ("GNU.sparse.size", b"9000"),
            ("GNU.sparse.numblocks", b"2"),
            ("GNU.sparse.map", map.as_bytes()),
        ];
        Builder::default().pax(b'x', &records).file("s", &data).end()
    };
    let aligned = sparse("1024");
    for source in [
        read_stream(&aligned, &refer()).unwrap(),
        lith_source::tar(file_of(&aligned), "test.tar".as_ref(), &refer()).unwrap(),
    ] {
        let mut expected = vec![0; 9000];
        expected[1024..1536].copy_from_slice(&data[..512]);
        expected[4096..4608].copy_from_slice(&data[512..]);
        let found = stretches(&source, "s").unwrap();
        assert_eq!((follow(&aligned, &found), found.len()), (expected, 5));
    }
    let unaligned = sparse("1000");
    let taken = lith_source::tar(file_of(&unaligned), "test.tar".as_ref(), &refer()).unwrap();
    assert_eq!(stretches(&taken, "s"), None);
    let refused = chain(&read_stream(&unaligned, &refer()).unwrap_err());
    assert!(refused.contains("s is refused") && refused.contains("whole blocks"), "{refused}");
}

#[test]
fn a_tar_of_headers_gives_files_of_zeros() {
    let mut tar = header(b'0', "big", "", 5 << 30).to_vec();
    tar.extend(header(b'5', "d", "", 0));
    tar.extend(header(b'0', "d/f", "", 7));
    tar.extend(header(b'1', "l", "big", 0));
    let options = Options::with(|options| {
        options.data = Data::Omitted;
        options.tar_end = TarEnd::Anywhere;
    });
    let source = read_stream(&tar, &options).unwrap();
    let rows = rows(&source);
    assert_eq!((&*rows[&b"big"[..]].detail, rows[&b"big"[..]].nlink), ("5368709120", 2));
    assert_eq!((&*rows[&b"d/f"[..]].detail, rows[&b"d/f"[..]].data.len()), ("7", 0));
    assert_eq!(source.notes.iter().map(|n| &n.kind).collect::<Vec<_>>(), [&NoteKind::NoEndMarker]);
}

#[test]
fn an_end_without_a_marker_is_taken_only_behind_a_member() {
    let whole = Builder::default().file("a", b"x").pax(b'x', &[("uid", b"5")]).file("b", b"y");
    let options = Options::with(|options| options.tar_end = TarEnd::Anywhere);
    for (length, taken) in [(2048 + 1024, true), (1024, true), (1024 + 1024, false), (512, false)] {
        let source = read_stream(&whole.bytes[..length], &options);
        assert_eq!(source.is_ok(), taken, "{length}");
        assert!(read_stream(&whole.bytes[..length], &Options::default()).is_err());
    }
}

#[test]
fn the_decompressed_tar_is_copied_while_it_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let tar = Builder::default().file("a", &noise(300_000, 8)).end();
    for bytes in [tar.clone(), pipe("gzip", &[], &tar), pipe("xz", &[], &tar)] {
        let copy = dir.path().join("copy");
        let mut options = refer();
        options.raw_copy = Some(copy.clone());
        let source = lith_source::tar(file_of(&bytes), "test.tar".as_ref(), &options).unwrap();
        assert!(std::fs::read(&copy).unwrap() == tar);
        assert_eq!(source.contents.devices()[0].bytes, tar.len() as u64);
    }
    let mut options = refer();
    let copy = dir.path().join("missing/copy");
    options.raw_copy = Some(copy.clone());
    let error = chain(&read_stream(&tar, &options).unwrap_err());
    assert!(error.starts_with(&format!("{}: cannot create", copy.display())), "{error}");
}
