//! Tests that extracted files equal the tree, and that all are inside the destination.

use std::{
    fs, io,
    num::NonZeroUsize,
    os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink},
    process::Command,
    sync::atomic::{AtomicU64, Ordering},
};

use lith_observer::{Observer, Phase, Progress};
use lith_tree::{
    Aspects, Content, ContentError, Contents, Filesystem, InodeIndex, Kind, Rdev, Timestamp, Tree,
    XattrSet,
};
use rustix::io::Errno;
use tempfile::TempDir;

use super::*;
use crate::testing::{Notes, ROOT, Sample, is_root};

fn place() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn options(workers: usize) -> ExtractOptions {
    ExtractOptions { workers: NonZeroUsize::new(workers).unwrap(), ..ExtractOptions::default() }
}

fn overwrite() -> ExtractOptions {
    ExtractOptions { existing: Existing::Overwrite, ..options(2) }
}

fn extract_all(
    sample: &Sample,
    destination: &Path,
    options: &ExtractOptions,
) -> Result<Report, ExtractError> {
    let whole = Filesystem::new(&sample.tree, &sample.contents);
    extract(whole, &Selection::all(), destination, options, &())
}

fn no_differences(sample: &Sample, destination: &Path) {
    let found = sample.differences(&Sample::scan(destination), Aspects::empty());
    assert_eq!(found, [""; 0]);
}

/// Everything that the user of the test can make.
fn everything() -> Sample {
    let mut sample = Sample::of_everything();
    if is_root() {
        sample.add_what_root_makes();
    } else {
        eprintln!("skipped: devices, owners, capabilities and ACLs need root");
    }
    sample
}

#[test]
fn everything_comes_back() {
    let sample = everything();
    for workers in [1, 2, 8] {
        let place = place();
        let destination = place.path().join("new/deeper");
        let report = extract_all(&sample, &destination, &options(workers)).unwrap();
        no_differences(&sample, &destination);
        assert_eq!(report.names, sample.tree.walk().count() as u64);
        assert_eq!(report.skipped, 0);
        let sparse = fs::metadata(destination.join("sparse")).unwrap();
        assert!(sparse.blocks() * 512 < 200_000, "{}", sparse.blocks());
        let hole = fs::metadata(destination.join("hole")).unwrap();
        assert_eq!(hole.blocks(), 0);
    }
}

#[test]
fn large_files_are_written_by_all_workers() {
    let mut sample = Sample::new();
    let bytes: Vec<u8> = (0..20_000_001_u32).map(|i| (i % 251) as u8).collect();
    sample.file(b"dense", 0o4755, &bytes);
    sample.sparse(b"sparse", 60 << 20, &[(17 << 20, &[3; 5000])]);
    sample.sparse(b"endless", 1 << 41, &[(1 << 40, b"x")]);
    for workers in [1, 3] {
        let place = place();
        extract_all(&sample, place.path(), &options(workers)).unwrap();
        // The endless one would take too long to be read back.
        let endless = place.path().join("endless");
        assert_eq!(fs::metadata(&endless).unwrap().len(), 1 << 41);
        fs::remove_file(&endless).unwrap();
        let found = sample.differences(&Sample::scan(place.path()), Aspects::MTIME);
        assert_eq!(found, ["/endless: only in the first"]);
    }
}

#[test]
fn chosen_paths_come_with_their_parents() {
    let sample = everything();
    let place = place();
    let destination = place.path().join("out");
    let selection = Selection::paths(&sample.tree, [&b"dir/closed/file"[..], b"dir/hard"]).unwrap();
    let whole = Filesystem::new(&sample.tree, &sample.contents);
    let report = extract(whole, &selection, &destination, &options(2), &()).unwrap();
    assert_eq!(report.names, 5);
    let found = Sample::scan(&destination);
    let paths: Vec<_> = found.tree.walk().map(|visit| found.tree.path(visit.inode)).collect();
    let expected = [&b""[..], b"dir", b"dir/closed", b"dir/closed/file", b"dir/hard"];
    assert_eq!(paths, expected);
    let differences = sample.differences(&found, Aspects::LINKS);
    assert!(differences.iter().all(|line| line.ends_with("only in the first")), "{differences:?}");
}

