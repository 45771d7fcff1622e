//! Resolves the paths in a crate's files to the files that define what they name, and finds circles among these.

use std::collections::{BTreeMap, BTreeSet};

use super::scan::{Name, Scanned};

/// A module with its place in the crate.
#[derive(Debug)]
struct Module {
    file: usize,
    parent: usize,
    children: BTreeMap<String, usize>,
    scanned: Scanned,
}

/// What a path leads to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Target {
    Module(usize),
    /// An item, the file that defines it, and the segment after it: a variant or an associated function.
    Item {
        file: usize,
        name: String,
        member: Option<String>,
    },
}

/// The arrows from one file to others, each with a path that causes it.
pub(super) type Arrows = BTreeMap<(usize, usize), String>;

/// The files of a crate, as far as they are not for tests only.
#[derive(Debug, Default)]
pub(super) struct Crate {
    /// Their paths under `src`.
    pub(super) files: Vec<String>,
    modules: Vec<Module>,
}

impl Crate {
    /// Reads a crate, from its roots on; `read` returns the text of a file, given its path under `src`.
    pub(super) fn load(roots: &[&str], read: &dyn Fn(&str) -> Option<String>) -> Self {
        let mut all = Self::default();
        for root in roots {
            if let Some(text) = read(root) {
                let file = all.add_file(root);
                let folder = root.rsplit_once('/').map_or("", |(folder, _)| folder);
                let parent = all.modules.len();
                all.add(Module::new(file, parent, Scanned::parse(&text)), folder, read);
            }
        }
        all
    }

    fn add_file(&mut self, path: &str) -> usize {
        self.files.push(path.to_owned());
        self.files.len() - 1
    }

    /// Adds a module whose modules are in `folder`, with all of them; returns its number.
    fn add(
        &mut self,
        module: Module,
        folder: &str,
        read: &dyn Fn(&str) -> Option<String>,
    ) -> usize {
        let number = self.modules.len();
        let (file, names) = (module.file, module.scanned.names.clone());
        self.modules.push(module);
        for (name, meaning) in
            names.iter().flat_map(|(name, all)| all.iter().map(move |m| (name, m)))
        {
            let below = join(folder, name.trim_start_matches("r#"));
            let child = match meaning {
                Name::Item | Name::Use(_) => continue,
                Name::Inline(inner) => Module::new(file, number, (**inner).clone()),
                Name::File => {
                    let paths = [format!("{below}.rs"), format!("{below}/mod.rs")];
                    let found = paths.iter().find_map(|path| read(path).map(|text| (path, text)));
                    let (path, text) = found.unwrap_or_else(|| panic!("no file of {below}"));
                    Module::new(self.add_file(path), number, Scanned::parse(&text))
                }
            };
            let child = self.add(child, &below, read);
            self.modules[number].children.insert(name.clone(), child);
        }
        number
    }

    /// The arrows between files.
    pub(super) fn arrows(&self) -> Arrows {
        let mut arrows = Arrows::new();
        for (number, module) in self.modules.iter().enumerate() {
            for path in &module.scanned.mentions {
                for to in self.files_of(number, path) {
                    if to != module.file {
                        arrows.entry((module.file, to)).or_insert_with(|| path.join("::"));
                    }
                }
            }
        }
        self.add_members(&mut arrows);
        arrows
    }

    /// The files whose code names a path that ends so.
    pub(super) fn naming(&self, end: &[&str]) -> BTreeSet<&str> {
        let modules = self.modules.iter();
        let naming = modules
            .filter(|module| module.scanned.mentions.iter().any(|path| ends_with(path, end)));
        naming.map(|module| self.files[module.file].as_str()).collect()
    }

    /// The files that a path needs: those of the items, and of the `impl` blocks with the members that it names.
    fn files_of(&self, module: usize, path: &[String]) -> BTreeSet<usize> {
        let mut files = BTreeSet::new();
        for target in self.resolve(module, path, &mut Vec::new()) {
            if let Target::Item { file, name, member } = target {
                files.insert(file);
                let elsewhere =
                    self.inherent().filter(|block| (block.home, &block.name) == (file, &name));
                let named = elsewhere
                    .filter(|block| member.as_ref().is_some_and(|m| block.members.contains(m)));
                files.extend(named.map(|block| block.file));
            }
        }
        files
    }

    /// A file that calls a method of its own type needs the file whose `impl` block has the method.
    fn add_members(&self, arrows: &mut Arrows) {
        for block in self.inherent().filter(|block| block.home != block.file) {
            let own = self.modules.iter().filter(|module| module.file == block.home);
            for method in own.flat_map(|module| &module.scanned.methods) {
                if block.members.contains(method) {
                    let cause = || format!("{}::{method}", block.name);
                    arrows.entry((block.home, block.file)).or_insert_with(cause);
                }
            }
        }
    }

