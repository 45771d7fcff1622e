//! Is a damaged, cut or lying tar refused with a name, and never more than that?

use std::{fs, io::Write, os::unix::fs::FileExt, path::Path};

use crate::common::*;
use lith_source::{Damage, Options, Part, Source, SourceError, TarError};
use lith_tree::ContentError;
use proptest::prelude::*;

fn on_disk() -> Options {
    Options::with(|options| {
        options.spool_memory = 1000;
        options.spool_dir = std::env::temp_dir();
    })
}

/// Reads bytes in both ways, which must agree.
fn read_both(bytes: &[u8]) -> Result<Source, SourceError> {
    let in_place = read_tar(bytes);
    let stream = read_stream(bytes, &on_disk());
    match (&in_place, &stream) {
        (Ok(one), Ok(two)) => assert_same(&rows(one), &rows(two), "in place and spooled"),
        (Err(one), Err(two)) => assert_eq!(chain(one), chain(two)),
        (one, two) => panic!("{one:?}\n{two:?}"),
    }
    in_place
}

fn tar_error(bytes: &[u8]) -> TarError {
    match read_both(bytes) {
        Err(SourceError::Tar { source, .. }) => source,
        other => panic!("{other:?}"),
    }
}

fn damage(bytes: &[u8]) -> Damage {
    match tar_error(bytes) {
        TarError::Damaged { source, .. } => source,
        other => panic!("{other:?}"),
    }
}

fn sample_tar() -> Vec<u8> {
    Builder::default()
        .dir("d")
        .pax(b'x', &[("mtime", b"1.5"), ("SCHILY.xattr.user.a", b"b\n")])
        .file("d/first", &noise(1500, 1))
        .member(b'L', "long", "", &[b'n'; 200])
        .file("short", &noise(10, 2))
        .pax(
            b'x',
            &[
                ("GNU.sparse.major", b"1"),
                ("GNU.sparse.minor", b"0"),
                ("GNU.sparse.realsize", b"5000"),
            ],
        )
        .file("sparse", &[&b"1\n4000\n600\n"[..], &[0; 501], &noise(600, 3)].concat())
        .link("last", "d/first")
        .end()
}

#[test]
fn the_sample_is_sound() {
    let source = read_both(&sample_tar()).unwrap();
    assert_eq!(source.tree.len(), 5);
    let sparse = &rows(&source)[&b"sparse"[..]];
    assert_eq!((&*sparse.detail, sparse.data.len()), ("5000", 2));
}

#[test]
fn a_cut_tar_is_noticed_wherever_it_is_cut() {
    let tar = sample_tar();
    // The second block of the end marker may be missing.
    let edges = |length: &usize| length.is_multiple_of(37) || matches!(length % 512, 0 | 1 | 511);
    for length in (1..tar.len() - 512).filter(edges) {
        let cut = &tar[..length];
        if length < 512 {
            assert!(matches!(read_both(cut), Err(SourceError::Unknown { .. })), "{length}");
            continue;
        }
        let TarError::Truncated { position, .. } = tar_error(cut) else {
            panic!("{length}: {:?}", tar_error(cut));
        };
        assert!(position <= length as u64);
    }
    assert!(read_both(&tar[..tar.len() - 512]).is_ok());
}

#[test]
fn a_cut_tar_names_the_member() {
    let tar = sample_tar();
    let text = |length: usize| chain(&read_both(&tar[..length]).unwrap_err());
    let data = text(2048);
    assert!(data.contains("too early, at byte 2048, inside the data of d/first"), "{data}");
    assert!(text(512).contains("at byte 512, inside the end marker after d"), "{}", text(512));
    assert!(text(700).contains("inside the header after d"), "{}", text(700));
    assert!(matches!(tar_error(&tar[..700]), TarError::Truncated { part: Part::NextHeader, .. }));
}

