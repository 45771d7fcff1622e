//! Merges several sources into one, as overlayfs does.
//!
//! Of two layers the later one is on top. A name has the inode of the topmost layer with that name. Directories are merged down
//! to the first layer in which the name is not a directory, or an opaque one. Attributes are those of the topmost layer. A
//! directory that was renamed is merged with what has its old name below, and a file of which only attributes were changed has
//! the data of the one below. Whiteouts of all layers stay, because there may be further layers below.

mod links;
mod parts;
mod redirects;

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    path::PathBuf,
    sync::Arc,
    vec,
};

use lith_transform::{
    is_metacopy, is_opaque, make_opaque, mark_whiteouts, without_metacopy, without_opaque,
};

use lith_tree::{
    Content, ContentError, Contents, DataRange, Directory, Elsewhere, ExtraDevice, Inode,
    InodeIndex, Kind, Metadata, Name, Tree, TreeError, XattrSet,
};

use crate::{
    Note, NoteKind, Options, Source, SourceError,
    layer::Layer,
    note::Notes,
    prune::{Fate, remove_empty},
};
use links::Links;
use parts::{LayerTree, Origin, parts};
use redirects::{leads_below, lookup};

/// Merges layers, the last on top.
///
/// # Errors
/// [`SourceError::Tree`] if they have too many files together.
pub fn merge(layers: Vec<Source>) -> Result<Source, SourceError> {
    merge_layers(layers.into_iter().map(Source::into).collect(), &Options::default())
}

/// Merges layers, the last on top, without what the options exclude.
pub(crate) fn merge_layers(layers: Vec<Layer>, options: &Options) -> Result<Source, SourceError> {
    let links = Links::new(&layers)?;
    let (layers, notes) = into_parts(layers);
    let all = collected(notes.into_iter().flatten());
    let (tree, origins) = Merger::new((&layers, &links), options, None).finish()?;
    Ok(source(tree, (kept(layers), origins), all))
}

fn source(tree: Tree, (layers, origins): (Arc<[Kept]>, Vec<Origin>), notes: Notes) -> Source {
    let contents = Box::new(MergedContents { layers, origins });
    Source { tree, contents, notes: notes.into_vec() }
}

/// The layers one by one, each as it is on overlayfs: with whiteouts, and with what it takes of those below. Layers of which
/// nothing is seen are left out: those below one whose root is opaque.
pub(crate) fn separate_layers(
    layers: Vec<Layer>,
    options: &Options,
) -> Result<Vec<Source>, SourceError> {
    let hides_all = |layer: &Layer| {
        let Source { tree, .. } = &layer.source;
        layer.has_opaque_root && is_opaque(tree, tree.get(InodeIndex::ROOT))
    };
    let links = Links::new(&layers)?;
    let first = layers.iter().rposition(hides_all).unwrap_or_default();
    let (layers, notes) = into_parts(layers);
    let separate = |((number, notes), layer): ((usize, Vec<Note>), &Part)| {
        let merger = Merger::new((&layers, &links), options, Some(number));
        let (mut tree, origins) = merger.finish()?;
        mark_whiteouts(&mut tree);
        let mut all = collected(notes);
        for link in links.of_layer(number) {
            all.add(NoteKind::LinkBelow, &layer.tree.path(link));
        }
        Ok((tree, origins, all))
    };
    let all = notes.into_iter().enumerate().zip(&layers).skip(first).map(separate);
    let all: Vec<_> = all.collect::<Result<_, SourceError>>()?;
    let layers = kept(layers);
    let source = |(tree, origins, notes)| source(tree, (Arc::clone(&layers), origins), notes);
    Ok(all.into_iter().map(source).collect())
}

fn collected(notes: impl IntoIterator<Item = Note>) -> Notes {
    let mut all = Notes::default();
    for Note { kind, path, count } in notes {
        all.add_many(kind, path, count);
    }
    all
}

/// The layers, and the notes of each.
fn into_parts(layers: Vec<Layer>) -> (Vec<Part>, Vec<Vec<Note>>) {
    let part = |Layer { source, borrowed, has_opaque_root, name: _ }| {
        let Source { tree, contents, notes } = source;
        (Part { tree, contents, passed: borrowed.passed, has_opaque_root }, notes)
    };
    layers.into_iter().map(part).unzip()
}

