//! Finds extents that overlap others or metadata.
//!
//! While inodes are walked, only the bytes that are claimed more than once are recorded. If there are any, all maps are
//! read again, and the extents that touch such bytes are compared: equal extents share their data, as dedupe makes
//! them; others must not overlap.

use std::ops::Range;

use lith_format::{addr::Nid, device_table::DevicePa};
use lith_reader::{Extent, ExtentKind, Image, Inode, Place};
use lith_survey::{Allowance, Budget, Grant, RangeSet};

use crate::{findings::Log, ledger::Ledger, rule::Rule};

/// Claims after which equal ones are merged, to bound memory.
const MANY: usize = 1 << 18;

/// How the bytes of an extent are stored. Extents of different classes can't share bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Class {
    /// In chunks; each may be in several files.
    Chunks,
    /// Uncompressed, in an uncompressed file.
    Flat,
    /// Uncompressed, in a compressed file.
    Plain,
    /// Compressed by the algorithm of this number.
    Compressed(u8),
}

/// Bytes of a device that an inode's map refers to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Claim {
    device: u16,
    start: u64,
    end: u64,
    class: Class,
    /// They belong to an image that this one refers to.
    is_referred: bool,
    nid: Nid,
}

impl Claim {
    fn new(inode: &Inode, extent: &Extent, at: DevicePa, bases: &Range<u64>) -> Option<Self> {
        let class = match extent.kind {
            ExtentKind::Chunk => Class::Chunks,
            ExtentKind::Flat => Class::Flat,
            ExtentKind::Plain { .. } => Class::Plain,
            ExtentKind::Compressed { algorithm, .. } => Class::Compressed(algorithm.id()),
            ExtentKind::Hole | ExtentKind::Inline | ExtentKind::Fragment => return None,
        };
        let (start, end) = (at.pa.0, at.pa.0.checked_add(extent.plen)?);
        let is_in_base = bases.start <= start && end <= bases.end;
        let is_referred = at.device > 0 || is_in_base;
        Some(Self { device: at.device, start, end, class, is_referred, nid: inode.nid })
    }

    const fn range(&self) -> Range<u64> {
        self.start..self.end
    }

    /// Whether others may refer to a part of these bytes: to chunks, and to blocks of an image that this one refers to.
    const fn shares_parts(&self) -> bool {
        let is_compressed = matches!(self.class, Class::Compressed(_));
        matches!(self.class, Class::Chunks) || (self.is_referred && !is_compressed)
    }

    /// Whether both may refer to the bytes that they have in common.
    fn is_shared_with(&self, other: &Self) -> bool {
        let parts = self.shares_parts() && other.shares_parts();
        parts || (self.range() == other.range() && self.class == other.class)
    }
}

/// The second reading of the maps.
#[derive(Debug)]
pub(crate) struct Overlaps<'a> {
    image: &'a Image,
    log: &'a Log<'a>,
    ledger: &'a Ledger,
    /// The bytes of the primary device that belong to bases.
    bases: &'a Range<u64>,
    contested: Vec<RangeSet>,
    claims: Vec<Claim>,
    limit: usize,
    /// Extents that may still be read: as many as at the first reading.
    extents: Allowance,
}

impl<'a> Overlaps<'a> {
    /// `None` if no bytes are claimed more than once.
    pub(crate) fn new(
        image: &'a Image,
        log: &'a Log<'a>,
        (ledger, bases): (&'a Ledger, &'a Range<u64>),
    ) -> Option<Self> {
        let contested = ledger.contested();
        let any = contested.iter().any(|set| !set.is_empty());
        let extents = Budget::new(image).extents;
        let (claims, limit) = (Vec::new(), MANY);
        any.then_some(Self { image, log, ledger, bases, contested, claims, limit, extents })
    }

    /// Records which of the contested bytes an inode claims.
    pub(crate) fn see(&mut self, inode: &Inode) {
        let Ok(extents) = self.image.extents(inode) else { return };
        let mut is_reported = false;
        // Extents that can't be read were reported at the first reading.
        for extent in extents.map_while(Result::ok) {
            if self.extents.take(1) != Grant::Given {
                return;
            }
            let Place::Device(at) = extent.place else { continue };
            let contested = self.contested.get(usize::from(at.device));
            let claim = Claim::new(inode, &extent, at, self.bases)
                .filter(|claim| contested.is_some_and(|set| set.intersects(&claim.range())));
            let Some(claim) = claim else { continue };
            is_reported = is_reported || self.check_metadata(&claim, &extent);
            self.claims.push(claim);
            if self.claims.len() >= self.limit {
                self.compact();
            }
        }
    }

    /// Reports an extent that overlaps metadata; returns whether it does.
    fn check_metadata(&self, claim: &Claim, extent: &Extent) -> bool {
        let inside = claim.device == 0 && self.ledger.is_metadata(&claim.range());
        if inside {
            let (Claim { start, end, .. }, la) = (claim, extent.la);
            let detail = format!("the extent at {la} is at {start} to {end}, in metadata");
            self.log.inode(Rule::ExtentInMetadata, claim.nid, detail);
        }
        inside
    }

    /// Of equal claims keeps that of the smallest NID.
    fn compact(&mut self) {
        self.claims.sort_unstable();
        self.claims.dedup_by(|next, kept| {
            next.device == kept.device && next.range() == kept.range() && next.class == kept.class
        });
        self.limit = self.claims.len().saturating_mul(2).max(MANY);
    }

    /// Reports each claim that overlaps another one without sharing its bytes.
    pub(crate) fn finish(mut self) {
        self.compact();
        // The claims with the largest end so far: of those that share parts, and of others.
        let mut farthest: [Option<Claim>; 2] = [None; 2];
        for claim in &self.claims {
            let before = farthest.iter().flatten().find(|before| {
                before.device == claim.device
                    && before.end > claim.start
                    && !before.is_shared_with(claim)
            });
            if let Some(before) = before {
                self.report(claim, before);
            }
            let [parts, others] = &mut farthest;
            let own = if claim.shares_parts() { parts } else { others };
            let reaches = |own: &Claim| own.device == claim.device && own.end >= claim.end;
            if !own.as_ref().is_some_and(reaches) {
                *own = Some(*claim);
            }
        }
    }

    fn report(&self, claim: &Claim, before: &Claim) {
        let detail = format!(
            "bytes {} to {} of device {} overlap {} to {} of inode {}",
            claim.start, claim.end, claim.device, before.start, before.end, before.nid
        );
        self.log.inode(Rule::ExtentOverlap, claim.nid, detail);
    }
}
