//! Are zip archives the trees that they were made of, and are damaged and hostile ones refused with a name?

use std::{fs, path::Path, process::Command};

use crate::common::*;
use lith_source::{Opened, Options, Source, SourceError, ZipError, open};

/// Writes an archive by a program of Python, whose folder is the current one, and reads it.
fn made(program: &str) -> Result<Source, SourceError> {
    let folder = tempfile::tempdir().unwrap();
    let text = format!(
        "import zipfile, struct, zlib\nfrom zipfile import *\nz = ZipFile('x.zip', 'w')\n{program}\nz.close()\n"
    );
    let mut python = Command::new("python3");
    let output = python.args(["-c", &text]).current_dir(folder.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    read(&folder.path().join("x.zip"))
}

fn read(path: &Path) -> Result<Source, SourceError> {
    let options = Options::with(|options| options.spool_dir = std::env::temp_dir());
    match open(path, &options)? {
        Opened::Source(source) => Ok(source),
        _ => panic!("it is an image"),
    }
}

/// As `letter mode path=content` of each path.
fn listed(source: &Source) -> Vec<String> {
    rows(source)
        .iter()
        .map(|(path, row)| {
            let path = String::from_utf8_lossy(path);
            format!("{} {:o} {path}", row.letter, row.metadata.permissions)
        })
        .collect()
}

fn problem(program: &str) -> String {
    match made(program) {
        Err(SourceError::Zip { source: error, .. }) => {
            let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}"));
            format!("{error}{}", cause.unwrap_or_default())
        }
        Err(other) => panic!("{other}"),
        Ok(source) => panic!("{:?}", listed(&source)),
    }
}

#[test]
fn modes_links_and_names_are_those_of_the_archive() {
    let source = made(
        "def put(name, data, mode, how=ZIP_DEFLATED):
    i = ZipInfo(name, (2020, 2, 29, 12, 34, 56)); i.external_attr = mode << 16; i.compress_type = how; i.create_system = 3
    z.writestr(i, data)
put('bin/run', 'x' * 100000, 0o104755)
put('bin/', '', 0o40711)
put('stored', 'y' * 5, 0o100600, ZIP_STORED)
put('packed', 'z' * 70000, 0o100644, ZIP_BZIP2)
put('link', 'bin/run', 0o120777)
put('gr\\u00fc\\u00df', 'utf8', 0o100644)
put('./a//b', 'deep', 0)
put('pipe', '', 0o10600)",
    )
    .unwrap();
    let expected = [
        "d 755 ",
        "d 755 a",
        "f 600 a/b",
        "d 711 bin",
        "f 4755 bin/run",
        "f 644 gr\u{fc}\u{df}",
        "l 777 link",
        "f 644 packed",
        "p 600 pipe",
        "f 600 stored",
    ];
    assert_eq!(listed(&source), expected);
    let rows = rows(&source);
    assert_eq!(rows[b"bin/run".as_slice()].metadata.mtime.sec, 1_582_979_696);
    let inode = source.tree.find(b"packed").unwrap();
    let content = source.contents.open(&source.tree, inode).unwrap();
    let mut bytes = vec![0; 70_000];
    content.read_at(&mut bytes, 0).unwrap();
    assert!(bytes.iter().all(|byte| *byte == b'z'));
}

#[test]
fn old_names_and_attributes_of_windows_are_understood() {
    // A name in code page 437, without the flag of UTF-8.
    let source = made(
        "class Raw(ZipInfo):
    def _encodeFilenameFlags(self): return (self.raw, 0)
def put(name, raw):
    i = Raw(name); i.create_system = 0; i.raw = raw
    z.writestr(i, 'x')
put('n', b'n\\x82')
put('q', b'dir\\\\file')",
    )
    .unwrap();
    assert_eq!(listed(&source), ["d 755 ", "d 755 dir", "f 644 dir/file", "f 644 n\u{e9}"]);
}

#[test]
fn of_several_members_of_a_name_the_last_counts() {
    let source = made(
        "import warnings; warnings.simplefilter('ignore')
z.writestr('a', 'first'); z.writestr('b', 'b'); z.writestr('a', 'the last'); z.writestr('./b', 'bb')",
    )
    .unwrap();
    let sizes: Vec<_> = rows(&source).values().skip(1).map(|row| row.detail.clone()).collect();
    assert_eq!(sizes, ["8", "2"]);
}