#[test]
fn wrong_checksums_are_noticed() {
    let tar = sample_tar();
    // The header of the first member, of its successor's extended header, and of the long name.
    for at in [3, 512 + 100, 512 * 7 + 157] {
        let mut broken = tar.clone();
        broken[at] ^= 4;
        if at < 512 {
            assert!(matches!(read_both(&broken), Err(SourceError::Unknown { .. })));
        } else {
            assert!(matches!(damage(&broken), Damage::Checksum { .. }), "{at}");
        }
    }
}

#[test]
fn impossible_sizes_are_refused_without_taking_memory() {
    let with_size = |flag, size: &[u8]| {
        let mut header = header(flag, "liar", "", 0);
        patch(&mut header, 124, size);
        Builder::default().file("before", b"").data(&header).data(&[7; 2000]).end()
    };
    let huge = b"\x80\0\0\0\x7f\xff\xff\xff\xff\xff\xff\xff";
    let beyond = b"\x80\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff";
    let negative = b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff";
    for flag in [b'0', b'V', b'Q'] {
        let error = tar_error(&with_size(flag, huge));
        assert!(matches!(error, TarError::Truncated { part: Part::Data, .. }), "{error:?}");
    }
    for flag in [b'x', b'g', b'L', b'K'] {
        assert!(matches!(damage(&with_size(flag, huge)), Damage::TooLarge { .. }));
        let megabyte = tar_error(&with_size(flag, b"00000100000\0"));
        assert!(matches!(megabyte, TarError::Truncated { .. }), "{megabyte:?}");
    }
    for size in [&beyond[..], negative, b"12345678x\0\0\0"] {
        assert!(matches!(damage(&with_size(b'0', size)), Damage::Number { field: "size", .. }));
    }
    let records = [("size", &b"18446744073709551615"[..])];
    let pax = Builder::default().pax(b'x', &records).file("liar", b"").end();
    assert!(matches!(damage(&pax), Damage::Number { field: "size", .. }));
}

