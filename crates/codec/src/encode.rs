//! Defines the encoder, which fills one pcluster with as much of an input as fits.

use crate::deflate::Deflate;
use crate::ffi::lz4;
use crate::lz4fast::Fast;
use crate::lz4opt::{Effort, Gain, Optimal};
use crate::lzma::{self, Lzma};
use crate::zstd::Zstd;
use crate::{Algorithm, Compressor, Fit, LzmaEffort, guess};

/// Outputs shorter than this hold no stream that is worth storing.
const MIN_OUTPUT: usize = 16;
/// The lowest `lz4hc` level that prices its choices; it and those above have an encoder of their own here.
const FIRST_OPTIMAL_LEVEL: u8 = 10;

/// Why an encoder failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CodecError {
    /// The library reported impossible sizes.
    #[error(
        "{algorithm} encoder reported {consumed} of {input} bytes in, {written} of {output} out"
    )]
    Library {
        /// The algorithm.
        algorithm: Algorithm,
        /// Bytes reported as consumed.
        consumed: usize,
        /// Bytes it was given.
        input: usize,
        /// Bytes reported as written.
        written: usize,
        /// Length of the output.
        output: usize,
    },
}

/// A fixed-output encoder with the memory it works in; one per thread, used again and again.
#[derive(Debug)]
pub struct Encoder {
    engine: Engine,
    gain: Gain,
    /// Input bytes that the last fill took, even where that gained nothing.
    last_consumed: usize,
}

#[derive(Debug)]
enum Engine {
    /// Our own fast encoder.
    Fast(Fast),
    /// liblz4's hash chain encoder.
    Chain { state: lz4::HcState, level: u8 },
    /// Our own encoder that prices its choices.
    Optimal(Box<Optimal>),
    /// liblzma.
    Lzma(Box<Lzma>),
    /// Ours around libdeflate.
    Deflate(Box<Deflate>),
    /// Ours around libzstd.
    Zstd(Box<Zstd>),
}

impl Engine {
    const fn algorithm(&self) -> Algorithm {
        match self {
            Self::Fast(_) | Self::Chain { .. } | Self::Optimal(_) => Algorithm::Lz4,
            Self::Lzma(_) => Algorithm::Lzma,
            Self::Deflate(_) => Algorithm::Deflate,
            Self::Zstd(_) => Algorithm::Zstd,
        }
    }
}

impl Encoder {
    /// An encoder for `compressor`, for outputs of any length.
    #[must_use]
    pub fn new(compressor: &Compressor) -> Self {
        Self::for_pclusters(compressor, 1 << 20)
    }

    /// An encoder for `compressor`, whose matches reach as far back as suits outputs of up to `pcluster` bytes.
    #[must_use]
    pub fn for_pclusters(compressor: &Compressor, pcluster: u32) -> Self {
        let window = compressor.window(pcluster);
        match *compressor {
            Compressor::Lz4 => Self::with(Engine::Fast(Fast::new())),
            Compressor::Lzma(LzmaEffort { level, extreme, bits, .. }) => {
                let params = lzma::Params { level, extreme, dictionary: window, bits };
                Self::with(Engine::Lzma(Box::new(Lzma::new(&params))))
            }
            Compressor::Deflate { level } => {
                Self::with(Engine::Deflate(Box::new(Deflate::new(level))))
            }
            Compressor::Zstd { level, .. } => {
                Self::with(Engine::Zstd(Box::new(Zstd::new(level.into(), window.ilog2()))))
            }
            Compressor::Lz4Hc { level } if level >= FIRST_OPTIMAL_LEVEL => {
                Self::with(Engine::Optimal(Box::new(Optimal::new(Effort::of_level(level)))))
            }
            Compressor::Lz4Hc { level } => {
                Self::with(Engine::Chain { state: lz4::HcState::new(), level: level.max(1) })
            }
        }
    }

    fn with(engine: Engine) -> Self {
        Self { engine, gain: Gain::new(), last_consumed: 0 }
    }

    /// Encodes the longest prefix of `input` that it can fit into `output`.
    ///
    /// `None` means that nothing is gained: the stream would be no shorter than what it holds. The
    /// result depends on `input`, the length of `output` and the compressor, never on earlier calls;
    /// bytes of `output` beyond [`Fit::written`] may hold anything afterwards.
    ///
    /// # Errors
    /// [`CodecError::Library`] if the library reports more than it was given.
    pub fn fill(&mut self, input: &[u8], output: &mut [u8]) -> Result<Option<Fit>, CodecError> {
        self.last_consumed = 0;
        if output.len() < MIN_OUTPUT {
            return Ok(None);
        }
        let fit = match &mut self.engine {
            Engine::Fast(fast) => fast.fill(input, output),
            Engine::Chain { state, level } => lz4::fill_hc(state, input, output, *level),
            Engine::Optimal(_) if !self.gain.possible(input, output.len()) => return Ok(None),
            Engine::Optimal(optimal) => optimal.fill(input, output),
            Engine::Lzma(lzma) => lzma.fill(input, output),
            Engine::Deflate(deflate) => deflate.fill(input, output),
            Engine::Zstd(zstd) => zstd.fill(input, output),
        };
        if fit.consumed > input.len() || fit.written > output.len() {
            return Err(CodecError::Library {
                algorithm: self.engine.algorithm(),
                consumed: fit.consumed,
                input: input.len(),
                written: fit.written,
                output: output.len(),
            });
        }
        self.last_consumed = fit.consumed;
        Ok((fit.consumed > fit.written).then_some(fit))
    }

    /// About how many bytes of `input` a fill of `room` bytes takes, by samples of them and whole numbers only.
    #[must_use]
    pub fn expected(&self, input: &[u8], room: usize) -> usize {
        guess::content(input, room)
    }

    /// After [`Encoder::fill`] gained nothing: how much of `input` can be stored plain before another
    /// try is worth its time.
    ///
    /// The answer is a whole number of `block` bytes, at least one, or the length of `input`, which
    /// must be all that later calls would be given. A fill of `room` bytes that begins at a block in
    /// between certainly could not save a block over plain storage, so trying each of them in
    /// turn would give the same pclusters, only much later. Such certainty takes the fast encoder
    /// too long, and algorithms other than LZ4 also gain by other means than matches: there it is the stretch
    /// that the failed fill took.
    pub fn plain_run(&mut self, input: &[u8], room: usize, block: usize) -> usize {
        let block = block.max(1);
        match self.engine {
            Engine::Chain { .. } | Engine::Optimal(_) => self.gain.next_chance(input, room, block),
            _ => (self.last_consumed / block * block).max(block).min(input.len()),
        }
    }
}
