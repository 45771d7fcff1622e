//! Walks the inodes of an image once, and applies all checks to each.

use std::{ops::Range, panic::resume_unwind, sync::Arc, thread};

use lith_device::ReadAt;
use lith_format::{addr::Nid, dirent::Dirent, file_type::FileType};
use lith_observer::Observer;
use lith_reader::{Image, Inode};
use lith_survey::{Allowance, Budget};

use crate::{
    classify::{self, Reading},
    decode::{Decoder, Decoding, Feed},
    directory::{self, Directory},
    error::CheckError,
    findings::{Collected, Findings, Log, Phase},
    inode, joined,
    maps::Maps,
    options::Options,
    overlap::Overlaps,
    paths::Paths,
    raw::Raw,
    report::{Counts, Report},
    rule::Rule,
    superblock,
    visits::Visits,
    watch::Watch,
    xattrs::Xattrs,
};

/// Batches that wait for each thread.
const WAITING: usize = 4;

/// Examines an image; raw bytes are checked if its primary device is given.
pub(crate) fn examine(
    image: &Image,
    device: Option<Arc<dyn ReadAt>>,
    findings: Findings,
    options: &Options,
    observer: &dyn Observer,
) -> Result<Report, CheckError> {
    let watch = Watch::new(observer);
    let raw = device.map(|device| Raw::new(image, device));
    let decoding = Decoding { image, findings: &findings, watch: &watch };
    let (visits, counts) = examine_all(raw, decoding, options);
    if watch.was_cancelled() {
        return Err(CheckError::Cancelled);
    }
    let Collected { notes, by_rule, truncated } = findings.finish();
    let root = options.start.unwrap_or(image.superblock().root_nid);
    let paths = Paths::of(image, root, &visits, notes.values());
    let findings = notes.into_values().map(|note| paths.finding(note)).collect();
    Ok(Report { findings, truncated, counts, by_rule })
}

fn examine_all(
    raw: Option<Raw<'_>>,
    decoding: Decoding<'_>,
    options: &Options,
) -> (Visits, Counts) {
    let log = Log::new(decoding.findings, Phase::Structure, 2);
    let mut walk = Walk::new(decoding, &log, raw);
    if options.data {
        walk = walk_with_workers(walk, decoding, options);
    } else {
        walk.run(options.start);
    }
    walk.conclude()
}

/// Walks while other threads decode.
fn walk_with_workers<'a>(walk: Walk<'a>, decoding: Decoding<'a>, options: &Options) -> Walk<'a> {
    let workers = options.workers.get();
    let (sender, batches) = crossbeam_channel::bounded(workers.saturating_mul(WAITING));
    thread::scope(|scope| {
        // With fewer threads than that, this one decodes more.
        let spawn = |_| lith_parallel::start(scope, || Decoder::new(decoding).run(&batches));
        let others: Vec<_> = (1..workers).map_while(spawn).collect();
        // Owned by this scope: if the walk panics, the feed is dropped, which ends the other threads.
        let mut walk = walk;
        walk.feed = Some(Feed::new(sender, decoding));
        walk.run(options.start);
        if let Some(feed) = walk.feed.take() {
            decoding.watch.observer.expect(feed.bytes());
            walk.counts.decoded_bytes = feed.finish(&batches);
        }
        for other in others {
            let bytes = other.join().unwrap_or_else(|panic| resume_unwind(panic));
            walk.counts.decoded_bytes = walk.counts.decoded_bytes.saturating_add(bytes);
        }
        walk
    })
}

/// The walk through all inodes.
struct Walk<'a> {
    image: &'a Image,
    log: &'a Log<'a>,
    watch: &'a Watch<'a>,
    raw: Option<Raw<'a>>,
    visits: Visits,
    directories: Allowance,
    xattrs: Xattrs,
    maps: Maps<'a>,
    feed: Option<Feed<'a>>,
    counts: Counts,
    /// The bytes of the primary device that belong to bases.
    bases: Range<u64>,
}

impl<'a> Walk<'a> {
    fn new(decoding: Decoding<'a>, log: &'a Log<'a>, raw: Option<Raw<'a>>) -> Self {
        let Decoding { image, watch, .. } = decoding;
        let budget = Budget::new(image);
        Self {
            image,
            log,
            watch,
            raw,
            visits: Visits::default(),
            directories: budget.directories,
            xattrs: Xattrs::new(budget.xattrs),
            maps: Maps::new(image, log, &budget),
            feed: None,
            counts: Counts::default(),
            bases: 0..0,
        }
    }

    fn run(&mut self, start: Option<Nid>) {
        superblock::check(self.image, self.log, self.raw.as_mut());
        self.bases = joined::check(self.image, self.log);
        let root = self.image.superblock().root_nid;
        let start = start.unwrap_or(root);
        if start == root {
            special_inodes(self.image).for_each(|inode| self.check_inode(inode));
        } else {
            // Files may have further names elsewhere.
            self.visits.incomplete = true;
        }
        match self.image.inode(start) {
            Ok(inode) => self.meet(inode, parent_of(self.image, &inode)),
            Err(error) => self.log.error(Reading::INODE, &error),
        }
        while !self.watch.is_cancelled()
            && let Some(inode) = self.visits.walk.next_directory()
        {
            self.read_directory(inode);
        }
    }

    fn read_directory(&mut self, inode: Inode) {
        let parent = self.visits.walk.note(inode.nid).map_or(inode.nid, |visit| visit.parent);
        let mut directory = Directory::new(self.image, self.log, self.watch, inode, parent);
        let mut allowance = self.directories;
        directory.read(&mut allowance, &mut |dirent| self.see_name(inode.nid, dirent));
        self.directories = allowance;
        self.visits.incomplete |= directory.incomplete;
    }

