//! Defines [`Sample`]: the part of an image's content that represents all of it.

use std::{
    collections::{HashMap, HashSet},
    ops::Range,
};

use lith_source::Source;
use lith_tree::{
    Content, ContentError, Contents, DataRange, InodeIndex, Kind, Metadata, Name, Tree,
};

/// A tree of excerpts from the files of another one: runs at even distances of the content of all files, concatenated in
/// the order of the tree.
#[derive(Debug)]
pub(crate) struct Sample {
    /// A folder for each run, with the paths of the excerpts.
    pub(crate) tree: Tree,
    /// The excerpts in the order of the content.
    pub(crate) excerpts: Vec<Excerpt>,
    /// The index of each excerpt by its inode in the tree.
    numbers: HashMap<InodeIndex, usize>,
}

/// A range of a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Excerpt {
    /// The file in the original tree.
    pub(crate) file: InodeIndex,
    start: u64,
    len: u64,
}

impl Excerpt {
    /// The range in the file.
    pub(crate) const fn range(&self) -> Range<u64> {
        self.start..self.start + self.len
    }
}

impl Sample {
    /// A sample of `bytes` bytes in `runs` runs of neighbouring files; `None` if the tree has no more than that.
    pub(crate) fn new(tree: &Tree, bytes: u64, runs: u64) -> Option<Self> {
        let files = files(tree);
        let total = files.iter().fold(0, |sum: u64, (_, size)| sum.saturating_add(*size));
        if total <= bytes {
            return None;
        }
        let mut sample = Self {
            tree: Tree::new(tree.get(InodeIndex::ROOT).metadata),
            excerpts: Vec::new(),
            numbers: HashMap::new(),
        };
        sample.tree.xattrs = tree.xattrs.clone();
        for number in 0..runs {
            let start = total / runs * number;
            sample.add_run(tree, &files, number, start..start + bytes / runs)?;
        }
        Some(sample)
    }

    /// Bytes of all excerpts.
    pub(crate) fn bytes(&self) -> u64 {
        self.excerpts.iter().map(|excerpt| excerpt.len).sum()
    }

    /// Adds a folder with the excerpts that cover a range of the concatenated content.
    fn add_run(
        &mut self,
        tree: &Tree,
        files: &[(InodeIndex, u64)],
        number: u64,
        run: Range<u64>,
    ) -> Option<()> {
        let name = Name::new(number.to_string().as_bytes()).ok()?;
        let (root, metadata) = (InodeIndex::ROOT, Metadata::default());
        let folder = self.tree.add(root, name, metadata, Kind::directory()).ok()?;
        let (mut folders, mut before) = (HashMap::from([(root, folder)]), 0_u64);
        for (file, size) in files {
            let (start, end) = (before.max(run.start), before.saturating_add(*size).min(run.end));
            if start < end {
                let excerpt = Excerpt { file: *file, start: start - before, len: end - start };
                self.add_excerpt(tree, excerpt, &mut folders)?;
            }
            before = before.saturating_add(*size);
        }
        Some(())
    }

    /// Adds an excerpt in the folder of its file; `folders` maps folders to those that were created already.
    fn add_excerpt(
        &mut self,
        tree: &Tree,
        excerpt: Excerpt,
        folders: &mut HashMap<InodeIndex, InodeIndex>,
    ) -> Option<()> {
        let file = tree.get(excerpt.file);
        let (mut missing, mut at) = (Vec::new(), file.parent());
        while !folders.contains_key(&at) {
            missing.push(at);
            at = tree.get(at).parent();
        }
        let mut folder = *folders.get(&at)?;
        for old in missing.into_iter().rev() {
            let (name, metadata) = (tree.name(old)?.clone(), tree.get(old).metadata);
            folder = self.tree.add(folder, name, metadata, Kind::directory()).ok()?;
            folders.insert(old, folder);
        }
        let (name, kind) = (tree.name(excerpt.file)?.clone(), Kind::Regular { size: excerpt.len });
        let inode = self.tree.add(folder, name, file.metadata, kind).ok()?;
        self.numbers.insert(inode, self.excerpts.len());
        self.excerpts.push(excerpt);
        Some(())
    }
}

