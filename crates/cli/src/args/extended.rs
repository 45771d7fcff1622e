//! Parses the argument of `-E`, and sets the options that it names.

use lith::builder::{ChunkForm, Chunks, Fragments, IndexForm, InodeForm, Options};

use super::c_number;

/// The features of `-E`, by their names in mkfs.erofs, in the given order.
#[derive(Debug, Default)]
pub(crate) struct Extended {
    features: Vec<Feature>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Feature {
    Fragments(Fragments, Option<u32>),
    ShareDuplicates(bool),
    TailPacking(bool),
    Dedupe(bool),
    Index(IndexForm),
    Wide(bool),
    DotOmitted(bool),
    InlineData(bool),
    InodeForm(InodeForm),
    ChunkForm(ChunkForm),
    Checksum(bool),
    XattrFilter(bool),
    PlainXattrPrefixes(bool),
}

impl Extended {
    /// Parses lists of features separated by commas; a leading `^` switches a feature off.
    pub(crate) fn parse(lists: &[String]) -> Result<Self, String> {
        let features =
            lists.iter().flat_map(|list| list.split(',')).filter(|text| !text.is_empty());
        Ok(Self { features: features.map(parse_feature).collect::<Result<_, _>>()? })
    }

    /// Parses the bits by which mkfs.erofs numbers some of the features: up to the highest that is set, each switches its
    /// feature on or off.
    pub(crate) fn parse_bits(bits: u64) -> Result<Self, String> {
        const NAMES: [&str; 8] = [
            "legacy-compress",
            "ztailpacking",
            "fragments",
            "all-fragments",
            "dedupe",
            "fragdedupe",
            "48bit",
            "dot-omitted",
        ];
        let count = 64 - bits.leading_zeros();
        let feature = |bit: u32| {
            let name =
                NAMES.get(bit as usize).ok_or_else(|| format!("unknown feature bit {bit}"))?;
            parse_feature(&if bits >> bit & 1 == 1 {
                (*name).to_owned()
            } else {
                format!("^{name}")
            })
        };
        Ok(Self { features: (0..count).map(feature).collect::<Result<_, String>>()? })
    }

