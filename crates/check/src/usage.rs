//! Checks that an image declares the features and algorithms that it uses, and no others.

use std::collections::BTreeMap;

use lith_format::{
    addr::Nid,
    compression::{Algorithm, AlgorithmSet},
    features::Incompat,
    inode::{InodeData, InodeForm, Layout},
};
use lith_reader::{Extent, ExtentKind, Image, Inode, Place};

use crate::{findings::Log, rule::Rule};

/// The first block address that does not fit 32 bits.
const WIDE: u64 = 1 << 32;

/// What the inodes and extents of an image need.
#[derive(Debug, Default)]
pub(crate) struct Usage {
    /// The first inode that needs a feature, by its bit.
    features: BTreeMap<u32, Nid>,
    algorithms: AlgorithmSet,
    /// The largest LZ4 pcluster in blocks, and its inode.
    lz4_blocks: Option<(u64, Nid)>,
    /// Whether several extents have the same bytes.
    pub(crate) shares: bool,
}

impl Usage {
    pub(crate) fn needs(&mut self, feature: Incompat, nid: Nid) {
        self.features.entry(feature.bits()).or_insert(nid);
    }

    /// Records what an inode needs.
    pub(crate) fn see_inode(&mut self, image: &Image, inode: &Inode) {
        if inode.layout.is_compressed() && inode.file_type.has_content() {
            self.needs(Incompat::LZ4_0PADDING, inode.nid);
        }
        if inode.nid.in_metabox() {
            self.needs(Incompat::METABOX, inode.nid);
        }
        let sb = image.superblock();
        let offset_time = inode.form == InodeForm::Compact && inode.mtime != sb.epoch;
        let hole = inode.layout == Layout::FlatPlain
            && inode.data == InodeData::Blocks { start: None }
            && inode.size != 0;
        let wide = match inode.data {
            InodeData::Chunked(format) => {
                self.needs(Incompat::CHUNKED_FILE, inode.nid);
                format.wide()
            }
            InodeData::Blocks { start } => start.is_some_and(|start| start.0 >= WIDE),
            _ => false,
        };
        if offset_time || hole || wide || inode.dot_omitted {
            self.needs(Incompat::BITS_48, inode.nid);
        }
    }

    /// Records what an extent needs.
    pub(crate) fn see_extent(&mut self, image: &Image, inode: &Inode, extent: &Extent) {
        let block = image.superblock().block;
        let in_blocks = matches!(extent.place, Place::Device(_));
        match extent.kind {
            ExtentKind::Fragment => self.needs(Incompat::FRAGMENTS, inode.nid),
            ExtentKind::Plain { .. } | ExtentKind::Compressed { .. } if !in_blocks => {
                self.needs(Incompat::ZTAILPACKING, inode.nid);
            }
            ExtentKind::Compressed { algorithm, partial: true }
                if algorithm != Algorithm::Lz4 || image.superblock().pads_lz4() =>
            {
                self.needs(Incompat::DEDUPE, inode.nid);
            }
            _ => {}
        }
        if let ExtentKind::Compressed { algorithm, .. } = extent.kind {
            self.algorithms |= algorithm.into();
            let blocks = block.blocks_for(extent.plen);
            if algorithm != Algorithm::Lz4 || blocks > 1 {
                self.needs(Incompat::BIG_PCLUSTER, inode.nid);
            }
            let most = self.lz4_blocks.map_or(0, |(most, _)| most);
            if algorithm == Algorithm::Lz4 && blocks > most {
                self.lz4_blocks = Some((blocks, inode.nid));
            }
        }
        if let Place::Device(at) = extent.place
            && at.pa.0 >> block.bits() >= WIDE
        {
            self.needs(Incompat::BITS_48, inode.nid);
        }
    }

