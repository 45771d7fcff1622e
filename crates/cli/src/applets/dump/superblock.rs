//! Prints the superblock as dump.erofs does.

use std::fmt;

use lith::{
    format::{
        compression::Algorithm,
        features::{Compat, Incompat},
        kernel::KernelVersion,
        superblock::{MAGIC, Superblock},
    },
    reader::Image,
};
use uuid::Uuid;

use crate::applets::display::local_time;

const COMPAT: [(Compat, &str); 6] = [
    (Compat::SB_CHKSUM, "sb_csum"),
    (Compat::MTIME, "mtime"),
    (Compat::XATTR_FILTER, "xattr_filter"),
    (Compat::SHARED_EA_IN_METABOX, "shared_ea_in_metabox"),
    (Compat::PLAIN_XATTR_PFX, "plain_xattr_pfx"),
    (Compat::ISHARE_XATTRS, "ishare_xattrs"),
];

const INCOMPAT: [(Incompat, &str); 11] = [
    (Incompat::LZ4_0PADDING, "lz4_0padding"),
    (Incompat::COMPR_CFGS, "compr_cfgs"),
    (Incompat::BIG_PCLUSTER, "big_pcluster"),
    (Incompat::CHUNKED_FILE, "chunked_file"),
    (Incompat::DEVICE_TABLE, "device_table"),
    (Incompat::ZTAILPACKING, "ztailpacking"),
    (Incompat::FRAGMENTS, "fragments"),
    (Incompat::DEDUPE, "dedupe"),
    (Incompat::XATTR_PREFIXES, "xattr_prefixes"),
    (Incompat::BITS_48, "48bit"),
    (Incompat::METABOX, "metabox"),
];

#[derive(Clone, Copy, Debug)]
pub(super) struct Lines<'a> {
    sb: &'a Superblock,
    /// Blocks on all devices.
    blocks: u64,
}

impl<'a> Lines<'a> {
    pub(super) fn of(image: &'a Image) -> Self {
        let sb = image.superblock();
        let extra = image.device_map().slots.iter().map(|slot| slot.blocks);
        Self { sb, blocks: extra.fold(sb.blocks, u64::saturating_add) }
    }

    fn write_nids(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sb = self.sb;
        line(f, "root nid", sb.root_nid)?;
        if let Some(nid) = sb.packed_nid.filter(|nid| nid.0 > 0) {
            line(f, "packed nid", nid)?;
        }
        sb.metabox_nid.map_or(Ok(()), |nid| line(f, "metabox nid", nid))
    }

    fn write_algorithms(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sb = self.sb;
        if !sb.incompat.contains(Incompat::COMPR_CFGS) {
            return line(f, "lz4_max_distance", sb.lz4_max_distance);
        }
        let names: Vec<_> = sb.algorithms.iter_known().map(Algorithm::name).collect();
        line(f, "compr_algs", names.join(", "))
    }

    fn write_features(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (compat, incompat) = (self.sb.compat, self.sb.incompat);
        let names = COMPAT.iter().filter(|(bit, _)| compat.contains(*bit));
        line(f, "compatible features", spaced(names.map(|(_, name)| *name)))?;
        let names = INCOMPAT.iter().filter(|(bit, _)| incompat.contains(*bit));
        line(f, "incompatible features", spaced(names.map(|(_, name)| *name)))
    }

    /// The oldest kernel that mounts the image, by its features and algorithms; `None` without any.
    fn oldest_kernel(&self) -> Option<KernelVersion> {
        let features = self.sb.incompat.features().map(|feature| feature.since);
        // LZ4 needs no entry: its feature bit, `LZ4_0PADDING`, does.
        let others =
            self.sb.algorithms.iter_known().filter(|algorithm| *algorithm != Algorithm::Lz4);
        features.chain(others.map(Algorithm::since)).max()
    }
}

/// Names with a space after each, the last included, as erofs-utils print them.
fn spaced<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.flat_map(|name| [name, " "]).collect()
}

/// A line whose value starts at column 46.
fn line(f: &mut fmt::Formatter<'_>, what: &str, value: impl fmt::Display) -> fmt::Result {
    let label = format!("Filesystem {what}:");
    writeln!(f, "{label:<46}{value}")
}

impl fmt::Display for Lines<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sb = self.sb;
        line(f, "magic number", format_args!("0x{MAGIC:04X}"))?;
        line(f, "blocksize", sb.block.size())?;
        line(f, "blocks", self.blocks)?;
        line(f, "inode metadata start block", sb.meta_blkaddr)?;
        line(f, "shared xattr metadata start block", sb.xattr_blkaddr)?;
        self.write_nids(f)?;
        self.write_algorithms(f)?;
        line(f, "sb_size", sb.size())?;
        line(f, "inode count", sb.inos)?;
        let made = sb.epoch.saturating_add(sb.build_time.into());
        line(f, "created", local_time(made, "%a %b %e %H:%M:%S %Y"))?;
        self.write_features(f)?;
        line(f, "UUID", Uuid::from_bytes(sb.uuid))?;
        let Some(kernel) = self.oldest_kernel() else { return Ok(()) };
        writeln!(f, "Required upstream Linux kernel version:       {kernel}")
    }
}

#[cfg(test)]
mod tests {
    use lith::format::{addr::BlockBits, compression::AlgorithmSet};

    use super::*;

    #[test]
    fn the_newest_feature_decides_the_oldest_kernel() {
        let mut sb = Superblock::new(BlockBits::DEFAULT);
        let lines = Lines { sb: &sb, blocks: 7 };
        assert_eq!(lines.oldest_kernel(), None);
        let end = "UUID:                              00000000-0000-0000-0000-000000000000\n";
        assert!(lines.to_string().ends_with(end), "{lines}");
        sb.incompat = Incompat::LZ4_0PADDING | Incompat::COMPR_CFGS;
        sb.algorithms = AlgorithmSet::ZSTD;
        let lines = Lines { sb: &sb, blocks: 7 }.to_string();
        assert!(lines.ends_with("version:       6.10\n"), "{lines}");
        assert!(lines.contains("Filesystem compr_algs:                        zstd\n"), "{lines}");
    }
}
