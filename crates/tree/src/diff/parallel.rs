//! How do several threads compare two trees and yet tell the differences in order?
//!
//! Each worker takes the next files from the common walk, which compares attributes on the way, then compares
//! bytes on its own. What it found goes to the outlet under the number it took, and the outlet tells it
//! when all lower numbers have been told.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    ops::Range,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use super::{
    Aspects, Change, DiffError, DiffOptions, Difference, attributes,
    content::{self, Buffers, Segment},
    pairs::{Pair, Pairs},
};
use crate::{Filesystem, InodeIndex, Kind, Tree};

type Visit<'a> = dyn FnMut(Difference) + Send + 'a;

pub(super) fn compare(
    left: Filesystem<'_>,
    right: Filesystem<'_>,
    options: &DiffOptions,
    visit: &mut Visit<'_>,
) -> Result<(), DiffError> {
    let shared = Shared {
        left,
        right,
        walk: Mutex::new(Walk::new(left.tree, right.tree, options.ignore)),
        outlet: Mutex::new(Outlet::new(visit)),
        stopped: AtomicBool::new(false),
    };
    thread::scope(|scope| {
        for _ in 1..options.workers.get() {
            scope.spawn(|| shared.work());
        }
        shared.work();
    });
    let outlet = shared.outlet.into_inner();
    outlet.unwrap_or_else(PoisonError::into_inner).result
}

struct Shared<'a, 'v> {
    left: Filesystem<'a>,
    right: Filesystem<'a>,
    walk: Mutex<Walk<'a>>,
    outlet: Mutex<Outlet<'v>>,
    stopped: AtomicBool,
}

impl Shared<'_, '_> {
    fn work(&self) {
        let mut buffers = Buffers::new();
        while !self.stopped.load(Ordering::Relaxed) {
            let next = lock(&self.walk).next();
            let Some((number, found)) = next else { return };
            let outcome = self.finish(found, &mut buffers);
            if !lock(&self.outlet).take(number, outcome) {
                self.stopped.store(true, Ordering::Relaxed);
            }
        }
    }

    fn finish(&self, found: Found, buffers: &mut Buffers) -> Outcome {
        let Found { told, segment } = found;
        let Some((segment, path)) = segment else {
            return Outcome { told, content: Ok(None) };
        };
        let content = content::compare((self.left, self.right), &segment, buffers);
        let content = content.map(|change| {
            let files = (segment.left, segment.right);
            change.map(|change| (files, Difference { path, change }))
        });
        Outcome { told, content }
    }
}

/// A lock whose data stays valid when a thread dies with it; the scope passes the panic on.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a worker takes: differences in attributes, then bytes to compare.
struct Found {
    told: Vec<Difference>,
    segment: Option<(Segment, Box<[u8]>)>,
}

/// The walk over both trees, up to where workers have taken it.
struct Walk<'a> {
    left: &'a Tree,
    right: &'a Tree,
    ignore: Aspects,
    pairs: Pairs<'a>,
    links: Links,
    /// A file that is handed out in segments, with its path.
    file: Option<(Segment, Box<[u8]>)>,
    number: u64,
}

impl<'a> Walk<'a> {
    /// So much of a file is compared by one worker at once,
    const SEGMENT: u64 = 8 << 20;
    /// unless that would be more segments than this; a file of holes can have any size.
    const MAX_SEGMENTS: u64 = 4096;
    /// So many differences are passed on at once.
    const BATCH: usize = 256;

    fn new(left: &'a Tree, right: &'a Tree, ignore: Aspects) -> Self {
        Self {
            left,
            right,
            ignore,
            pairs: Pairs::new(left, right),
            links: Links::default(),
            file: None,
            number: 0,
        }
    }

    fn next(&mut self) -> Option<(u64, Found)> {
        let mut told = Vec::new();
        while self.file.is_none() && told.len() < Self::BATCH {
            if !self.step(&mut told) {
                break;
            }
        }
        let segment = self.take_segment();
        if segment.is_none() && told.is_empty() {
            return None;
        }
        let number = self.number;
        self.number += 1;
        Some((number, Found { told, segment }))
    }

    fn take_segment(&mut self) -> Option<(Segment, Box<[u8]>)> {
        let (segment, path) = self.file.as_mut()?;
        let Range { start, end } = segment.range;
        let length = Self::SEGMENT.max((end - start) / Self::MAX_SEGMENTS);
        let middle = end.min(start.saturating_add(length));
        if middle == end {
            return self.file.take();
        }
        segment.range.start = middle;
        let (left, right) = (segment.left, segment.right);
        let first = Segment { left, right, range: start..middle };
        Some((first, path.clone()))
    }