/// All regular files with their sizes, in the order of the tree, each once.
fn files(tree: &Tree) -> Vec<(InodeIndex, u64)> {
    let mut met = HashSet::new();
    let files = tree.walk().filter_map(|visit| match tree.get(visit.inode).kind {
        Kind::Regular { size } => Some((visit.inode, size)),
        _ => None,
    });
    files.filter(|(inode, _)| met.insert(*inode)).collect()
}

/// The contents of a sample's files.
#[derive(Debug)]
pub(crate) struct SampleContents<'a> {
    pub(crate) sample: &'a Sample,
    pub(crate) source: &'a Source,
}

impl Contents for SampleContents<'_> {
    fn open(&self, tree: &Tree, inode: InodeIndex) -> Result<Box<dyn Content + '_>, ContentError> {
        let number = self.sample.numbers.get(&inode);
        let Some(excerpt) = number.and_then(|number| self.sample.excerpts.get(*number)) else {
            // The inode is not of this sample: the source reports the error.
            return self.source.contents.open(tree, inode);
        };
        let whole = self.source.contents.open(&self.source.tree, excerpt.file)?;
        Ok(Box::new(ExcerptContent { whole, excerpt: *excerpt }))
    }
}

/// The content of an excerpt.
struct ExcerptContent<'a> {
    whole: Box<dyn Content + 'a>,
    excerpt: Excerpt,
}

impl Content for ExcerptContent<'_> {
    fn read_at(&self, buf: &mut [u8], position: u64) -> Result<(), ContentError> {
        self.whole.read_at(buf, self.excerpt.start + position)
    }

    fn range_at(&self, position: u64) -> Result<DataRange, ContentError> {
        let Excerpt { start, len, .. } = self.excerpt;
        let cut = |end: u64| (end - start).min(len);
        Ok(match self.whole.range_at(start + position)? {
            DataRange::Data { end } => DataRange::Data { end: cut(end) },
            DataRange::Hole { end } => DataRange::Hole { end: cut(end) },
        })
    }

    fn check_unchanged(&self) -> Result<(), ContentError> {
        self.whole.check_unchanged()
    }
}

#[cfg(test)]
mod tests {
    use lith_tree::MemoryContents;

    use super::*;

    fn name(text: &str) -> Name {
        Name::new(text.as_bytes()).unwrap()
    }

    fn source() -> Source {
        let mut tree = Tree::new(Metadata::default());
        let mut contents = MemoryContents::default();
        let (root, metadata) = (InodeIndex::ROOT, Metadata::default());
        let folder = tree.add(root, name("folder"), metadata, Kind::directory()).unwrap();
        let bytes: Vec<u8> = (0..=255_u8).cycle().take(5000).collect();
        contents.add(&mut tree, (root, name("small")), metadata, &bytes[..100]).unwrap();
        let file = contents.add(&mut tree, (folder, name("large")), metadata, bytes).unwrap();
        tree.link(root, name("again"), file).unwrap();
        Source { tree, contents: Box::new(contents), notes: Vec::new() }
    }

    #[test]
    fn a_sample_has_runs_from_everywhere() {
        let source = source();
        assert!(Sample::new(&source.tree, 5100, 16).is_none());
        let sample = Sample::new(&source.tree, 800, 16).unwrap();
        assert_eq!(sample.bytes(), 800);
        let ranges: Vec<_> = sample.excerpts.iter().map(Excerpt::range).collect();
        assert_eq!((ranges.len(), ranges[1].clone()), (16, 318..368));
        let contents = SampleContents { sample: &sample, source: &source };
        let last = sample.tree.find(b"15/folder/large").unwrap();
        let content = contents.open(&sample.tree, last).unwrap();
        let mut bytes = [0; 50];
        content.read_at(&mut bytes, 0).unwrap();
        assert_eq!(usize::from(bytes[1]), (318 * 15 + 1) % 256);
        assert_eq!(content.range_at(3).unwrap(), DataRange::Data { end: 50 });
    }

    #[test]
    fn absurd_sizes_do_no_harm() {
        let mut tree = Tree::new(Metadata::default());
        for number in 0..4 {
            let kind = Kind::Regular { size: u64::MAX - number };
            let name = name(&number.to_string());
            tree.add(InodeIndex::ROOT, name, Metadata::default(), kind).unwrap();
        }
        let sample = Sample::new(&tree, 800, 16).unwrap();
        assert_eq!(sample.bytes(), 800);
    }
}
