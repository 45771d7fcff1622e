//! How are files and inodes compressed, by all words of mkfs.erofs together?

use lith::{
    builder::{Compression, Rule},
    codec::Compressor,
};

use super::{
    compressors,
    request::block,
    words::{DataWords, Words},
};
use crate::args::{c_number, hints};

/// The part of a file that compression must save, in percent.
const MIN_SAVING: u8 = 2;

/// What `-z` and `-C` name.
#[derive(Debug)]
pub(super) struct Compressions {
    compressors: Vec<Compressor>,
    pcluster: u32,
}

impl Compressions {
    pub(super) fn new(words: &Words) -> Result<Self, String> {
        let DataWords { compressors, pcluster, .. } = &words.data;
        let pcluster = pcluster.unwrap_or(words.layout.block);
        let pcluster = u32::try_from(pcluster).map_err(|_large| "-C is too large".to_owned())?;
        Ok(Self { compressors: compressors::all(compressors)?, pcluster })
    }

    fn by(&self, compressor: Compressor) -> Compression {
        Compression { compressor, pcluster: Some(self.pcluster), min_saving: MIN_SAVING }
    }

    /// That of files for which nothing else is said.
    pub(super) fn first(&self) -> Option<Compression> {
        self.compressors.first().map(|first| self.by(*first))
    }

    /// Those of the hints.
    pub(super) fn rules(&self, words: &Words) -> Result<Vec<Rule>, String> {
        let Some(path) = &words.data.compress_hints else { return Ok(Vec::new()) };
        // Without a compressor no line can name one.
        let Some(default) = self.first() else { return Ok(Vec::new()) };
        let block = block(words.layout.block)?;
        hints::read(path, &hints::Context { compressors: &self.compressors, default, block })
    }

    /// That of inodes: `BYTES[:X]`, where X is one of `-z` by its number, or another. If there is none at all, they lie
    /// together as they are.
    pub(super) fn metabox(&self, words: &Words) -> Result<Option<Compression>, String> {
        let Some(word) = &words.data.metadata else { return Ok(None) };
        let (size, by) = word.split_once(':').unzip();
        let bytes = c_number::bytes(size.unwrap_or(word));
        let bytes = bytes.map_err(|problem| format!("-m {word}: {problem}"))?;
        let pcluster = u32::try_from(bytes).map_err(|_large| format!("-m {word}: too large"))?;
        let compression = match (by.map(|by| (by, by.parse::<usize>())), self.first()) {
            (None, Some(first)) => first,
            // No compression saves that much.
            (None, None) => Compression { min_saving: 100, ..self.by(Compressor::Lz4) },
            (Some((_, Ok(number))), _) => {
                let named = self.compressors.get(number).copied();
                self.by(named.ok_or_else(|| {
                    format!("-m {word}: -z names no compressor number {number}, counted from 0")
                })?)
            }
            (Some((by, Err(_name))), _) => self.by(compressors::one(by)?),
        };
        Ok(Some(Compression { pcluster: Some(pcluster), ..compression }))
    }
}
