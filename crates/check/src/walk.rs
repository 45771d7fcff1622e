//! How is everything in an image looked at once?

use std::{
    panic::resume_unwind,
    sync::{Arc, atomic::Ordering},
    thread,
};

use crossbeam_channel::Receiver;
use lith_device::ReadAt;
use lith_format::{addr::Nid, dirent::Dirent, file_type::FileType};
use lith_reader::{Image, Inode};

use crate::{
    classify::{self, Reading},
    decode::{Batch, Decoder, Decoding, Feed},
    directory::{self, Directory},
    findings::{Findings, Gathered, Log, Phase},
    inode,
    ledger::Ledger,
    limits::{Allowance, Budget},
    maps::Maps,
    options::{Options, Progress},
    overlap::Overlaps,
    paths::Paths,
    raw::Raw,
    report::{Counts, Report},
    rule::Rule,
    superblock,
    visits::Visits,
    xattrs::Xattrs,
};

/// Batches of pieces that wait for each thread.
const WAITING: usize = 4;

/// Examines an image whose primary device is `device`, if that is known.
pub(crate) fn examine(
    image: &Image,
    device: Option<Arc<dyn ReadAt>>,
    findings: Findings,
    options: &Options,
    progress: &Progress,
) -> Report {
    let raw = device.map(|device| Raw::new(image, device));
    let (visits, counts) = look_at_everything(image, raw, &findings, options, progress);
    let Gathered { notes, by_rule, truncated } = findings.finish();
    let root = options.start.unwrap_or(image.superblock().root_nid);
    let paths = Paths::of(image, root, &visits, notes.values());
    let findings = notes.into_values().map(|note| paths.finding(note)).collect();
    Report { findings, truncated, counts, by_rule }
}

fn look_at_everything(
    image: &Image,
    raw: Option<Raw<'_>>,
    findings: &Findings,
    options: &Options,
    progress: &Progress,
) -> (Visits, Counts) {
    let decoding = Decoding::new(image, findings, progress);
    let log = Log::new(findings, Phase::Structure, 2);
    let mut walk = Walk::new(image, &log, raw);
    if options.data {
        walk = walk_with_workers(walk, &decoding, options, progress);
    } else {
        walk.run(options.start);
    }
    walk.conclude()
}

/// Walks while other threads decode.
fn walk_with_workers<'a>(
    walk: Walk<'a>,
    decoding: &'a Decoding<'a>,
    options: &Options,
    progress: &Progress,
) -> Walk<'a> {
    let workers = options.workers.get();
    let (sender, batches) = crossbeam_channel::bounded(workers.saturating_mul(WAITING));
    thread::scope(|scope| {
        let spawn = |_| scope.spawn(|| decode_all(decoding, &batches));
        let others: Vec<_> = (1..workers).map(spawn).collect();
        // Should the walk panic, it ends here and with it the feed that the others wait for.
        let mut walk = walk;
        walk.feed = Some(Feed::new(sender, decoding));
        walk.run(options.start);
        if let Some(feed) = walk.feed.take() {
            progress.total.store(feed.fed(), Ordering::Relaxed);
            walk.counts.decoded_bytes = feed.finish(&batches);
        }
        for other in others {
            let bytes = other.join().unwrap_or_else(|panic| resume_unwind(panic));
            walk.counts.decoded_bytes = walk.counts.decoded_bytes.saturating_add(bytes);
        }
        walk
    })
}

/// A directory that is still to be read, and the directory where it was met.
struct Pending {
    inode: Inode,
    parent: Nid,
}

/// The walk through all inodes.
struct Walk<'a> {
    image: &'a Image,
    log: &'a Log<'a>,
    raw: Option<Raw<'a>>,
    visits: Visits,
    pending: Vec<Pending>,
    directories: Allowance,
    xattrs: Xattrs,
    maps: Maps<'a>,
    feed: Option<Feed<'a>>,
    counts: Counts,
}

impl<'a> Walk<'a> {
    fn new(image: &'a Image, log: &'a Log<'a>, raw: Option<Raw<'a>>) -> Self {
        let budget = Budget::new(image);
        let mut ledger = Ledger::new(image, budget.repeated);
        superblock::claim(image, &mut ledger);
        Self {
            image,
            log,
            raw,
            visits: Visits::default(),
            pending: Vec::new(),
            directories: budget.directories,
            xattrs: Xattrs::new(budget.xattrs),
            maps: Maps::new(image, log, (budget.extents, budget.indexes), ledger),
            feed: None,
            counts: Counts::default(),
        }
    }

    fn run(&mut self, start: Option<Nid>) {
        superblock::check(self.image, self.log, self.raw.as_mut());
        let root = self.image.superblock().root_nid;
        let start = start.unwrap_or(root);
        if start == root {
            let special = [self.image.packed_inode(), self.image.metabox_inode()];
            special.into_iter().flatten().for_each(|inode| self.check_inode(inode));
        } else {
            // Files may have further names elsewhere.
            self.visits.incomplete = true;
        }
        match self.image.inode(start) {
            Ok(inode) => self.meet(inode, parent_of(self.image, &inode)),
            Err(error) => self.log.error(Reading::INODE, &error),
        }
        while let Some(next) = self.pending.pop() {
            self.read_directory(&next);
        }
    }

