//! Defines [`Raw`], which reads metadata byte by byte: reserved fields are not in the reader's structs.

use std::{collections::HashMap, sync::Arc};

use lith_device::ReadAt;
use lith_reader::{File, Image, Space};

/// Bytes of a window, which is read at once.
const WINDOW: u64 = 16 << 10;

/// Windows that are cached.
const WINDOWS: usize = 256;

/// The bytes of the two metadata spaces.
pub(crate) struct Raw<'a> {
    device: Arc<dyn ReadAt>,
    metabox: Option<File<'a>>,
    windows: HashMap<(Space, u64), Vec<u8>>,
}

impl<'a> Raw<'a> {
    /// The metadata of an image whose primary device is `device`.
    pub(crate) fn new(image: &'a Image, device: Arc<dyn ReadAt>) -> Self {
        let metabox = image.metabox_inode().and_then(|inode| image.file(inode).ok());
        Self { device, metabox, windows: HashMap::new() }
    }

    pub(crate) fn size(&self, space: Space) -> u64 {
        match space {
            Space::Primary => self.device.size(),
            Space::Metabox => self.metabox.as_ref().map_or(0, File::size),
        }
    }

    /// The `length` bytes at `position`; `None` if they can't be read.
    pub(crate) fn bytes(&mut self, space: Space, position: u64, length: usize) -> Option<Vec<u8>> {
        let end = position.checked_add(length as u64)?;
        if end > self.size(space) {
            return None;
        }
        let mut bytes = Vec::with_capacity(length);
        while bytes.len() < length {
            let at = position + bytes.len() as u64;
            let window = self.window(space, at / WINDOW)?;
            let start = usize::try_from(at % WINDOW).ok()?;
            let found = window.get(start..).filter(|found| !found.is_empty())?;
            bytes.extend(found.iter().take(length - bytes.len()));
        }
        Some(bytes)
    }

    /// As [`Self::bytes`], of constant length.
    pub(crate) fn array<const N: usize>(&mut self, space: Space, position: u64) -> Option<[u8; N]> {
        self.bytes(space, position, N)?.first_chunk().copied()
    }

    fn window(&mut self, space: Space, number: u64) -> Option<&[u8]> {
        if !self.windows.contains_key(&(space, number)) {
            let position = number.checked_mul(WINDOW)?;
            let length = self.size(space).saturating_sub(position).min(WINDOW);
            let mut window = vec![0; usize::try_from(length).ok()?];
            self.read(space, position, &mut window)?;
            if self.windows.len() >= WINDOWS {
                self.windows.clear();
            }
            self.windows.insert((space, number), window);
        }
        self.windows.get(&(space, number)).map(Vec::as_slice)
    }

    fn read(&self, space: Space, position: u64, buf: &mut [u8]) -> Option<()> {
        match space {
            Space::Primary => self.device.read_at(buf, position).ok(),
            Space::Metabox => self.metabox.as_ref()?.read_at(buf, position).ok(),
        }
    }
}
