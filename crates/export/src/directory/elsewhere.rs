//! Extracts with what the standard library can do, on systems other than Linux.
//!
//! The observer receives what is left out: owners, extended attributes, devices, and names and links that this system
//! can't have. Windows has no modes, and its directories keep the time at which they are made.
//!
//! Directories are made before files, and symbolic links after them, so nothing is written through a link of the tree. Unlike
//! on Linux, other programs must not change the destination meanwhile.

use std::{
    fs::{self, File, FileTimes},
    io,
    path::{Component, Path, PathBuf},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use lith_parallel::try_map;
use lith_system::FileAt;
use lith_tree::{Filesystem, Inode, Kind, Piece, Pieces, Timestamp, push_name};

use super::{
    Existing, ExtractError, ExtractOptions, Owners, Permissions,
    plan::{Directory, Entry, Link, Plan},
};
use crate::{ExportObserver, Report, Selection, What, report::Counter};

/// Bytes read and written at once.
const BUFFER: usize = 1 << 20;

pub(super) fn extract(
    fs: Filesystem<'_>,
    selection: &Selection,
    destination: &Path,
    options: &ExtractOptions,
    observer: &dyn ExportObserver,
) -> Result<Report, ExtractError> {
    let is_new = open(destination, options.existing)?;
    let counter = Counter::start(observer, fs.tree, selection);
    let extraction = Extraction { fs, options: *options, root: destination, counter };
    let mut plan = Plan::new(fs, selection);
    for directory in &mut plan.directories {
        let is_new = extraction.make_directory(directory, is_new)?;
        directory.owns_attributes |= is_new;
    }
    let is_symlink = |entry: &Entry<'_>| matches!(fs.tree.get(entry.inode).kind, Kind::Symlink(_));
    let (symlinks, mut files): (Vec<_>, Vec<_>) =
        plan.entries.iter().copied().partition(is_symlink);
    files.extend(plan.large.iter().map(|large| large.entry));
    let buffer = || vec![0; BUFFER];
    try_map(&files, options.workers, buffer, |buffer, entry| extraction.make(entry, buffer))?;
    symlinks.iter().try_for_each(|entry| extraction.make(entry, &mut []))?;
    plan.links.iter().try_for_each(|link| extraction.make_link(link))?;
    let own = plan.directories.iter().rev().filter(|directory| directory.owns_attributes);
    own.into_iter().try_for_each(|directory| extraction.finish(directory))?;
    Ok(extraction.counter.report())
}

/// Creates the destination if it doesn't exist, and returns whether it was created.
fn open(path: &Path, existing: Existing) -> Result<bool, ExtractError> {
    let error = |action| {
        let path = path.to_owned();
        move |source| ExtractError::Io { path, action, source }
    };
    let is_new = !path.is_dir();
    if is_new {
        fs::create_dir_all(path).map_err(error("create"))?;
    }
    if existing == Existing::Refuse && fs::read_dir(path).map_err(error("read"))?.next().is_some() {
        return Err(ExtractError::NotEmpty(path.to_owned()));
    }
    Ok(is_new)
}

/// What all steps of one extraction use.
struct Extraction<'a> {
    fs: Filesystem<'a>,
    options: ExtractOptions,
    root: &'a Path,
    counter: Counter<'a>,
}