    /// Compares the needs with what the superblock declares. `is_complete`: all inodes and maps were read.
    pub(crate) fn compare(mut self, image: &Image, log: &Log<'_>, is_complete: bool) {
        self.see_superblock(image);
        self.find_undeclared(image, log);
        self.check_lz4(image, log);
        if is_complete {
            self.find_unused(image, log);
            self.find_unused_algorithms(image, log);
        }
    }

    fn see_superblock(&mut self, image: &Image) {
        let (sb, root) = (image.superblock(), image.superblock().root_nid);
        if sb.root_nid.0 > u64::from(u16::MAX) || sb.blocks >= WIDE {
            self.needs(Incompat::BITS_48, root);
        }
        if !image.device_map().slots.is_empty() {
            self.needs(Incompat::DEVICE_TABLE, root);
        }
        if sb.xattr_prefix_count != 0 && sb.incompat.contains(Incompat::XATTR_PREFIXES) {
            self.needs(Incompat::XATTR_PREFIXES, root);
        }
        if let Some(packed) = sb.packed_nid {
            self.needs(Incompat::FRAGMENTS, packed);
        }
    }

    fn find_undeclared(&self, image: &Image, log: &Log<'_>) {
        let declared = image.superblock().incompat;
        for (bits, nid) in &self.features {
            let feature = Incompat::from_bits_retain(*bits);
            // Kernels that support devices support chunks; mkfs.erofs declares only the former for tar indexes.
            let implied =
                feature == Incompat::CHUNKED_FILE && declared.contains(Incompat::DEVICE_TABLE);
            if !declared.contains(feature) && !implied {
                let detail = format!("feature {} is used, but not declared", name(feature));
                // The first images with compression, older than its records, have no such bit, and all readers know LZ4.
                let is_old = !declared.contains(Incompat::COMPR_CFGS);
                if feature == Incompat::LZ4_0PADDING && is_old {
                    continue;
                }
                // An inode's layout shows that it has chunks, so readers manage without the feature bit.
                let rule = match feature {
                    Incompat::CHUNKED_FILE => Rule::ChunksUndeclared,
                    _ => Rule::FeatureUndeclared,
                };
                log.inode(rule, *nid, detail);
            }
        }
    }

    fn find_unused(&self, image: &Image, log: &Log<'_>) {
        let compressed = self.features.contains_key(&Incompat::LZ4_0PADDING.bits());
        for feature in image.superblock().incompat.features() {
            let used = self.features.contains_key(&feature.bit.bits());
            // HEAD2 shares its bit with the device table, and is not recorded. Extents that share a whole pcluster need
            // DEDUPE as partial refs do, and are not recorded either.
            let may_be_used = compressed
                && (feature.bit == Incompat::COMPR_HEAD2
                    || feature.bit == Incompat::DEDUPE && self.shares);
            if !used && !may_be_used {
                let detail = format!(
                    "feature {} is declared, but not used; Linux before {} can't mount the image",
                    feature.name, feature.since
                );
                log.image(Rule::FeatureUnused, detail);
            }
        }
    }

    fn find_unused_algorithms(&self, image: &Image, log: &Log<'_>) {
        // Without compression configs only the maximum distance of LZ4 is declared.
        if !image.superblock().incompat.contains(Incompat::COMPR_CFGS) {
            return;
        }
        let unused = image.superblock().algorithms.difference(self.algorithms);
        for algorithm in unused.iter_known() {
            let detail = format!("{algorithm} is declared, but no extent uses it");
            log.image(Rule::AlgorithmUnused, detail);
        }
    }

    fn check_lz4(&self, image: &Image, log: &Log<'_>) {
        let Some((blocks, nid)) = self.lz4_blocks else { return };
        let Some(config) = image.configs().lz4 else { return };
        let declared = u64::from(config.max_pcluster_blocks.max(1));
        if blocks > declared {
            let detail = format!("an LZ4 pcluster of {blocks} blocks; {declared} are declared");
            log.inode(Rule::PclusterUndeclared, nid, detail);
        }
    }
}

fn name(feature: Incompat) -> &'static str {
    feature.features().next().map_or("?", |feature| feature.name)
}
