//! Defines [`Coding`], an encoder and the room that it fills.

use std::collections::HashMap;

use lith_codec::{CodecError, Compressor, Encoder};

use crate::{
    DeltaError, limits,
    unit::length,
    wire::{Cursor, put},
};

/// The version of the encoders: another one means that some of them make other streams of the same content.
pub(crate) const ENCODERS: u64 = 2;

/// An encoder and the bytes of the pclusters that it fills.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Coding {
    pub(crate) compressor: Compressor,
    pub(crate) room: u32,
}

/// The encoders that were used, each with memory of its own.
#[derive(Debug, Default)]
pub(crate) struct Encoders {
    kept: HashMap<Coding, Encoder>,
    /// What they fill.
    room: Vec<u8>,
}

/// The most encoders that a thread keeps: those of LZMA take up to 100 MB.
const KEPT: usize = 2;

impl Encoders {
    /// Appends to `out` the pcluster that begins with `content`, in whole blocks, and returns the bytes that it holds.
    /// `None`: compression gains nothing.
    pub(crate) fn fill(
        &mut self,
        coding: Coding,
        (content, block): (&[u8], usize),
        out: &mut Vec<u8>,
    ) -> Result<Option<usize>, CodecError> {
        if self.kept.len() > KEPT && !self.kept.contains_key(&coding) {
            self.kept.clear();
        }
        let Coding { compressor, room } = coding;
        let encoder = self.kept.entry(coding);
        let encoder = encoder.or_insert_with(|| Encoder::for_pclusters(&compressor, room));
        let content = content.get(..LONGEST).unwrap_or(content);
        let len = length(room.into());
        if self.room.len() < len {
            self.room.resize(len, 0);
        }
        let filled = encoder.fill(content, self.room.get_mut(..len).unwrap_or_default())?;
        let Some(fit) = filled else { return Ok(None) };
        // The stream ends where the last block does.
        out.resize(out.len() + fit.written.next_multiple_of(block) - fit.written, 0);
        out.extend_from_slice(self.room.get(..fit.written).unwrap_or_default());
        Ok(Some(fit.consumed))
    }
}

/// What an encoder is given at most, as in builds: the longest extent.
const LONGEST: usize = 12 << 20;

/// Appends a list of codings.
pub(crate) fn put_all(codings: &[Coding], out: &mut Vec<u8>) {
    put(out, codings.len() as u64);
    for Coding { compressor, room } in codings {
        let name = compressor.to_string();
        put(out, name.len() as u64);
        out.extend_from_slice(name.as_bytes());
        put(out, (*room).into());
    }
}

/// Reads such a list.
pub(crate) fn get_all(cursor: &mut Cursor<'_>) -> Result<Vec<Coding>, DeltaError> {
    const UNKNOWN: DeltaError = DeltaError::Damaged("an unknown encoder");
    (0..cursor.number_up_to(limits::CODINGS)?)
        .map(|_| {
            let len = length(cursor.number_up_to(limits::NAME)?);
            let name = str::from_utf8(cursor.bytes(len)?).map_err(|_error| UNKNOWN)?;
            let compressor = name.parse().map_err(|_error| UNKNOWN)?;
            let room =
                u32::try_from(cursor.number_up_to(limits::UNIT)?).map_err(|_error| UNKNOWN)?;
            Ok(Coding { compressor, room })
        })
        .collect()
}
