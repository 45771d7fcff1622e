//! Watches what programs read, by events of the kernel.

use std::{
    collections::HashSet,
    fs, io, mem,
    ops::Range,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    time::Duration,
};

use rustix::fs::{Mode, OFlags, ResolveFlags, open, openat2};

use crate::{
    fanotify::{Event, Group, Kind, Scope},
    locations::Locations,
    profile::Profile,
    recorder::Recorder,
};

/// Watches an image that the kernel mounts from its file: each read of the image's file is an event that names the bytes,
/// and each open of a file in the mount one that names the file. Bytes that belong to several files, as those of fragments do,
/// are those of the files that were opened. No event names an inode that is only looked up, as `stat` does: those are the names
/// that the kernel has in memory when the watch ends.
///
/// Needs Linux 6.14, `CAP_SYS_ADMIN`, and an image on a filesystem with such events: ext4, XFS, btrfs.
#[derive(Debug)]
pub struct ImageWatch<'l> {
    group: Group,
    locations: &'l Locations,
    mount: PathBuf,
    recorder: Recorder,
    opened: HashSet<u32>,
    /// What was read of the packed inode: each range as it was read, by its start.
    packed: HashSet<(u64, u64)>,
    /// What was read of files without an event that they were opened, as through an overlay, and when. What several files share,
    /// as they do the packed inode, is here until all of them are open.
    unclear: Vec<(u64, Range<u64>)>,
}

impl<'l> ImageWatch<'l> {
    /// Watches the image in a file that is not mounted yet: only files that are opened from now on are watched. Whoever
    /// reads it, by mounting it too, waits for [`Self::take`].
    ///
    /// # Errors
    /// Those of the kernel.
    pub fn new(locations: &'l Locations, image: &Path) -> io::Result<Self> {
        let group = Group::new()?;
        group.watch(&image.canonicalize()?, Kind::Ranges, Scope::File)?;
        let (mount, recorder) = (PathBuf::new(), Recorder::new());
        let (opened, packed, unclear) = (HashSet::new(), HashSet::new(), Vec::new());
        Ok(Self { group, locations, mount, recorder, opened, packed, unclear })
    }

    /// Watches the directory at which the image is mounted now.
    ///
    /// # Errors
    /// Those of the kernel.
    pub fn watch_mount(&mut self, mount: &Path) -> io::Result<()> {
        self.mount = mount.canonicalize()?;
        self.group.watch(&self.mount, Kind::Opens, Scope::Filesystem)
    }

    /// Notes the events there are, or those that come within some time. Returns whether there was one.
    ///
    /// # Errors
    /// Those of the kernel.
    pub fn take(&mut self, timeout: Duration) -> io::Result<bool> {
        let events = self.group.events(timeout)?;
        for event in &events {
            match &event.range {
                Some(range) => self.read(range),
                None => self.open(&event.path),
            }
        }
        Ok(!events.is_empty())
    }

    /// What was used. The image must still be mounted.
    #[must_use]
    pub fn finish(mut self) -> Profile {
        self.note_lookups();
        self.note_hidden();
        self.recorder.profile()
    }

    /// Notes the names that were looked up, after everything that was read: none of them says when.
    fn note_lookups(&mut self) {
        // Nothing is noted if the directory isn't there any more, or the kernel is older than this question.
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let Ok(mount) = open(&self.mount, flags, Mode::empty()) else { return };
        let mut cached = HashSet::from([&b""[..]]);
        for path in self.locations.paths() {
            let parent = path.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
            if path.is_empty() || !cached.contains(path.get(..parent).unwrap_or_default()) {
                continue;
            }
            if openat2(&mount, path, flags, Mode::empty(), ResolveFlags::CACHED).is_ok() {
                cached.insert(path);
                self.recorder.lookup_if_new(path);
            }
        }
    }

    /// Notes what was read of files that were opened without an event.
    fn note_hidden(&mut self) {
        let reads = mem::take(&mut self.unclear);
        let is_proof = |(_, stored): &(u64, Range<u64>)| {
            let mut files = self.locations.files_at(stored).map(|(file, _)| file);
            let only = files.next().filter(|file| files.all(|other| other == *file));
            only.is_some_and(|file| self.is_hidden(file))
        };
        if !reads.iter().any(is_proof) {
            return;
        }
        let (locations, mut known) = (self.locations, HashSet::new());
        for (time, stored) in reads {
            for (file, bytes) in locations.files_at(&stored) {
                self.read_hidden(time, (file, bytes), &mut known);
            }
            for packed in locations.packed_at(&stored) {
                for fragment in locations.fragments_at(&packed) {
                    self.read_hidden(time, fragment, &mut known);
                }
            }
        }
        // No event tells when bytes beside an inode are read, or whether they are.
        let end = self.recorder.now();
        for file in locations.numbers() {
            let ranges = locations.inline(file).iter();
            let is_used = |bytes: &&Range<u64>| bytes.start == 0 || known.contains(&file);
            let used: Vec<_> = ranges.filter(is_used).cloned().collect();
            for bytes in used {
                self.read_hidden(end, (file, bytes), &mut known);
            }
        }
    }

    fn read_hidden(
        &mut self,
        time: u64,
        (file, bytes): (u32, Range<u64>),
        known: &mut HashSet<u32>,
    ) {
        if self.is_hidden(file)
            && let Some((path, false)) = self.locations.name(file)
        {
            self.recorder.read_at(time, path, bytes);
            known.insert(file);
        }
    }

    /// Whether it is a file of which the kernel has the name, though no event said that it was opened.
    fn is_hidden(&self, file: u32) -> bool {
        let name = self.locations.name(file);
        !self.opened.contains(&file)
            && name
                .is_some_and(|(path, is_directory)| !is_directory && self.recorder.has_lookup(path))
    }