#[test]
fn what_is_wrong_names_the_member() {
    let text = |tar: &[u8]| chain(&read_both(tar).unwrap_err());
    let before = || Builder::default().file("before", b"");
    let mut header = header(b'0', "culprit", "", 0);
    patch(&mut header, 124, b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff");
    let of_header = text(&before().data(&header).end());
    assert!(of_header.contains("corrupt at byte 512, in the header of culprit: "), "{of_header}");
    for record in [("uid", &b"-5"[..]), ("size", b"many"), ("mtime", b"x")] {
        let tar = before().pax(b'x', &[record, ("path", b"a/culprit")]).file("short", b"").end();
        let of_pax = text(&tar);
        let expected = format!("in the header of a/culprit: the field {}", record.0);
        assert!(of_pax.contains(&expected), "{of_pax}");
    }
    let long = vec![b'x'; 70_000];
    for (key, what) in [("path", "the path"), ("linkpath", "the link target")] {
        let tar = before().pax(b'x', &[(key, &*long)]).link("culprit", "before").end();
        let of_length = text(&tar);
        assert!(of_length.contains(&format!("{what} has 70000 bytes, more than 65536")), "{what}");
    }
    let tar = before().member(b'K', "", "", &long).link("culprit", "before").end();
    let of_long = text(&tar);
    assert!(of_long.contains("after before: the link target has 70000 bytes"), "{of_long}");
    for length in [4096, 60_000] {
        let linked = before().pax(b'x', &[("linkpath", &vec![b'x'; length])]);
        let tar = linked.data(&header_of_link("culprit")).end();
        let of_target = text(&tar);
        let expected =
            format!("member culprit is refused: its target has {length} bytes, more than 4095");
        assert!(of_target.contains(&expected), "{of_target}");
    }
    let longest = Builder::default().pax(b'x', &[("linkpath", &[b'x'; 4095])]);
    assert!(read_both(&longest.data(&header_of_link("fine")).end()).is_ok());
}

fn header_of_link(path: &str) -> Vec<u8> {
    header(b'2', path, "target", 0).to_vec()
}

#[test]
fn too_many_headers_before_a_member_are_refused() {
    let mut builder = Builder::default().file("before", b"");
    for _ in 0..20 {
        builder = builder.pax(b'x', &[("uid", b"1")]);
    }
    assert!(matches!(damage(&builder.file("f", b"").end()), Damage::TooManyHeaders { .. }));
    let mut builder = Builder::default();
    for n in 0..20 {
        builder = builder.pax(b'g', &[("comment", &[b'x'; 4000])]).file(&n.to_string(), b"");
    }
    assert!(matches!(damage(&builder.end()), Damage::TooLarge { .. }));
    let orphan = Builder::default().pax(b'x', &[("uid", b"1")]).end();
    assert_eq!(damage(&orphan), Damage::NothingFollows);
}

#[test]
fn a_single_block_of_zeros_between_members_is_damage() {
    let tar = Builder::default().file("a", b"").data(&[0; 512]).file("b", b"").end();
    assert_eq!(damage(&tar), Damage::LoneZeros);
}

#[test]
fn lying_sparse_maps_are_refused() {
    let old = |pairs: &[(u64, u64)], size: u64, stored: usize| {
        let mut block = header(b'S', "sparse", "", stored as u64);
        block[257..265].copy_from_slice(b"ustar  \0");
        block[345..].fill(0);
        for (n, (at, length)) in pairs.iter().enumerate() {
            let pair = format!("{at:011o}\0{length:011o}\0");
            patch(&mut block, 386 + 24 * n, pair.as_bytes());
        }
        patch(&mut block, 483, format!("{size:011o}\0").as_bytes());
        Builder::default().file("before", b"").data(&block).data(&vec![1; stored]).end()
    };
    let sound = rows(&read_both(&old(&[(0, 512), (2048, 100), (4096, 0)], 4096, 612)).unwrap());
    assert_eq!(sound[&b"sparse"[..]].data.len(), 1);
    assert!(matches!(
        damage(&old(&[(0, 512), (100, 512)], 4096, 1024)),
        Damage::SparseOrder { .. }
    ));
    assert!(matches!(damage(&old(&[(4000, 512)], 4096, 512)), Damage::SparsePastEnd { .. }));
    assert!(matches!(damage(&old(&[(0, 512)], 4096, 1024)), Damage::SparseSum { .. }));
    let mut more = old(&[(0, 512)], 4096, 512);
    let (_, block) = more.split_at_mut(512);
    patch(block, 482, b"\x01");
    assert!(matches!(tar_error(&more), TarError::Damaged { .. }));
    for map in
        ["9\n0\n1\n", "18446744073709551615\n", "1\n0\n", "x\n", "1\n0\n-1\n", "1\n9999\n1\n"]
    {
        let tar = Builder::default()
            .pax(
                b'x',
                &[
                    ("GNU.sparse.major", b"1"),
                    ("GNU.sparse.minor", b"0"),
                    ("GNU.sparse.realsize", b"4096"),
                ],
            )
            .file("sparse", &[map.as_bytes(), &[0; 20]].concat())
            .end();
        assert!(
            matches!(
                damage(&tar),
                Damage::SparseList | Damage::SparsePastEnd { .. } | Damage::Number { .. }
            ),
            "{map}"
        );
    }
    let version = Builder::default().pax(b'x', &[("GNU.sparse.major", b"2")]).file("f", b"").end();
    assert!(matches!(tar_error(&version), TarError::Refused { .. }));
}

#[test]
fn damaged_and_cut_compressed_tars_are_noticed() {
    let tar = sample_tar();
    for (program, arguments) in
        [("gzip", &["-c"][..]), ("bzip2", &["-c"]), ("xz", &["-c"]), ("zstd", &["-c", "-q"])]
    {
        let bytes = pipe(program, arguments, &tar);
        for length in (6..bytes.len()).step_by(5).chain(bytes.len() - 8..bytes.len()) {
            let error = read_stream(&bytes[..length], &on_disk()).expect_err(program);
            let text = chain(&error);
            assert!(text.contains(program) || text.contains("ends too early"), "{length}: {text}");
        }
        for at in (20..bytes.len()).step_by(23) {
            let mut broken = bytes.clone();
            broken[at] ^= 0x20;
            // Padding bits may be free; then nothing is different.
            if let Ok(source) = read_stream(&broken, &on_disk()) {
                assert_same(&rows(&read_tar(&tar).unwrap()), &rows(&source), program);
            }
        }
    }
}

#[test]
fn an_xz_stream_that_wants_gigabytes_is_refused() {
    let bytes = pipe("xz", &["-c", "--lzma2=dict=512MiB"], &sample_tar());
    let error = read_stream(&bytes, &on_disk()).unwrap_err();
    assert!(matches!(error, SourceError::Compressed { format: "xz", .. }), "{}", chain(&error));
}

#[test]
fn a_full_disk_names_the_directory() {
    // A missing directory fails as a full one does, and is possible on any machine.
    let mut options = on_disk();
    options.spool_dir = "/proc/self/nowhere".into();
    let error = read_stream(&sample_tar(), &options).unwrap_err();
    assert!(matches!(error, SourceError::Spool { .. }));
    assert!(chain(&error).contains("/proc/self/nowhere: cannot write temporary data"));
}

#[test]
fn a_tar_that_changes_while_it_is_read_in_place_is_noticed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.tar");
    fs::write(&path, sample_tar()).unwrap();
    let file = fs::File::open(&path).unwrap();
    let source = lith_source::tar(file, &path, &Options::default()).unwrap();
    let first = source.tree.find(b"d/first").unwrap();
    let content = source.contents.open(&source.tree, first).unwrap();
    content.check_unchanged().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(20));
    let writer = fs::File::options().write(true).open(&path).unwrap();
    writer.write_all_at(b"!", 2000).unwrap();
    let error = content.check_unchanged().unwrap_err();
    assert!(matches!(&error, ContentError::Changed { path: named, .. } if *named == path));
    writer.set_len(1000).unwrap();
    let short = content.read_at(&mut [0; 1500], 0).unwrap_err();
    assert!(matches!(short, ContentError::Changed { .. }));
}

