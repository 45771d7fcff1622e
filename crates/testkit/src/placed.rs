//! Contents that report their bytes as stored on extra devices.

use std::{collections::HashMap, path::Path};

use lith::tree::{
    Content, ContentError, Contents, DataRange, Elsewhere, ExtraDevice, InodeIndex, Kind, Tree,
};

use crate::noise::Noise;

/// How many devices there are.
pub const DEVICES: usize = 2;

/// The contents of files, most of which are stored on devices as well.
#[derive(Debug)]
pub struct Placed<C> {
    contents: C,
    places: HashMap<InodeIndex, Vec<Elsewhere>>,
    devices: [Vec<u8>; DEVICES],
}

impl<C: Contents> Placed<C> {
    /// Lays most files out on devices, in stretches of blocks of `block` bytes, the zeros among them nowhere.
    pub fn new(tree: &Tree, contents: C, block: usize) -> Self {
        let devices = [vec![7; block], Vec::new()];
        let mut placed = Self { contents, places: HashMap::new(), devices };
        let mut noise = Noise::new(5);
        for visit in tree.walk() {
            let is_new = !placed.places.contains_key(&visit.inode);
            if let Kind::Regular { size: size @ 1.. } = tree.get(visit.inode).kind
                && is_new
                && noise.below(5) > 0
            {
                let stretches = placed.lay_out(tree, (visit.inode, size), block, &mut noise);
                placed.places.insert(visit.inode, stretches);
            }
        }
        placed
    }

    /// Puts all files on the first device, each contiguous, one right after another.
    pub fn in_a_row(tree: &Tree, contents: C) -> Self {
        let mut placed =
            Self { contents, places: HashMap::new(), devices: [vec![7; 100], Vec::new()] };
        for visit in tree.walk() {
            let Kind::Regular { size: size @ 1.. } = tree.get(visit.inode).kind else { continue };
            let mut bytes = vec![0; usize::try_from(size).unwrap()];
            placed.contents.open(tree, visit.inode).unwrap().read_at(&mut bytes, 0).unwrap();
            let place = Some((0, placed.devices[0].len() as u64));
            placed.devices[0].extend(bytes);
            placed.places.insert(visit.inode, vec![Elsewhere { place, len: size }]);
        }
        placed
    }

    fn lay_out(
        &mut self,
        tree: &Tree,
        (inode, size): (InodeIndex, u64),
        block: usize,
        noise: &mut Noise,
    ) -> Vec<Elsewhere> {
        let mut bytes = vec![0; usize::try_from(size).unwrap()];
        self.contents.open(tree, inode).unwrap().read_at(&mut bytes, 0).unwrap();
        let (mut stretches, mut end) = (Vec::new(), None);
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            let blocks = 1 + noise.below(40);
            let (now, later) = rest.split_at(rest.len().min(blocks * block));
            let number = noise.below(DEVICES);
            let place = now.iter().any(|byte| *byte != 0).then(|| {
                let device = &mut self.devices[number];
                // Linux 6.18 reads what goes on at the same address of another block device from the first one.
                if end.is_some_and(|(other, end)| other != number && end == device.len()) {
                    device.resize(device.len() + block, 7);
                }
                let position = device.len() as u64;
                device.extend_from_slice(now);
                device.resize(device.len().next_multiple_of(block), 0);
                end = Some((number, device.len()));
                (number, position)
            });
            stretches.push(Elsewhere { place, len: now.len() as u64 });
            rest = later;
        }
        stretches
    }

    /// The content of the devices.
    #[must_use]
    pub const fn devices(&self) -> &[Vec<u8>; DEVICES] {
        &self.devices
    }

    /// Moves the beginning of a file by so many bytes, and returns which.
    ///
    /// # Panics
    /// If no file begins on a device.
    pub fn misplace(&mut self, bytes: u64) -> InodeIndex {
        let mut begins = self
            .places
            .iter_mut()
            .filter_map(|(inode, stretches)| Some((inode, stretches.first_mut()?.place.as_mut()?)));
        let (inode, (_, position)) = begins.next().unwrap();
        *position += bytes;
        *inode
    }

    /// The files that are stored on devices.
    #[must_use]
    pub fn placed(&self) -> Vec<InodeIndex> {
        let mut all: Vec<_> = self.places.keys().copied().collect();
        all.sort_unstable();
        all
    }

    /// Writes the devices into files.
    #[must_use]
    pub fn write(&self, folder: &Path) -> Vec<std::path::PathBuf> {
        let write = |(number, bytes): (usize, &Vec<u8>)| {
            let path = folder.join(format!("device-{number}"));
            std::fs::write(&path, bytes).unwrap();
            path
        };
        self.devices.iter().enumerate().map(write).collect()
    }
}

impl<C: Contents> Contents for Placed<C> {
    fn open(&self, tree: &Tree, inode: InodeIndex) -> Result<Box<dyn Content + '_>, ContentError> {
        let content = self.contents.open(tree, inode)?;
        Ok(Box::new(PlacedContent { content, places: self.places.get(&inode) }))
    }

    fn devices(&self) -> Vec<ExtraDevice> {
        let device = |(bytes, tag): (&Vec<u8>, &[u8])| ExtraDevice {
            bytes: bytes.len() as u64,
            tag: tag.to_vec(),
        };
        self.devices.iter().zip([&b"first"[..], b""]).map(device).collect()
    }
}

struct PlacedContent<'a> {
    content: Box<dyn Content + 'a>,
    places: Option<&'a Vec<Elsewhere>>,
}

impl Content for PlacedContent<'_> {
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
        Ok(self.places.cloned())
    }
}