#[test]
fn parents_that_were_there_keep_their_attributes() {
    let sample = Sample::of_everything();
    let place = place();
    fs::create_dir(place.path().join("dir")).unwrap();
    fs::set_permissions(place.path().join("dir"), fs::Permissions::from_mode(0o711)).unwrap();
    let selection = Selection::paths(&sample.tree, [&b"dir/none"[..]]).unwrap();
    let whole = Filesystem::new(&sample.tree, &sample.contents);
    extract(whole, &selection, place.path(), &overwrite(), &()).unwrap();
    let mode = |path| fs::metadata(place.path().join(path)).unwrap().mode() & 0o7777;
    assert_eq!(mode("dir"), 0o711);
    assert_eq!(mode("dir/none"), 0);
}

#[test]
fn a_destination_with_entries_is_refused_by_default() {
    let place = place();
    fs::write(place.path().join("mine"), "precious").unwrap();
    let result = extract_all(&Sample::of_everything(), place.path(), &options(1));
    assert!(matches!(result, Err(ExtractError::NotEmpty(path)) if path == place.path()));
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1);
}

#[test]
fn overwriting_replaces_files_and_never_writes_through_them() {
    let place = place();
    let (inside, outside) = (place.path().join("in"), place.path().join("out"));
    fs::create_dir(&inside).unwrap();
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("victim"), "untouched").unwrap();
    fs::create_dir(outside.join("closed")).unwrap();
    // A directory, a file, a hard link, a symbolic link and a fifo of the tree are something else here.
    symlink("../out", inside.join("dir")).unwrap();
    symlink("../out/victim", inside.join("large")).unwrap();
    symlink("../out/new", inside.join("empty")).unwrap();
    symlink("../out/victim", inside.join("a-hard")).unwrap();
    fs::hard_link(outside.join("victim"), inside.join("setuid")).unwrap();
    fs::hard_link(outside.join("victim"), inside.join("symlink")).unwrap();
    fs::write(inside.join("fifo"), "not one").unwrap();
    fs::write(inside.join("extra"), "stays").unwrap();
    let sample = everything();
    for _ in 0..2 {
        extract_all(&sample, &inside, &overwrite()).unwrap();
        let found = sample.differences(&Sample::scan(&inside), Aspects::empty());
        assert_eq!(found, ["/extra: only in the second"]);
    }
    assert_eq!(fs::read_to_string(outside.join("victim")).unwrap(), "untouched");
    assert_eq!(fs::metadata(outside.join("victim")).unwrap().nlink(), 1);
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 2);
    assert_eq!(fs::read_dir(outside.join("closed")).unwrap().count(), 0);
}

#[test]
fn symbolic_links_of_the_tree_itself_lead_nowhere() {
    // A tree can't have a link and a directory under one name, but an extraction can come upon an earlier one.
    let place = place();
    let inside = place.path().join("in");
    let mut first = Sample::new();
    first.symlink(b"way", b"..");
    extract_all(&first, &inside, &options(1)).unwrap();
    let mut second = Sample::new();
    second.directory(b"way", 0o755);
    second.file(b"way/evil", 0o644, b"evil");
    extract_all(&second, &inside, &overwrite()).unwrap();
    assert!(!place.path().join("evil").exists());
    no_differences(&second, &inside);
}

#[test]
fn a_directory_is_not_replaced_by_a_file() {
    let place = place();
    fs::create_dir(place.path().join("large")).unwrap();
    let result = extract_all(&Sample::of_everything(), place.path(), &overwrite());
    let in_the_way = place.path().join("large");
    assert!(matches!(result, Err(ExtractError::InTheWay(path)) if path == in_the_way));
}

/// Contents that fail when a file is read past a position, or cancel.
struct Failing {
    contents: lith_tree::MemoryContents,
    bad: InodeIndex,
    limit: u64,
}

impl Contents for Failing {
    fn open(&self, tree: &Tree, inode: InodeIndex) -> Result<Box<dyn Content + '_>, ContentError> {
        let content = self.contents.open(tree, inode)?;
        let limit = if inode == self.bad { self.limit } else { u64::MAX };
        Ok(Box::new(FailingContent { content, limit }))
    }
}

struct FailingContent<'a> {
    content: Box<dyn Content + 'a>,
    limit: u64,
}