    /// Checks a name, and the inode that it refers to if that was not met before.
    fn see_name(&mut self, directory: Nid, dirent: &Dirent<'_>) {
        let nid = dirent.nid;
        if self.watch.is_cancelled() {
            return;
        }
        if let Some(visit) = self.visits.walk.note(nid) {
            let file_type = visit.file_type;
            self.see_again(directory, dirent, file_type);
        } else if !self.visits.unreadable.contains(&nid) {
            match self.image.inode(nid) {
                Ok(inode) => {
                    self.check_type(directory, dirent, inode.file_type);
                    self.meet(inode, directory);
                    self.visits.count_subdirectory(directory, inode.file_type);
                }
                Err(error) => self.fail_inode(directory, dirent, &error),
            }
        }
    }

    /// Checks another name of an inode.
    fn see_again(&mut self, directory: Nid, dirent: &Dirent<'_>, file_type: FileType) {
        self.check_type(directory, dirent, file_type);
        self.visits.count_subdirectory(directory, file_type);
        if file_type == FileType::Directory {
            let detail = "the directory was reached before";
            self.log.add(Rule::DirLoop, directory::entry(directory, dirent), detail);
        } else {
            self.visits.count_link(dirent.nid);
        }
    }

    fn fail_inode(&mut self, directory: Nid, dirent: &Dirent<'_>, error: &lith_reader::Error) {
        self.visits.unreadable.insert(dirent.nid);
        self.visits.incomplete = true;
        if let Some(file_type) = dirent.file_type() {
            self.visits.count_subdirectory(directory, file_type);
        }
        let (rule, detail) = (Reading::INODE.rule(error), classify::explain(error));
        self.log.add(rule, directory::entry(directory, dirent), detail);
    }

    fn check_type(&self, directory: Nid, dirent: &Dirent<'_>, found: FileType) {
        let (rule, detail) = match dirent.file_type() {
            Some(given) if given == found => return,
            None if dirent.raw_type == 0 => {
                (Rule::DirTypeUnknown, "the directory gives no file type".to_owned())
            }
            _ => {
                let (given, found) = (dirent.raw_type, found.dirent_type());
                (Rule::DirType, format!("the directory gives type {given}, the inode {found}"))
            }
        };
        self.log.add(rule, directory::entry(directory, dirent), detail);
    }

    /// Adds an inode that was not met before.
    fn meet(&mut self, inode: Inode, parent: Nid) {
        self.visits.add(&inode, parent);
        match inode.file_type {
            FileType::Directory => self.counts.directories += 1,
            FileType::Regular => {
                self.counts.files += 1;
                self.counts.content_bytes = self.counts.content_bytes.saturating_add(inode.size);
            }
            FileType::Symlink => self.counts.symlinks += 1,
            _ => {}
        }
        self.check_inode(&inode);
    }

    fn check_inode(&mut self, inode: &Inode) {
        self.counts.inodes += 1;
        inode::check(self.image, self.log, self.raw.as_mut(), inode);
        self.xattrs.check(self.image, self.log, self.raw.as_mut(), inode);
        // The data of directories and symlinks is read by their own checks.
        let feed = self.feed.as_mut().filter(|_| inode.file_type == FileType::Regular);
        self.maps.check(self.raw.as_mut(), inode, feed);
    }

    /// Checks what is known only when all inodes were met.
    fn conclude(mut self) -> (Visits, Counts) {
        let log = self.log.of_phase(Phase::Whole);
        for (nid, found, expected) in self.visits.wrong_nlinks() {
            let detail = format!("i_nlink is {found}, but {expected} links were found");
            log.inode(Rule::NlinkWrong, nid, detail);
        }
        let (recorded, found) = (self.image.superblock().inos, self.counts.inodes);
        if !self.visits.incomplete && recorded != found {
            log.image(Rule::SbInos, format!("{recorded} inodes are recorded, {found} were found"));
        }
        joined::check_own(&self.bases, &self.maps.ledger, &log);
        self.check_overlaps();
        let is_complete = !self.visits.incomplete && !self.maps.incomplete && self.raw.is_some();
        self.maps.usage.shares = self.maps.ledger.has_shared();
        self.maps.usage.compare(self.image, self.log, is_complete);
        (self.visits, self.counts)
    }

    fn check_overlaps(&self) {
        let log = self.log.of_phase(Phase::Overlap);
        let overlaps = Overlaps::new(self.image, &log, (&self.maps.ledger, &self.bases));
        let Some(mut overlaps) = overlaps else { return };
        let inodes = self.visits.nids().into_iter().filter_map(|nid| self.image.inode(nid).ok());
        for inode in inodes.chain(special_inodes(self.image).copied()) {
            if self.watch.is_cancelled() {
                return;
            }
            overlaps.see(&inode);
        }
        overlaps.finish();
    }
}

/// The packed and the metabox inode, which have no names.
fn special_inodes(image: &Image) -> impl Iterator<Item = &Inode> {
    [image.packed_inode(), image.metabox_inode()].into_iter().flatten()
}

/// The parent of a directory by its `..`; the inode itself if there is none.
fn parent_of(image: &Image, inode: &Inode) -> Nid {
    if inode.nid == image.superblock().root_nid || inode.file_type != FileType::Directory {
        return inode.nid;
    }
    let parent = image.lookup(inode, b"..").ok().flatten();
    parent.map_or(inode.nid, |parent| parent.nid)
}