    fn read_directory(&mut self, next: &Pending) {
        let mut directory = Directory::new(self.image, self.log, next.inode, next.parent);
        let mut allowance = self.directories.hand_over();
        directory.read(&mut allowance, &mut |dirent| self.see_name(next.inode.nid, dirent));
        self.directories = allowance;
        self.visits.incomplete |= directory.incomplete;
    }

    /// Looks at a name, and at the inode it leads to if that was not met before.
    fn see_name(&mut self, directory: Nid, dirent: &Dirent<'_>) {
        let nid = dirent.nid;
        if let Some(visit) = self.visits.get(nid) {
            let file_type = visit.file_type;
            self.see_again(directory, dirent, file_type);
        } else if !self.visits.has_met(nid) {
            match self.image.inode(nid) {
                Ok(inode) => {
                    self.check_type(directory, dirent, inode.file_type);
                    self.meet(inode, directory);
                    self.count_directory(directory, inode.file_type);
                }
                Err(error) => self.fail_inode(directory, dirent, &error),
            }
        }
    }

    /// Looks at another name of an inode.
    fn see_again(&mut self, directory: Nid, dirent: &Dirent<'_>, file_type: FileType) {
        self.check_type(directory, dirent, file_type);
        self.count_directory(directory, file_type);
        if file_type == FileType::Directory {
            let detail = "the directory was reached before";
            self.log.add(Rule::DirLoop, directory::entry(directory, dirent), detail);
        } else {
            self.visits.count_link(dirent.nid);
        }
    }

    fn count_directory(&mut self, parent: Nid, file_type: FileType) {
        if file_type == FileType::Directory {
            self.visits.count_link(parent);
        }
    }

    fn fail_inode(&mut self, directory: Nid, dirent: &Dirent<'_>, error: &lith_reader::Error) {
        self.visits.add_unreadable(dirent.nid);
        self.visits.incomplete = true;
        if dirent.file_type() == Some(FileType::Directory) {
            self.visits.count_link(directory);
        }
        let (rule, detail) = (Reading::INODE.rule(error), classify::explain(error));
        self.log.add(rule, directory::entry(directory, dirent), detail);
    }

    fn check_type(&self, directory: Nid, dirent: &Dirent<'_>, found: FileType) {
        let (rule, detail) = match dirent.file_type() {
            Some(told) if told == found => return,
            None if dirent.raw_type == 0 => {
                (Rule::DirTypeUnknown, "the directory does not tell what it is".to_owned())
            }
            _ => {
                let (told, found) = (dirent.raw_type, found.dirent_type());
                (Rule::DirType, format!("the directory tells type {told}, the inode is {found}"))
            }
        };
        self.log.add(rule, directory::entry(directory, dirent), detail);
    }

    /// Takes in an inode that was not met before.
    fn meet(&mut self, inode: Inode, parent: Nid) {
        self.visits.add(&inode, parent);
        match inode.file_type {
            FileType::Directory => {
                self.counts.directories += 1;
                self.pending.push(Pending { inode, parent });
            }
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
        // Directories and symlinks are read anyway.
        let feed = self.feed.as_mut().filter(|_| inode.file_type == FileType::Regular);
        self.maps.check(self.raw.as_mut(), inode, feed);
    }

    /// Looks at what is known only when all inodes were met.
    fn conclude(mut self) -> (Visits, Counts) {
        let log = self.log.beside(Phase::Whole);
        for (nid, says, right) in self.visits.wrong_nlinks() {
            log.inode(Rule::NlinkWrong, nid, format!("it says {says} links, and has {right}"));
        }
        let whole = !self.visits.incomplete;
        if whole {
            self.check_inos(&log);
        }
        let log = self.log.beside(Phase::Overlap);
        if let Some(mut overlaps) = Overlaps::new(self.image, &log, &self.maps.ledger) {
            let inodes =
                self.visits.nids().into_iter().filter_map(|nid| self.image.inode(nid).ok());
            inodes.for_each(|inode| overlaps.see(&inode));
            let special = [self.image.packed_inode(), self.image.metabox_inode()];
            special.into_iter().flatten().for_each(|inode| overlaps.see(inode));
            overlaps.finish();
        }
        let everything = whole && !self.maps.incomplete && self.raw.is_some();
        self.maps.usage.shares = self.maps.ledger.has_shared();
        self.maps.usage.compare(self.image, self.log, everything);
        (self.visits, self.counts)
    }

    fn check_inos(&self, log: &Log<'_>) {
        let (says, found) = (self.image.superblock().inos, self.counts.inodes);
        if says != found {
            log.image(Rule::SbInos, format!("it says {says} inodes; {found} can be reached"));
        }
    }
}

/// The directory that a directory says it is in; an inode by itself if it doesn't say so.
fn parent_of(image: &Image, inode: &Inode) -> Nid {
    if inode.nid == image.superblock().root_nid || inode.file_type != FileType::Directory {
        return inode.nid;
    }
    let parent = image.lookup(inode, b"..").ok().flatten();
    parent.map_or(inode.nid, |parent| parent.nid)
}

/// Decodes what comes; returns how many bytes that was.
fn decode_all<'a>(decoding: &'a Decoding<'a>, batches: &Receiver<Batch>) -> u64 {
    let mut decoder = Decoder::new(decoding);
    decoder.run(batches);
    decoder.bytes
}