    /// Goes on by one path; false at the end.
    fn step(&mut self, told: &mut Vec<Difference>) -> bool {
        let Some((path, pair)) = self.pairs.advance() else {
            return false;
        };
        let mut tell = |change: Change| {
            if !self.ignore.intersects(change.aspect()) {
                let path = path.into();
                told.push(Difference { path, change });
            }
        };
        let is_new = self.links.meet((self.left, self.right), pair, path, &mut tell);
        match pair {
            Pair::Left(_) => tell(Change::Missing),
            Pair::Right(_) => tell(Change::Added),
            Pair::Both(left, right) if is_new => {
                attributes::compare((self.left, left), (self.right, right), &mut tell);
                if !self.ignore.contains(Aspects::CONTENT) {
                    let segment = whole_file((self.left, left), (self.right, right));
                    self.file = segment.map(|segment| (segment, path.into()));
                }
            }
            Pair::Both(..) => {}
        }
        true
    }
}

/// The bytes to compare, if both are regular files of one size.
fn whole_file(
    (left_tree, left): (&Tree, InodeIndex),
    (right_tree, right): (&Tree, InodeIndex),
) -> Option<Segment> {
    match (&left_tree.get(left).kind, &right_tree.get(right).kind) {
        (Kind::Regular { size }, Kind::Regular { size: other }) if size == other && *size > 0 => {
            let range = 0..*size;
            Some(Segment { left, right, range })
        }
        _ => None,
    }
}

/// The inodes with several names that were met, each with its first path.
#[derive(Default)]
struct Links {
    left: HashMap<InodeIndex, Box<[u8]>>,
    right: HashMap<InodeIndex, Box<[u8]>>,
    compared: HashSet<Files>,
}

impl Links {
    /// Notes a path, tells if it belongs to different files, and says whether its two inodes have not been
    /// compared before.
    fn meet(
        &mut self,
        (left_tree, right_tree): (&Tree, &Tree),
        pair: Pair,
        path: &[u8],
        tell: &mut impl FnMut(Change),
    ) -> bool {
        match pair {
            Pair::Left(left) => _ = first(&mut self.left, left_tree, left, path),
            Pair::Right(right) => _ = first(&mut self.right, right_tree, right, path),
            Pair::Both(left, right) => {
                let one = first(&mut self.left, left_tree, left, path);
                let other = first(&mut self.right, right_tree, right, path);
                if one != other {
                    let place = |first: Option<&[u8]>| first.unwrap_or(path).into();
                    tell(Change::Links(place(one), place(other)));
                }
                let linked = is_linked(left_tree, left) || is_linked(right_tree, right);
                return !linked || self.compared.insert((left, right));
            }
        }
        true
    }
}

/// The first path of an inode that was met before, if it was.
fn first<'a>(
    seen: &'a mut HashMap<InodeIndex, Box<[u8]>>,
    tree: &Tree,
    inode: InodeIndex,
    path: &[u8],
) -> Option<&'a [u8]> {
    if !is_linked(tree, inode) {
        return None;
    }
    let first = seen.entry(inode).or_insert_with(|| path.into());
    (**first != *path).then_some(first)
}

fn is_linked(tree: &Tree, inode: InodeIndex) -> bool {
    let inode = tree.get(inode);
    inode.as_directory().is_none() && inode.nlink() > 1
}

/// Two regular files whose bytes are compared.
type Files = (InodeIndex, InodeIndex);

/// What a worker found.
struct Outcome {
    told: Vec<Difference>,
    content: Result<Option<(Files, Difference)>, DiffError>,
}

/// Tells what workers found, in the order of the walk.
struct Outlet<'v> {
    visit: &'v mut Visit<'v>,
    next: u64,
    waiting: BTreeMap<u64, Outcome>,
    /// The files whose bytes were the last to be told as different; later segments of them don't count.
    differing: Option<Files>,
    result: Result<(), DiffError>,
}

impl<'v> Outlet<'v> {
    fn new(visit: &'v mut Visit<'v>) -> Self {
        Self { visit, next: 0, waiting: BTreeMap::new(), differing: None, result: Ok(()) }
    }

    /// Takes what was found; says whether there is any use in going on.
    fn take(&mut self, number: u64, outcome: Outcome) -> bool {
        self.waiting.insert(number, outcome);
        while self.result.is_ok() {
            let Some(outcome) = self.waiting.remove(&self.next) else {
                break;
            };
            self.next += 1;
            self.tell(outcome);
        }
        self.result.is_ok()
    }

    fn tell(&mut self, outcome: Outcome) {
        outcome.told.into_iter().for_each(&mut *self.visit);
        match outcome.content {
            Ok(Some((files, difference))) => {
                if self.differing.replace(files) != Some(files) {
                    (self.visit)(difference);
                }
            }
            Ok(None) => {}
            Err(error) => self.result = Err(error),
        }
    }
}
