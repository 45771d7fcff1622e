//! Defines [`Patch`], which changes a sound image at chosen positions.

use lith_device::MemoryDevice;
use lith_format::{
    dirent::{DIRENT_SIZE, DirBlock},
    features::Compat,
    superblock::{Superblock, checksum},
};
use lith_reader::{Image, Inode, Options, Place, Space};

use super::{Bytes, golden};

/// An image whose bytes are changed. Places are those of the image as it was.
pub(crate) struct Patch {
    bytes: Bytes,
    image: Image,
}

impl Patch {
    pub(crate) fn new(name: &str) -> Self {
        let bytes = golden(name);
        let devices = bytes.devices.iter().cloned();
        let devices = devices.map(|device| Box::new(MemoryDevice::new(device)) as _).collect();
        Self { image: Image::open_with(devices, Options::default()).unwrap(), bytes }
    }

    pub(crate) fn superblock(&self) -> &Superblock {
        self.image.superblock()
    }

    pub(crate) fn inode(&self, path: &str) -> Inode {
        match path {
            "packed" => *self.image.packed_inode().unwrap(),
            _ => self.image.resolve(path.as_bytes()).unwrap(),
        }
    }

    /// Where the shared xattrs of an inode are.
    pub(crate) fn shared_xattrs(&self, path: &str) -> Vec<u64> {
        let (_, ranges) = self.image.shared_xattrs(&self.inode(path)).unwrap();
        ranges.into_iter().map(|range| range.start).collect()
    }

    /// Replaces bytes of the primary device.
    pub(crate) fn put(&mut self, position: u64, bytes: &[u8]) {
        let start = usize::try_from(position).unwrap();
        self.bytes.devices[0][start..start + bytes.len()].copy_from_slice(bytes);
    }

    pub(crate) fn get<const N: usize>(&self, position: u64) -> [u8; N] {
        let start = usize::try_from(position).unwrap();
        self.bytes.devices[0][start..start + N].try_into().unwrap()
    }

    pub(crate) fn get_u32(&self, position: u64) -> u32 {
        u32::from_le_bytes(self.get(position))
    }

    /// Adds a device with a copy of the primary one, and returns the first block of its unified addresses. Its table is in a new
    /// last block of the primary device.
    pub(crate) fn add_copy(&mut self) -> u32 {
        const UNIADDR: u32 = 1 << 16;
        let copy = self.bytes.devices[0].clone();
        let (table, block) = (copy.len() as u64, u64::from(self.superblock().block.size()));
        let blocks = u32::try_from(table / block).unwrap();
        let mut slot = [0; 128];
        slot[64..68].copy_from_slice(&blocks.to_le_bytes());
        slot[68..72].copy_from_slice(&UNIADDR.to_le_bytes());
        self.bytes.devices[0].resize(copy.len() + usize::try_from(block).unwrap(), 0);
        self.put(table, &slot);
        self.sb(0x24, &(blocks + 1).to_le_bytes());
        self.sb(0x56, &1_u16.to_le_bytes());
        self.sb(0x58, &u16::try_from(table / 128).unwrap().to_le_bytes());
        self.incompat(8, 0);
        self.bytes.devices.push(copy);
        UNIADDR
    }

    /// Replaces a field of the superblock.
    pub(crate) fn sb(&mut self, at: u64, bytes: &[u8]) {
        self.put(1024 + at, bytes);
    }

    /// Replaces a field of an inode.
    pub(crate) fn field(&mut self, path: &str, at: u64, bytes: &[u8]) {
        self.put(self.inode(path).position + at, bytes);
    }

    /// Where the part begins that an inode's layout asks for.
    pub(crate) fn area(&self, path: &str) -> u64 {
        let inode = self.inode(path);
        inode.position + inode.layout_area() as u64
    }

    /// Where the full index of an lcluster is.
    pub(crate) fn full_index(&self, path: &str, lcn: u64) -> u64 {
        self.area(path) + 16 + 8 * lcn
    }