#[test]
fn archives_of_64_bits_and_with_something_in_front_are_read() {
    let source = made(
        "f = z.open('big', 'w', force_zip64=True); f.write(b'x' * 1000); f.close()
for n in range(66000): z.writestr('many/%d' % n, '')",
    )
    .unwrap();
    assert_eq!(rows(&source).len(), 66_003);
    assert_eq!(listed(&made("pass").unwrap()), ["d 755 "]);
}

#[test]
fn hostile_members_are_refused_by_name() {
    assert!(problem("z.writestr('../up', 'x')").contains("../up is refused: "));
    assert!(problem("z.writestr('a/../../b', 'x')").contains("is refused"));
    assert!(problem("z.writestr('a', 'x'); z.writestr('a/b', 'y')").contains("a/b is refused"));
    let link = "i = ZipInfo('out'); i.create_system = 3; i.external_attr = 0o120777 << 16\nz.writestr(i, '/etc')\nz.writestr('out/passwd', 'x')";
    assert!(problem(link).contains("out/passwd is refused"), "nothing is written through a link");
    let long = "i = ZipInfo('l'); i.create_system = 3; i.external_attr = 0o120777 << 16\nz.writestr(i, 'x' * 5000)";
    assert!(problem(long).contains("l is refused"));
    let device =
        "i = ZipInfo('d'); i.create_system = 3; i.external_attr = 0o20666 << 16\nz.writestr(i, '')";
    assert!(problem(device).contains("its type is that of no file"));
    assert_eq!(
        listed(&made("z.writestr('/etc/x', 'y')").unwrap()),
        ["d 755 ", "d 755 etc", "f 600 etc/x"]
    );
}

/// An archive of one member of 100,000 bytes, as bytes.
fn bytes() -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let text = "import random\nfrom zipfile import *\nz = ZipFile('x.zip', 'w', ZIP_DEFLATED)\nz.writestr('name', random.Random(1).randbytes(100000))\nz.close()";
    let python = Command::new("python3").args(["-c", text]).current_dir(folder.path()).status();
    assert!(python.unwrap().success());
    fs::read(folder.path().join("x.zip")).unwrap()
}

fn read_bytes(bytes: &[u8]) -> Result<Source, SourceError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.zip");
    fs::write(&path, bytes).unwrap();
    read(&path)
}

#[test]
fn damage_is_an_error_and_never_a_panic() {
    let good = bytes();
    assert!(read_bytes(&good).is_ok());
    // The checksum is compared.
    let mut bad = good.clone();
    bad[2000] ^= 0x55;
    assert!(matches!(read_bytes(&bad), Err(SourceError::Zip { .. })));
    // A size that is not that of the data, in the directory.
    let directory = good.windows(4).rposition(|bytes| bytes == b"PK\x01\x02").unwrap();
    for (size, what) in [(99_999_u32, "less"), (100_001, "more"), (u32::MAX - 1, "much more")] {
        let mut bad = good.clone();
        bad[directory + 24..directory + 28].copy_from_slice(&size.to_le_bytes());
        assert!(
            matches!(
                read_bytes(&bad),
                Err(SourceError::Zip {
                    source: ZipError::Length { .. } | ZipError::Member { .. },
                    ..
                })
            ),
            "{what}"
        );
    }
    for length in (4..good.len()).step_by(997) {
        assert!(read_bytes(&good[..length]).is_err(), "{length}");
    }
    for at in (0..good.len()).step_by(131).chain(directory..good.len()) {
        let mut changed = good.clone();
        changed[at] = changed[at].wrapping_add(0x41);
        let _ = read_bytes(&changed);
    }
}

#[test]
fn members_that_share_their_data_are_refused() {
    let overlapping = "z.writestr('a', 'x' * 1000, ZIP_DEFLATED)
b = ZipInfo('a'); c = z.infolist()[0]
import copy
d = copy.copy(c); d.filename = 'a'; d.orig_filename = 'a'
e = copy.copy(c); e.filename = 'b'
z.filelist.append(e)";
    assert_eq!(problem(overlapping), "the zip archive's members overlap");
}

#[test]
fn what_is_encrypted_or_of_another_method_is_named() {
    let mut encrypted = bytes();
    let directory = encrypted.windows(4).rposition(|bytes| bytes == b"PK\x01\x02").unwrap();
    (encrypted[6], encrypted[directory + 8]) = (1, 1);
    let Err(error) = read_bytes(&encrypted) else { panic!("it is read") };
    assert!(
        std::error::Error::source(&error)
            .unwrap()
            .to_string()
            .contains("name can't be read: it is encrypted")
    );
    assert!(problem("z.writestr('a', 'x' * 100, ZIP_LZMA)").contains("a can't be read"));
}