/// What is needed of layers that are merged: no trees, which take as much memory as the merged one, if they need none.
fn kept(layers: Vec<Part>) -> Arc<[Kept]> {
    let kept = |Part { tree, contents, .. }| {
        let tree = contents.by_number().is_none().then_some(tree);
        Kept { tree, contents }
    };
    layers.into_iter().map(kept).collect()
}

/// A layer of the merged tree.
struct Part {
    tree: Tree,
    contents: Box<dyn Contents>,
    /// Its directories whose attributes are those of a directory below.
    passed: HashSet<InodeIndex>,
    has_opaque_root: bool,
}

impl LayerTree for Part {
    fn tree(&self) -> &Tree {
        &self.tree
    }

    fn has_opaque_root(&self) -> bool {
        self.has_opaque_root
    }
}

/// A directory whose entries are being added.
struct Level {
    directory: InodeIndex,
    fate: Fate,
    entries: vec::IntoIter<(Name, Vec<Origin>)>,
}

struct Merger<'a> {
    layers: &'a [Part],
    /// The layer whose names are taken; `None`: those of all.
    only: Option<usize>,
    /// By layer, the merged tree's sets of attributes by the layer's own.
    sets: Vec<HashMap<XattrSet, XattrSet>>,
    tree: Tree,
    /// By inode of the merged tree.
    origins: Vec<Origin>,
    /// Files with several names.
    known: HashMap<Origin, InodeIndex>,
    links: &'a Links,
    options: &'a Options,
    /// Directories that are left out if they are empty.
    provisional: Vec<InodeIndex>,
    stack: Vec<Level>,
}

impl<'a> Merger<'a> {
    fn new(
        (layers, links): (&'a [Part], &'a Links),
        options: &'a Options,
        only: Option<usize>,
    ) -> Self {
        Self {
            layers,
            only,
            sets: vec![HashMap::new(); layers.len()],
            tree: Tree::new(Metadata::default()),
            origins: Vec::new(),
            known: HashMap::new(),
            links,
            options,
            provisional: Vec::new(),
            stack: Vec::new(),
        }
    }

    fn finish(mut self) -> Result<(Tree, Vec<Origin>), SourceError> {
        self.merge()?;
        self.origins.shrink_to_fit();
        Ok((self.tree, self.origins))
    }

    fn merge(&mut self) -> Result<(), SourceError> {
        let end = self.only.map_or(self.layers.len(), |only| only + 1);
        let roots: Vec<Origin> = (0..end).rev().map(|layer| (layer, InodeIndex::ROOT)).collect();
        let Some(top) = roots.first() else {
            self.origins.push((0, InodeIndex::ROOT));
            return Ok(());
        };
        self.tree.get_mut(InodeIndex::ROOT).metadata = self.metadata(self.described(&roots, *top));
        self.mark((InodeIndex::ROOT, false), *top);
        self.origins.push(*top);
        self.descend((InodeIndex::ROOT, Fate::Taken), &parts(self.layers, &roots));
        while let Some(level) = self.stack.last_mut() {
            let at = (level.directory, level.fate);
            match level.entries.next() {
                Some((name, origins)) => self.add(at, name, &origins)?,
                None => drop(self.stack.pop()),
            }
        }
        remove_empty(&mut self.tree, &self.provisional);
        Ok(())
    }

    /// Descends into a merged directory; `parts` are the directories of its layers, the topmost first.
    fn descend(&mut self, (directory, fate): (InodeIndex, Fate), parts: &[Origin]) {
        let mut entries = BTreeMap::<Name, Vec<Origin>>::new();
        for (layer, inode) in parts {
            let tree = self.layers.get(*layer).map(|layer| &layer.tree);
            let part = tree.and_then(|tree| tree.get(*inode).as_directory());
            for (name, inode) in part.into_iter().flat_map(Directory::entries) {
                entries.entry(name.clone()).or_default().push((*layer, inode));
            }
        }
        let is_taken = |origins: &Vec<Origin>| {
            let top = origins.first().map(|(layer, _)| *layer);
            self.only.is_none_or(|only| top == Some(only))
        };
        let leads_below = |(layer, inode): &Origin| {
            self.layers.get(*layer).is_some_and(|layer| leads_below(&layer.tree, *inode))
        };
        let resolved = |(name, origins): (Name, Vec<Origin>)| {
            let is_elsewhere = self.only.is_none() && origins.iter().any(leads_below);
            let origins = if is_elsewhere { lookup(self.layers, parts, &name) } else { origins };
            (name, origins)
        };
        let entries = entries.into_iter().filter(|(_, all)| is_taken(all));
        let entries: Vec<_> = entries.map(resolved).collect();
        self.stack.push(Level { directory, fate, entries: entries.into_iter() });
    }