impl Extraction<'_> {
    /// The path of an entry in the tree, and its place in the destination, unless a name in it is none here.
    fn place(&self, entry: &Entry<'_>) -> (Vec<u8>, Option<PathBuf>) {
        let mut path = self.fs.tree.path(entry.parent);
        push_name(&mut path, entry.name.as_bytes());
        let place = self.place_of(&path);
        (path, place)
    }

    fn place_of(&self, path: &[u8]) -> Option<PathBuf> {
        let mut place = self.root.to_owned();
        for name in path.split(|byte| *byte == b'/').filter(|name| !name.is_empty()) {
            place.push(name_here(name)?);
        }
        Some(place)
    }

    fn skip(&self, path: &[u8], what: What, cause: Option<io::Error>) {
        self.counter.skipped(path, what, cause);
    }

    /// Makes a directory; false if it exists, or can't be.
    fn make_directory(
        &self,
        directory: &Directory<'_>,
        root_is_new: bool,
    ) -> Result<bool, ExtractError> {
        let Some(name) = directory.name else {
            self.counter.named(1);
            return Ok(root_is_new);
        };
        let entry = Entry { parent: directory.parent, name, inode: directory.inode };
        let (path, place) = self.place(&entry);
        let Some(place) = place else {
            self.skip(&path, What::File, None);
            return Ok(false);
        };
        self.counter.named(1);
        if self.options.existing != Existing::Refuse
            && let Ok(found) = place.symlink_metadata()
        {
            if found.is_dir() {
                return Ok(false);
            }
            if self.options.existing == Existing::Overwrite {
                fs::remove_file(&place).map_err(failed(&place, "remove"))?;
            }
        }
        fs::create_dir(&place).map_err(failed(&place, "create"))?;
        Ok(true)
    }

    /// Makes the file of an entry.
    fn make(&self, entry: &Entry<'_>, buffer: &mut [u8]) -> Result<(), ExtractError> {
        if self.counter.is_cancelled() {
            return Err(ExtractError::Cancelled);
        }
        let (path, place) = self.place(entry);
        let Some(place) = place else {
            self.skip(&path, What::File, None);
            return Ok(());
        };
        let inode = self.fs.tree.get(entry.inode);
        match &inode.kind {
            Kind::Regular { size } => self.make_file(entry, (&path, &place), *size, buffer)?,
            Kind::Symlink(target) => {
                self.make_room(&place)?;
                if let Err(cause) = lith_system::symlink(target, &place) {
                    self.skip(&path, What::File, Some(cause));
                    return Ok(());
                }
                self.skip_unkept(&path, inode);
            }
            _ => {
                self.skip(&path, What::Device, None);
                return Ok(());
            }
        }
        self.counter.named(1);
        Ok(())
    }

    /// Makes a file with content and attributes; one that can't be finished is removed.
    fn make_file(
        &self,
        entry: &Entry<'_>,
        (path, place): (&[u8], &Path),
        size: u64,
        buffer: &mut [u8],
    ) -> Result<(), ExtractError> {
        self.make_room(place)?;
        let created = File::options().write(true).create_new(true).open(place);
        let file = created.map_err(failed(place, "create"))?;
        let written = self.write(entry, (place, &file), size, buffer);
        let done = written.and_then(|()| self.set_attributes(path, (place, &file), entry));
        if done.is_err() {
            drop(file);
            // Nobody is left to tell.
            let _ = fs::remove_file(place);
        }
        done
    }

    /// Writes a file except its holes.
    fn write(
        &self,
        entry: &Entry<'_>,
        (place, file): (&Path, &File),
        size: u64,
        buffer: &mut [u8],
    ) -> Result<(), ExtractError> {
        file.set_len(size).map_err(failed(place, "write"))?;
        if size > 0 {
            let content = self.fs.open(entry.inode)?;
            let mut pieces = Pieces::new(&*content, 0..size, buffer);
            while let Some(piece) = pieces.advance()? {
                if let Piece::Data { position, bytes } = piece {
                    file.write_all_at(bytes, position).map_err(failed(place, "write"))?;
                    if self.counter.is_cancelled() {
                        return Err(ExtractError::Cancelled);
                    }
                }
            }
            content.check_unchanged()?;
        }
        self.counter.advance(size);
        Ok(())
    }

    /// Makes a further name of a file.
    fn make_link(&self, link: &Link<'_>) -> Result<(), ExtractError> {
        let ((path, place), (_, first)) = (self.place(&link.entry), self.place(&link.first));
        let is_there = |first: &PathBuf| first.symlink_metadata().is_ok();
        let (Some(place), Some(first)) = (place, first.filter(is_there)) else {
            self.skip(&path, What::File, None);
            return Ok(());
        };
        self.make_room(&place)?;
        fs::hard_link(&first, &place).map_err(failed(&place, "create"))?;
        self.counter.named(1);
        Ok(())
    }

    /// Removes what has the name of a file that is to be made, if it may be replaced.
    fn make_room(&self, place: &Path) -> Result<(), ExtractError> {
        if self.options.existing != Existing::Overwrite {
            return Ok(());
        }
        match place.symlink_metadata() {
            Ok(found) if found.is_dir() => Err(ExtractError::InTheWay(place.to_owned())),
            Ok(_) => fs::remove_file(place).map_err(failed(place, "remove")),
            Err(_nothing_is_there) => Ok(()),
        }
    }

    /// Sets the attributes of a directory.
    fn finish(&self, directory: &Directory<'_>) -> Result<(), ExtractError> {
        let path = self.fs.tree.path(directory.inode);
        let (Some(place), false) = (self.place_of(&path), cfg!(windows)) else { return Ok(()) };
        let file = File::open(&place).map_err(failed(&place, "open"))?;
        let inode = self.fs.tree.get(directory.inode);
        self.set_all(&path, (&place, &file), inode, None)
    }

    fn set_attributes(
        &self,
        path: &[u8],
        (place, file): (&Path, &File),
        entry: &Entry<'_>,
    ) -> Result<(), ExtractError> {
        let found = file.metadata().map_err(failed(place, "read the attributes of"))?;
        let mode = lith_system::status(&found).mode;
        self.set_all(path, (place, file), self.fs.tree.get(entry.inode), mode)
    }

    /// Sets mode and time; `created` is the mode that a new file has.
    fn set_all(
        &self,
        path: &[u8],
        (place, file): (&Path, &File),
        inode: &Inode,
        created: Option<u32>,
    ) -> Result<(), ExtractError> {
        self.skip_unkept(path, inode);
        let mode = u32::from(inode.metadata.permissions);
        if mode & 0o6000 != 0 && !cfg!(windows) {
            self.skip(path, What::SetId, None);
        }
        let mut mode = mode & 0o1777;
        if let (Permissions::Masked, Some(created)) = (self.options.permissions, created) {
            // A file is created without permission to execute it; the umask has that where it has the one to read.
            mode &= created | (created & 0o444) >> 2;
        }
        if let Some(permissions) = lith_system::permissions(mode) {
            file.set_permissions(permissions).map_err(failed(place, "set the mode of"))?;
        }
        let time = time_of(inode.metadata.mtime);
        let times = time.map(|time| FileTimes::new().set_modified(time));
        match times.map(|times| file.set_times(times)) {
            Some(Ok(())) => {}
            None => self.skip(path, What::Mtime, None),
            Some(Err(cause)) => self.skip(path, What::Mtime, Some(cause)),
        }
        Ok(())
    }

    /// Tells which attributes are not kept on this system.
    fn skip_unkept(&self, path: &[u8], inode: &Inode) {
        if self.options.owners == Owners::Keep {
            self.skip(path, What::Owner, None);
        }
        if self.options.xattrs {
            for xattr in self.fs.tree.xattrs.get(inode.metadata.xattrs) {
                self.skip(path, What::Xattr(xattr.name.clone()), None);
            }
        }
    }
}

