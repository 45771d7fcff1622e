//! Defines [`Directory`], which reads the names of a directory and checks its blocks.

use lith_format::{
    addr::Nid,
    dirent::{DIRENT_SIZE, DirBlock, Dirent},
};
use lith_reader::{File, Image, Inode};
use lith_survey::Allowance;

use crate::{
    classify::Reading,
    findings::{Log, Subject},
    limits::BAD_PARTS,
    rule::Rule,
    watch::Watch,
};

/// Bytes of a directory that are read at once: a multiple of every block size.
const WINDOW: u64 = 64 << 10;

/// A directory that is being read.
pub(crate) struct Directory<'a> {
    image: &'a Image,
    log: &'a Log<'a>,
    watch: &'a Watch<'a>,
    inode: Inode,
    parent: Nid,
    names: Names,
    /// Some of it could not be read.
    pub(crate) incomplete: bool,
}

/// What the names of a directory have shown so far.
#[derive(Default)]
struct Names {
    /// The previous name; at the start the empty one, which precedes all others.
    last: Vec<u8>,
    has_dot: bool,
    has_dot_dot: bool,
    /// Broken rules that were reported, and are reported once only.
    reported: Vec<Rule>,
    bad_blocks: u32,
}

impl<'a> Directory<'a> {
    pub(crate) fn new(
        image: &'a Image,
        log: &'a Log<'a>,
        watch: &'a Watch<'a>,
        inode: Inode,
        parent: Nid,
    ) -> Self {
        let names = Names::default();
        Self { image, log, watch, inode, parent, names, incomplete: false }
    }

