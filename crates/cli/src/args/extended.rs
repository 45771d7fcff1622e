//! Which ways of laying an image out does `-E` ask for?

use lith::builder::{ChunkForm, Chunks, Fragments, IndexForm, InodeForm, Options};

use super::c_number;

/// The words of `-E`, as mkfs.erofs names them, in the order in which they were given.
#[derive(Debug, Default)]
pub(crate) struct Extended {
    words: Vec<Word>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Word {
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
    /// Reads words with commas between them; `^` before a word takes it back.
    pub(crate) fn parse(lists: &[String]) -> Result<Self, String> {
        let words = lists.iter().flat_map(|list| list.split(',')).filter(|word| !word.is_empty());
        Ok(Self { words: words.map(parse_word).collect::<Result<_, _>>()? })
    }

    /// Reads the bits by which mkfs.erofs names some of the words: up to the highest that is set, each switches its word
    /// on or off.
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
        let word = |bit: u32| {
            let name =
                NAMES.get(bit as usize).ok_or_else(|| format!("unknown feature bit {bit}"))?;
            parse_word(&if bits >> bit & 1 == 1 { (*name).to_owned() } else { format!("^{name}") })
        };
        Ok(Self { words: (0..count).map(word).collect::<Result<_, String>>()? })
    }

    /// Does what the words say; later ones win.
    pub(crate) fn apply(&self, options: &mut Options) {
        for word in &self.words {
            match *word {
                Word::Fragments(fragments, pcluster) => {
                    options.compression.fragments = fragments;
                    let compression = &mut options.compression;
                    compression.packed_pcluster = pcluster.or(compression.packed_pcluster);
                }
                Word::ShareDuplicates(on) => options.layout.share_duplicates = on,
                Word::TailPacking(on) => options.compression.tail_packing = on,
                Word::Dedupe(on) => options.compression.dedupe = on,
                Word::Index(index) => options.compression.index = index,
                Word::Wide(on) => options.layout.wide = on,
                Word::DotOmitted(on) => options.layout.dot_omitted = on,
                Word::InlineData(on) => options.layout.inline_data = on,
                Word::InodeForm(form) => options.attributes.inode_form = form,
                Word::ChunkForm(form) => {
                    let chunks = &mut options.layout.chunks;
                    *chunks = chunks.map(|chunks| Chunks { form, ..chunks });
                }
                Word::Checksum(on) => options.identity.checksum = on,
                Word::XattrFilter(on) => options.attributes.xattr_filter = on,
                Word::PlainXattrPrefixes(on) => options.attributes.plain_xattr_prefixes = on,
            }
        }
    }
}

fn parse_word(word: &str) -> Result<Word, String> {
    let (name, on) = word.strip_prefix('^').map_or((word, true), |name| (name, false));
    let (name, value) = name.split_once('=').map_or((name, None), |(name, v)| (name, Some(v)));
    match (name, on, value) {
        ("fragments" | "all-fragments", true, _) => {
            let all = name == "all-fragments";
            let fragments = if all { Fragments::All } else { Fragments::Tails };
            let size = value.map(|value| packed_pcluster(name, value)).transpose()?;
            Ok(Word::Fragments(fragments, size))
        }
        // Whichever of the two it is, what is found twice is stored once.
        ("fragdedupe", true, None | Some("inode" | "full")) => Ok(Word::ShareDuplicates(true)),
        (_, _, Some(value)) => Err(format!("-E {name} takes no value such as {value:?}")),
        ("fragments" | "all-fragments", false, _) => Ok(Word::Fragments(Fragments::None, None)),
        ("fragdedupe", on, _) => Ok(Word::ShareDuplicates(on)),
        ("ztailpacking", on, _) => Ok(Word::TailPacking(on)),
        ("dedupe", on, _) => Ok(Word::Dedupe(on)),
        ("legacy-compress", true, _) => Ok(Word::Index(IndexForm::Full)),
        ("legacy-compress", false, _) => Ok(Word::Index(IndexForm::Compact)),
        ("48bit", on, _) => Ok(Word::Wide(on)),
        ("dot-omitted", on, _) => Ok(Word::DotOmitted(on)),
        ("inline_data", on, _) => Ok(Word::InlineData(on)),
        ("xattr-name-filter", on, _) => Ok(Word::XattrFilter(on)),
        (_, true, _) => switched_on(name).ok_or_else(|| unknown(word)),
        _ => Err(unknown(word)),
    }
}

/// Words that can't be taken back.
fn switched_on(name: &str) -> Option<Word> {
    Some(match name {
        "force-inode-compact" => Word::InodeForm(InodeForm::Compact),
        "force-inode-extended" => Word::InodeForm(InodeForm::Extended),
        "force-inode-blockmap" => Word::ChunkForm(ChunkForm::BlockMap),
        "force-chunk-indexes" => Word::ChunkForm(ChunkForm::Indexes),
        "noinline_data" => Word::InlineData(false),
        "nosbcrc" => Word::Checksum(false),
        "plain-xattr-prefixes" => Word::PlainXattrPrefixes(true),
        _ => return None,
    })
}

fn packed_pcluster(name: &str, value: &str) -> Result<u32, String> {
    let bytes = c_number::bytes(value).ok().and_then(|bytes| u32::try_from(bytes).ok());
    bytes.ok_or_else(|| format!("-E {name} takes a pcluster size in bytes, not {value:?}"))
}

fn unknown(word: &str) -> String {
    format!(
        "unknown word {word:?} for -E; known are fragments[=SIZE], all-fragments[=SIZE], fragdedupe, \
         ztailpacking, dedupe, legacy-compress, 48bit, dot-omitted, inline_data and xattr-name-filter, each with ^ \
         before it to switch it off, and force-inode-compact, force-inode-extended, force-inode-blockmap, \
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
    fn words_add_up_and_later_ones_win() {
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
    fn bits_are_words() {
        let words = |bits| Extended::parse_bits(bits).unwrap().words;
        assert_eq!(words(0), []);
        let fragments = Word::Fragments(Fragments::Tails, None);
        let expected = [Word::Index(IndexForm::Compact), Word::TailPacking(true), fragments];
        assert_eq!(words(6), expected);
        assert_eq!(words(0x80).len(), 8);
        assert!(Extended::parse_bits(0x100).unwrap_err().contains("bit 8"));
    }

    #[test]
    fn wrong_words_are_named() {
        for (word, telling) in [
            ("fragments,frobnicate", "\"frobnicate\""),
            ("^nosbcrc", "\"^nosbcrc\""),
            ("dedupe=1", "dedupe takes no value"),
            ("fragments=x", "\"x\""),
            ("fragdedupe=some", "\"some\""),
        ] {
            let error = Extended::parse(&[word.to_owned()]).unwrap_err();
            assert!(error.contains(telling), "{word}: {error}");
        }
    }
}