    /// Adds a name in a directory with a fate; `origins` are the inodes of the layers that have it, the topmost first.
    fn add(
        &mut self,
        (parent, above): (InodeIndex, Fate),
        name: Name,
        origins: &[Origin],
    ) -> Result<(), SourceError> {
        let Some(top) = origins.first().map(|top| self.links.follow(*top)) else {
            return Ok(());
        };
        let Some(inode) = self.layers.get(top.0).map(|layer| layer.tree.get(top.1)) else {
            return Ok(());
        };
        let is_directory = inode.as_directory().is_some();
        let fate = self.fate(parent, &name, (above, is_directory));
        if fate == Fate::LeftOut {
            return Ok(());
        }
        if let Some(known) = self.known.get(&top) {
            let linked = self.tree.link(parent, name, *known);
            return linked.map_err(|source| self.unaddable(parent, source));
        }
        let has_links = !is_directory && (inode.nlink() > 1 || self.links.lead_to(top));
        let kind = if is_directory { Kind::directory() } else { inode.kind.clone() };
        let metadata = self.metadata(self.described(origins, top));
        let added = self.tree.add(parent, name, metadata, kind);
        let added = added.map_err(|source| self.unaddable(parent, source))?;
        if is_directory {
            let inode = self.layers.get(top.0).map(|layer| (layer, layer.tree.get(top.1)));
            let hides = inode.is_some_and(|(layer, inode)| is_opaque(&layer.tree, inode));
            self.mark((added, hides), top);
        }
        let data = self.data((added, top), origins)?;
        self.origins.push(data);
        if has_links && !self.options.dereference_hard_links {
            self.known.insert(top, added);
        }
        if is_directory {
            self.provisional.extend((fate == Fate::Provisional).then_some(added));
            self.descend((added, fate), &parts(self.layers, origins));
        }
        Ok(())
    }

    /// The file that has the data of one that is added, of which `top` has the attributes: the first below that is no metacopy.
    fn data(
        &mut self,
        (added, top): (InodeIndex, Origin),
        origins: &[Origin],
    ) -> Result<Origin, SourceError> {
        let inode = |(number, inode): Origin| {
            let tree = &self.layers.get(number)?.tree;
            Some((tree, tree.get(inode)))
        };
        let is_without =
            |origin: Origin| inode(origin).is_some_and(|(tree, inode)| is_metacopy(tree, inode));
        if self.only.is_some() || !is_without(top) {
            return Ok(top);
        }
        let size = |inode: &Inode| match inode.kind {
            Kind::Regular { size } => Some(size),
            _ => None,
        };
        let own = size(self.tree.get(added));
        let has_data = |origin: &Origin| {
            inode(*origin).is_some_and(|(_, below)| size(below).is_some() && size(below) == own)
        };
        let first = origins.iter().find(|origin| !is_without(**origin)).copied();
        let found = first.filter(has_data);
        let found = found.ok_or_else(|| SourceError::NoData(to_path(&self.tree.path(added))))?;
        without_metacopy(&mut self.tree, added);
        Ok(found)
    }

    fn unaddable(&self, parent: InodeIndex, source: TreeError) -> SourceError {
        SourceError::Tree { path: to_path(&self.tree.path(parent)), source }
    }

    /// What becomes of a name in a directory with the fate `above`.
    fn fate(&self, parent: InodeIndex, name: &Name, (above, is_directory): (Fate, bool)) -> Fate {
        let exclude = &self.options.exclude;
        if exclude.is_empty() && !exclude.has_exceptions() {
            return above;
        }
        let parent = self.tree.path(parent);
        Fate::new(exclude, above, (&parent, name.as_bytes()), is_directory)
    }