    /// The lcluster in which the second pcluster of a file starts.
    pub(crate) fn next_pcluster(&self, path: &str) -> u64 {
        let file = self.image.file(&self.inode(path)).unwrap();
        let second = file.extents().nth(1).unwrap().unwrap();
        second.la / u64::from(self.superblock().block.size())
    }

    /// Where an inode's xattr body is.
    pub(crate) fn xattrs(&self, path: &str) -> u64 {
        let inode = self.inode(path);
        inode.position + inode.size_on_disk() as u64
    }

    /// The position of a byte of a file's uncompressed content.
    pub(crate) fn content(&self, path: &str, la: u64) -> u64 {
        let inode = self.inode(path);
        let extent = self.image.file(&inode).unwrap().extents_from(la).next().unwrap().unwrap();
        let start = match extent.place {
            Place::Device(at) => at.pa.0,
            Place::Metadata { space: Space::Primary, position } => position,
            place => panic!("{path} is stored at {place:?}"),
        };
        start + la - extent.la
    }

    /// The first byte after the names of a directory's first block with free space.
    pub(crate) fn directory_padding(&self, directory: &str) -> u64 {
        let inode = self.inode(directory);
        let size = u64::from(self.superblock().block.size());
        let file = self.image.file(&inode).unwrap();
        let mut bytes = vec![0; usize::try_from(size).unwrap()];
        for start in (0..inode.size - size).step_by(bytes.len()) {
            file.read_at(&mut bytes, start).unwrap();
            let block = DirBlock::parse(&bytes).unwrap();
            let names: usize = block.dirents().map(|dirent| dirent.unwrap().name.len()).sum();
            let end = block.len() * DIRENT_SIZE + names;
            // A byte directly after the last name would make it longer.
            if end + 1 < bytes.len() {
                return self.content(directory, start + end as u64 + 1);
            }
        }
        panic!("all blocks of {directory} are full");
    }

    /// Of a name in a directory: where its dirent is, and where the name.
    pub(crate) fn dirent(&self, directory: &str, name: &[u8]) -> (u64, u64) {
        let inode = self.inode(directory);
        let block_size = u64::from(self.superblock().block.size());
        let file = self.image.file(&inode).unwrap();
        for start in (0..inode.size).step_by(usize::try_from(block_size).unwrap()) {
            let mut bytes = vec![0; usize::try_from(block_size.min(inode.size - start)).unwrap()];
            file.read_at(&mut bytes, start).unwrap();
            let block = DirBlock::parse(&bytes).unwrap();
            let mut at = block.len() * DIRENT_SIZE;
            for (index, dirent) in block.dirents().enumerate() {
                let dirent = dirent.unwrap();
                if dirent.name == name {
                    let base = self.content(directory, start);
                    return (base + (index * DIRENT_SIZE) as u64, base + at as u64);
                }
                at += dirent.name.len();
            }
        }
        panic!("no {} in {directory}", name.escape_ascii());
    }

    /// Lets a name lead elsewhere.
    pub(crate) fn lead(&mut self, directory: &str, name: &str, nid: u64) {
        let (dirent, _) = self.dirent(directory, name.as_bytes());
        self.put(dirent, &nid.to_le_bytes());
    }

    /// Sets or clears bits of `feature_incompat`.
    pub(crate) fn incompat(&mut self, set: u32, clear: u32) {
        let bits = (self.superblock().incompat.bits() | set) & !clear;
        self.sb(0x50, &bits.to_le_bytes());
    }

    /// The changed image with the right checksum, if it has one.
    pub(crate) fn sealed(self) -> Vec<Vec<u8>> {
        let mut devices = self.bytes.devices;
        seal(&mut devices[0], self.image.superblock());
        devices
    }

    /// The changed image with the checksum as it was.
    pub(crate) fn unsealed(self) -> Vec<Vec<u8>> {
        self.bytes.devices
    }
}

/// Makes the checksum right, if there is one.
pub(crate) fn seal(image: &mut [u8], sb: &Superblock) {
    if sb.compat.contains(Compat::SB_CHKSUM)
        && let Ok(sum) = checksum(&image[1024..], sb.block)
    {
        image[1028..1032].copy_from_slice(&sum.to_le_bytes());
    }
}