    /// Sets the options; later features win.
    pub(crate) fn apply(&self, options: &mut Options) {
        for feature in &self.features {
            match *feature {
                Feature::Fragments(fragments, pcluster) => {
                    options.compression.fragments = fragments;
                    let compression = &mut options.compression;
                    compression.packed_pcluster = pcluster.or(compression.packed_pcluster);
                }
                Feature::ShareDuplicates(on) => options.layout.share_duplicates = on,
                Feature::TailPacking(on) => options.compression.tail_packing = on,
                Feature::Dedupe(on) => options.compression.dedupe = on,
                Feature::Index(index) => options.compression.index = index,
                Feature::Wide(on) => options.layout.wide = on,
                Feature::DotOmitted(on) => options.layout.dot_omitted = on,
                Feature::InlineData(on) => options.layout.inline_data = on,
                Feature::InodeForm(form) => options.attributes.inode_form = form,
                Feature::ChunkForm(form) => {
                    let chunks = &mut options.layout.chunks;
                    *chunks = chunks.map(|chunks| Chunks { form, ..chunks });
                }
                Feature::Checksum(on) => options.identity.checksum = on,
                Feature::XattrFilter(on) => options.attributes.xattr_filter = on,
                Feature::PlainXattrPrefixes(on) => options.attributes.plain_xattr_prefixes = on,
            }
        }
    }
}

fn parse_feature(text: &str) -> Result<Feature, String> {
    let (name, on) = text.strip_prefix('^').map_or((text, true), |name| (name, false));
    let (name, value) = name.split_once('=').map_or((name, None), |(name, v)| (name, Some(v)));
    match (name, on, value) {
        ("fragments" | "all-fragments", true, _) => {
            let all = name == "all-fragments";
            let fragments = if all { Fragments::All } else { Fragments::Tails };
            let size = value.map(|value| packed_pcluster(name, value)).transpose()?;
            Ok(Feature::Fragments(fragments, size))
        }
        // Both of mkfs.erofs's methods have the same effect here: equal fragments are stored once.
        ("fragdedupe", true, None | Some("inode" | "full")) => Ok(Feature::ShareDuplicates(true)),
        (_, _, Some(value)) => Err(format!("-E {name} takes no value such as {value:?}")),
        ("fragments" | "all-fragments", false, _) => Ok(Feature::Fragments(Fragments::None, None)),
        ("fragdedupe", on, _) => Ok(Feature::ShareDuplicates(on)),
        ("ztailpacking", on, _) => Ok(Feature::TailPacking(on)),
        ("dedupe", on, _) => Ok(Feature::Dedupe(on)),
        ("legacy-compress", true, _) => Ok(Feature::Index(IndexForm::Full)),
        ("legacy-compress", false, _) => Ok(Feature::Index(IndexForm::Compact)),
        ("48bit", on, _) => Ok(Feature::Wide(on)),
        ("dot-omitted", on, _) => Ok(Feature::DotOmitted(on)),
        ("inline_data", on, _) => Ok(Feature::InlineData(on)),
        ("xattr-name-filter", on, _) => Ok(Feature::XattrFilter(on)),
        (_, true, _) => switched_on(name).ok_or_else(|| unknown(text)),
        _ => Err(unknown(text)),
    }
}

/// Features that can't be switched off.
fn switched_on(name: &str) -> Option<Feature> {
    Some(match name {
        "force-inode-compact" => Feature::InodeForm(InodeForm::Compact),
        "force-inode-extended" => Feature::InodeForm(InodeForm::Extended),
        "force-inode-blockmap" => Feature::ChunkForm(ChunkForm::BlockMap),
        "force-chunk-indexes" => Feature::ChunkForm(ChunkForm::Indexes),
        "noinline_data" => Feature::InlineData(false),
        "nosbcrc" => Feature::Checksum(false),
        "plain-xattr-prefixes" => Feature::PlainXattrPrefixes(true),
        _ => return None,
    })
}

fn packed_pcluster(name: &str, value: &str) -> Result<u32, String> {
    let bytes = c_number::bytes(value).ok().and_then(|bytes| u32::try_from(bytes).ok());
    bytes.ok_or_else(|| format!("-E {name} takes a pcluster size in bytes, not {value:?}"))
}

fn unknown(text: &str) -> String {
    format!(
        "unknown feature {text:?} for -E; known are fragments[=SIZE], all-fragments[=SIZE], fragdedupe, \
         ztailpacking, dedupe, legacy-compress, 48bit, dot-omitted, inline_data and xattr-name-filter, each with a leading \
         ^ to switch it off, and force-inode-compact, force-inode-extended, force-inode-blockmap, \
         force-chunk-indexes, noinline_data, nosbcrc and plain-xattr-prefixes"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options_of(lists: &[&str]) -> Options {
        let lists: Vec<String> = lists.iter().map(ToString::to_string).collect();
        let mut options = Options::uncompressed();
        Extended::parse(&lists).unwrap().apply(&mut options);
        options
    }

    #[test]
    fn features_add_up_and_later_ones_win() {
        let options = options_of(&["fragments,ztailpacking", "all-fragments"]);
        assert_eq!(
            (options.compression.fragments, options.compression.tail_packing),
            (Fragments::All, true)
        );
        let options = options_of(&["all-fragments,ztailpacking,^ztailpacking,^fragments"]);
        assert_eq!(
            (options.compression.fragments, options.compression.tail_packing),
            (Fragments::None, false)
        );
        assert_eq!(options_of(&["legacy-compress"]).compression.index, IndexForm::Full);
        let options = options_of(&["48bit,dot-omitted,^48bit"]);
        assert_eq!((options.layout.wide, options.layout.dot_omitted), (false, true));
        let options = options_of(&["all-fragments=65536", "^fragdedupe"]);
        assert_eq!(
            (options.compression.packed_pcluster, options.layout.share_duplicates),
            (Some(65536), false)
        );
        let options =
            options_of(&["noinline_data,nosbcrc,^xattr-name-filter,force-inode-extended"]);
        assert!(
            !options.layout.inline_data
                && !options.identity.checksum
                && !options.attributes.xattr_filter
        );
        assert_eq!(options.attributes.inode_form, InodeForm::Extended);
        assert!(options_of(&["^inline_data,inline_data"]).layout.inline_data);
    }

    #[test]
    fn bits_are_features() {
        let features = |bits| Extended::parse_bits(bits).unwrap().features;
        assert_eq!(features(0), []);
        let fragments = Feature::Fragments(Fragments::Tails, None);
        let expected = [Feature::Index(IndexForm::Compact), Feature::TailPacking(true), fragments];
        assert_eq!(features(6), expected);
        assert_eq!(features(0x80).len(), 8);
        assert!(Extended::parse_bits(0x100).unwrap_err().contains("bit 8"));
    }

    #[test]
    fn unknown_features_are_refused() {
        for (text, found) in [
            ("fragments,frobnicate", "\"frobnicate\""),
            ("^nosbcrc", "\"^nosbcrc\""),
            ("dedupe=1", "dedupe takes no value"),
            ("fragments=x", "\"x\""),
            ("fragdedupe=some", "\"some\""),
        ] {
            let error = Extended::parse(&[text.to_owned()]).unwrap_err();
            assert!(error.contains(found), "{text}: {error}");
        }
    }
}
