//! Makes of bases what a build refers to.

use std::num::NonZeroUsize;

use lith_builder::{Following, Known, KnownDevice};
use lith_format::{
    addr::{Blkaddr, BlockBits},
    bases::encode_note,
    compression::{Algorithm, Configs, Lz4Config},
    kernel::Capability,
};
use lith_tree::{ExtraDevice, Filesystem};

use crate::{
    BaseError, Bases,
    bases::{Addresses, Role},
    identity::tag_of,
    index::index,
    packed::{self, PackedExtents},
    stored::Stored,
};

impl Addresses<'_> {
    /// The files as devices, and the note that names them.
    pub(crate) fn as_devices<'k>(&self) -> Known<'k> {
        let (mut known, mut records) = (Known::new(), Vec::new());
        for (base, start) in self.files() {
            let device = ExtraDevice { bytes: base.bytes, tag: tag_of(base) };
            known.devices.push(KnownDevice { device, uniaddr: Some(start) });
            records.push(base.clone());
        }
        known.note = encode_note(&records);
        known
    }
}

impl Bases {
    /// What the images hold, for an image of `source` with blocks of `block` that has at most `room` blocks itself.
    ///
    /// # Errors
    /// [`BaseError`] if blocks have another size, addresses are out of reach, or the images can't be read.
    pub fn known(
        &self,
        source: Filesystem<'_>,
        (block, room): (BlockBits, u64),
        workers: NonZeroUsize,
    ) -> Result<Known<'_>, BaseError> {
        let addresses = self.addresses((block, room), Role::Devices)?;
        self.known_at(&addresses, (addresses.as_devices(), source), workers)
    }

    /// The same for an image that these files follow on one device, from its block `start` on: it has no others.
    ///
    /// # Errors
    /// As [`Self::known`]; also if a file that others follow does not end with a block.
    pub fn known_after(
        &self,
        source: Filesystem<'_>,
        (block, start): (BlockBits, u64),
        workers: NonZeroUsize,
    ) -> Result<Known<'_>, BaseError> {
        let addresses = self.addresses((block, start), Role::Parts)?;
        let mut known = addresses.as_devices();
        let count = u16::try_from(known.devices.len()).unwrap_or(u16::MAX);
        known.devices.clear();
        known.follows = Some(Following { start: Blkaddr(start), end: addresses.end(), count });
        self.known_at(&addresses, (known, source), workers)
    }

    fn known_at<'k>(
        &'k self,
        addresses: &Addresses<'_>,
        (mut known, source): (Known<'k>, Filesystem<'_>),
        workers: NonZeroUsize,
    ) -> Result<Known<'k>, BaseError> {
        known.contents = self;
        known.configs = self.configs();
        let packed = packed::known(addresses)?;
        known.packed.clone_from(&packed.known);
        let extents = PackedExtents::new(&packed, addresses.block);
        for (number, _) in self.images().iter().enumerate() {
            let stored = Stored { addresses, image: number, packed: packed.offset(number) };
            let found = index((&stored, &extents), source, workers)?;
            known.files.extend(found.files);
            known.extents.extend(found.extents);
            for (inode, parts) in found.own {
                known.own.entry(inode).or_insert(parts);
            }
        }
        Ok(known)
    }

    /// What a kernel that mounts an image which refers to them must support.
    pub fn needs(&self) -> impl Iterator<Item = Capability> {
        let devices = (!self.images().is_empty()).then_some(Capability::Devices);
        devices
            .into_iter()
            .chain(self.configs().algorithms().iter_known().map(Algorithm::capability))
    }

    /// What the decoders of all images must hold.
    pub(crate) fn configs(&self) -> Configs {
        let all = self.images().iter().map(|opened| *opened.image.configs());
        all.fold(Configs::default(), maxima)
    }
}

/// What the decoders of both must hold.
fn maxima(a: Configs, b: Configs) -> Configs {
    let mut all = a;
    all.lz4 = either(a.lz4, b.lz4, |a, b| Lz4Config {
        max_distance: a.max_distance.max(b.max_distance),
        max_pcluster_blocks: a.max_pcluster_blocks.max(b.max_pcluster_blocks),
    });
    all.lzma = either(a.lzma, b.lzma, |a, b| if a.dict_size > b.dict_size { a } else { b });
    all.deflate =
        either(a.deflate, b.deflate, |a, b| if a.window_bits > b.window_bits { a } else { b });
    all.zstd = either(a.zstd, b.zstd, |a, b| if a.window_log > b.window_log { a } else { b });
    all
}

fn either<T>(a: Option<T>, b: Option<T>, both: impl FnOnce(T, T) -> T) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(both(a, b)),
        (a, b) => a.or(b),
    }
}
