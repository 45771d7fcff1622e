//! Are cpio archives the trees that they were made of, and are damaged ones refused with a name?

use std::{
    fs,
    io::Write,
    path::Path,
    process::{Command, Stdio},
};

use crate::common::*;
use lith_source::{
    CpioDamage, CpioError, NoteKind, Opened, Options, Part, Refusal, Source, SourceError, TarEnd,
};
use lith_tree::Metadata;
use proptest::prelude::*;

/// Fields of a header.
#[derive(Clone, Copy)]
struct Fields {
    mode: u32,
    ino: u32,
    nlink: u32,
    rdev: (u32, u32),
}

const FILE: Fields = Fields { mode: 0o100_640, ino: 0, nlink: 1, rdev: (0, 0) };

const fn mode(mode: u32) -> Fields {
    Fields { mode, ..FILE }
}

const fn name_of(ino: u32) -> Fields {
    Fields { ino, nlink: 2, ..FILE }
}

/// A member of newc, or with a checksum, of crc.
fn member(fields: Fields, name: &[u8], data: &[u8], sum: Option<u32>) -> Vec<u8> {
    let Fields { mode, ino, nlink, rdev } = fields;
    let magic = if sum.is_some() { "070702" } else { "070701" };
    let numbers = [
        [ino, mode, 11, 12, nlink],
        [13, data.len() as u32, 8, 9, rdev.0],
        [rdev.1, name.len() as u32 + 1, sum.unwrap_or(0), 0, 0],
    ];
    let mut bytes = magic.as_bytes().to_vec();
    for number in numbers.iter().flatten().take(13) {
        write!(bytes, "{number:08x}").unwrap();
    }
    bytes.extend_from_slice(name);
    bytes.push(0);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes.extend_from_slice(data);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

fn file(name: &str, data: &[u8]) -> Vec<u8> {
    member(FILE, name.as_bytes(), data, None)
}

fn trailer() -> Vec<u8> {
    member(mode(0), b"TRAILER!!!", b"", None)
}

fn archive(members: &[Vec<u8>]) -> Vec<u8> {
    [members.concat(), trailer()].concat()
}

fn on_disk() -> Options {
    Options::with(|options| {
        options.spool_memory = 100;
        options.spool_dir = std::env::temp_dir();
    })
}

fn read_with(bytes: &[u8], options: &Options) -> Result<Source, SourceError> {
    let path = Path::new("test.cpio");
    let in_place = lith_source::archive(file_of(bytes), path, options);
    let mut spooled = options.clone();
    (spooled.spool_dir, spooled.spool_memory) = (std::env::temp_dir(), 100);
    let stream = lith_source::archive_stream(bytes, path, &spooled);
    match (&in_place, &stream) {
        (Ok(one), Ok(two)) => {
            assert_same(&rows(one), &rows(two), "in place and spooled");
            assert_eq!(one.notes, two.notes);
        }
        (Err(one), Err(two)) => assert_eq!(chain(one), chain(two)),
        (one, two) => panic!("{one:?}\n{two:?}"),
    }
    in_place
}

/// Reads bytes in both ways, which must agree.
fn read_both(bytes: &[u8]) -> Result<Source, SourceError> {
    read_with(bytes, &on_disk())
}

fn cpio_error(bytes: &[u8]) -> CpioError {
    match read_both(bytes) {
        Err(SourceError::Cpio { source, .. }) => source,
        other => panic!("{other:?}"),
    }
}

fn damage(bytes: &[u8]) -> CpioDamage {
    match cpio_error(bytes) {
        CpioError::Damaged { source, .. } => source,
        other => panic!("{other:?}"),
    }
}

fn content(rows: &Rows, path: &str) -> Vec<u8> {
    rows[path.as_bytes()].data.values().flatten().copied().collect()
}

fn sample() -> Vec<u8> {
    archive(&[
        member(mode(0o40_755), b".", b"", None),
        member(mode(0o40_700), b"d", b"", None),
        file("d/one", &noise(301, 1)),
        member(name_of(5), b"d/link", b"", None),
        member(mode(0o120_777), b"soft", b"d/one", None),
        member(name_of(5), b"other", &noise(70, 2), None),
    ])
}

#[test]
fn members_of_all_types_are_read() {
    let device = |mode| Fields { mode, rdev: (259, 70_000), ..FILE };
    let bytes = archive(&[
        member(mode(0o40_750), b"/d/", b"", None),
        file("./d/f", b"data!"),
        member(mode(0o120_777), b"soft", b"target\0", None),
        member(device(0o20_600), b"char", b"", None),
        member(device(0o60_600), b"block", b"", None),
        member(mode(0o10_600), b"fifo", b"", None),
        member(mode(0o140_600), b"socket", b"", None),
        file("implied/above", b"x"),
        file("d/f", b"again"),
    ]);
    let source = read_both(&bytes).unwrap();
    let rows = rows(&source);
    let letters: String = rows.values().map(|row| row.letter).collect();
    assert_eq!(letters, "dbcdfpdfsl", "{rows:#?}");
    assert_eq!(rows[&b"soft"[..]].detail, "target");
    assert!(
        rows[&b"char"[..]].detail.contains("259") && rows[&b"char"[..]].detail.contains("70000")
    );
    assert_eq!(content(&rows, "d/f"), b"again");
    let Metadata { permissions, uid, gid, mtime, .. } = rows[&b"d/f"[..]].metadata;
    assert_eq!((permissions, uid, gid, mtime.sec), (0o640, 11, 12, 13));
    assert_eq!(rows[&b"d"[..]].metadata.permissions, 0o750);
    assert_eq!(source.notes, []);
}

#[test]
fn names_of_a_file_share_the_data_of_any_of_them() {
    let data = noise(50, 1);
    for members in [[&b""[..], &data], [&data, b""], [&data, &data]] {
        let bytes = archive(&[
            member(name_of(1), b"a", members[0], None),
            file("between", b""),
            member(name_of(1), b"b", members[1], None),
            member(Fields { nlink: 1, ..name_of(1) }, b"c", b"alone", None),
        ]);
        let rows = rows(&read_both(&bytes).unwrap());
        let (a, b, c) = (&rows[&b"a"[..]], &rows[&b"b"[..]], &rows[&b"c"[..]]);
        assert_eq!((a.inode, a.nlink, &*a.detail), (b.inode, 2, "50"));
        assert_eq!(content(&rows, "a"), data);
        assert_eq!((c.nlink, &*c.detail), (1, "5"));
    }
}

#[test]
fn a_name_that_was_replaced_is_no_link() {
    let first = [member(name_of(1), b"a", b"old", None), file("a", b"new")];
    let bytes = archive(&[first.concat(), member(name_of(1), b"b", b"", None)]);
    let rows = rows(&read_both(&bytes).unwrap());
    assert_eq!(content(&rows, "a"), b"new");
    assert_eq!((rows[&b"b"[..]].nlink, &*rows[&b"b"[..]].detail), (1, "0"));
    // Nor are files of other types with its number.
    let soft = Fields { mode: 0o120_777, ..name_of(1) };
    let bytes = archive(&[member(name_of(1), b"a", b"old", None), member(soft, b"b", b"a", None)]);
    assert_eq!(read_both(&bytes).unwrap().tree.len(), 3);
}

#[test]
fn checksums_are_verified() {
    let with = |sum| archive(&[member(FILE, b"f", &vec![0xff; 70_000], Some(sum))]);
    assert!(read_both(&with(70_000 * 255)).is_ok());
    let (stored, found) = (7, 70_000 * 255);
    assert_eq!(damage(&with(7)), CpioDamage::Checksum { stored, found });
    // Names without data have the checksum of the file.
    let links = [member(name_of(1), b"a", b"", Some(97)), member(name_of(1), b"b", b"a", Some(97))];
    assert!(read_both(&archive(&links)).is_ok());
}

#[test]
fn archives_follow_one_another() {
    let (early, late) = (
        archive(&[file("early", b"1"), member(name_of(1), b"both", b"first", None)]),
        archive(&[member(name_of(1), b"late", b"2", None), file("both", b"second")]),
    );
    for zeros in [0, 4, 508, 70_001] {
        let padding = if zeros % 4 == 0 { zeros } else { zeros + 3 };
        let rows = rows(&read_both(&[&early, &vec![0; padding][..], &late].concat()).unwrap());
        assert_eq!(rows.len(), 4);
        assert_eq!(content(&rows, "both"), b"second");
        assert_eq!(rows[&b"late"[..]].nlink, 1, "links of two archives are two files");
        for (program, arguments) in COMPRESSORS {
            let packed = pipe(program, arguments, &[&late, &[0; 300][..], &early].concat());
            let bytes = [&early, &vec![0; zeros][..], &packed].concat();
            assert_eq!(read_both(&bytes).unwrap().tree.len(), 4, "{program}");
        }
    }
}

const COMPRESSORS: [(&str, &[&str]); 4] =
    [("gzip", &["-n"]), ("xz", &["--check=crc32"]), ("zstd", &["-q"]), ("bzip2", &[])];

#[test]
fn compressed_archives_are_read() {
    let expected = rows(&read_both(&sample()).unwrap());
    for (program, arguments) in COMPRESSORS {
        let packed = pipe(program, arguments, &sample());
        assert_same(&expected, &rows(&read_both(&packed).unwrap()), program);
        let cut = &packed[..packed.len() - 9];
        let error = read_both(cut).unwrap_err();
        assert!(matches!(error, SourceError::Compressed { .. }), "{program}: {error:?}");
    }
}

#[test]
fn what_follows_and_would_be_lost_is_refused() {
    let after = |bytes: &[u8]| [&sample(), &[0; 100][..], bytes].concat();
    let lz4 = damage(&after(b"\x02\x21\x4c\x18 and so on"));
    assert_eq!(lz4, CpioDamage::Follows("LZ4-compressed data"));
    // The kernel has one level of compression.
    let twice = pipe("gzip", &["-n"], &after(&pipe("gzip", &["-n"], &sample())));
    assert_eq!(damage(&twice), CpioDamage::Follows("gzip-compressed data"));
    let no_archive = pipe("gzip", &["-n"], b"something else");
    assert!(matches!(damage(&after(&no_archive)), CpioDamage::Magic(_)));
    let source = read_both(&after(b"anything")).unwrap();
    let notes: Vec<_> = source.notes.iter().map(|note| &note.kind).collect();
    assert_eq!(notes, [&NoteKind::TrailingData]);
}

#[test]
fn a_cut_archive_is_noticed_wherever_it_is_cut() {
    let bytes = sample();
    for length in 6..bytes.len() {
        let error = cpio_error(&bytes[..length]);
        let CpioError::Truncated { position, .. } = error else { panic!("{length}: {error:?}") };
        assert!(position <= length as u64);
    }
    let text = |length: usize| chain(&read_both(&bytes[..length]).unwrap_err());
    let members = bytes.len() - trailer().len();
    assert!(text(members).contains("inside the end marker after other"), "{}", text(members));
    assert!(text(members - 1).contains("inside the data of other"), "{}", text(members - 1));
    assert!(text(members + 50).contains("inside the header after other"));
    let anywhere = Options::with(|options| options.tar_end = TarEnd::Anywhere);
    let source = read_with(&bytes[..members], &anywhere).unwrap();
    assert_eq!(source.notes[0].kind, NoteKind::NoEndMarker);
    assert!(read_with(&bytes[..members - 1], &anywhere).is_err());
}

#[test]
fn lies_are_refused() {
    let patched = |at: usize, with: &[u8]| {
        let mut bytes = archive(&[file("before", b""), file("liar", b"12345678")]);
        let start = file("before", b"").len() + at;
        bytes[start..start + with.len()].copy_from_slice(with);
        bytes
    };
    let huge = cpio_error(&patched(54, b"ffffffff"));
    assert!(matches!(huge, CpioError::Truncated { part: Part::Data, .. }), "{huge:?}");
    for length in [b"00000000", b"ffffffff", b"00000004"] {
        assert!(matches!(damage(&patched(94, length)), CpioDamage::Name { .. }));
    }
    let number = damage(&patched(22, b"0000000x"));
    assert!(matches!(number, CpioDamage::Number { field: "uid", .. }), "{number:?}");
    assert_eq!(damage(&patched(14, b"00070000")), CpioDamage::Mode(0o1_600_000));
    assert!(matches!(damage(&patched(0, b"070703")), CpioDamage::Magic(_)));
    let refusal = |members: &[Vec<u8>]| match cpio_error(&archive(members)) {
        CpioError::Refused { source, .. } => source,
        other => panic!("{other:?}"),
    };
    assert!(matches!(refusal(&[file("a/../b", b"")]), Refusal::ParentDir(_)));
    assert_eq!(refusal(&[file(".", b"")]), Refusal::Root);
    assert_eq!(refusal(&[file("a/b", b""), file("a", b"")]), Refusal::NotEmpty);
    assert!(matches!(refusal(&[file("a", b""), file("a/b", b"")]), Refusal::NotADirectory(_)));
    let soft = |target: &[u8]| [member(mode(0o120_777), b"s", target, None)];
    assert!(matches!(refusal(&soft(b"")), Refusal::SymlinkTarget(_)));
    assert!(matches!(refusal(&soft(b"a\0b")), Refusal::SymlinkTarget(_)));
    assert!(matches!(refusal(&soft(&[b'x'; 5000])), Refusal::SymlinkLength { .. }));
    let name = file(&"n".repeat(300), b"");
    assert!(matches!(refusal(&[name]), Refusal::Name(_)));
}

#[test]
fn old_formats_are_named() {
    for start in [&b"070707000000"[..], b"\xc7\x71\0\0"] {
        let text =
            chain(&lith_source::archive(file_of(start), Path::new("x"), &on_disk()).unwrap_err());
        assert!(text.contains("a cpio archive of an old format"), "{text}");
    }
}

/// Runs a program in a folder with the names of all its files, each ended by a NUL byte, as its input; `None` where it is missing.
fn with_names(program: &[&str], root: &Path) -> Option<Vec<u8>> {
    let (program, arguments) = program.split_first()?;
    let names =
        Command::new("find").args([".", "-print0"]).current_dir(root).output().unwrap().stdout;
    let child = Command::new(program)
        .args(arguments)
        .current_dir(root)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let Ok(mut child) = child else {
        eprintln!("skipped: {program} is not there");
        return None;
    };
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || stdin.write_all(&names));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.success(), "{program}");
    Some(output.stdout)
}

