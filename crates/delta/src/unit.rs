//! Defines [`Unit`], a range of an image's bytes that is understood as one.

use lith_codec::{Algorithm, decode_partial, strip_padding};
use lith_device::{DeviceError, ReadAt};

use crate::{
    DeltaError, limits,
    wire::{Cursor, put, put_step},
};

/// The image that bytes come from.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Side {
    Old,
    /// The new one, as far as it is written.
    New,
}

impl Side {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Old => "old",
            Self::New => "new",
        }
    }
}

/// A range of an image's bytes that is understood as one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Unit {
    /// Its first byte in the image.
    pub(crate) position: u64,
    /// Its bytes in the image.
    pub(crate) stored: u64,
    pub(crate) form: Form,
}

/// What the bytes of a unit are.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Form {
    /// Anything, compared as it is.
    Bytes,
    /// A stream, perhaps after zeros, whose first `len` bytes of content are compared.
    Stream { algorithm: Algorithm, len: u64 },
}

/// All algorithms, by their numbers in deltas.
const ALGORITHMS: [Algorithm; 4] =
    [Algorithm::Lz4, Algorithm::Lzma, Algorithm::Deflate, Algorithm::Zstd];

impl Unit {
    /// Bytes of its content.
    pub(crate) const fn len(&self) -> u64 {
        match self.form {
            Form::Bytes => self.stored,
            Form::Stream { len, .. } => len,
        }
    }

    pub(crate) const fn end(&self) -> u64 {
        self.position.saturating_add(self.stored)
    }

    /// Appends the unit's content to `out`. `None`: the stream does not hold it.
    pub(crate) fn read(
        &self,
        device: &dyn ReadAt,
        out: &mut Vec<u8>,
    ) -> Result<Option<()>, DeviceError> {
        let start = out.len();
        match self.form {
            Form::Bytes => {
                out.resize(start + length(self.stored), 0);
                let read = out.get_mut(start..).unwrap_or_default();
                device.read_at(read, self.position)?;
            }
            Form::Stream { algorithm, len } => {
                let mut stored = vec![0; length(self.stored)];
                device.read_at(&mut stored, self.position)?;
                out.resize(start + length(len), 0);
                let read = out.get_mut(start..).unwrap_or_default();
                let decoded = strip_padding(&stored, stored.len())
                    .and_then(|stream| decode_partial(algorithm, stream, read));
                if decoded.is_err() {
                    out.truncate(start);
                    return Ok(None);
                }
            }
        }
        Ok(Some(()))
    }

    /// Appends a description of the unit, which follows one that ends at `from`.
    pub(crate) fn put(&self, side: Side, from: u64, out: &mut Vec<u8>) {
        let side = u64::from(side == Side::New);
        match self.form {
            Form::Bytes => put(out, side),
            Form::Stream { algorithm, .. } => {
                let number = ALGORITHMS.iter().position(|known| *known == algorithm);
                put(out, side | (number.map_or(0, |number| number as u64) + 1) << 1);
            }
        }
        put_step(out, from, self.position);
        put(out, self.stored);
        if let Form::Stream { len, .. } = self.form {
            put(out, len);
        }
    }

    /// Reads such a description.
    pub(crate) fn get(cursor: &mut Cursor<'_>, from: u64) -> Result<(Side, Self), DeltaError> {
        let tag = cursor.number()?;
        let side = if tag & 1 == 1 { Side::New } else { Side::Old };
        let position = cursor.step(from)?;
        let stored = cursor.number_up_to(limits::UNIT)?;
        let form = match tag >> 1 {
            0 => Form::Bytes,
            number => {
                let number = usize::try_from(number - 1).unwrap_or(usize::MAX);
                let algorithm = ALGORITHMS.get(number).copied();
                let algorithm = algorithm.ok_or(DeltaError::Damaged("an unknown algorithm"))?;
                Form::Stream { algorithm, len: cursor.number_up_to(limits::UNIT)? }
            }
        };
        Ok((side, Self { position, stored, form }))
    }
}

/// A length that fits memory, by a limit of this crate or of the format.
pub(crate) fn length(bytes: u64) -> usize {
    usize::try_from(bytes).expect("lengths are limited to some MiB")
}
