//! Random trees in memory, which shrink step by step.
//!
//! A [`Recipe`] is a list of steps, each of which adds a name to a tree in memory. Every list of steps makes a sound
//! tree, so recipes can be shrunk step by step, and made of any bytes a fuzzer finds.

use lith::tree::{InodeIndex, Kind, MemoryContents, Metadata, Name, Rdev, Timestamp, Tree, Xattr};
use proptest::{collection::vec, prelude::*, sample::select};

use crate::noise::{self, Texture};

/// How a tree grows.
#[derive(Clone, Debug)]
pub struct Recipe {
    /// The root's attributes.
    pub root: Attributes,
    /// One name each.
    pub steps: Vec<Step>,
}

/// A name that is added. If it is there already the step is left out.
#[derive(Clone, Debug)]
pub struct Step {
    /// Which directory it is in, of those there are.
    pub parent: u16,
    /// Its bytes; those that no name may have are replaced.
    pub name: Vec<u8>,
    /// Attributes, unless it is a hard link.
    pub attributes: Attributes,
    /// What it is.
    pub what: What,
}

/// What a step adds.
#[derive(Clone, Debug)]
pub enum What {
    /// A directory.
    Directory,
    /// A regular file of these stretches.
    File(Vec<Stretch>),
    /// A further name of one of the files there are.
    Link(u16),
    /// A symbolic link to these bytes; NULs are replaced.
    Symlink(Vec<u8>),
    /// A character device if true, otherwise a block device.
    Device(bool, Rdev),
    /// A pipe.
    Fifo,
    /// A socket.
    Socket,
}

/// Some bytes of a file.
#[derive(Clone, Copy, Debug)]
pub struct Stretch {
    /// What they are; nothing for a hole.
    pub texture: Option<Texture>,
    /// Which ones.
    pub seed: u8,
    /// How many.
    pub length: u32,
}

/// The attributes of a file.
#[derive(Clone, Debug, Default)]
pub struct Attributes {
    /// The low twelve bits count.
    pub permissions: u16,
    /// User.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Last modification.
    pub mtime: Timestamp,
    /// Namespace by number, the name after it, and the value.
    pub xattrs: Vec<(u8, Vec<u8>, Vec<u8>)>,
}

impl Recipe {
    /// The tree, and the bytes of its files.
    #[must_use]
    pub fn follow(&self) -> (Tree, MemoryContents) {
        let mut growth = Growth::new(self);
        self.steps.iter().for_each(|step| growth.grow(step));
        (growth.tree, growth.contents)
    }
}

impl Recipe {
    /// The recipe with those extended attributes only that Linux shows: no ACLs, which must make sense, and `user.` on
    /// regular files and directories alone.
    #[must_use]
    pub fn as_linux_allows(mut self) -> Self {
        let namespaces = NAMESPACES.len() as u8;
        for (namespace, ..) in &mut self.root.xattrs {
            *namespace = *namespace % namespaces % 3;
        }
        for step in &mut self.steps {
            let takes_user = matches!(step.what, What::Directory | What::File(_));
            for (namespace, ..) in &mut step.attributes.xattrs {
                *namespace = (*namespace % namespaces % 3).max(u8::from(!takes_user));
            }
        }
        self
    }
}

struct Growth {
    tree: Tree,
    contents: MemoryContents,
    directories: Vec<InodeIndex>,
    others: Vec<InodeIndex>,
}

impl Growth {
    fn new(recipe: &Recipe) -> Self {
        let mut tree = Tree::new(Metadata::default());
        let metadata = recipe.root.metadata(&mut tree);
        tree.get_mut(InodeIndex::ROOT).metadata = metadata;
        Self {
            tree,
            contents: MemoryContents::default(),
            directories: vec![InodeIndex::ROOT],
            others: Vec::new(),
        }
    }

    fn grow(&mut self, step: &Step) {
        let parent = self.directories[usize::from(step.parent) % self.directories.len()];
        let name = name(&step.name);
        if let What::Link(number) = step.what {
            if let Some(inode) = pick(&self.others, number) {
                let _there_already = self.tree.link(parent, name, inode);
            }
            return;
        }
        let metadata = step.attributes.metadata(&mut self.tree);
        let Ok(inode) = self.tree.add(parent, name, metadata, kind(&step.what)) else { return };
        match &step.what {
            What::Directory => self.directories.push(inode),
            What::File(stretches) => {
                self.fill(inode, stretches);
                self.others.push(inode);
            }
            _ => self.others.push(inode),
        }
    }

