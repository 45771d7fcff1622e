//! Reads and extracts damaged images: no panic, no hang, nothing written elsewhere.

use std::{
    fs, io,
    num::NonZeroUsize,
    ops::Range,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use lith::{
    check,
    device::{MemoryDevice, ReadAt},
    export::{ExtractOptions, MemberOrder, Selection, extract, write_tar},
    reader::Image,
    source,
    tree::{Kind, Tree},
};

use crate::{fuzz, metabox::Metabox, mutation};

/// The longest that one image may take. All are small: the time allows for a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);
/// Bytes that an extracted tree may have.
const EXTRACTED: u64 = 64 << 20;

/// Seeds that are tried for each image of [`try_inside`]: most changes of a metabox can be encoded where it was.
const SEEDS: u64 = 20;

/// What became of damaged images.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Outcomes {
    /// Reading them ended with an error.
    pub unreadable: u64,
    /// They were read, and a check has findings.
    pub damaged: u64,
    /// They were read, and a check has none.
    pub sound: u64,
}

impl Outcomes {
    /// All images.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.unreadable + self.damaged + self.sound
    }

    fn add(&mut self, (is_read, is_sound): (bool, bool)) {
        let place = match (is_read, is_sound) {
            (false, _) => &mut self.unreadable,
            (true, false) => &mut self.damaged,
            (true, true) => &mut self.sound,
        };
        *place += 1;
    }
}

/// Damages the image once for each seed, and does with it whatever users do.
pub fn try_all(image: &[u8], seeds: Range<u64>, folder: &Path) {
    let hot = mutation::hot_ranges(image);
    let metabox = Metabox::of(image);
    for seed in seeds {
        let inside = metabox.as_ref().filter(|_| seed.is_multiple_of(2));
        let inside = inside.and_then(|metabox| metabox.mutated(seed));
        watched(&inside.unwrap_or_else(|| damaged(image, &hot, seed)), seed, folder);
    }
}

/// Damages what is inside of the image's compressed metabox, `count` times, and does with it whatever users do.
#[must_use]
pub fn try_inside(image: &[u8], (first, count): (u64, u64), folder: &Path) -> Outcomes {
    let metabox = Metabox::of(image).unwrap();
    let mut outcomes = Outcomes::default();
    let seeds = first..first + count * SEEDS;
    for (seed, damaged) in seeds.filter_map(|seed| Some((seed, metabox.mutated(seed)?))) {
        if outcomes.count() == count {
            break;
        }
        outcomes.add(watched(&damaged, seed, folder));
    }
    outcomes
}

/// Uses an image that is damaged by a seed; whether it can be read, and whether a check finds nothing.
fn watched(damaged: &[u8], seed: u64, folder: &Path) -> (bool, bool) {
    let started = Instant::now();
    let outcome = catch_unwind(AssertUnwindSafe(|| try_one(damaged, folder)));
    let took = started.elapsed();
    match outcome {
        Ok(outcome) if took <= PATIENCE => outcome,
        _ => {
            let kept = folder.join(format!("damaged-{seed}.erofs"));
            let _ = fs::write(&kept, damaged);
            panic!("the image damaged by seed {seed} took {took:?} and ended with {outcome:?}");
        }
    }
}

/// The image with some bytes changed.
fn damaged(image: &[u8], hot: &[(usize, usize)], seed: u64) -> Vec<u8> {
    let mut damaged = image.to_vec();
    if !seed.is_multiple_of(4) && damaged.len() > 1032 {
        // Without its checksum an invalid superblock is not refused at once.
        damaged[1032] &= !1;
    }
    mutation::mutate(&mut damaged, hot, seed);
    damaged
}

fn try_one(image: &[u8], folder: &Path) -> (bool, bool) {
    fuzz::reader_open_walk(image);
    let device = || vec![Box::new(MemoryDevice::new(image.to_vec())) as Box<dyn ReadAt>];
    let report = check::check_devices(device(), &check::Options::default(), &());
    let is_sound = report.is_ok_and(|report| report.findings.is_empty());
    let read = read(image, folder);
    assert!(read || !is_sound, "check finds nothing, but it can't be read");
    (read, is_sound)
}

/// Extracts an image and makes a tar of it; whether both worked, or it is too large for that.
fn read(image: &[u8], folder: &Path) -> bool {
    let Ok(image) = Image::open(MemoryDevice::new(image.to_vec())) else { return false };
    let options = source::Options::default();
    let Ok(source) = source::image(Arc::new(image), Path::new("image"), &options) else {
        return false;
    };
    if size(&source.tree) > EXTRACTED {
        return true;
    }
    let (all, order) = (Selection::all(), MemberOrder::default());
    let tar = write_tar(source.filesystem(), &all, order, &mut io::sink(), &());
    let inside = folder.join("inside");
    let before = crate::place::names(folder);
    let workers = NonZeroUsize::new(2).unwrap();
    let options = ExtractOptions::with(|options| options.workers = workers);
    let extracted = extract(source.filesystem(), &all, &inside, &options, &());
    if inside.exists() {
        remove(&inside);
    }
    assert_eq!(crate::place::names(folder), before, "something is outside");
    tar.is_ok() && extracted.is_ok()
}

/// Removes a folder, whatever its modes are.
fn remove(folder: &Path) {
    use std::os::unix::fs::PermissionsExt;
    if fs::remove_dir_all(folder).is_ok() {
        return;
    }
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
        let entries = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap());
        folders.extend(entries.filter(|e| e.file_type().unwrap().is_dir()).map(|e| e.path()));
    }
    fs::remove_dir_all(folder).unwrap();
}

fn size(tree: &Tree) -> u64 {
    let size = |visit: lith::tree::Visit<'_>| match tree.get(visit.inode).kind {
        Kind::Regular { size } => size,
        _ => 1,
    };
    tree.walk().map(size).fold(0, u64::saturating_add)
}
