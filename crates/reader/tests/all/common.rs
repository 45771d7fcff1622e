//! Opens the golden images and dumps what the reader finds in them.
#![allow(dead_code, unreachable_pub, reason = "each test program uses a part")]

use std::{collections::BTreeMap, fmt::Write as _, path::PathBuf};

use lith_device::{FileDevice, MemoryDevice, ReadAt};
use lith_format::{addr::Nid, file_type::FileType, inode::InodeData};
use lith_reader::{DataRange, Error, Image, Inode, Options};
use sha2::{Digest, Sha256};

/// A line of images.txt.
pub struct Golden {
    pub name: String,
    pub tree: String,
    pub devices: Vec<String>,
}

/// The folder of the golden images.
pub fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden")
}

/// A file of the golden folder as text.
pub fn text(name: &str) -> String {
    std::fs::read_to_string(folder().join(name)).unwrap()
}

/// A file of the golden folder as bytes.
pub fn bytes(name: &str) -> Vec<u8> {
    std::fs::read(folder().join(name)).unwrap()
}

/// All golden images.
pub fn goldens() -> Vec<Golden> {
    let rows = text("images.txt");
    let rows = rows.lines().filter(|line| !line.starts_with('#'));
    let golden = |line: &str| {
        let mut words = line.split_whitespace().map(str::to_owned);
        let (name, tree) = (words.next().unwrap(), words.next().unwrap());
        let devices = words.next().unwrap();
        let devices = devices.split(',').filter(|word| *word != "-").map(str::to_owned).collect();
        Golden { name, tree, devices }
    };
    rows.map(golden).collect()
}

impl Golden {
    /// Opens the image with its devices, each in a file.
    pub fn open(&self) -> Image {
        let names = std::iter::once(format!("{}.erofs", self.name)).chain(self.devices.clone());
        let devices = names.map(|name| {
            Box::new(FileDevice::open(folder().join(name)).unwrap()) as Box<dyn ReadAt>
        });
        Image::open_with(devices.collect(), Options::default()).unwrap()
    }

    /// The image and what follows it on one device, each padded to where the device table says it begins.
    pub fn concatenated(&self) -> Vec<u8> {
        let mut all = bytes(&format!("{}.erofs", self.name));
        let map = self.open().device_map().clone();
        for (name, slot) in self.devices.iter().zip(&map.slots) {
            let start = slot.uniaddr.to_pa(map.block).unwrap().0;
            all.resize(usize::try_from(start).unwrap(), 0);
            all.extend(bytes(name));
        }
        all
    }
}

/// An image in memory.
pub fn open_bytes(bytes: Vec<u8>) -> Result<Image, Error> {
    Image::open(MemoryDevice::new(bytes))
}

/// The fields of each line of a canonical text, by path.
pub type Dump = BTreeMap<Vec<u8>, Vec<String>>;

/// The canonical text's lines as fields.
pub fn parse_dump(text: &str) -> Dump {
    let fields = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
    text.lines().map(fields).map(|fields| (fields[0].clone().into_bytes(), fields)).collect()
}

/// The names of the fields.
pub const FIELDS: [&str; 14] = [
    "path",
    "type",
    "mode",
    "uid",
    "gid",
    "mtime.sec",
    "mtime.nsec",
    "nlink",
    "size",
    "rdev",
    "sha256",
    "target",
    "xattrs",
    "first",
];

