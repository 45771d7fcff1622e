//! Changes what is in the compressed metabox of an image: inodes and directories that damage of the image itself hardly
//! reaches.

use lith::{
    device::MemoryDevice,
    reader::{ExtentKind, Image, Place, Space},
};
use lith_codec::{Compressor, Encoder};
use lith_format::compression::Algorithm;

use crate::mutation;

/// An image, and what its metabox holds.
#[derive(Debug)]
pub struct Metabox {
    image: Vec<u8>,
    parts: Vec<Part>,
}

/// Bytes of the longest inode, and those that may follow it: attributes, targets of links, map headers, tables.
const INODE: usize = 64 + 64;

/// An extent of the metabox.
#[derive(Debug)]
struct Part {
    /// Where it is stored.
    at: usize,
    /// Bytes that it has there.
    plen: usize,
    content: Vec<u8>,
    /// Where inodes are in the content.
    inodes: Vec<(usize, usize)>,
    /// `None`: it is stored plain.
    algorithm: Option<Algorithm>,
}

impl Metabox {
    /// Decodes the metabox of an image; `None` if it has none that is compressed.
    #[must_use]
    pub fn of(image: &[u8]) -> Option<Self> {
        let opened = Image::open(MemoryDevice::new(image.to_vec())).ok()?;
        let file = opened.file(opened.metabox_inode()?).ok()?;
        let inodes = inodes(&opened);
        let mut parts = Vec::new();
        for extent in file.extents() {
            let extent = extent.ok()?;
            let algorithm = match extent.kind {
                ExtentKind::Compressed { algorithm, partial: false } => Some(algorithm),
                ExtentKind::Plain { interlaced: false } => None,
                _ => continue,
            };
            let Place::Device(pa) = extent.place else { continue };
            let mut content = vec![0; usize::try_from(extent.len).unwrap()];
            file.read_at(&mut content, extent.la).ok()?;
            let at = usize::try_from(pa.pa.0).unwrap();
            let plen = usize::try_from(extent.plen).unwrap();
            let inside = inodes.iter().filter_map(|position| position.checked_sub(extent.la));
            let inodes = inside.map(|start| usize::try_from(start).unwrap());
            let inodes = inodes.map(|start| (start, (start + INODE).min(content.len())));
            let inodes = inodes.filter(|(start, end)| start < end).collect();
            parts.push(Part { at, plen, content, inodes, algorithm });
        }
        let is_compressed = parts.iter().any(|part| part.algorithm.is_some());
        is_compressed.then(|| Self { image: image.to_vec(), parts })
    }

    /// The image with some bytes of its metabox changed by `seed`; `None` if they don't fit where they were.
    #[must_use]
    pub fn mutated(&self, seed: u64) -> Option<Vec<u8>> {
        let part = &self.parts[usize::try_from(seed).unwrap() % self.parts.len()];
        let mut content = part.content.clone();
        mutation::mutate(&mut content, &part.inodes, seed);
        content.resize(part.content.len(), 0);
        let mut stored = vec![0; part.plen];
        match part.algorithm {
            None => stored[..content.len()].copy_from_slice(&content),
            Some(algorithm) => encode_at_end(algorithm, &content, &mut stored)?,
        }
        let mut image = self.image.clone();
        image[part.at..part.at + part.plen].copy_from_slice(&stored);
        Some(image)
    }
}

/// Where inodes are in the metabox's content.
fn inodes(image: &Image) -> Vec<u64> {
    let named = image.files().flatten().map(|file| file.inode).chain(image.root());
    named.filter(|inode| inode.space == Space::Metabox).map(|inode| inode.position).collect()
}

/// Encodes all of `content`, with its end at the end of `stored`; `None` if it doesn't fit.
fn encode_at_end(algorithm: Algorithm, content: &[u8], stored: &mut [u8]) -> Option<()> {
    let words = match algorithm {
        Algorithm::Lz4 => "lz4hc,12",
        Algorithm::Lzma => "lzma,9",
        Algorithm::Deflate => "deflate,9",
        Algorithm::Zstd => "zstd,19",
    };
    let compressor: Compressor = words.parse().unwrap();
    let mut stream = vec![0; stored.len()];
    let fit = Encoder::for_pclusters(&compressor, stored.len() as u32).fill(content, &mut stream);
    let fit = fit.unwrap().filter(|fit| fit.consumed == content.len())?;
    let start = stored.len() - fit.written;
    stored[start..].copy_from_slice(&stream[..fit.written]);
    Some(())
}