#[test]
fn archives_of_real_tools_equal_their_directories() {
    let (_dir, root) = crate::common::sample(|root| {
        populate(root);
        fs::remove_file(root.join("huge")).unwrap();
        std::os::unix::net::UnixListener::bind(root.join("socket")).unwrap();
        for (path, sec) in [("nothing", 1), ("soft", 2), ("dir/a", 3), ("dir", 4)] {
            set_mtime(&root.join(path), lith_tree::Timestamp { sec, nsec: 0 });
        }
    });
    let expected = without_pax(read_directory(&root));
    for tool in [
        &["cpio", "--quiet", "-0", "-o", "-H", "newc"][..],
        &["cpio", "--quiet", "-0", "-o", "-H", "crc"],
        &["cpio", "--quiet", "-0", "-o", "-H", "newc", "--reproducible"],
        &["bsdtar", "--format", "newc", "--null", "-n", "-T", "-", "-c", "-f", "-"],
    ] {
        let Some(bytes) = with_names(tool, &root) else {
            continue;
        };
        let found = without_pax(rows(&read_both(&bytes).unwrap()));
        assert_same(&expected, &found, &tool.join(" "));
    }
}

#[test]
fn a_path_to_an_archive_is_opened() {
    let dir = tempfile::tempdir().unwrap();
    for (name, bytes) in [("x.cpio", sample()), ("x.cpio.gz", pipe("gzip", &[], &sample()))] {
        let path = dir.path().join(name);
        fs::write(&path, bytes).unwrap();
        let Opened::Source(source) = lith_source::open(&path, &on_disk()).unwrap() else {
            panic!("no tree");
        };
        assert_eq!(source.tree.len(), 5);
    }
}

proptest! {
    #[test]
    fn no_bytes_make_it_fail_otherwise(
        changes in prop::collection::vec((0_usize..2000, any::<u8>()), 1..6),
        length in 0_usize..2000,
    ) {
        let mut bytes = [sample(), sample()].concat();
        for (at, byte) in changes {
            let at = at % bytes.len();
            bytes[at] = byte;
        }
        bytes.truncate(bytes.len().min(length + 6));
        drop(read_both(&bytes));
    }

    #[test]
    fn fields_of_any_value_make_it_fail_no_otherwise(
        changes in prop::collection::vec((0_usize..6, 0_usize..13, any::<u32>()), 1..4),
    ) {
        let mut bytes = sample();
        let starts: Vec<usize> =
            (0..bytes.len() - 5).filter(|at| &bytes[*at..at + 6] == b"070701").collect();
        for (member, field, value) in changes {
            let at = starts[member % starts.len()] + 6 + field * 8;
            // Small values are more likely to be plausible.
            let value = if value % 2 == 0 { value % 300 } else { value };
            bytes[at..at + 8].copy_from_slice(format!("{value:08x}").as_bytes());
        }
        drop(read_both(&bytes));
    }
}
