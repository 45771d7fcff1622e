//! What lies where on a device?

use serde::Serialize;

use crate::{
    FactsError,
    claims::Claims,
    facts::{ClassSums, Device, Region},
};

/// What bytes of a device hold.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// The superblock and the config records.
    Superblock,
    /// The device table.
    DeviceTable,
    /// Long prefixes of xattr names.
    XattrPrefixes,
    /// Xattrs that inodes share.
    SharedXattrs,
    /// Inodes with their xattrs, indexes and what is inline.
    Inodes,
    /// Blocks of directories.
    Directories,
    /// Blocks of symlinks.
    Symlinks,
    /// Data as it is, in rows of blocks.
    Flat,
    /// Data as it is, in chunks.
    Chunks,
    /// Data as it is, of compressed files.
    Plain,
    /// LZ4 pclusters.
    Lz4,
    /// LZMA pclusters.
    Lzma,
    /// DEFLATE pclusters.
    Deflate,
    /// Zstandard pclusters.
    Zstd,
    /// The packed inode's content: fragments.
    Packed,
    /// The metabox inode's content: inodes.
    Metabox,
    /// Nothing that is referred to.
    Unused,
}

impl Class {
    /// What it is, in words.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Superblock => "superblock, config records",
            Self::DeviceTable => "device table",
            Self::XattrPrefixes => "xattr name prefixes",
            Self::SharedXattrs => "shared xattrs",
            Self::Inodes => "inodes, indexes, inline data",
            Self::Directories => "directories",
            Self::Symlinks => "symlinks",
            Self::Flat => "data, uncompressed",
            Self::Chunks => "data, chunks",
            Self::Plain => "data, plain",
            Self::Lz4 => "data, lz4",
            Self::Lzma => "data, lzma",
            Self::Deflate => "data, deflate",
            Self::Zstd => "data, zstd",
            Self::Packed => "packed inode (fragments)",
            Self::Metabox => "metabox (compressed inodes)",
            Self::Unused => "unused",
        }
    }
}

/// The map of device `number`, which has `size` bytes: what `metadata` and `data` claim, metadata first, and the gaps.
pub(crate) fn map(
    (number, size): (u16, u64),
    metadata: &Claims<Class>,
    data: &Claims<Class>,
) -> Result<Device, FactsError> {
    let mut claims = metadata.clone().without_bound();
    for (range, class) in data.iter() {
        claims.claim(range, class)?;
    }
    let (mut regions, mut at) = (Vec::new(), 0);
    let mut push = |start: u64, end: u64, class| {
        if start < end {
            regions.push(Region { start, bytes: end - start, class });
        }
    };
    for (range, class) in claims.iter().take_while(|(range, _)| range.start < size) {
        let end = range.end.min(size);
        push(at, range.start, Class::Unused);
        push(range.start, end, class);
        at = end;
    }
    push(at, size, Class::Unused);
    Ok(Device { number, size, classes: sums(&regions), regions })
}

fn sums(regions: &[Region]) -> Vec<ClassSums> {
    let mut sums = std::collections::BTreeMap::<Class, ClassSums>::new();
    for Region { bytes, class, .. } in regions {
        let empty = ClassSums { class: *class, regions: 0, bytes: 0 };
        let sum = sums.entry(*class).or_insert(empty);
        sum.regions += 1;
        sum.bytes = sum.bytes.saturating_add(*bytes);
    }
    sums.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_tile_the_device_and_metadata_comes_first() {
        let (mut metadata, mut data) = (Claims::new(100), Claims::new(100));
        metadata.claim(10..20, Class::Superblock).unwrap();
        data.claim(15..40, Class::Lz4).unwrap();
        data.claim(90..200, Class::Plain).unwrap();
        let map = map((0, 100), &metadata, &data).unwrap();
        let regions: Vec<_> = map.regions.iter().map(|r| (r.start, r.bytes, r.class)).collect();
        let expected = [
            (0, 10, Class::Unused),
            (10, 10, Class::Superblock),
            (20, 20, Class::Lz4),
            (40, 50, Class::Unused),
            (90, 10, Class::Plain),
        ];
        assert_eq!(regions, expected);
        let unused = map.classes.iter().find(|sums| sums.class == Class::Unused).unwrap();
        assert_eq!((unused.regions, unused.bytes), (2, 60));
    }
}
