//! Merges several sources into one, as overlayfs does.
//!
//! Of two layers the later one is on top. A name has the inode of the topmost layer with that name. Directories are merged down
//! to the first layer in which the name is not a directory, or an opaque one. Attributes are those of the topmost layer. Whiteouts
//! of all layers stay, because there may be further layers below.

use std::{
    collections::{BTreeMap, HashMap},
    ffi::OsString,
    os::unix::ffi::OsStringExt,
    path::PathBuf,
    vec,
};

use lith_tree::{
    Content, ContentError, Contents, DataRange, Directory, Elsewhere, ExtraDevice, InodeIndex,
    Kind, Metadata, Name, Tree, TreeError, XattrSet,
};

use lith_transform::is_opaque;

use crate::{Note, Source, SourceError, note::Notes};

/// An inode of a layer: the layer's number and the inode's there.
type Origin = (usize, InodeIndex);

/// Merges layers, the last on top.
///
/// # Errors
/// [`SourceError::Tree`] if they have too many files together.
pub fn merge(layers: Vec<Source>) -> Result<Source, SourceError> {
    let mut notes = Notes::default();
    let mut lower = Vec::with_capacity(layers.len());
    for Source { tree, contents, notes: found } in layers {
        for Note { kind, path, count } in found {
            notes.add_many(kind, path, count);
        }
        lower.push(Layer { sets: vec![None; tree.xattrs.len()], tree, contents });
    }
    let mut merger = Merger {
        layers: lower,
        tree: Tree::new(Metadata::default()),
        origins: Vec::new(),
        known: HashMap::new(),
        stack: Vec::new(),
    };
    merger.merge().map_err(|(path, source)| SourceError::Tree { path, source })?;
    let Merger { layers, tree, origins, .. } = merger;
    let contents = Box::new(MergedContents { layers, origins });
    Ok(Source { tree, contents, notes: notes.into_vec() })
}

struct Layer {
    tree: Tree,
    contents: Box<dyn Contents>,
    /// The merged tree's sets of attributes, by the layer's own.
    sets: Vec<Option<XattrSet>>,
}

/// A directory whose entries are being added.
struct Level {
    directory: InodeIndex,
    entries: vec::IntoIter<(Name, Vec<Origin>)>,
}

struct Merger {
    layers: Vec<Layer>,
    tree: Tree,
    /// By inode of the merged tree.
    origins: Vec<Origin>,
    /// Files with several names.
    known: HashMap<Origin, InodeIndex>,
    stack: Vec<Level>,
}

impl Merger {
    fn merge(&mut self) -> Result<(), (PathBuf, TreeError)> {
        let roots: Vec<Origin> =
            (0..self.layers.len()).rev().map(|layer| (layer, InodeIndex::ROOT)).collect();
        let Some(top) = roots.first() else {
            self.origins.push((0, InodeIndex::ROOT));
            return Ok(());
        };
        self.tree.get_mut(InodeIndex::ROOT).metadata = self.metadata(*top);
        self.origins.push(*top);
        self.descend(InodeIndex::ROOT, &roots);
        while let Some(level) = self.stack.last_mut() {
            let parent = level.directory;
            match level.entries.next() {
                Some((name, origins)) => self
                    .add(parent, name, &origins)
                    .map_err(|error| (to_path(self.tree.path(parent)), error))?,
                None => drop(self.stack.pop()),
            }
        }
        Ok(())
    }

    /// Descends into a merged directory; `parts` are the directories of its layers, the topmost first.
    fn descend(&mut self, directory: InodeIndex, parts: &[Origin]) {
        let mut entries = BTreeMap::<Name, Vec<Origin>>::new();
        for (layer, inode) in parts {
            let tree = self.layers.get(*layer).map(|layer| &layer.tree);
            let part = tree.and_then(|tree| tree.get(*inode).as_directory());
            for (name, inode) in part.into_iter().flat_map(Directory::entries) {
                entries.entry(name.clone()).or_default().push((*layer, inode));
            }
        }
        let entries: Vec<_> = entries.into_iter().collect();
        self.stack.push(Level { directory, entries: entries.into_iter() });
    }

    /// Adds a name; `origins` are the inodes of the layers that have it, the topmost first.
    fn add(&mut self, parent: InodeIndex, name: Name, origins: &[Origin]) -> Result<(), TreeError> {
        let Some((top, layer)) =
            origins.first().and_then(|top| Some((*top, self.layers.get(top.0)?)))
        else {
            return Ok(());
        };
        if let Some(known) = self.known.get(&top) {
            return self.tree.link(parent, name, *known);
        }
        let inode = layer.tree.get(top.1);
        let (kind, has_links) = match &inode.kind {
            Kind::Directory(_) => (Kind::directory(), false),
            kind => (kind.clone(), inode.nlink() > 1),
        };
        let metadata = self.metadata(top);
        let added = self.tree.add(parent, name, metadata, kind)?;
        self.origins.push(top);
        if has_links {
            self.known.insert(top, added);
        }
        if self.tree.get(added).as_directory().is_some() {
            let parts = self.parts(origins);
            self.descend(added, &parts);
        }
        Ok(())
    }

    /// The directories at the start of a list, down to one that hides those below.
    fn parts(&self, origins: &[Origin]) -> Vec<Origin> {
        let mut parts = Vec::new();
        for (number, index) in origins {
            let Some(layer) = self.layers.get(*number) else { break };
            let inode = layer.tree.get(*index);
            if inode.as_directory().is_none() {
                break;
            }
            parts.push((*number, *index));
            if is_opaque(&layer.tree, inode) {
                break;
            }
        }
        parts
    }

    fn metadata(&mut self, (layer, inode): Origin) -> Metadata {
        let Some(layer) = self.layers.get_mut(layer) else {
            return Metadata::default();
        };
        let metadata = layer.tree.get(inode).metadata;
        let set = layer.sets.get_mut(metadata.xattrs.index());
        let xattrs = match set {
            Some(Some(set)) => *set,
            set => {
                let xattrs = layer.tree.xattrs.get(metadata.xattrs).to_vec();
                let number = self.tree.xattrs.intern(xattrs);
                if let Some(set) = set {
                    *set = Some(number);
                }
                number
            }
        };
        Metadata { xattrs, ..metadata }
    }
}

fn to_path(bytes: Vec<u8>) -> PathBuf {
    OsString::from_vec(bytes).into()
}

/// The bytes of the files of all layers.
struct MergedContents {
    layers: Vec<Layer>,
    /// By inode of the merged tree.
    origins: Vec<Origin>,
}

impl Contents for MergedContents {
    fn open(&self, tree: &Tree, inode: InodeIndex) -> Result<Box<dyn Content + '_>, ContentError> {
        let origin = self.origins.get(inode.index());
        let found = origin.and_then(|origin| Some((origin, self.layers.get(origin.0)?)));
        let Some(((number, inode), layer)) = found else {
            let what = "is in no layer".to_owned();
            return Err(ContentError::Changed { path: to_path(tree.path(inode)), what });
        };
        let content = layer.contents.open(&layer.tree, *inode)?;
        let before = self.layers.iter().take(*number);
        let first_device = before.map(|layer| layer.contents.devices().len()).sum();
        if first_device == 0 {
            return Ok(content);
        }
        Ok(Box::new(LayerContent { content, first_device }))
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
    use lith_transform::make_opaque;
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
