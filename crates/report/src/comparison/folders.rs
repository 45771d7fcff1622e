//! Defines [`BothFolders`], the folders of two images.

use std::{cmp::Reverse, collections::HashMap};

use crate::{
    facts::{Changes, FolderChange, Named, Sums},
    folders::Folders,
};

/// The most folders that are listed.
const FOLDERS: usize = 1000;
/// Nested folders that are listed.
const LEVELS: usize = 10;

/// A folder of either image.
struct Node {
    parent: usize,
    name: Box<[u8]>,
    level: usize,
    /// Sums over the files in it, in each image; in [`BothFolders::root`] over all below it.
    sums: [Sums; 2],
    names: Changes,
    /// How much changed in it, without regard to the sign; later below it. So no folder weighs more than the one it is in.
    weight: u64,
}

/// The folders of two images, each with a larger number than the one it is in; the root has 0.
pub(super) struct BothFolders {
    all: Vec<Node>,
    /// By the number of the folder that it is in, and its name.
    numbers: HashMap<(usize, Box<[u8]>), usize>,
}

impl BothFolders {
    pub(super) fn new(first: &Folders, second: &Folders) -> Self {
        let mut both = Self { all: Vec::new(), numbers: HashMap::new() };
        both.all.push(Node::new(0, b"", 0));
        for (side, folders) in [first, second].into_iter().enumerate() {
            let mut numbers = Vec::new();
            for (parent, name, sums) in folders.own() {
                // The root comes first, and is in no folder.
                let number = match numbers.get(parent) {
                    Some(parent) => both.number(*parent, name),
                    None => 0,
                };
                numbers.push(number);
                if let Some(own) = both.all.get_mut(number).and_then(|node| node.sums.get_mut(side))
                {
                    own.add(sums);
                }
            }
        }
        both
    }

    /// The number of a folder in another one, which may be new.
    fn number(&mut self, parent: usize, name: &[u8]) -> usize {
        let key = (parent, Box::from(name));
        if let Some(number) = self.numbers.get(&key) {
            return *number;
        }
        let number = self.all.len();
        let level = self.all.get(parent).map_or(0, |node| node.level.saturating_add(1));
        self.all.push(Node::new(parent, name, level));
        self.numbers.insert(key, number);
        number
    }

    /// Counts changes of a path in the folder that has its last name.
    pub(super) fn count(&mut self, path: &[u8], changes: &Changes) {
        let mut names: Vec<_> = path.split(|byte| *byte == b'/').collect();
        names.pop();
        let mut at = 0;
        for name in names {
            let Some(number) = self.numbers.get(&(at, Box::from(name))) else { break };
            at = *number;
        }
        if let Some(node) = self.all.get_mut(at) {
            node.names.add(changes);
        }
    }

    /// The root with those folders below it in which most changed.
    pub(super) fn root(mut self) -> FolderChange {
        self.sum_up();
        let mut order: Vec<_> =
            self.all.iter().zip(0..).map(|(node, number)| (Reverse(node.weight), number)).collect();
        // A folder is sorted before the folders in it: it weighs at least as much, and has a smaller number.
        order.sort_unstable();
        let is_listed = |number: &usize| {
            let node = self.all.get(*number);
            *number == 0 || node.is_some_and(|node| node.level < LEVELS && node.weight > 0)
        };
        let listed = order.into_iter().map(|(_, number)| number).filter(is_listed);
        let mut listed: Vec<usize> = listed.take(FOLDERS).collect();
        listed.sort_unstable();
        self.assemble(&listed)
    }

    fn sum_up(&mut self) {
        for node in &mut self.all {
            let [before, after] = &node.sums;
            let (stored, bytes) = before.distance(after);
            node.weight = stored.saturating_add(bytes).saturating_add(node.names.total());
        }
        for number in (1..self.all.len()).rev() {
            let Some(node) = self.all.get(number) else { break };
            let (parent, sums, names, weight) = (node.parent, node.sums, node.names, node.weight);
            let Some(parent) = self.all.get_mut(parent) else { break };
            parent.sums.iter_mut().zip(&sums).for_each(|(sum, more)| sum.add(more));
            parent.names.add(&names);
            parent.weight = parent.weight.saturating_add(weight);
        }
    }

    /// The root with the folders of these numbers, which are in order and include the parent of each.
    fn assemble(&self, listed: &[usize]) -> FolderChange {
        let nodes = listed.iter().filter_map(|number| self.all.get(*number));
        let mut folders: Vec<_> = nodes.map(Node::change).map(Some).collect();
        // In descending order each folder is complete when it moves into its parent.
        for place in (1..listed.len()).rev() {
            let taken = folders.get_mut(place).and_then(Option::take);
            let node = listed.get(place).and_then(|number| self.all.get(*number));
            let (Some(mut taken), Some(node)) = (taken, node) else { continue };
            sort(&mut taken);
            let parent = listed.binary_search(&node.parent).ok();
            if let Some(parent) = parent.and_then(|at| folders.get_mut(at)?.as_mut()) {
                parent.folders.push(taken);
            }
        }
        let root = folders.into_iter().next().flatten();
        let mut root = root.unwrap_or_else(|| Node::new(0, b"", 0).change());
        sort(&mut root);
        root
    }
}

fn sort(folder: &mut FolderChange) {
    folder.folders.sort_by_key(|inner| Reverse(inner.before.distance(&inner.after)));
}

impl Node {
    fn new(parent: usize, name: &[u8], level: usize) -> Self {
        let (sums, names) = ([Sums::default(); 2], Changes::default());
        Self { parent, name: name.into(), level, sums, names, weight: 0 }
    }

    fn change(&self) -> FolderChange {
        let [before, after] = self.sums;
        let name = Named(self.name.to_vec());
        FolderChange { name, before, after, names: self.names, folders: Vec::new() }
    }
}