/// Makes the error for an action that the operating system refused.
fn failed(place: &Path, action: &'static str) -> impl FnOnce(io::Error) -> ExtractError {
    let path = place.to_owned();
    move |source| ExtractError::Io { path, action, source }
}

/// A name of the tree as a single name of this system; `None`: here it is none, or would lead elsewhere.
fn name_here(name: &[u8]) -> Option<&Path> {
    let path = lith_system::path_of(name)?;
    let mut parts = path.components();
    let is_single = matches!(
        (parts.next(), parts.next()),
        (Some(Component::Normal(only)), None) if only == path.as_os_str()
    );
    (is_single && (!cfg!(windows) || is_name_of_windows(path.to_str()?))).then_some(path)
}

/// Whether Windows has files of this name: others are devices, streams of a file, or lose their end.
fn is_name_of_windows(name: &str) -> bool {
    let reserved = |c: char| c.is_control() || r#"<>:"/\|?*"#.contains(c);
    let stem = name.split('.').next().unwrap_or_default().trim_end().to_ascii_uppercase();
    let is_numbered = ["COM", "LPT"].iter().any(|device| {
        let number = stem.strip_prefix(device);
        number.is_some_and(|number| number.chars().count() == 1 && !number.contains('0'))
    });
    let is_device =
        is_numbered || ["CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"].contains(&&*stem);
    !is_device && !name.contains(reserved) && !name.ends_with([' ', '.'])
}

fn time_of(Timestamp { sec, nsec }: Timestamp) -> Option<SystemTime> {
    let whole = Duration::from_secs(sec.unsigned_abs());
    let time = if sec < 0 { UNIX_EPOCH.checked_sub(whole) } else { UNIX_EPOCH.checked_add(whole) };
    time?.checked_add(Duration::from_nanos(nsec.into()))
}

#[cfg(test)]
mod tests {
    use std::{num::NonZeroUsize, sync::Mutex};

    use lith_observer::Observer;
    use lith_tree::Aspects;

