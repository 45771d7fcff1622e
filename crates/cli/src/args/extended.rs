//! Parses the argument of `-E`, the features of mkfs.erofs, and sets the options that it names.

use lith::builder::{ChunkForm, Fragments, IndexForm, InodeForm, Options};

use super::c_number;

/// Sets the features in lists that are separated by commas; a leading `^` switches a feature off.
/// Later ones win.
pub(crate) fn set(options: &mut Options, lists: &[String]) -> Result<(), String> {
    let features = lists.iter().flat_map(|list| list.split(','));
    let mut features = features.filter(|text| !text.is_empty());
    features.try_for_each(|text| set_feature(options, text))
}

/// Sets features by the bits with which mkfs.erofs numbers some of them: up to the highest that is
/// set, each switches its feature on or off.
pub(crate) fn set_bits(options: &mut Options, bits: u64) -> Result<(), String> {
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
    (0..64 - bits.leading_zeros()).try_for_each(|bit| {
        let name = NAMES.get(bit as usize).ok_or_else(|| format!("unknown feature bit {bit}"))?;
        let sign = if bits >> bit & 1 == 1 { "" } else { "^" };
        set_feature(options, &format!("{sign}{name}"))
    })
}

fn set_feature(options: &mut Options, text: &str) -> Result<(), String> {
    let (name, on) = text.strip_prefix('^').map_or((text, true), |name| (name, false));
    let (name, value) = name.split_once('=').map_or((name, None), |(name, v)| (name, Some(v)));
    let Options { layout, compression, attributes, identity, .. } = options;
    match (name, on, value) {
        ("fragments" | "all-fragments", true, _) => {
            let all = name == "all-fragments";
            compression.fragments = if all { Fragments::All } else { Fragments::Tails };
            if let Some(value) = value {
                compression.packed_pcluster = Some(packed_pcluster(name, value)?);
            }
        }
        // Both of mkfs.erofs's methods have the same effect here: equal fragments are stored once.
        ("fragdedupe", true, None | Some("inode" | "full")) => layout.share_duplicates = true,
        (_, _, Some(value)) => {
            return Err(format!("-E {name} takes no value such as {value:?}"));
        }
        ("fragments" | "all-fragments", false, _) => compression.fragments = Fragments::None,
        ("fragdedupe", ..) => layout.share_duplicates = on,
        ("ztailpacking", ..) => compression.tail_packing = on,
        ("dedupe", ..) => compression.dedupe = on,
        ("legacy-compress", ..) => {
            compression.index = if on { IndexForm::Full } else { IndexForm::Compact };
        }
        ("48bit", ..) => layout.wide = on,
        ("dot-omitted", ..) => layout.dot_omitted = on,
        ("inline_data", ..) => layout.inline_data = on,
        ("xattr-name-filter", ..) => attributes.xattr_filter = on,
        // These can't be switched off.
        ("force-inode-compact", true, _) => attributes.inode_form = InodeForm::Compact,
        ("force-inode-extended", true, _) => attributes.inode_form = InodeForm::Extended,
        ("force-inode-blockmap" | "force-chunk-indexes", true, _) => {
            let has_indexes = name == "force-chunk-indexes";
            let form = if has_indexes { ChunkForm::Indexes } else { ChunkForm::BlockMap };
            layout.chunks.iter_mut().for_each(|chunks| chunks.form = form);
        }
        ("noinline_data", true, _) => layout.inline_data = false,
        ("nosbcrc", true, _) => identity.checksum = false,
        ("plain-xattr-prefixes", true, _) => attributes.plain_xattr_prefixes = true,
        _ => return Err(unknown(text)),
    }
    Ok(())
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
        set(&mut options, &lists).unwrap();
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
        let with = |lists: &[&str], bits| {
            let mut options = options_of(lists);
            set_bits(&mut options, bits).unwrap();
            format!("{options:?}")
        };
        let named = |lists: &[&str]| format!("{:?}", options_of(lists));
        assert_eq!(with(&["legacy-compress,dedupe"], 0), named(&["legacy-compress,dedupe"]));
        let expected = named(&["^legacy-compress,ztailpacking,fragments"]);
        assert_eq!(with(&["legacy-compress"], 6), expected);
        assert_eq!(with(&["dedupe,48bit"], 0x80), named(&["^fragdedupe,dot-omitted"]));
        assert!(set_bits(&mut options_of(&[]), 0x100).unwrap_err().contains("bit 8"));
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
            let error = set(&mut options_of(&[]), &[text.to_owned()]).unwrap_err();
            assert!(error.contains(found), "{text}: {error}");
        }
    }
}
