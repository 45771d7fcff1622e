//! Does the system's tar unpack what is written, and do others read it?

use std::{
    fs::{self, File},
    io::Read,
    path::Path,
    process::Command,
};

use lith_tree::{Aspects, ContentError, Contents, Filesystem, Kind, Timestamp, Tree};

use super::*;
use crate::testing::{Notes, Sample, is_root};

fn tar_of(sample: &Sample) -> Vec<u8> {
    let mut bytes = Vec::new();
    let whole = Filesystem::new(&sample.tree, &sample.contents);
    write_tar(whole, &Selection::all(), MemberOrder::Path, &mut bytes, &()).unwrap();
    bytes
}

/// Unpacks with the system's tar, with all that it can keep.
fn unpack(tar: &[u8], place: &Path) -> Sample {
    let (file, out) = (place.join("t.tar"), place.join("out"));
    fs::write(&file, tar).unwrap();
    fs::create_dir(&out).unwrap();
    let mut command = Command::new("tar");
    command.args(["--numeric-owner", "--xattrs", "--xattrs-include=*", "-xpf"]);
    command.arg(&file).arg("-C").arg(&out);
    let output = command.env("LC_ALL", "C").output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
    let warnings = ["hdrcharset", "in the future", "implausibly old"];
    let is_warning = |line: &str| warnings.iter().any(|warning| line.contains(warning));
    assert!(text.lines().all(is_warning), "{text}");
    Sample::scan(&out)
}

fn everything() -> Sample {
    let mut sample = Sample::of_everything();
    if is_root() {
        sample.add_what_root_makes();
        sample.xattr(b"dir/none", "user.a=b%c", b"\0=\n");
        sample.metadata(b"dir/none").uid = 4_000_000_000;
    } else {
        eprintln!("skipped: devices, owners, capabilities and ACLs need root");
    }
    let long = [&b"dir/"[..], &[b'l'; 200], b"/", &[b'm'; 250]].concat();
    sample.directory(&long[..204], 0o755);
    sample.file(&long, 0o644, b"its name fits into no header");
    sample.symlink(b"long-link", &[b'/'; 4000].map(|_| b't'));
    sample.directory(b"prefix", 0o755);
    sample.directory(&[b"prefix/", &[b'p'; 90][..]].concat(), 0o755);
    sample.file(
        &[b"prefix/", &[b'p'; 90][..], b"/file"].concat(),
        0o644,
        b"its name fits in two parts",
    );
    sample.metadata(b"large").mtime = Timestamp { sec: 1 << 33, nsec: 999_999_999 };
    sample
}

#[test]
fn the_system_unpacks_it() {
    let sample = everything();
    let place = tempfile::tempdir().unwrap();
    let mut found = unpack(&tar_of(&sample), place.path());
    assert_eq!(sample.differences(&found, Aspects::empty()), [""; 0]);
    found.metadata(b"empty").uid += 1;
    assert_eq!(sample.differences(&found, Aspects::empty()).len(), 1);
    let out = place.path().join("out/sparse");
    let blocks = std::os::unix::fs::MetadataExt::blocks(&fs::metadata(out).unwrap());
    assert!(blocks * 512 < 200_000);
}

#[test]
fn the_same_tree_is_the_same_tar() {
    assert_eq!(tar_of(&everything()), tar_of(&everything()));
    assert_eq!(tar_of(&everything()).len() % BLOCK, 0);
}

#[test]
fn names_stand_in_the_order_of_the_walk() {
    let mut sample = Sample::new();
    sample.directory(b"a", 0o755);
    sample.file(b"a/x", 0o644, b"12345");
    sample.file(b"a.b", 0o644, b"");
    let tar = tar_of(&sample);
    let mut archive = tar::Archive::new(&*tar);
    let entries = archive.entries().unwrap().map(|entry| {
        let entry = entry.unwrap();
        let path = String::from_utf8(entry.path_bytes().into_owned()).unwrap();
        format!("{path} {}", entry.size())
    });
    assert_eq!(entries.collect::<Vec<_>>(), ["./ 0", "a/ 0", "a/x 5", "a.b 0"]);
}

#[test]
fn names_that_are_no_text_are_marked_binary() {
    let mut sample = Sample::new();
    sample.file(b"\xff", 0o644, b"");
    let tar = tar_of(&sample);
    let has = |text: &[u8]| tar.windows(text.len()).any(|window| window == text);
    assert!(has(b"21 hdrcharset=BINARY\n"));
    assert!(has(b"9 path=\xff\n"));
    sample.metadata(b"").mtime.nsec = 0;
    sample.metadata(b"\xff").mtime.nsec = 0;
    assert!(!tar_of(&sample).windows(6).any(|window| window == b"mtime="));
}