impl Content for FailingContent<'_> {
    fn read_at(&self, buf: &mut [u8], position: u64) -> Result<(), ContentError> {
        if position + buf.len() as u64 > self.limit {
            let (path, action) = ("bad".into(), "read");
            let source = Errno::IO.into();
            return Err(ContentError::Io { path, action, source });
        }
        self.content.read_at(buf, position)
    }

    fn range_at(&self, position: u64) -> Result<lith_tree::DataRange, ContentError> {
        self.content.range_at(position)
    }

    fn check_unchanged(&self) -> Result<(), ContentError> {
        Ok(())
    }
}

#[test]
fn no_half_written_file_stays() {
    for (size, limit) in [(3_000_000, 2_000_000), (30_000_000, 20_000_000)] {
        for workers in [1, 2] {
            let mut sample = Sample::new();
            sample.directory(b"dir", 0o755);
            sample.file(b"dir/good", 0o644, b"good");
            let bad = sample.file(b"dir/zbad", 0o644, &vec![1; size]);
            let contents = Failing { contents: sample.contents.clone(), bad, limit };
            let place = place();
            let whole = Filesystem::new(&sample.tree, &contents);
            let result = extract(whole, &Selection::all(), place.path(), &options(workers), &());
            assert!(matches!(result, Err(ExtractError::Content(_))));
            let left: Vec<_> = fs::read_dir(place.path().join("dir"))
                .unwrap()
                .map(|entry| entry.unwrap().file_name())
                .collect();
            assert!(!left.contains(&"zbad".into()), "{left:?}");
        }
    }
}

/// Cancels after so many bytes.
struct Cancelling(AtomicU64);

impl ExportObserver for Cancelling {}

impl Observer for Cancelling {
    fn is_cancelled(&self) -> bool {
        self.0.fetch_add(1, Ordering::Relaxed) > 12
    }
}

#[test]
fn it_can_be_cancelled() {
    let mut sample = Sample::new();
    sample.file(b"big", 0o644, &vec![1; 30_000_000]);
    sample.file(b"small", 0o644, b"small");
    let place = place();
    let whole = Filesystem::new(&sample.tree, &sample.contents);
    let observer = Cancelling(AtomicU64::new(0));
    let result = extract(whole, &Selection::all(), place.path(), &options(2), &observer);
    assert!(matches!(result, Err(ExtractError::Cancelled)));
    assert!(!place.path().join("big").exists());
}

#[test]
fn directories_are_filled_up_but_nothing_is_replaced() {
    let mut sample = Sample::new();
    sample.directory(b"one", 0o755);
    sample.file(b"one/file", 0o644, b"new");
    let place = place();
    let fill = ExtractOptions { existing: Existing::Fill, ..options(2) };
    fs::create_dir(place.path().join("one")).unwrap();
    fs::write(place.path().join("one/other"), "old").unwrap();
    extract_all(&sample, place.path(), &fill).unwrap();
    assert_eq!(fs::read(place.path().join("one/file")).unwrap(), b"new");
    assert_eq!(fs::read(place.path().join("one/other")).unwrap(), b"old");
    let again = extract_all(&sample, place.path(), &fill).unwrap_err();
    assert!(again.to_string().ends_with("one/file: cannot create"), "{again}");
    fs::remove_dir_all(place.path().join("one")).unwrap();
    fs::write(place.path().join("one"), "a file").unwrap();
    let refused = extract_all(&sample, place.path(), &fill).unwrap_err();
    assert!(refused.to_string().ends_with("one: cannot create"), "{refused}");
    assert_eq!(fs::read(place.path().join("one")).unwrap(), b"a file");
}

#[test]
fn permissions_may_be_masked() {
    let mut sample = Sample::new();
    sample.directory(b"open", 0o777);
    sample.file(b"open/file", 0o666, b"content");
    sample.file(b"open/tool", 0o775, b"");
    let place = place();
    let masked = ExtractOptions { permissions: Permissions::Masked, ..options(1) };
    extract_all(&sample, place.path(), &masked).unwrap();
    let fresh = place.path().join("fresh");
    fs::write(&fresh, "").unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o7777;
    let umask = 0o666 & !mode(&fresh);
    let mode = |path| mode(&place.path().join(path)) & 0o666;
    assert_eq!(mode("open"), 0o666 & !umask);
    assert_eq!(mode("open/file"), 0o666 & !umask);
    assert_eq!(mode("open/tool"), 0o664 & !umask);
}