    fn fill(&mut self, inode: InodeIndex, stretches: &[Stretch]) {
        let mut position = 0;
        let mut data = Vec::new();
        for stretch in stretches {
            if let Some(texture) = stretch.texture {
                data.push((
                    position,
                    noise::bytes(texture, stretch.seed.into(), stretch.length as usize),
                ));
            }
            position += u64::from(stretch.length);
        }
        self.contents.insert_sparse(
            inode,
            position,
            data.iter().map(|(at, bytes)| (*at, &**bytes)),
        );
    }
}

fn pick<T: Copy>(list: &[T], number: u16) -> Option<T> {
    list.get(usize::from(number).checked_rem(list.len())?).copied()
}

fn name(bytes: &[u8]) -> Name {
    let replace = |byte: &u8| if matches!(byte, b'/' | 0) { b'_' } else { *byte };
    let bytes: Vec<u8> = bytes.iter().take(Name::MAX).map(replace).collect();
    Name::new(&bytes).unwrap_or_else(|_reserved| Name::new(b"_").unwrap())
}

fn kind(what: &What) -> Kind {
    match what {
        What::Directory => Kind::directory(),
        What::File(stretches) => {
            Kind::Regular { size: stretches.iter().map(|stretch| u64::from(stretch.length)).sum() }
        }
        What::Symlink(target) => {
            let replace = |byte: &u8| if *byte == 0 { b'0' } else { *byte };
            let target: Box<[u8]> = target.iter().take(4095).map(replace).collect();
            Kind::Symlink(if target.is_empty() { (*b"x").into() } else { target })
        }
        What::Device(true, rdev) => Kind::CharDevice(*rdev),
        What::Device(false, rdev) => Kind::BlockDevice(*rdev),
        What::Fifo | What::Link(_) => Kind::Fifo,
        What::Socket => Kind::Socket,
    }
}

const NAMESPACES: [&[u8]; 5] =
    [b"user.", b"trusted.", b"security.", b"system.posix_acl_access", b"system.posix_acl_default"];

impl Attributes {
    fn metadata(&self, tree: &mut Tree) -> Metadata {
        let xattr = |(namespace, rest, value): &(u8, Vec<u8>, Vec<u8>)| {
            let namespace = NAMESPACES[usize::from(*namespace) % NAMESPACES.len()];
            let rest: Vec<u8> = match namespace.last() {
                Some(b'.') => rest.iter().take(200).map(|byte| (*byte).max(1)).collect(),
                _ => Vec::new(),
            };
            let rest =
                if rest.is_empty() && namespace.ends_with(b".") { b"x".to_vec() } else { rest };
            Xattr { name: [namespace, &rest].concat().into(), value: value.as_slice().into() }
        };
        Metadata {
            permissions: self.permissions & 0o7777,
            uid: self.uid,
            gid: self.gid,
            mtime: self.mtime,
            xattrs: tree.xattrs.intern(self.xattrs.iter().map(xattr).collect()),
        }
    }
}

/// Recipes of at most so many steps, with content of at most some hundred KiB a file.
pub fn recipes(steps: usize) -> impl Strategy<Value = Recipe> {
    (attributes(), vec(step(), 0..=steps)).prop_map(|(root, steps)| Recipe { root, steps })
}

fn step() -> impl Strategy<Value = Step> {
    let name = prop_oneof![
        6 => vec(any::<u8>(), 1..8),
        2 => vec(any::<u8>(), 200..256),
        3 => "[a-d]{1,2}".prop_map(String::into_bytes),
    ];
    (any::<u16>(), name, attributes(), what()).prop_map(|(parent, name, attributes, what)| Step {
        parent,
        name,
        attributes,
        what,
    })
}

fn what() -> impl Strategy<Value = What> {
    let rdev =
        prop_oneof![Just((0, 0)), (0..4096_u32, 0..1_u32 << 20), Just((4095, (1 << 20) - 1)),];
    let target = prop_oneof![vec(any::<u8>(), 1..100), vec(any::<u8>(), 3900..4096)];
    prop_oneof![
        4 => Just(What::Directory),
        10 => vec(stretch(), 0..4).prop_map(What::File),
        3 => any::<u16>().prop_map(What::Link),
        3 => target.prop_map(What::Symlink),
        1 => (any::<bool>(), rdev).prop_map(|(is_char, (major, minor))| What::Device(is_char, Rdev { major, minor })),
        1 => Just(What::Fifo),
        1 => Just(What::Socket),
    ]
}

fn stretch() -> impl Strategy<Value = Stretch> {
    let length = prop_oneof![
        6 => 0..200_u32,
        4 => 3900..4300_u32,
        3 => (1..20_u32, 0..3_u32).prop_map(|(blocks, past)| blocks * 4096 + past - 1),
        2 => 0..200_000_u32,
    ];
    let texture = select(
        [None, Some(Texture::Mixed)].into_iter().chain(Texture::ALL.map(Some)).collect::<Vec<_>>(),
    );
    // Some of the same stretches come again.
    let seed = prop_oneof![2 => any::<u8>(), 1 => 0..2_u8];
    (texture, seed, length).prop_map(|(texture, seed, length)| Stretch { texture, seed, length })
}