    use super::*;
    use crate::{Skipped, testing::Sample};

    #[derive(Default)]
    struct Skips(Mutex<Vec<String>>);

    impl Observer for Skips {}

    impl ExportObserver for Skips {
        fn skipped(&self, skipped: &Skipped) {
            self.0.lock().unwrap().push(skipped.to_string());
        }
    }

    fn run(
        sample: &Sample,
        to: &Path,
        existing: Existing,
    ) -> (Result<Report, ExtractError>, Vec<String>) {
        let fs = Filesystem::new(&sample.tree, &sample.contents);
        let workers = NonZeroUsize::new(3).unwrap();
        let options = ExtractOptions { existing, workers, ..ExtractOptions::default() };
        let skips = Skips::default();
        let result = extract(fs, &Selection::all(), to, &options, &skips);
        let mut skips = skips.0.into_inner().unwrap();
        skips.sort();
        (result, skips)
    }

    #[test]
    fn files_links_modes_and_times_come_back_and_the_rest_is_told() {
        let mut sample = Sample::new();
        sample.directory(b"dir", 0o750);
        sample.directory(b"dir/closed", 0o500);
        sample.file(b"dir/closed/file", 0o400, b"text");
        sample.file(b"large", 0o644, &vec![7; 20_000_000]);
        sample.sparse(b"sparse", 5 << 20, &[(3 << 20, b"data")]);
        sample.symlink(b"symlink", b"dir/closed");
        sample.link(b"hard", b"large");
        let kept = sample.clone();
        sample.node(b"fifo", 0o644, Kind::Fifo);
        sample.xattr(b"large", "user.note", b"lost");
        let folder = tempfile::tempdir().unwrap();
        let to = folder.path().join("a/b");
        let (report, skips) = run(&sample, &to, Existing::Refuse);
        assert_eq!(report.unwrap().names, 8);
        assert_eq!(skips, ["/fifo: device not kept", "/hard: xattr user.note not kept"]);
        let found = Sample::scan(&to);
        // Links have the time at which they are made.
        let differences = kept.differences(&found, Aspects::OWNERS);
        assert!(
            differences.iter().all(|line| line.starts_with("/symlink: mtime")),
            "{differences:?}"
        );
        let (again, _) = run(&sample, &to, Existing::Refuse);
        assert!(matches!(again, Err(ExtractError::NotEmpty(_))));
    }

    #[test]
    fn nothing_is_written_through_links_that_were_there() {
        let folder = tempfile::tempdir().unwrap();
        let (inside, outside) = (folder.path().join("in"), folder.path().join("out"));
        fs::create_dir(&inside).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("victim"), "untouched").unwrap();
        lith_system::symlink(b"../out", &inside.join("dir")).unwrap();
        lith_system::symlink(b"../out/victim", &inside.join("file")).unwrap();
        let mut sample = Sample::new();
        sample.directory(b"dir", 0o755);
        sample.file(b"dir/victim", 0o644, b"new");
        sample.file(b"file", 0o644, b"new");
        assert!(run(&sample, &inside, Existing::Fill).0.is_err());
        run(&sample, &inside, Existing::Overwrite).0.unwrap();
        assert_eq!(fs::read(outside.join("victim")).unwrap(), b"untouched");
        assert_eq!(fs::read(inside.join("dir/victim")).unwrap(), b"new");
        fs::remove_file(inside.join("file")).unwrap();
        fs::create_dir(inside.join("file")).unwrap();
        let (result, _) = run(&sample, &inside, Existing::Overwrite);
        assert!(matches!(result, Err(ExtractError::InTheWay(path)) if path == inside.join("file")));
    }

    #[test]
    fn names_that_lead_elsewhere_are_none() {
        for name in [&b".."[..], b".", b"", b"a/b", b"/a", b"a/"] {
            assert_eq!(name_here(name), None, "{name:?}");
        }
        assert_eq!(name_here(b"a.b"), Some(Path::new("a.b")));
        for name in
            ["NUL", "nul.txt", "COM1", "lpt9.x", "con ", "a:b", r"..\a", "a.", "a ", "a\n", "a?"]
        {
            assert!(!is_name_of_windows(name), "{name}");
        }
        for name in ["null", "COM0", "COM10", "console", ".bashrc", "a b.c", "ä"] {
            assert!(is_name_of_windows(name), "{name}");
        }
    }
}