#[test]
fn set_id_bits_are_not_lent_to_another_user() {
    let mut sample = Sample::new();
    sample.file(b"tool", 0o6755, b"");
    sample.file(b"own", 0o4755, b"");
    sample.metadata(b"tool").uid += 5;
    sample.metadata(b"tool").gid += 5;
    let place = place();
    let notes = Notes::default();
    let whole = Filesystem::new(&sample.tree, &sample.contents);
    let options = ExtractOptions { owners: Owners::Own, ..options(1) };
    extract(whole, &Selection::all(), place.path(), &options, &notes).unwrap();
    assert_eq!(notes.sorted(), ["/tool: setuid or setgid not kept"]);
    let mode = |path| fs::metadata(place.path().join(path)).unwrap().mode() & 0o7777;
    assert_eq!(mode("tool"), 0o755);
    assert_eq!(mode("own"), 0o4755);
}

#[test]
fn what_cannot_be_kept_is_told() {
    let mut sample = Sample::new();
    sample.file(b"file", 0o644, b"content");
    sample.xattr(b"file", "nonsense.name", b"1");
    sample.xattr(b"file", "user.large", &vec![1; 60_000]);
    sample.symlink(b"link", b"file");
    sample.xattr(b"link", "user.note", b"no links have these");
    let place = place();
    let notes = Notes::default();
    let whole = Filesystem::new(&sample.tree, &sample.contents);
    let report = extract(whole, &Selection::all(), place.path(), &options(1), &notes).unwrap();
    let notes = notes.sorted();
    assert!(notes[0].starts_with("/file: xattr nonsense.name not kept: "), "{notes:?}");
    assert!(notes.last().unwrap().starts_with("/link: xattr user.note not kept: "));
    assert_eq!(report.skipped, notes.len() as u64);
    assert_eq!(fs::read(place.path().join("file")).unwrap(), b"content");
}

#[test]
fn inherited_attributes_are_replaced() {
    if !is_root() {
        return eprintln!("skipped: giving a directory to another group needs root");
    }
    let place = place();
    let inside = place.path().join("in");
    fs::create_dir(&inside).unwrap();
    std::os::unix::fs::chown(&inside, Some(7), Some(8)).unwrap();
    fs::set_permissions(&inside, fs::Permissions::from_mode(0o2777)).unwrap();
    let sample = everything();
    extract_all(&sample, &inside, &options(2)).unwrap();
    no_differences(&sample, &inside);
}

#[test]
fn a_user_without_rights_gets_what_is_possible() {
    if !is_root() {
        return eprintln!("skipped: becoming another user needs root");
    }
    // The test runs itself again as another user; see `as_another_user`.
    let place = place();
    std::os::unix::fs::chown(place.path(), Some(12_345), Some(12_345)).unwrap();
    let mut command = Command::new("setpriv");
    command.args(["--reuid=12345", "--regid=12345", "--clear-groups"]);
    command.arg(std::env::current_exe().unwrap());
    command.args(["--exact", "directory::tests::as_another_user", "--nocapture", "--ignored"]);
    let output = command.env("LITH_TEST_PLACE", place.path()).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("1 passed"), "{text}");
}

#[test]
#[ignore = "run by a_user_without_rights_gets_what_is_possible"]
fn as_another_user() {
    let place = std::env::var_os("LITH_TEST_PLACE").unwrap();
    let place = Path::new(&place);
    let sample = Sample::of_everything();
    extract_all(&sample, &place.join("own"), &options(2)).unwrap();
    no_differences(&sample, &place.join("own"));
    let mut sample = Sample::new();
    sample.file(b"readonly", 0o444, b"");
    sample.xattr(b"readonly", "user.note", b"set before it is read-only");
    extract_all(&sample, &place.join("readonly"), &options(2)).unwrap();
    no_differences(&sample, &place.join("readonly"));
    let mut sample = Sample::new();
    sample.file(b"foreign", 0o4755, b"");
    sample.metadata(b"foreign").uid = 0;
    let rdev = Rdev { major: 1, minor: 3 };
    sample.node(b"null", 0o666, Kind::CharDevice(rdev));
    sample.link(b"null2", b"null");
    let notes = Notes::default();
    let whole = Filesystem::new(&sample.tree, &sample.contents);
    let options = ExtractOptions { owners: Owners::Keep, ..options(2) };
    extract(whole, &Selection::all(), &place.join("foreign"), &options, &notes).unwrap();
    let refused = "Operation not permitted (os error 1)";
    let expected = [
        format!("/foreign: owner not kept: {refused}"),
        "/foreign: setuid or setgid not kept".to_owned(),
        "/null2: device not kept".to_owned(),
        format!("/null: device not kept: {refused}"),
    ];
    assert_eq!(notes.sorted(), expected);
}

