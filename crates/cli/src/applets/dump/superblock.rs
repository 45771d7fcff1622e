//! Prints the superblock as dump.erofs does.

use std::{
    fmt,
    io::{self, Write},
};

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

use crate::{applets::display::local_time, output::Stdout};

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

/// Prints the superblock of `image`.
pub(super) fn write(image: &Image, output: &mut Stdout) -> io::Result<()> {
    let sb = image.superblock();
    let extra = image.device_map().slots.iter().map(|slot| slot.blocks);
    write_fields(sb, extra.fold(sb.blocks, u64::saturating_add), output)
}

fn write_fields(sb: &Superblock, blocks: u64, output: &mut dyn Write) -> io::Result<()> {
    let mut line = |what: &str, value: &dyn fmt::Display| {
        let label = format!("Filesystem {what}:");
        writeln!(output, "{label:<46}{value}")
    };
    line("magic number", &format_args!("0x{MAGIC:04X}"))?;
    line("blocksize", &sb.block.size())?;
    line("blocks", &blocks)?;
    line("inode metadata start block", &sb.meta_blkaddr)?;
    line("shared xattr metadata start block", &sb.xattr_blkaddr)?;
    line("root nid", &sb.root_nid)?;
    if let Some(nid) = sb.packed_nid.filter(|nid| nid.0 > 0) {
        line("packed nid", &nid)?;
    }
    if let Some(nid) = sb.metabox_nid {
        line("metabox nid", &nid)?;
    }
    if sb.incompat.contains(Incompat::COMPR_CFGS) {
        let names: Vec<_> = sb.algorithms.iter_known().map(Algorithm::name).collect();
        line("compr_algs", &names.join(", "))?;
    } else {
        line("lz4_max_distance", &sb.lz4_max_distance)?;
    }
    line("sb_size", &sb.size())?;
    line("inode count", &sb.inos)?;
    let made = sb.epoch.saturating_add(sb.build_time.into());
    line("created", &local_time(made, "%a %b %e %H:%M:%S %Y"))?;
    let names = COMPAT.iter().filter(|(bit, _)| sb.compat.contains(*bit));
    line("compatible features", &spaced(names.map(|(_, name)| *name)))?;
    let names = INCOMPAT.iter().filter(|(bit, _)| sb.incompat.contains(*bit));
    line("incompatible features", &spaced(names.map(|(_, name)| *name)))?;
    line("UUID", &Uuid::from_bytes(sb.uuid))?;
    let Some(kernel) = oldest_kernel(sb) else { return Ok(()) };
    writeln!(output, "Required upstream Linux kernel version:       {kernel}")
}

/// The oldest kernel that mounts the image, by its features and algorithms; `None` without any.
fn oldest_kernel(sb: &Superblock) -> Option<KernelVersion> {
    let features = sb.incompat.features().map(|feature| feature.since);
    // LZ4 needs no entry: its feature bit, `LZ4_0PADDING`, does.
    let others = sb.algorithms.iter_known().filter(|algorithm| *algorithm != Algorithm::Lz4);
    features.chain(others.map(Algorithm::since)).max()
}

/// Names with a space after each, the last included, as erofs-utils print them.
fn spaced<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.flat_map(|name| [name, " "]).collect()
}

#[cfg(test)]
mod tests {
    use lith::format::compression::AlgorithmSet;

    use super::*;

    #[test]
    fn the_newest_feature_decides_the_oldest_kernel() {
        let lines = |sb: &Superblock| {
            let mut text = Vec::new();
            write_fields(sb, 7, &mut text).unwrap();
            String::from_utf8(text).unwrap()
        };
        let mut sb = Superblock::default();
        assert_eq!(oldest_kernel(&sb), None);
        let end = "UUID:                              00000000-0000-0000-0000-000000000000\n";
        assert!(lines(&sb).ends_with(end), "{}", lines(&sb));
        sb.incompat = Incompat::LZ4_0PADDING | Incompat::COMPR_CFGS;
        sb.algorithms = AlgorithmSet::ZSTD;
        let lines = lines(&sb);
        assert!(lines.ends_with("version:       6.10\n"), "{lines}");
        assert!(lines.contains("Filesystem compr_algs:                        zstd\n"), "{lines}");
    }
}