#[test]
fn sockets_are_skipped_aloud() {
    let mut sample = Sample::new();
    sample.node(b"socket", 0o755, Kind::Socket);
    sample.link(b"socket2", b"socket");
    let notes = Notes::default();
    let whole = Filesystem::new(&sample.tree, &sample.contents);
    let report =
        write_tar(whole, &Selection::all(), MemberOrder::Path, &mut io::sink(), &notes).unwrap();
    assert_eq!((report.names, report.skipped), (1, 2));
    let expected = ["/socket2: socket not kept", "/socket: socket not kept"];
    assert_eq!(notes.sorted(), expected);
}

#[test]
fn chosen_paths_and_their_parents_are_written() {
    let sample = Sample::of_everything();
    let selection = Selection::paths(&sample.tree, [&b"dir/closed"[..]]).unwrap();
    let mut bytes = Vec::new();
    let whole = Filesystem::new(&sample.tree, &sample.contents);
    let report = write_tar(whole, &selection, MemberOrder::Path, &mut bytes, &()).unwrap();
    assert_eq!(report.names, 5);
}

/// Contents that are best read from the last file to the first.
struct Backwards<'a>(&'a dyn Contents);

impl Contents for Backwards<'_> {
    fn open(&self, tree: &Tree, inode: InodeIndex) -> Result<Box<dyn Content + '_>, ContentError> {
        self.0.open(tree, inode)
    }

    fn reading_order(&self, files: &[InodeIndex]) -> Option<Vec<Vec<usize>>> {
        Some(vec![(1..files.len()).rev().collect(), vec![0]])
    }
}

#[test]
fn members_can_be_in_the_order_of_their_contents() {
    let mut sample = Sample::new();
    for (path, bytes) in [(&b"a"[..], &b"1"[..]), (b"b", b"2"), (b"c", b"3"), (b"empty", b"")] {
        sample.file(path, 0o644, bytes);
    }
    sample.link(b"d", b"c");
    sample.link(b"none", b"empty");
    let contents = Backwards(&sample.contents);
    let mut bytes = Vec::new();
    let whole = Filesystem::new(&sample.tree, &contents);
    write_tar(whole, &Selection::all(), MemberOrder::Stored, &mut bytes, &()).unwrap();
    let mut archive = tar::Archive::new(&*bytes);
    let members = archive.entries().unwrap().map(|entry| {
        let entry = entry.unwrap();
        let link = entry.link_name_bytes().unwrap_or_default();
        String::from_utf8([&entry.path_bytes(), &b">"[..], &link].concat()).unwrap()
    });
    let expected = ["./>", "empty>", "none>empty", "c>", "b>", "a>", "d>c"];
    assert_eq!(members.collect::<Vec<_>>(), expected);
}

/// Takes so many bytes, then breaks.
struct Pipe(usize, io::ErrorKind);

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0 == 0 {
            return Err(self.1.into());
        }
        let taken = bytes.len().min(self.0);
        self.0 -= taken;
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_broken_pipe_is_told_apart() {
    let sample = Sample::of_everything();
    let whole = Filesystem::new(&sample.tree, &sample.contents);
    for length in [0, 1000, 2_500_000] {
        let write = |kind| {
            write_tar(whole, &Selection::all(), MemberOrder::Path, &mut Pipe(length, kind), &())
        };
        let broken = write(io::ErrorKind::BrokenPipe);
        assert!(matches!(broken, Err(TarError::BrokenPipe)));
        let full = write(io::ErrorKind::StorageFull);
        assert!(matches!(full, Err(TarError::Write(_))));
    }
}

#[test]
fn a_file_over_eight_gibibytes_has_its_size() {
    let mut sample = Sample::new();
    let size = 9 << 30;
    sample.sparse(b"big", size, &[(size - 4096, &[1; 4096])]);
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("t.tar");
    let whole = Filesystem::new(&sample.tree, &sample.contents);
    write_tar(whole, &Selection::all(), MemberOrder::Path, &mut File::create(&file).unwrap(), &())
        .unwrap();
    assert!(fs::metadata(&file).unwrap().len() < 20_000);
    let output = Command::new("tar").arg("-tvf").arg(&file).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains(&format!(" {size} ")), "{text}");
    // Without holes that are kept its size has no room in the header.
    let inode = sample.tree.get(sample.find(b"big"));
    let mut header = Vec::new();
    Entry::new(inode, b"big", &[]).write(&mut header).unwrap();
    let record = b"19 size=9663676416\n";
    assert!(header.windows(record.len()).any(|window| window == record));
    let mut first = String::new();
    _ = (&header[512..]).take(19).read_to_string(&mut first);
}
