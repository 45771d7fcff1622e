//! By which compressor is each file stored?

use lith_codec::Compressor;
use lith_format::zmap::{EncodedExtent, HeadKind};
use lith_tree::{InodeIndex, Kind, Tree};

use crate::{Options, metabox};

/// How files are compressed, with nothing left open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Coding {
    pub(crate) compressor: Compressor,
    /// A compressor of another algorithm for some of the pclusters.
    pub(crate) second: Option<Compressor>,
    /// Bytes of the largest pcluster.
    pub(crate) pcluster: u32,
    /// The least part of a file that must be saved, in percent.
    pub(crate) min_saving: u8,
}

/// What makes pclusters, and how large they are: what readers must be told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Encoding {
    pub(crate) compressor: Compressor,
    /// Bytes of the largest pcluster.
    pub(crate) pcluster: u32,
}

/// What made a file's extents, if there are some of the kind.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Makers {
    pub(crate) head1: Option<Compressor>,
    pub(crate) head2: Option<Compressor>,
}

/// What some file, or an inode without a name, is compressed by.
#[derive(Debug, Default)]
pub(crate) struct Used(Vec<Encoding>);

impl Used {
    /// Adds what made these extents of a file, and returns it: that of HEAD1 and that of HEAD2. Of two compressors those
    /// count that made some pcluster.
    pub(crate) fn add(&mut self, coding: &Coding, extents: &[EncodedExtent]) -> Makers {
        let Coding { compressor, second, pcluster, .. } = *coding;
        let made = |kind| extents.iter().any(|extent| extent.kind == kind);
        let head1 = (second.is_none() || made(HeadKind::Head1)).then_some(compressor);
        let head2 = second.filter(|_| made(HeadKind::Head2));
        for compressor in head1.into_iter().chain(head2) {
            let encoding = Encoding { compressor, pcluster };
            if !self.0.contains(&encoding) {
                self.0.push(encoding);
            }
        }
        Makers { head1, head2 }
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Encoding> {
        self.0.iter().copied()
    }
}

/// How each file is compressed.
#[derive(Debug)]
pub(crate) struct Codings {
    /// All that differ, the image's own first. Nothing stores files plain.
    all: Vec<Option<Coding>>,
    /// Which of them each inode has, by its number; those behind the end have the image's own.
    by_inode: Vec<usize>,
}

impl Codings {
    /// Finds for each regular file in `order` the first rule that is for it.
    pub(crate) fn new(options: &Options, tree: &Tree, order: &[InodeIndex]) -> Self {
        let coding = |compression: &Option<_>| compression.as_ref().map(|own| options.coding(own));
        let mut codings =
            Self { all: vec![coding(&options.compression.files)], by_inode: Vec::new() };
        if !options.compression.rules.is_empty() {
            codings.follow_rules(options, tree, order);
        }
        if let Some(packed) = options.packed_coding() {
            let number = codings.number_of(Some(packed));
            codings.set(tree.next_index(), number);
        }
        if options.compression.metabox.is_some() {
            let number = codings.number_of(coding(&options.compression.metabox));
            codings.set(metabox::index_in(tree), number);
        }
        codings
    }

    fn follow_rules(&mut self, options: &Options, tree: &Tree, order: &[InodeIndex]) {
        let rules = options.compression.rules.iter();
        let numbers: Vec<usize> =
            rules.map(|rule| self.number_of(options.coding_by(rule))).collect();
        for inode in order {
            if !matches!(tree.get(*inode).kind, Kind::Regular { size: 1.. }) {
                continue;
            }
            let path = tree.path(*inode);
            let rule = options.compression.rules.iter().position(|rule| rule.files.includes(&path));
            if let Some(number) = rule.and_then(|rule| numbers.get(rule)) {
                self.set(*inode, *number);
            }
        }
    }

    /// The number of `coding`, which is put behind the others if it is new.
    fn number_of(&mut self, coding: Option<Coding>) -> usize {
        self.all.iter().position(|known| *known == coding).unwrap_or_else(|| {
            self.all.push(coding);
            self.all.len() - 1
        })
    }

    fn set(&mut self, inode: InodeIndex, number: usize) {
        if self.by_inode.len() <= inode.index() {
            self.by_inode.resize(inode.index() + 1, 0);
        }
        if let Some(slot) = self.by_inode.get_mut(inode.index()) {
            *slot = number;
        }
    }

    /// The number of a file's coding: files of equal numbers are stored alike, those of 0 in the image's own way, as the
    /// packed inode is but for its pcluster size.
    pub(crate) fn number(&self, inode: InodeIndex) -> usize {
        self.by_inode.get(inode.index()).copied().unwrap_or(0)
    }

    /// The coding of a file; nothing if it is stored plain.
    pub(crate) fn of(&self, inode: InodeIndex) -> Option<&Coding> {
        self.all.get(self.number(inode))?.as_ref()
    }

    /// Whether some file may be compressed.
    pub(crate) fn compress(&self) -> bool {
        self.all.iter().any(Option::is_some)
    }
}
