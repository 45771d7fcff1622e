//! Tests that every golden image is sound, except for known deviations of mkfs.erofs.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test may end so")]

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use crate::common::{Bytes, check, devices, golden, goldens, ids, options, text, try_check};
use lith_check::{CheckError, Finding, Rule, check_devices};
use lith_device::{DeviceError, MemoryDevice, ReadAt};
use lith_format::{addr::Nid, file_type::FileType};
use lith_observer::{Observer, Phase, Progress};
use lith_reader::Image;

/// Rules that mkfs.erofs breaks, by image.
const ODDITIES: [(&str, &str); 4] = [
    // It enables each algorithm that it is given, though it compresses with the first one only.
    ("37-two-algorithms", "algorithm-unused"),
    ("49-two-algorithms-1.8.6", "algorithm-unused"),
    // Their writer counts no inodes.
    ("40-unpadded-1.2.1", "sb-inos"),
    ("42-lz4hc-1.2.1", "sb-inos"),
];

fn expected(golden: &Bytes) -> BTreeSet<&'static str> {
    ODDITIES.iter().filter(|(name, _)| *name == golden.name).map(|(_, rule)| *rule).collect()
}

#[test]
fn golden_images_are_sound() {
    let goldens = goldens();
    assert!(goldens.len() >= 49);
    for golden in goldens {
        let report = check(&golden.devices);
        let found = ids(&report);
        assert_eq!(found, expected(&golden), "{}:\n{}", golden.name, text(&report));
        assert_eq!(report.errors(), 0);
        assert!(!report.truncated);
        assert_eq!(report.is_clean(), report.findings.is_empty());
    }
}

#[test]
fn devices_may_follow_on_the_primary_one() {
    for name in ["15-blobdev", "16-tar-index", "38-rebuild"] {
        let golden = golden(name);
        let all = devices(&golden.devices);
        let image = Image::open_with(all, lith_reader::Options::default()).unwrap();
        let map = image.device_map().clone();
        let mut flat = golden.devices[0].clone();
        for (slot, device) in map.slots.iter().zip(&golden.devices[1..]) {
            let start = slot.uniaddr.to_pa(map.block).unwrap().0;
            flat.resize(usize::try_from(start).unwrap(), 0);
            flat.extend_from_slice(device);
        }
        let report = check(&[flat]);
        assert!(report.is_clean(), "{name}: {}", text(&report));
    }
}

#[test]
fn everything_is_counted_once() {
    let report = check(&golden("01-plain").devices);
    let counts = report.counts;
    assert_eq!((counts.inodes, counts.directories, counts.files, counts.symlinks), (70, 12, 50, 4));
    assert_eq!(counts.content_bytes, 30908);
    assert_eq!(counts.decoded_bytes, counts.content_bytes);
    // Fragments are decoded as parts of the packed inode.
    let report = check(&golden("08-fragments").devices);
    assert_eq!(report.counts.decoded_bytes, report.counts.content_bytes);
}

#[test]
fn the_report_is_the_same_for_any_number_of_workers() {
    for golden in goldens() {
        let mut devices = golden.devices;
        // Damaged, so that there are findings.
        let start = devices[0].len() / 3;
        devices[0][start..].iter_mut().step_by(97).for_each(|byte| *byte ^= 0x55);
        let first = try_check(&devices, &options(1)).unwrap();
        for workers in [2, 8] {
            assert_eq!(try_check(&devices, &options(workers)).unwrap(), first, "{}", golden.name);
        }
    }
}

#[test]
fn no_data_is_read_if_only_metadata_is_requested() {
    let mut devices = golden("06-legacy-compress").devices;
    devices[0][8192..].fill(0xff);
    let mut structure = options(2);
    structure.data = false;
    let report = try_check(&devices, &structure).unwrap();
    assert!(report.is_clean(), "{}", text(&report));
    assert_eq!(report.counts.decoded_bytes, 0);
    assert_eq!(ids(&check(&devices)), ["data-undecodable"].into());
}

#[test]
fn a_part_is_examined_by_itself() {
    let bytes = golden("06-legacy-compress").devices;
    let all = devices(&bytes);
    let image = Image::open_with(all, lith_reader::Options::default()).unwrap();
    let mut damaged = bytes.clone();
    damaged[0][8192..].fill(0xff);
    for visit in image.files() {
        let visit = visit.unwrap();
        let mut part = options(2);
        part.start = Some(visit.inode.nid);
        let report = try_check(&bytes, &part).unwrap();
        assert!(report.is_clean(), "{:?}: {}", visit.path, text(&report));
        let is_directory = visit.inode.file_type == FileType::Directory;
        assert!(is_directory || report.counts.inodes == 1);
        assert_eq!(is_directory, report.counts.directories > 0);
        let report = try_check(&damaged, &part).unwrap();
        let is_hit = report.errors() > 0;
        assert!(is_hit || report.counts.decoded_bytes == report.counts.content_bytes);
        let begins = |finding: &Finding| finding.path.as_deref() == Some(b"/");
        assert!(is_directory || report.findings.iter().all(begins), "{}", text(&report));
    }
    let mut elsewhere = options(2);
    elsewhere.start = Some(Nid(1 << 40));
    assert!(!try_check(&bytes, &elsewhere).unwrap().is_sound());
}

#[test]
fn the_checksum_need_not_be_right() {
    let mut devices = golden("03-lz4").devices;
    devices[0][1024 + 4] ^= 1;
    assert_eq!(ids(&check(&devices)), ["sb-checksum"].into());
    let mut any = options(2);
    any.checksum = false;
    assert!(try_check(&devices, &any).unwrap().is_clean());
}

