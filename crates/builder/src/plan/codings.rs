//! Assigns each file its [`Coding`].

use lith_tree::{InodeIndex, Kind, Tree};

use crate::{Options, coding::Coding};

/// How each file is compressed.
#[derive(Debug)]
pub(super) struct Codings {
    /// The different codings, that of the image first. `None` stores files uncompressed.
    all: Vec<Option<Coding>>,
    /// The number of each inode's coding, by the inode's index; 0 for inodes after the end.
    by_inode: Vec<usize>,
    /// The number of the coding of what is read first of files of number 0 and of the packed inode, if it is another.
    hot: Option<usize>,
    packed: InodeIndex,
}

impl Codings {
    /// Applies to each regular file in `order` the first rule that matches it.
    pub(crate) fn new(options: &Options, tree: &Tree, order: &[InodeIndex]) -> Self {
        let coding = |compression: &Option<_>| compression.as_ref().map(|own| options.coding(own));
        let mut codings = Self {
            all: vec![coding(&options.compression.files)],
            by_inode: Vec::new(),
            hot: None,
            packed: tree.next_index(),
        };
        if !options.compression.rules.is_empty() {
            codings.follow_rules(options, tree, order);
        }
        if let Some(packed) = options.packed_coding() {
            let number = codings.number_of(Some(packed));
            codings.set(tree.next_index(), number);
        }
        if options.compression.metabox.is_some() {
            let number = codings.number_of(coding(&options.compression.metabox));
            codings.set(tree.next_index().next(), number);
        }
        codings.hot = options.hot_coding().map(|coding| codings.number_of(coding));
        codings
    }

    /// Stores files uncompressed, if that is how what is read first is stored: all of them is.
    pub(crate) fn store_raw(&mut self, files: impl Iterator<Item = InodeIndex>) {
        let Some(number) = self.hot.filter(|number| self.all.get(*number) == Some(&None)) else {
            return;
        };
        for inode in files {
            if self.number(inode) == 0 {
                self.set(inode, number);
            }
        }
    }

    /// The coding of what is read first of a file, if it is another than that of the file. `Some(None)`: uncompressed.
    #[expect(clippy::option_option, reason = "one for another coding, one for none")]
    pub(crate) fn of_hot(&self, inode: InodeIndex) -> Option<Option<&Coding>> {
        let number = self.hot.filter(|_| self.number(inode) == 0 || inode == self.packed)?;
        self.all.get(number).map(Option::as_ref)
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

    /// The number of `coding`, which is appended if it is new.
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

    /// The number of an inode's coding. The packed inode's differs from 0 if only its pcluster size is another.
    pub(crate) fn number(&self, inode: InodeIndex) -> usize {
        self.by_inode.get(inode.index()).copied().unwrap_or(0)
    }

    /// The coding of a file; `None` if it is stored uncompressed.
    pub(crate) fn of(&self, inode: InodeIndex) -> Option<&Coding> {
        self.all.get(self.number(inode))?.as_ref()
    }

    /// Whether some file may be compressed.
    pub(crate) fn compress(&self) -> bool {
        self.all.iter().any(Option::is_some)
    }
}