    /// The inode whose attributes an inode has that is the topmost of several: that of the first directory which is not only
    /// on the way to other files.
    fn described(&self, origins: &[Origin], top: Origin) -> Origin {
        let part = |number: usize| self.layers.get(number);
        let is_directory = |(number, inode): &&Origin| {
            part(*number).is_some_and(|part| part.tree.get(*inode).as_directory().is_some())
        };
        let has_own = |(number, inode): &&Origin| {
            part(*number).is_some_and(|part| !part.passed.contains(inode))
        };
        origins.iter().take_while(is_directory).find(has_own).copied().unwrap_or(top)
    }

    /// Marks a directory of one layer as that does, whatever directory it has its attributes of.
    fn mark(&mut self, (directory, hides): (InodeIndex, bool), (layer, _): Origin) {
        if self.only != Some(layer) {
            return;
        }
        without_opaque(&mut self.tree, directory);
        if hides {
            make_opaque(&mut self.tree, directory);
        }
    }

    fn metadata(&mut self, (number, inode): Origin) -> Metadata {
        let (Some(layer), Some(sets)) = (self.layers.get(number), self.sets.get_mut(number)) else {
            return Metadata::default();
        };
        let metadata = layer.tree.get(inode).metadata;
        let intern = || self.tree.xattrs.intern(layer.tree.xattrs.get(metadata.xattrs).to_vec());
        let xattrs = *sets.entry(metadata.xattrs).or_insert_with(intern);
        Metadata { xattrs, ..metadata }
    }
}

fn to_path(bytes: &[u8]) -> PathBuf {
    lith_system::path(bytes).to_owned()
}

/// The bytes of the files of a layer.
struct Kept {
    /// `None`: they need none.
    tree: Option<Tree>,
    contents: Box<dyn Contents>,
}

impl Kept {
    /// Opens a file, which has a path in the merged tree.
    fn open(
        &self,
        inode: InodeIndex,
        path: impl Fn() -> Vec<u8>,
    ) -> Result<Box<dyn Content + '_>, ContentError> {
        match (&self.tree, self.contents.by_number()) {
            (Some(tree), _) => self.contents.open(tree, inode),
            (None, Some(contents)) => contents.open_number(inode, &path()),
            (None, None) => Err(in_no_layer(&path())),
        }
    }
}

fn in_no_layer(path: &[u8]) -> ContentError {
    ContentError::Changed { path: to_path(path), what: "is in no layer".to_owned() }
}

/// The bytes of the files of all layers.
struct MergedContents {
    layers: Arc<[Kept]>,
    /// By inode of the merged tree.
    origins: Vec<Origin>,
}

impl Contents for MergedContents {
    fn open(&self, tree: &Tree, inode: InodeIndex) -> Result<Box<dyn Content + '_>, ContentError> {
        let origin = self.origins.get(inode.index());
        let found = origin.and_then(|origin| Some((origin, self.layers.get(origin.0)?)));
        let Some(((number, of_layer), layer)) = found else {
            return Err(in_no_layer(&tree.path(inode)));
        };
        let content = layer.open(*of_layer, || tree.path(inode))?;
        let before = self.layers.iter().take(*number);
        let first_device = before.map(|layer| layer.contents.devices().len()).sum();
        if first_device == 0 {
            return Ok(content);
        }
        Ok(Box::new(LayerContent { content, first_device }))
    }

    fn stored_in(&self, inode: InodeIndex) -> Option<(usize, u64)> {
        let (number, inode) = self.origins.get(inode.index())?;
        let (_, nid) = self.layers.get(*number)?.contents.stored_in(*inode)?;
        Some((*number, nid))
    }

    fn devices(&self) -> Vec<ExtraDevice> {
        self.layers.iter().flat_map(|layer| layer.contents.devices()).collect()
    }
}

/// A file of a layer whose devices are not the first ones.
struct LayerContent<'a> {
    content: Box<dyn Content + 'a>,
    first_device: usize,
}

