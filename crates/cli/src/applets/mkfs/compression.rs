//! Maps the arguments of mkfs.erofs to the compression of files and inodes.

use lith::{
    builder::{Compression, Rule},
    codec::Compressor,
};

use super::{
    arguments::{Arguments, DataArguments},
    compressors,
    request::block,
};
use crate::args::{c_number, hints};

/// The part of a file that compression must save, in percent.
const MIN_SAVING: u8 = 2;

/// The compressors of `-z` and the pcluster size of `-C`.
#[derive(Debug)]
pub(super) struct Compressions {
    compressors: Vec<Compressor>,
    pcluster: u32,
}

impl Compressions {
    pub(super) fn new(arguments: &Arguments) -> Result<Self, String> {
        let DataArguments { compressors, pcluster, .. } = &arguments.data;
        let pcluster = pcluster.unwrap_or(arguments.layout.block);
        let pcluster = u32::try_from(pcluster).map_err(|_large| "-C is too large".to_owned())?;
        Ok(Self { compressors: compressors::all(compressors)?, pcluster })
    }

    fn by(&self, compressor: Compressor) -> Compression {
        Compression { compressor, pcluster: Some(self.pcluster), min_saving: MIN_SAVING }
    }

    /// The compression of files that no hint matches.
    pub(super) fn first(&self) -> Option<Compression> {
        self.compressors.first().map(|first| self.by(*first))
    }

    pub(super) fn rules(&self, arguments: &Arguments) -> Result<Vec<Rule>, String> {
        let Some(path) = &arguments.data.compress_hints else { return Ok(Vec::new()) };
        // Without a compressor no line can name one.
        let Some(default) = self.first() else { return Ok(Vec::new()) };
        let block = block(arguments.layout.block)?;
        hints::read(path, &hints::Context { compressors: &self.compressors, default, block })
    }

    /// The compression of inodes, `BYTES[:X]`: X is a compressor, or the number of one of `-z`. Without any compressor
    /// inodes are uncompressed in the metabox.
    pub(super) fn metabox(&self, arguments: &Arguments) -> Result<Option<Compression>, String> {
        let Some(argument) = &arguments.data.metadata else { return Ok(None) };
        let (size, by) = argument.split_once(':').unzip();
        let bytes = c_number::bytes(size.unwrap_or(argument));
        let bytes = bytes.map_err(|problem| format!("-m {argument}: {problem}"))?;
        let pcluster =
            u32::try_from(bytes).map_err(|_large| format!("-m {argument}: too large"))?;
        let compression = match (by.map(|by| (by, by.parse::<usize>())), self.first()) {
            (None, Some(first)) => first,
            // No compression saves that much, so all pclusters are stored uncompressed.
            (None, None) => Compression { min_saving: 100, ..self.by(Compressor::Lz4) },
            (Some((_, Ok(number))), _) => {
                let named = self.compressors.get(number).copied();
                self.by(named.ok_or_else(|| {
                    format!("-m {argument}: -z names no compressor number {number}, counted from 0")
                })?)
            }
            (Some((by, Err(_name))), _) => self.by(compressors::one(by)?),
        };
        Ok(Some(Compression { pcluster: Some(pcluster), ..compression }))
    }
}