#[test]
fn deep_and_wide_paths_are_bounded() {
    let deep = "a/".repeat(32_000);
    let tar = Builder::default().pax(b'x', &[("path", deep.as_bytes())]).dir("x").end();
    assert_eq!(read_tar(&tar).unwrap().tree.len(), 32_001);
    let deeper = "a/".repeat(33_000);
    let tar = Builder::default().pax(b'x', &[("path", deeper.as_bytes())]).dir("x").end();
    assert!(matches!(damage(&tar), Damage::TooLarge { .. }));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]
    #[test]
    fn damaged_headers_never_do_harm(
        block in 0..14_usize,
        changes in prop::collection::vec((0..512_usize, any::<u8>()), 1..6),
        sound in any::<bool>(),
    ) {
        let mut tar = sample_tar();
        let start = block * 512;
        if let Some(header) = tar.get_mut(start..start + 512) {
            for (at, byte) in &changes {
                header[*at] = *byte;
            }
            if sound {
                patch(header, 0, &[]);
            }
        }
        let _ = read_both(&tar);
    }

    #[test]
    fn random_bytes_never_do_harm(bytes in prop::collection::vec(any::<u8>(), 0..5000)) {
        let _ = read_both(&bytes);
    }

    #[test]
    fn random_records_never_do_harm(records in prop::collection::vec(any::<u8>(), 0..300), map in "[0-9,\n-]{0,40}") {
        let tar = Builder::default()
            .member(b'x', "x", "", &records)
            .file("f", b"data")
            .pax(b'x', &[("GNU.sparse.map", map.as_bytes()), ("GNU.sparse.size", b"100")])
            .file("g", b"data")
            .end();
        let _ = read_both(&tar);
    }
}

#[test]
fn an_endless_stream_after_the_end_is_the_writers_to_stop() {
    let (reader, mut writer) = std::io::pipe().unwrap();
    let thread = std::thread::spawn(move || {
        writer.write_all(&sample_tar()).unwrap();
        writer.write_all(&vec![0; 1 << 20]).unwrap();
    });
    let source = lith_source::tar_stream(reader, Path::new("-"), &Options::default()).unwrap();
    thread.join().unwrap();
    assert_eq!(source.notes, []);
}