    fn inherent(&self) -> impl Iterator<Item = Block<'_>> {
        self.modules.iter().enumerate().flat_map(move |(number, module)| {
            module.scanned.inherent.iter().filter_map(move |block| {
                let targets = self.resolve(number, &block.target, &mut Vec::new());
                targets.into_iter().find_map(|target| match target {
                    Target::Item { file: home, name, .. } => {
                        Some(Block { home, name, file: module.file, members: &block.members })
                    }
                    Target::Module(_) => None,
                })
            })
        })
    }

    /// What a path in a module leads to: nothing if it is outside of the crate.
    fn resolve(&self, module: usize, path: &[String], visiting: &mut Visiting) -> Vec<Target> {
        let mut targets = vec![Target::Module(module)];
        for (at, segment) in path.iter().enumerate() {
            let is_last = at + 1 == path.len();
            let step = |target| self.step(target, segment, is_last, visiting);
            targets = targets.into_iter().flat_map(step).collect();
            if !is_last && targets.iter().any(|target| matches!(target, Target::Module(_))) {
                targets.retain(|target| matches!(target, Target::Module(_)));
            }
        }
        targets
    }

    fn step(
        &self,
        target: Target,
        segment: &str,
        is_last: bool,
        visiting: &mut Visiting,
    ) -> Vec<Target> {
        match (target, segment) {
            (Target::Module(module), "self") => vec![Target::Module(module)],
            (Target::Module(module), "super") => vec![Target::Module(self.modules[module].parent)],
            (Target::Module(module), "crate") => vec![Target::Module(self.root_of(module))],
            (Target::Module(module), _) => self.look_up(module, segment, visiting),
            (Target::Item { file, name, member: None }, _) => {
                vec![Target::Item { file, name, member: Some(segment.to_owned()) }]
            }
            // The macro `name` and the function `name` of a module are not told apart.
            (item @ Target::Item { .. }, _) => {
                if is_last {
                    vec![item]
                } else {
                    Vec::new()
                }
            }
        }
    }

    fn root_of(&self, mut module: usize) -> usize {
        while self.modules[module].parent != module {
            module = self.modules[module].parent;
        }
        module
    }

    /// What a name means in a module.
    fn look_up(&self, module: usize, name: &str, visiting: &mut Visiting) -> Vec<Target> {
        let step = (module, name.to_owned());
        // `use decode::decode` names a module while the function of that name is looked up.
        let is_again = visiting.contains(&step);
        visiting.push(step);
        let Module { file, scanned, children, .. } = &self.modules[module];
        let meanings = scanned.names.get(name).into_iter().flatten();
        let mut targets: Vec<_> = meanings
            .flat_map(|meaning| match meaning {
                Name::Item => {
                    vec![Target::Item { file: *file, name: name.to_owned(), member: None }]
                }
                Name::Inline(_) | Name::File => {
                    children.get(name).map(|child| Target::Module(*child)).into_iter().collect()
                }
                Name::Use(_) if is_again => Vec::new(),
                Name::Use(path) => self.resolve(module, path, visiting),
            })
            .collect();
        if targets.is_empty() && !is_again {
            for glob in &scanned.globs {
                for found in self.resolve(module, glob, visiting) {
                    if let Target::Module(other) = found {
                        targets.extend(self.look_up(other, name, visiting));
                    }
                }
            }
        }
        visiting.pop();
        targets
    }
}

/// An `impl` block without a trait: where the type is defined, and where the block is.
struct Block<'a> {
    home: usize,
    name: String,
    file: usize,
    members: &'a [String],
}

/// Names that are being looked up: an import of itself ends there.
type Visiting = Vec<(usize, String)>;

impl Module {
    const fn new(file: usize, parent: usize, scanned: Scanned) -> Self {
        Self { file, parent, children: BTreeMap::new(), scanned }
    }
}

fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}

/// The circles among files: each a set of files of which each reaches all others.
pub(super) fn circles(arrows: &BTreeSet<(usize, usize)>) -> Vec<Vec<usize>> {
    let files: BTreeSet<_> = arrows.iter().flat_map(|(from, to)| [*from, *to]).collect();
    let reached: BTreeMap<_, _> = files.iter().map(|file| (*file, reach(*file, arrows))).collect();
    let mut circles: Vec<Vec<usize>> = Vec::new();
    for file in &files {
        let is_mutual =
            |other: &&usize| reached[file].contains(*other) && reached[*other].contains(file);
        let circle: Vec<_> = files.iter().filter(is_mutual).copied().collect();
        if !circle.is_empty() && !circles.contains(&circle) {
            circles.push(circle);
        }
    }
    circles
}

fn reach(from: usize, arrows: &BTreeSet<(usize, usize)>) -> BTreeSet<usize> {
    let mut reached = BTreeSet::new();
    let mut open = vec![from];
    while let Some(file) = open.pop() {
        for (_, to) in arrows.range((file, 0)..=(file, usize::MAX)) {
            if reached.insert(*to) {
                open.push(*to);
            }
        }
    }
    reached
}

fn ends_with(path: &[String], end: &[&str]) -> bool {
    path.len() >= end.len() && path.iter().rev().zip(end.iter().rev()).all(|(a, b)| a == b)
}