/// Everything in an image, as the canonical text has it.
pub fn dump(image: &Image) -> Dump {
    let mut paths = vec![(b"/".to_vec(), image.root().unwrap())];
    let mut at = 0;
    while let Some((path, inode)) = paths.get(at).cloned() {
        at += 1;
        if inode.file_type != FileType::Directory {
            continue;
        }
        for entry in image.read_dir(&inode).unwrap() {
            let entry = entry.unwrap();
            let child = image.inode(entry.nid).unwrap();
            assert_eq!(entry.file_type, Some(child.file_type));
            let found = image.lookup(&inode, &entry.name).unwrap();
            assert_eq!(found.as_ref(), Some(&entry));
            let path = [path.strip_suffix(b"/").unwrap_or(&path), b"/", &entry.name].concat();
            paths.push((path, child));
        }
    }
    paths.sort_by(|a, b| a.0.cmp(&b.0));
    let mut first = BTreeMap::<Nid, Vec<u8>>::new();
    let mut dump = Dump::new();
    for (path, inode) in paths {
        let known = first.entry(inode.nid).or_insert_with(|| path.clone());
        let linked = if *known == path { "-".into() } else { escape(known) };
        let mut row = row(image, &path, &inode);
        row.push(linked);
        dump.insert(row[0].clone().into_bytes(), row);
    }
    dump
}

fn row(image: &Image, path: &[u8], inode: &Inode) -> Vec<String> {
    let none = || "-".to_owned();
    let letter = match inode.file_type {
        FileType::Regular => "f",
        FileType::Directory => "d",
        FileType::Symlink => "l",
        FileType::CharDevice => "c",
        FileType::BlockDevice => "b",
        FileType::Fifo => "p",
        FileType::Socket => "s",
    };
    let is_directory = inode.file_type == FileType::Directory;
    let rdev = match inode.data {
        InodeData::Device(rdev) => format!("{}:{}", rdev.major, rdev.minor),
        _ => none(),
    };
    let target = match inode.file_type {
        FileType::Symlink => escape(&image.read_link(inode).unwrap()),
        _ => none(),
    };
    let hash = if inode.file_type == FileType::Regular { hash(image, inode) } else { none() };
    vec![
        escape(path),
        letter.into(),
        format!("{:04o}", inode.mode & 0o7777),
        inode.uid.to_string(),
        inode.gid.to_string(),
        inode.mtime.to_string(),
        inode.mtime_nsec.to_string(),
        inode.nlink.to_string(),
        if is_directory { none() } else { inode.size.to_string() },
        rdev,
        hash,
        target,
        xattrs(image, inode),
    ]
}

fn xattrs(image: &Image, inode: &Inode) -> String {
    let mut xattrs = image.xattrs(inode).unwrap();
    xattrs.sort();
    for xattr in &xattrs {
        let value = image.xattr(inode, &xattr.name).unwrap();
        assert_eq!(value.as_ref(), Some(&xattr.value));
    }
    let texts: Vec<_> =
        xattrs.iter().map(|x| format!("{}={}", escape(&x.name), hex(&x.value))).collect();
    if texts.is_empty() { "-".into() } else { texts.join(",") }
}

fn hash(image: &Image, inode: &Inode) -> String {
    hex(&Sha256::digest(read_all(image, inode).unwrap()))
}

/// All bytes of a file.
pub fn read_all(image: &Image, inode: &Inode) -> Result<Vec<u8>, Error> {
    let file = image.file(inode)?;
    let mut bytes = vec![0xa5; usize::try_from(file.size()).unwrap()];
    file.read_at(&mut bytes, 0)?;
    Ok(bytes)
}

/// The ranges of a file, and that they tile it.
pub fn ranges(image: &Image, inode: &Inode) -> Vec<(u64, u64, bool)> {
    let file = image.file(inode).unwrap();
    let (mut at, mut ranges) = (0, vec![]);
    while let Some(range) = file.range_at(at).unwrap() {
        let (DataRange::Data { end } | DataRange::Hole { end }) = range;
        assert!(end > at && end <= file.size());
        ranges.push((at, end, matches!(range, DataRange::Hole { .. })));
        at = end;
    }
    assert_eq!(at, file.size());
    ranges
}

/// Each byte in hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

fn escape(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, &byte| {
        match byte {
            b'\\' | b',' | b'=' => write!(text, "\\x{byte:02x}").unwrap(),
            0x21..=0x7e => text.push(byte.into()),
            _ => write!(text, "\\x{byte:02x}").unwrap(),
        }
        text
    })
}