#[test]
fn sockets_are_made() {
    let mut sample = Sample::new();
    sample.node(b"socket", 0o755, Kind::Socket);
    let place = place();
    extract_all(&sample, place.path(), &options(1)).unwrap();
    no_differences(&sample, place.path());
    let socket = fs::symlink_metadata(place.path().join("socket")).unwrap();
    assert!(socket.file_type().is_socket());
}

#[test]
fn deep_and_wide_trees_need_few_descriptors() {
    let mut sample = Sample::new();
    let mut path = b"d".to_vec();
    sample.directory(&path, 0o755);
    for _ in 0..600 {
        path.extend_from_slice(b"/dddddddddd");
        sample.directory(&path, 0o755);
        sample.file(&[&path[..], b"f"].concat(), 0o644, b"x");
    }
    for number in 0..1500 {
        let path = format!("wide-{number}");
        sample.directory(path.as_bytes(), 0o711);
    }
    let place = place();
    let report = extract_all(&sample, place.path(), &options(4)).unwrap();
    assert_eq!(report.names, sample.tree.walk().count() as u64);
    let shell = format!("find {} | wc -l", place.path().display());
    let output = Command::new("sh").args(["-c", &shell]).output().unwrap();
    let found = String::from_utf8(output.stdout).unwrap();
    assert_eq!(found.trim().parse(), Ok(report.names));
    let root = fs::metadata(place.path()).unwrap();
    let mtime = Timestamp { sec: root.mtime(), nsec: 123_456_789 };
    assert_eq!(mtime, sample.tree.get(ROOT).metadata.mtime);
    assert_eq!(sample.tree.get(ROOT).metadata.xattrs, XattrSet::EMPTY);
}

/// A small filesystem of its own, as long as it lives.
struct Mounted(TempDir);

impl Mounted {
    fn new(options: &str) -> Option<Self> {
        let place = place();
        let mut command = Command::new("mount");
        command.args(["-t", "tmpfs", "-o", options, "none"]);
        let done = command.arg(place.path()).status();
        let is_mounted = done.is_ok_and(|status| status.success());
        is_mounted.then_some(Self(place))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        _ = Command::new("umount").arg(self.0.path()).status();
    }
}

#[test]
fn a_full_disk_is_named_and_leaves_no_half_file() {
    let Some(mounted) = Mounted::new("size=8m") else {
        return eprintln!("skipped: mounting a small tmpfs needs root");
    };
    for size in [5_000_000, 30_000_000] {
        let mut sample = Sample::new();
        sample.file(b"a", 0o644, &vec![1; 4_000_000]);
        sample.file(b"b", 0o644, &vec![1; size]);
        let destination = mounted.0.path().join(size.to_string());
        let error = extract_all(&sample, &destination, &options(1)).unwrap_err();
        let ExtractError::Io { path, source, .. } = error else {
            panic!("{error}");
        };
        assert_eq!(path, destination.join("b"));
        assert_eq!(source.kind(), io::ErrorKind::StorageFull);
        assert!(!destination.join("b").exists());
        fs::remove_dir_all(&destination).unwrap();
    }
}

#[test]
fn a_read_only_filesystem_is_named() {
    let Some(mounted) = Mounted::new("ro") else {
        return eprintln!("skipped: mounting a small tmpfs needs root");
    };
    let destination = mounted.0.path().join("x");
    let error = extract_all(&Sample::new(), &destination, &options(1)).unwrap_err();
    assert!(matches!(error, ExtractError::Io { path, .. } if path == destination));
}

#[test]
fn progress_counts_the_bytes_of_selected_files_once() {
    let sample = Sample::of_everything();
    let fs = Filesystem::new(&sample.tree, &sample.contents);
    for workers in [1, 2] {
        let (place, progress) = (place(), Progress::default());
        let report =
            extract(fs, &Selection::all(), place.path(), &options(workers), &progress).unwrap();
        assert_eq!((progress.phase(), progress.total()), (Phase::Extracting, report.bytes));
        assert_eq!(progress.done(), report.bytes);
    }
}
