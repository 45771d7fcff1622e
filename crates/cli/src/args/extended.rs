//! Which ways of saving space does `-E` ask for?

use lith::builder::{Fragments, IndexForm, Options};

/// The words of `-E`, as mkfs.erofs names them, in the order in which they were given.
#[derive(Debug, Default)]
pub(crate) struct Extended {
    words: Vec<Word>,
}

#[derive(Clone, Copy, Debug)]
enum Word {
    Fragments(Fragments),
    TailPacking(bool),
    Dedupe(bool),
    Index(IndexForm),
    Wide(bool),
    DotOmitted(bool),
}

impl Extended {
    /// Reads words with commas between them; `^` before a word takes it back.
    pub(crate) fn parse(lists: &[String]) -> Result<Self, String> {
        let words = lists.iter().flat_map(|list| list.split(',')).filter(|word| !word.is_empty());
        Ok(Self { words: words.map(parse_word).collect::<Result<_, _>>()? })
    }

    /// Does what the words say; later ones win.
    pub(crate) fn apply(&self, options: &mut Options) {
        for word in &self.words {
            match *word {
                Word::Fragments(fragments) => options.fragments = fragments,
                Word::TailPacking(on) => options.tail_packing = on,
                Word::Dedupe(on) => options.dedupe = on,
                Word::Index(index) => options.index = index,
                Word::Wide(on) => options.wide = on,
                Word::DotOmitted(on) => options.dot_omitted = on,
            }
        }
    }
}

fn parse_word(word: &str) -> Result<Word, String> {
    let (name, on) = word.strip_prefix('^').map_or((word, true), |name| (name, false));
    match (name, on) {
        ("fragments", true) => Ok(Word::Fragments(Fragments::Tails)),
        ("all-fragments", true) => Ok(Word::Fragments(Fragments::All)),
        ("fragments" | "all-fragments", false) => Ok(Word::Fragments(Fragments::None)),
        ("ztailpacking", on) => Ok(Word::TailPacking(on)),
        ("dedupe", on) => Ok(Word::Dedupe(on)),
        ("legacy-compress", true) => Ok(Word::Index(IndexForm::Full)),
        ("legacy-compress", false) => Ok(Word::Index(IndexForm::Compact)),
        ("48bit", on) => Ok(Word::Wide(on)),
        ("dot-omitted", on) => Ok(Word::DotOmitted(on)),
        _ => Err(format!(
            "unknown word {word:?} for -E; known are fragments, all-fragments, ztailpacking, dedupe, \
             legacy-compress, 48bit and dot-omitted, each with ^ before it to switch it off"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options_of(lists: &[&str]) -> Options {
        let lists: Vec<String> = lists.iter().map(ToString::to_string).collect();
        let mut options = Options::default();
        Extended::parse(&lists).unwrap().apply(&mut options);
        options
    }

    #[test]
    fn words_add_up_and_later_ones_win() {
        let options = options_of(&["fragments,ztailpacking", "all-fragments"]);
        assert_eq!((options.fragments, options.tail_packing), (Fragments::All, true));
        let options = options_of(&["all-fragments,ztailpacking,^ztailpacking,^fragments"]);
        assert_eq!((options.fragments, options.tail_packing), (Fragments::None, false));
        assert_eq!(options_of(&["legacy-compress"]).index, IndexForm::Full);
        let options = options_of(&["48bit,dot-omitted,^48bit"]);
        assert_eq!((options.wide, options.dot_omitted), (false, true));
    }

    #[test]
    fn unknown_words_are_named() {
        let error = Extended::parse(&["fragments,frobnicate".to_owned()]).unwrap_err();
        assert!(error.contains("\"frobnicate\""), "{error}");
    }
}