    /// Calls `see` with each name except `.` and `..`, as far as `allowance` grants it.
    pub(crate) fn read(&mut self, allowance: &mut Allowance, see: &mut dyn FnMut(&Dirent<'_>)) {
        let (size, limit) = (self.inode.size, self.image.limits().directory);
        if size == 0 || size > limit {
            self.incomplete = true;
            let detail = format!("a directory of {size} bytes; 1 to {limit} are accepted");
            self.log.inode(Rule::DirSize, self.inode.nid, detail);
            return;
        }
        match self.image.file(&self.inode) {
            Ok(file) => self.read_blocks(&file, allowance, see),
            Err(error) => self.fail(&error),
        }
        if !self.incomplete {
            self.check_dots_are_there();
        }
    }

    fn read_blocks(
        &mut self,
        file: &File<'_>,
        allowance: &mut Allowance,
        see: &mut dyn FnMut(&Dirent<'_>),
    ) {
        let block_size = usize::try_from(self.image.superblock().block.size())
            .expect("a block has at most 64 KiB");
        let mut bytes = Vec::new();
        let (mut position, mut number) = (0, 0);
        while position < file.size() && !self.watch.is_cancelled() {
            let length = (file.size() - position).min(WINDOW);
            let detail = "directories overlap so much that the rest is not read";
            if !self.log.is_granted(allowance.take(length), self.inode.nid, detail) {
                self.incomplete = true;
                return;
            }
            bytes.resize(usize::try_from(length).expect("a window has 64 KiB"), 0);
            if let Err(error) = file.read_at(&mut bytes, position) {
                self.fail(&error);
                return;
            }
            for block in bytes.chunks(block_size) {
                self.read_block(block, number, see);
                number += 1;
                if self.names.bad_blocks >= BAD_PARTS {
                    return;
                }
            }
            position += length;
        }
    }

    fn read_block(&mut self, bytes: &[u8], number: u64, see: &mut dyn FnMut(&Dirent<'_>)) {
        let block = match DirBlock::parse(bytes) {
            Ok(block) => block,
            Err(error) => return self.fail_block(number, error),
        };
        let mut end = Some(block.len() * DIRENT_SIZE);
        for dirent in block.dirents() {
            match dirent {
                Ok(dirent) => {
                    end = end.map(|end| end + dirent.name.len());
                    self.see(&dirent, see);
                }
                Err(error) if end.is_some() => {
                    end = None;
                    self.fail_block(number, error);
                }
                Err(_) => {}
            }
        }
        self.check_reserved(bytes, block.len(), number);
        if let Some(end) = end {
            self.check_padding(bytes.get(end..).unwrap_or_default(), number);
        }
    }

    fn see(&mut self, dirent: &Dirent<'_>, see: &mut dyn FnMut(&Dirent<'_>)) {
        self.check_order(dirent);
        match dirent.name {
            b"." => {
                self.names.has_dot = true;
                self.check_dot(dirent);
            }
            b".." => {
                self.names.has_dot_dot = true;
                self.check_target(Rule::DirDotDot, dirent, self.parent);
            }
            _ => see(dirent),
        }
    }

    fn check_order(&mut self, dirent: &Dirent<'_>) {
        if *dirent.name == *self.names.last {
            self.log.add(Rule::DirDuplicate, self.entry(dirent), "the name occurs twice");
        } else if *dirent.name < *self.names.last {
            let detail = format!("it follows the greater name {}", self.names.last.escape_ascii());
            self.report_once(Rule::DirUnsorted, self.entry(dirent), detail);
        }
        self.names.last.clear();
        self.names.last.extend_from_slice(dirent.name);
    }

    fn check_dot(&self, dirent: &Dirent<'_>) {
        if self.inode.dot_omitted {
            let detail = "`.` is present, but declared as omitted";
            self.log.inode(Rule::DirDot, self.inode.nid, detail);
        }
        self.check_target(Rule::DirDot, dirent, self.inode.nid);
    }

    fn check_target(&self, rule: Rule, dirent: &Dirent<'_>, expected: Nid) {
        if dirent.nid != expected {
            let name = dirent.name.escape_ascii();
            let detail = format!("`{name}` refers to inode {}, not {expected}", dirent.nid);
            self.log.inode(rule, self.inode.nid, detail);
        }
    }

    fn check_dots_are_there(&self) {
        if !self.names.has_dot && !self.inode.dot_omitted {
            self.log.inode(Rule::DirDot, self.inode.nid, "there is no `.`");
        }
        if !self.names.has_dot_dot {
            self.log.inode(Rule::DirDotDot, self.inode.nid, "there is no `..`");
        }
    }

    fn check_reserved(&mut self, bytes: &[u8], dirents: usize, number: u64) {
        let mut dirents = bytes.chunks_exact(DIRENT_SIZE).take(dirents);
        if let Some(index) = dirents.position(|dirent| dirent.last() != Some(&0)) {
            let detail = format!("byte 11 of entry {index} of directory block {number} is set");
            self.report_once(Rule::ReservedSet, Subject::Inode(self.inode.nid), detail);
        }
    }

    fn check_padding(&mut self, padding: &[u8], number: u64) {
        if padding.iter().any(|byte| *byte != 0) {
            let detail = format!("directory block {number} has data after its last name");
            self.report_once(Rule::DirPadding, Subject::Inode(self.inode.nid), detail);
        }
    }

    fn report_once(&mut self, rule: Rule, subject: Subject, detail: String) {
        if !self.names.reported.contains(&rule) {
            self.names.reported.push(rule);
            self.log.add(rule, subject, detail);
        }
    }

    fn fail_block(&mut self, number: u64, error: lith_format::dirent::DirentError) {
        self.incomplete = true;
        self.names.bad_blocks += 1;
        let detail = format!("directory block {number}: {error}");
        self.log.inode(Rule::DirBlock, self.inode.nid, detail);
    }

    fn fail(&mut self, error: &lith_reader::Error) {
        self.incomplete = true;
        self.log.error(Reading::DATA, error);
    }

    /// A name of this directory as a subject.
    pub(crate) fn entry(&self, dirent: &Dirent<'_>) -> Subject {
        entry(self.inode.nid, dirent)
    }
}

/// A name of a directory as a subject.
pub(crate) fn entry(directory: Nid, dirent: &Dirent<'_>) -> Subject {
    Subject::Entry { directory, name: dirent.name.to_vec(), nid: dirent.nid }
}