#[test]
fn an_open_image_is_examined_too() {
    for golden in goldens() {
        let all = devices(&golden.devices);
        let image = Image::open_with(all, lith_reader::Options::default()).unwrap();
        let report = lith_check::check(&image, &options(2), &()).unwrap();
        let raw = check(&golden.devices);
        assert!(ids(&report).is_subset(&ids(&raw)), "{}: {}", golden.name, text(&report));
        assert_eq!(report.counts, raw.counts, "{}", golden.name);
    }
}

#[test]
fn progress_ends_where_it_should() {
    let progress = Progress::default();
    let golden = golden("03-lz4");
    let report = check_devices(devices(&golden.devices), &options(2), &progress).unwrap();
    let decoded = report.counts.decoded_bytes;
    assert_eq!((progress.done(), progress.total()), (decoded, decoded));
    assert_eq!(progress.phase(), Phase::Checking);
}

/// An observer that cancels at the poll after `limit` others.
struct Canceller {
    polls: AtomicU64,
    limit: u64,
}

impl Observer for Canceller {
    fn is_cancelled(&self) -> bool {
        // Cancels once only: the check must remember it.
        self.polls.fetch_add(1, Ordering::Relaxed) == self.limit
    }
}

#[test]
fn a_cancelled_check_is_an_error_at_any_time() {
    // One with extents to be compared, too.
    let devices = golden("10-dedupe").devices;
    for (workers, data) in [(1, true), (3, true), (1, false)] {
        let mut options = options(workers);
        options.data = data;
        let whole = try_check(&devices, &options).unwrap();
        let mut limit = 0;
        let report = loop {
            let canceller = Canceller { polls: AtomicU64::new(0), limit };
            let result = check_devices(crate::common::devices(&devices), &options, &canceller);
            let polls = canceller.polls.into_inner();
            match result {
                Err(CheckError::Cancelled) => assert_eq!(polls, limit + 1),
                other => break other.unwrap(),
            }
            limit += 1;
        };
        assert_eq!(report, whole);
        assert!(limit > whole.counts.directories + whole.counts.files, "{limit}");
    }
}

#[test]
fn only_so_many_findings_are_kept_but_all_are_counted() {
    let mut devices = golden("30-block-512").devices;
    let image = Image::open(MemoryDevice::new(devices[0].clone())).unwrap();
    // The time of each inode with room for it is wrong.
    let mut wrong = 0;
    let mut pending = vec![image.root().unwrap()];
    let mut seen = BTreeSet::new();
    while let Some(inode) = pending.pop() {
        if seen.insert(inode.nid) && inode.size_on_disk() == 64 {
            let at = usize::try_from(inode.position).unwrap() + 40;
            devices[0][at..at + 4].fill(0xff);
            wrong += 1;
        }
        if let Ok(entries) = image.read_dir(&inode) {
            pending.extend(entries.map(|entry| image.inode(entry.unwrap().nid).unwrap()));
        }
    }
    let mut few = options(1);
    few.max_findings = 7;
    let report = try_check(&devices, &few).unwrap();
    assert!(wrong > 20 && report.truncated);
    assert_eq!(report.findings.len(), 7);
    assert_eq!(report.by_rule[&Rule::InodeTime], wrong);
    assert_eq!(report.warnings(), wrong);
}

#[test]
fn what_is_no_image_is_no_finding() {
    for bytes in [vec![], vec![0; 10], vec![0; 1 << 20], vec![0xff; 1100]] {
        let error = try_check(&[bytes], &options(1)).unwrap_err();
        assert!(matches!(error, CheckError::NotAnImage { .. }), "{error:?}");
    }
    let mut too_many = golden("15-blobdev").devices;
    too_many.push(vec![]);
    let error = try_check(&too_many, &options(1)).unwrap_err();
    assert!(matches!(error, CheckError::DeviceCount { expected: 1, given: 2 }), "{error:?}");
}

/// A device that fails from byte `from` on while `fails` is set.
struct Failing {
    bytes: Vec<u8>,
    from: u64,
    fails: Arc<AtomicBool>,
}

impl ReadAt for Failing {
    fn read_at(&self, buf: &mut [u8], position: u64) -> Result<(), DeviceError> {
        let length = buf.len() as u64;
        if self.fails.load(Ordering::Relaxed) && position + length > self.from {
            let source = std::io::Error::from_raw_os_error(5);
            return Err(DeviceError::Io { position, length, source });
        }
        MemoryDevice::new(&self.bytes).read_at(buf, position)
    }

    fn size(&self) -> u64 {
        self.bytes.len() as u64
    }
}

#[test]
fn a_failing_device_is_reported() {
    let bytes = golden("02-noinline-data").devices.remove(0);
    let device = |from, fails| Failing {
        bytes: bytes.clone(),
        from,
        fails: Arc::new(AtomicBool::new(fails)),
    };
    let all: Vec<Box<dyn ReadAt>> = vec![Box::new(device(0, true))];
    let error = check_devices(all, &options(1), &()).unwrap_err();
    assert!(matches!(error, CheckError::Device { .. }), "{error:?}");
    let data = device(16 << 10, false);
    let fails = Arc::clone(&data.fails);
    let image = Image::open(data).unwrap();
    fails.store(true, Ordering::Relaxed);
    let report = lith_check::check(&image, &options(2), &()).unwrap();
    assert_eq!(ids(&report), ["device-failed"].into(), "{}", text(&report));
}