    fn open(&mut self, path: &Path) {
        let Ok(path) = path.strip_prefix(&self.mount) else { return };
        let Some(file) = self.locations.number(path.as_os_str().as_bytes()) else { return };
        let Some((path, is_directory)) = self.locations.name(file) else { return };
        self.recorder.lookup(path);
        if is_directory {
            return self.recorder.list(path);
        }
        self.opened.insert(file);
        // No event tells when bytes beside an inode are read, or those that are in memory already for another file.
        for range in self.locations.inline(file) {
            self.recorder.read(path, range.clone());
        }
        for range in self.locations.packed_ranges(file) {
            let is_read = |(start, end): &(u64, u64)| *start < range.end && range.start < *end;
            if self.packed.iter().any(is_read) {
                self.read_packed(range);
            }
        }
    }

    fn read(&mut self, stored: &Range<u64>) {
        let (time, mut is_clear) = (self.recorder.now(), true);
        for (file, bytes) in self.locations.files_at(stored) {
            match self.locations.name(file) {
                Some((path, true)) => self.recorder.list(path),
                Some((path, false)) if self.opened.contains(&file) => {
                    self.recorder.read(path, bytes);
                }
                Some((_, false)) => is_clear = false,
                None => {}
            }
        }
        for range in self.locations.packed_at(stored) {
            self.packed.insert((range.start, range.end));
            is_clear &= self.read_packed(&range);
        }
        if !is_clear && self.unclear.len() < Recorder::MOST {
            self.unclear.push((time, stored.clone()));
        }
    }

    /// Notes the fragments of files that are open in a range of the packed inode; `false`: others aren't.
    fn read_packed(&mut self, range: &Range<u64>) -> bool {
        let mut is_clear = true;
        for (file, bytes) in self.locations.fragments_at(range) {
            match self.locations.name(file).filter(|_| self.opened.contains(&file)) {
                Some((path, _)) => self.recorder.read(path, bytes),
                None => is_clear = false,
            }
        }
        is_clear
    }
}

/// Watches a folder, which must be a mount point, such as a bind mount.
#[derive(Debug)]
pub struct FolderWatch {
    opens: Group,
    /// A group of its own, because the kernel does not combine such marks with those for directories. `None`: it doesn't tell
    /// which ranges are read, and files count as read whole.
    ranges: Option<Group>,
    folder: PathBuf,
    recorder: Recorder,
}

impl FolderWatch {
    /// Watches what is read below a folder that is mounted. Ranges are known from Linux 6.14 on, on ext4, XFS and btrfs;
    /// otherwise files count as read whole when they are opened.
    ///
    /// # Errors
    /// Those of the kernel.
    pub fn new(folder: &Path) -> io::Result<Self> {
        let folder = folder.canonicalize()?;
        let opens = Group::new()?;
        opens.watch(&folder, Kind::Opens, Scope::Mount)?;
        let ranges = Group::new()?;
        let has_ranges = ranges.watch(&folder, Kind::Ranges, Scope::Mount).is_ok();
        let ranges = has_ranges.then_some(ranges);
        Ok(Self { opens, ranges, folder, recorder: Recorder::new() })
    }

    /// As [`ImageWatch::take`].
    ///
    /// # Errors
    /// Those of the kernel.
    pub fn take(&mut self, timeout: Duration) -> io::Result<bool> {
        let wait = if self.ranges.is_some() { Duration::ZERO } else { timeout };
        let mut events = self.opens.events(wait)?;
        if let Some(ranges) = &mut self.ranges {
            events.extend(ranges.events(timeout)?);
        }
        for event in &events {
            self.note(event);
        }
        Ok(!events.is_empty())
    }

    /// What was used.
    #[must_use]
    pub fn finish(self) -> Profile {
        self.recorder.profile()
    }

    fn note(&mut self, event: &Event) {
        let Ok(path) = event.path.strip_prefix(&self.folder) else { return };
        let path = path.as_os_str().as_bytes();
        // Programs request more than there is, to find the end.
        let size = fs::metadata(&event.path).map_or(u64::MAX, |found| found.len());
        match &event.range {
            Some(range) => self.recorder.read(path, range.start..range.end.min(size)),
            None if event.is_directory => self.recorder.list(path),
            None => {
                self.recorder.lookup(path);
                if self.ranges.is_none() {
                    self.recorder.read(path, 0..size);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use lith_device::FileDevice;
    use lith_reader::Image;

    use super::*;

    #[test]
    fn reads_of_files_that_were_opened_are_not_kept() {
        let image = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/01-plain.erofs");
        let opened = Image::open(FileDevice::open(&image).unwrap()).unwrap();
        let locations = Locations::new(&opened).unwrap();
        let mut watch = match ImageWatch::new(&locations, &image) {
            Ok(watch) => watch,
            Err(error) => return eprintln!("SKIP events of reads: {error}"),
        };
        watch.mount = PathBuf::from("/mount");
        let has_blocks = |path: &&[u8]| !locations.stored(path, &(0..u64::MAX)).is_empty();
        let is_file = |path: &&[u8]| {
            let number = locations.number(path);
            number.and_then(|file| locations.name(file)).is_some_and(|(_, is_folder)| !is_folder)
        };
        let path = locations.paths().filter(is_file).find(has_blocks).unwrap();
        let stored = locations.stored(path, &(0..1)).remove(0);
        watch.read(&stored);
        assert_eq!(watch.unclear.len(), 1, "no event says who reads it");
        watch.open(&Path::new("/mount").join(lith_system::path(path)));
        watch.read(&stored);
        // Metadata belongs to no file.
        watch.read(&(0..1));
        assert_eq!(watch.unclear.len(), 1);
    }
}