/// Attributes, half of them those that most files have: so compact inodes and shared attributes come up.
fn attributes() -> impl Strategy<Value = Attributes> {
    let id = prop_oneof![4 => Just(0), 1 => Just(65_535), 1 => Just(65_536), 1 => any::<u32>()];
    let sec = prop_oneof![
        4 => Just(1_700_000_000),
        1 => Just(-1),
        1 => Just(i64::from(i32::MIN) - 5),
        1 => Just(1_i64 << 32),
        1 => (-1_i64 << 40)..(1_i64 << 40),
    ];
    let nsec = prop_oneof![4 => Just(0), 1 => 0..1_000_000_000_u32];
    let value = prop_oneof![6 => vec(any::<u8>(), 0..20), 1 => vec(any::<u8>(), 0..5000)];
    let own = (any::<u8>(), vec(any::<u8>(), 0..20), value);
    let common = any::<bool>().prop_map(|one| {
        (2, b"selinux".to_vec(), if one { b"a:b:c".to_vec() } else { vec![7; 300] })
    });
    let xattrs = prop_oneof![6 => Just(Vec::new()), 2 => vec(common, 1), 2 => vec(own, 0..4)];
    (0..0o10000_u16, id.clone(), id, (sec, nsec), xattrs).prop_map(
        |(permissions, uid, gid, (sec, nsec), xattrs)| Attributes {
            permissions,
            uid,
            gid,
            mtime: Timestamp { sec, nsec },
            xattrs,
        },
    )
}

/// The recipe that any bytes stand for, so that a fuzzer can change trees by changing bytes.
#[must_use]
pub fn from_bytes(bytes: &[u8]) -> Recipe {
    let mut input = Input(bytes);
    let root = input.attributes();
    let mut steps = Vec::new();
    while !input.0.is_empty() && steps.len() < 200 {
        steps.push(input.step());
    }
    Recipe { root, steps }
}

/// Bytes to be used up; zeros when none are left.
struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    fn number(&mut self) -> u32 {
        u32::from_le_bytes([self.byte(), self.byte(), self.byte(), self.byte()])
    }

    fn bytes(&mut self) -> Vec<u8> {
        // Most lengths are small, so that not too many bytes make one step.
        let length = self.byte();
        let length = usize::from(if length < 250 { length % 16 } else { length }).min(self.0.len());
        let (taken, rest) = self.0.split_at(length);
        self.0 = rest;
        taken.to_vec()
    }

    fn step(&mut self) -> Step {
        let tag = self.byte();
        let what = match tag % 16 {
            0..3 => What::Directory,
            3..9 => What::File((0..=tag / 64).map(|_| self.stretch()).collect()),
            9 | 10 => What::Link(self.byte().into()),
            11 | 12 => What::Symlink(self.bytes()),
            13 => What::Device(
                tag > 127,
                Rdev { major: self.number() % 4096, minor: self.number() % (1 << 20) },
            ),
            14 => What::Fifo,
            _ => What::Socket,
        };
        let attributes = if tag & 32 == 0 { Attributes::default() } else { self.attributes() };
        Step { parent: self.byte().into(), name: self.bytes(), attributes, what }
    }

    fn stretch(&mut self) -> Stretch {
        let shape = self.byte();
        let textures = Texture::ALL.map(Some);
        let texture = textures.get(usize::from(shape % 6)).copied().flatten();
        let length = match shape / 64 {
            0 => self.byte().into(),
            1 => u32::from(self.byte()) * 4096 / 8 + u32::from(self.byte() % 3),
            _ => self.number() % 300_000,
        };
        Stretch { texture, seed: shape, length }
    }

    fn attributes(&mut self) -> Attributes {
        let shape = self.byte();
        let seconds = i64::from(self.number()) << (shape % 8);
        let sec = if shape & 8 == 0 { seconds } else { -seconds };
        let nsec = if shape & 16 == 0 { 0 } else { self.number() % 1_000_000_000 };
        let xattrs = (0..shape >> 6).map(|_| (self.byte(), self.bytes(), self.bytes())).collect();
        Attributes {
            permissions: self.byte().into(),
            uid: self.byte().into(),
            gid: if shape & 32 == 0 { 0 } else { self.number() },
            mtime: Timestamp { sec, nsec },
            xattrs,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_bytes_are_a_recipe() {
        let grow = |seed| from_bytes(&noise::bytes(Texture::Noise, seed, 500)).follow().0.len();
        assert!((0..200).map(grow).filter(|inodes| *inodes > 5).count() > 150);
        assert_eq!(from_bytes(&[]).follow().0.len(), 1);
    }
}