impl Content for LayerContent<'_> {
    fn read_at(&self, buf: &mut [u8], position: u64) -> Result<(), ContentError> {
        self.content.read_at(buf, position)
    }

    fn range_at(&self, position: u64) -> Result<DataRange, ContentError> {
        self.content.range_at(position)
    }

    fn check_unchanged(&self) -> Result<(), ContentError> {
        self.content.check_unchanged()
    }

    fn elsewhere(&self) -> Result<Option<Vec<Elsewhere>>, ContentError> {
        let mut stretches = self.content.elsewhere()?;
        for (device, _) in stretches.iter_mut().flatten().filter_map(|s| s.place.as_mut()) {
            *device += self.first_device;
        }
        Ok(stretches)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use lith_device::FileDevice;
    use lith_reader::Image;
    use lith_tree::{MemoryContents, Rdev, dump};

    use super::*;

    /// A layer of lines `path=content`, `path/` for a directory, `path/!` for one that is opaque, `path-` for a
    /// whiteout, `path>target` for a hard link; all are owned by `uid`.
    fn layer(uid: u32, lines: &str) -> Source {
        let metadata = Metadata { uid, permissions: 0o755, ..Metadata::default() };
        let (mut tree, mut contents) = (Tree::new(metadata), MemoryContents::default());
        for line in lines.split_whitespace() {
            let end = line.find(['=', '-', '>', '!']).unwrap_or(line.len());
            let (path, rest) = line.split_at(end);
            let path = path.trim_end_matches('/');
            let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
            let parent = tree.find(parent.as_bytes()).unwrap();
            let name = Name::new(name.as_bytes()).unwrap();
            match rest.split_at(rest.len().min(1)) {
                ("=", data) => {
                    contents.add(&mut tree, (parent, name), metadata, data.as_bytes()).unwrap();
                }
                ("-", _) => {
                    let kind = Kind::CharDevice(Rdev::default());
                    tree.add(parent, name, metadata, kind).unwrap();
                }
                (">", target) => {
                    let target = tree.find(target.as_bytes()).unwrap();
                    tree.link(parent, name, target).unwrap();
                }
                (mark, _) => {
                    let inode = tree.add(parent, name, metadata, Kind::directory()).unwrap();
                    if mark == "!" {
                        make_opaque(&mut tree, inode);
                    }
                }
            }
        }
        Source { tree, contents: Box::new(contents), notes: Vec::new() }
    }

    /// `path=uid` of each file, with its content.
    fn shown(source: &Source) -> String {
        let tree = &source.tree;
        let mut lines = Vec::new();
        for visit in tree.walk() {
            let inode = tree.get(visit.inode);
            let path = String::from_utf8(tree.path(visit.inode)).unwrap();
            let mut line = format!("{path}{}{}", inode.kind.letter(), inode.metadata.uid);
            if let Kind::Regular { size } = inode.kind {
                let mut bytes = vec![0; usize::try_from(size).unwrap()];
                let content = source.contents.open(tree, visit.inode).unwrap();
                content.read_at(&mut bytes, 0).unwrap();
                line += &String::from_utf8(bytes).unwrap();
            }
            lines.push(line);
        }
        lines.join(" ")
    }

    #[test]
    fn the_topmost_layer_counts_and_directories_are_merged() {
        let merged = merge(vec![
            layer(1, "a=1 d/ d/x=1 d/y=1 f/ f/z=1 gone=1 only/ only/q=1"),
            layer(2, "a=2 d/ d/y=2 f=2 gone-"),
        ]);
        let merged = merged.unwrap();
        let expected = "d2 af22 dd2 d/xf11 d/yf22 ff22 gonec2 onlyd1 only/qf11";
        assert_eq!(shown(&merged), expected);
        dump(merged.filesystem(), &mut std::io::sink()).unwrap();
    }

    #[test]
    fn a_layer_hides_files_of_lower_layers() {
        let lower = "o/ o/a=1 w/ w/a=1 n/ n/a=1 m/ m/a=1";
        let middle = "o/! o/b=2 w- n=2 m/ m/a-";
        let upper = "o/ o/c=3 w/ w/c=3 n/ n/c=3 m/ m/c=3";
        let merged = merge(vec![layer(1, lower), layer(2, middle), layer(3, upper)]).unwrap();
        let expected = "d3 md3 m/ac2 m/cf33 nd3 n/cf33 od3 o/bf22 o/cf33 wd3 w/cf33";
        assert_eq!(shown(&merged), expected);
        let o = merged.tree.get(merged.tree.find(b"o").unwrap());
        assert!(!is_opaque(&merged.tree, o));
    }

    #[test]
    fn separate_layers_merge_to_the_same() {
        let layers = || {
            let lower = layer(1, "a=1 d/ d/x=1 d/y=1 o/ o/q=1 w=1 p/! p/e=1");
            let upper = layer(2, "d/ d/y=2 o/! o/r=2 w- p/ p/n=2 l=");
            let mut all: Vec<Layer> = vec![lower.into(), upper.into()];
            let upper = &mut all[1];
            let passed = upper.source.tree.find(b"p").unwrap();
            upper.borrowed.passed.insert(passed);
            let link = upper.source.tree.find(b"l").unwrap();
            upper.borrowed.links.insert(link, b"d/x".to_vec());
            all
        };
        let separate = separate_layers(layers(), &Options::default()).unwrap();
        let [lower, upper] = &*separate else { panic!("{} layers", separate.len()) };
        assert_eq!(shown(lower), shown(&layers()[0].source));
        assert_eq!(shown(upper), "d2 dd2 d/yf22 lf11 od2 o/rf22 pd1 p/nf22 wc2");
        let find = |path: &[u8]| upper.tree.get(upper.tree.find(path).unwrap());
        assert!(is_opaque(&upper.tree, find(b"o")) && !is_opaque(&upper.tree, find(b"p")));
        assert!(upper.notes.iter().any(|note| note.kind == NoteKind::LinkBelow));
        let merged = merge_layers(layers(), &Options::default()).unwrap();
        let again = merge(separate).unwrap();
        // There the link and what it leads to are one file.
        assert_eq!(shown(&again).replace("lf11", "d/xf11"), shown(&merged));
        // What an opaque root hides is in no image.
        let mut hidden = layers();
        hidden[1].has_opaque_root = true;
        make_opaque(&mut hidden[1].source.tree, InodeIndex::ROOT);
        hidden[1].borrowed = crate::layer::Borrowed::default();
        let separate = separate_layers(hidden, &Options::default()).unwrap();
        let [upper] = &*separate else { panic!("{} layers", separate.len()) };
        assert!(!is_opaque(&upper.tree, upper.tree.get(InodeIndex::ROOT)));
    }

    #[test]
    fn files_of_images_are_read_without_the_trees_of_these() {
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden");
        let path = golden.join("11-fragments-dedupe.erofs");
        let open = || {
            let image = Image::open(FileDevice::open(&path).unwrap()).unwrap();
            crate::image(Arc::new(image), &path, &Options::default()).unwrap()
        };
        let layers = || vec![open().into(), layer(1, "new=1").into()];
        let has_tree = |layers| {
            kept(into_parts(layers).0).iter().map(|one| one.tree.is_some()).collect::<Vec<_>>()
        };
        assert_eq!(has_tree(layers()), [false, true]);
        let (alone, merged) = (open(), merge_layers(layers(), &Options::default()).unwrap());
        let bytes = |source: &Source, path: &[u8]| {
            let inode = source.tree.find(path)?;
            let Kind::Regular { size } = source.tree.get(inode).kind else { return None };
            let mut bytes = vec![0; usize::try_from(size).unwrap()];
            source.contents.open(&source.tree, inode).unwrap().read_at(&mut bytes, 0).unwrap();
            Some(bytes)
        };
        let mut files = 0;
        for visit in alone.tree.walk() {
            let path = alone.tree.path(visit.inode);
            let expected = bytes(&alone, &path);
            files += usize::from(expected.is_some());
            assert_eq!(bytes(&merged, &path), expected);
        }
        assert!(files > 1);
        assert_eq!(bytes(&merged, b"new").unwrap(), b"1");
    }

    #[test]
    fn links_stay_inside_their_layer() {
        let merged = merge(vec![layer(1, "a=1 b>a c>a"), layer(1, "b=2 z>b")]).unwrap();
        let tree = &merged.tree;
        assert_eq!(tree.find(b"a"), tree.find(b"c"));
        assert_eq!(tree.find(b"b"), tree.find(b"z"));
        assert_ne!(tree.find(b"a"), tree.find(b"b"));
        assert_eq!(tree.get(tree.find(b"a").unwrap()).nlink(), 2);
        assert_eq!(shown(&merge(Vec::new()).unwrap()), "d0");
    }
}
