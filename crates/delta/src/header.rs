//! Defines [`Header`], the beginning of a delta.

use std::{io::Read, ops::RangeInclusive};

use lith_device::{DeviceError, ReadAt};
use sha2::{Digest, Sha256};

use crate::{
    DeltaError,
    coding::{self, Coding, ENCODERS},
    error::Difference,
    limits,
    unit::length,
    wire::{Cursor, put},
};

const MAGIC: &[u8; 8] = b"lithdlta";
const VERSION: u64 = 1;
/// More bytes than any header has.
const MOST: u64 = 32 << 10;
/// The smallest and the largest block of an image, as powers of two of bytes.
const BLOCK_BITS: RangeInclusive<u64> = 9..=16;
/// Bytes that are hashed at once.
const STEP: u64 = 1 << 20;

/// What identifies a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Identity {
    pub(crate) bytes: u64,
    /// SHA-256.
    pub(crate) digest: [u8; 32],
}

/// The beginning of a delta: what it was made of, what it makes, and by which encoders.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Header {
    pub(crate) old: Identity,
    pub(crate) new: Identity,
    /// Bytes of a block of the new image.
    pub(crate) block: u32,
    pub(crate) codings: Vec<Coding>,
}

impl Identity {
    /// That of the first `bytes` bytes of a device.
    pub(crate) fn of(device: &dyn ReadAt, bytes: u64) -> Result<Self, DeviceError> {
        let (mut hasher, mut buf) = (Sha256::new(), Vec::new());
        let mut position = 0;
        while position < bytes {
            let len = STEP.min(bytes - position);
            buf.resize(length(len), 0);
            device.read_at(&mut buf, position)?;
            hasher.update(&buf);
            position += len;
        }
        Ok(Self { bytes, digest: hasher.finalize().into() })
    }

    /// How another one differs from this one, which was expected.
    pub(crate) fn difference(&self, found: &Self) -> Option<Difference> {
        if found.bytes != self.bytes {
            return Some(Difference::Length { found: found.bytes, expected: self.bytes });
        }
        let (found, expected) = (hex::encode(found.digest), hex::encode(self.digest));
        (found != expected).then_some(Difference::Digest { found, expected })
    }
}

impl Header {
    /// Bytes of the new image.
    #[must_use]
    pub const fn new_bytes(&self) -> u64 {
        self.new.bytes
    }

    /// Bytes of the old image.
    #[must_use]
    pub const fn old_bytes(&self) -> u64 {
        self.old.bytes
    }

    /// The bytes at the beginning of the delta.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut body = Vec::new();
        for identity in [&self.old, &self.new] {
            put(&mut body, identity.bytes);
            body.extend_from_slice(&identity.digest);
        }
        put(&mut body, self.block.ilog2().into());
        put(&mut body, ENCODERS);
        coding::put_all(&self.codings, &mut body);
        let mut out = MAGIC.to_vec();
        put(&mut out, VERSION);
        put(&mut out, body.len() as u64);
        out.extend(body);
        out
    }

    /// Reads the beginning of a delta.
    ///
    /// # Errors
    /// [`DeltaError`] if it is none, of another version, or damaged.
    pub fn read(delta: &mut dyn Read) -> Result<Self, DeltaError> {
        let mut magic = [0; MAGIC.len()];
        match delta.read_exact(&mut magic) {
            Err(error) if error.kind() != std::io::ErrorKind::UnexpectedEof => {
                return Err(DeltaError::Read(error));
            }
            Ok(()) if &magic == MAGIC => {}
            _ => return Err(DeltaError::Other),
        }
        let found = read_number(delta)?;
        if found != VERSION {
            return Err(DeltaError::Version { found, known: VERSION });
        }
        let body = read_bytes(delta, MOST)?;
        let mut cursor = Cursor(&body);
        let mut identity = || -> Result<Identity, DeltaError> {
            let bytes = cursor.number_up_to(i64::MAX.unsigned_abs())?;
            let mut digest = [0; 32];
            digest.copy_from_slice(cursor.bytes(32)?);
            Ok(Identity { bytes, digest })
        };
        let (old, new) = (identity()?, identity()?);
        let bits = cursor.number()?;
        if !BLOCK_BITS.contains(&bits) {
            return Err(DeltaError::Damaged("blocks of an impossible size"));
        }
        let block = 1 << bits;
        let found = cursor.number()?;
        let codings = coding::get_all(&mut cursor)?;
        if found != ENCODERS && !codings.is_empty() {
            return Err(DeltaError::Encoders { found, known: ENCODERS });
        }
        if codings.iter().any(|coding| u64::from(coding.room) > limits::UNIT) {
            return Err(DeltaError::Damaged("a pcluster is too large"));
        }
        Ok(Self { old, new, block, codings })
    }
}

/// Reads the next number.
pub(crate) fn read_number(delta: &mut dyn Read) -> Result<u64, DeltaError> {
    let mut bytes = Vec::new();
    loop {
        let mut byte = [0];
        delta.read_exact(&mut byte).map_err(cut)?;
        bytes.extend(byte);
        if byte < [0x80] || bytes.len() > 10 {
            return Cursor(&bytes).number();
        }
    }
}

/// Reads bytes after their number, which is at most `most`. Takes no more memory than bytes are there.
pub(crate) fn read_bytes(delta: &mut dyn Read, most: u64) -> Result<Vec<u8>, DeltaError> {
    let len = read_number(delta)?;
    if len > most {
        return Err(DeltaError::Damaged("a part is too large"));
    }
    let mut bytes = Vec::new();
    delta.take(len).read_to_end(&mut bytes).map_err(DeltaError::Read)?;
    if bytes.len() as u64 == len { Ok(bytes) } else { Err(DeltaError::Damaged("it ends early")) }
}

fn cut(error: std::io::Error) -> DeltaError {
    match error.kind() {
        std::io::ErrorKind::UnexpectedEof => DeltaError::Damaged("it ends early"),
        _ => DeltaError::Read(error),
    }
}
