//! Defines [`Section`], the part of a delta that is applied at once.

use std::io::{Read, Write};

use crate::{
    DeltaError,
    header::{read_bytes, read_number},
    limits, pack,
    unit::{Side, Unit, length},
    wire::{Cursor, put, put_step},
};

/// The part of a delta that is applied at once: what the next bytes of the new image are.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Section {
    /// The units whose content, in this order, is the prefix of the section's content.
    pub(crate) prefix: Vec<(Side, Unit)>,
    pub(crate) parts: Vec<Part>,
    /// Bytes of content that the parts take.
    pub(crate) content: u64,
}

/// The next bytes of the new image.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Part {
    /// As they are in the old image.
    Copy { position: u64, len: u64 },
    /// The next `len` bytes of the content.
    Bytes { len: u64 },
    /// What becomes of the next `len` bytes of the content.
    Run { len: u64, steps: Vec<Step> },
}

/// The next bytes of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// So many pclusters, each filled by the coding of that number.
    Fill { coding: usize, count: u64 },
    /// So many bytes as they are, padded with zeros to whole blocks.
    Plain { len: u64 },
}

impl Section {
    /// Writes the section with its content.
    pub(crate) fn write(&self, packed: &[u8], out: &mut dyn Write) -> Result<(), DeltaError> {
        let described = self.describe();
        let small = pack::pack(&described, &[], LEVEL).ok_or(DeltaError::Damaged("no memory"))?;
        let mut head = Vec::new();
        put(&mut head, described.len() as u64);
        put(&mut head, small.len() as u64);
        head.extend(small);
        put(&mut head, self.content);
        put(&mut head, packed.len() as u64);
        out.write_all(&head).and_then(|()| out.write_all(packed)).map_err(DeltaError::Write)
    }

    /// Reads the next section, and its content as it is packed; `None`: there are no more.
    pub(crate) fn read(delta: &mut dyn Read) -> Result<Option<(Self, Vec<u8>)>, DeltaError> {
        let len = read_number(delta)?;
        if len == 0 {
            return Ok(None);
        }
        if len > limits::DESCRIPTION {
            return Err(DeltaError::Damaged("a section is too complex"));
        }
        let small = read_bytes(delta, limits::DESCRIPTION)?;
        let described = pack::unpack(&small, &[], length(len))?;
        let section = Self::understand(&described, read_number(delta)?)?;
        let packed = read_bytes(delta, limits::CONTENT + limits::CONTENT / 64)?;
        Ok(Some((section, packed)))
    }

    fn describe(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put(&mut out, self.prefix.len() as u64);
        let mut from = 0;
        for (side, unit) in &self.prefix {
            unit.put(*side, from, &mut out);
            from = unit.end();
        }
        let mut from = 0;
        for part in &self.parts {
            match part {
                Part::Copy { position, len } => {
                    put(&mut out, 0);
                    put_step(&mut out, from, *position);
                    put(&mut out, *len);
                    from = position + len;
                }
                Part::Bytes { len } => {
                    put(&mut out, 1);
                    put(&mut out, *len);
                }
                Part::Run { len, steps } => {
                    put(&mut out, 2);
                    put(&mut out, *len);
                    put(&mut out, steps.len() as u64);
                    for step in steps {
                        step.put(&mut out);
                    }
                }
            }
        }
        out
    }

    fn understand(described: &[u8], content: u64) -> Result<Self, DeltaError> {
        let mut cursor = Cursor(described);
        let (mut prefix, mut bytes, mut from) = (Vec::new(), 0, 0);
        for _ in 0..cursor.number()? {
            let (side, unit) = Unit::get(&mut cursor, from)?;
            from = unit.end();
            bytes += unit.len();
            if bytes > limits::PREFIX {
                return Err(DeltaError::Damaged("a prefix is too large"));
            }
            prefix.push((side, unit));
        }
        let (mut parts, mut used, mut from) = (Vec::new(), 0_u64, 0);
        while !cursor.0.is_empty() {
            let part = Part::get(&mut cursor, from)?;
            match &part {
                Part::Copy { position, len } => from = position.saturating_add(*len),
                Part::Bytes { len } | Part::Run { len, .. } => used = used.saturating_add(*len),
            }
            parts.push(part);
        }
        if used != content || content > limits::CONTENT {
            return Err(DeltaError::Damaged("parts don't make up the content"));
        }
        Ok(Self { prefix, parts, content })
    }
}

/// What little there is to say of each section is compressed at this level.
const LEVEL: i32 = 15;

impl Part {
    fn get(cursor: &mut Cursor<'_>, from: u64) -> Result<Self, DeltaError> {
        Ok(match cursor.number()? {
            0 => Self::Copy { position: cursor.step(from)?, len: cursor.number()? },
            1 => Self::Bytes { len: cursor.number()? },
            2 => {
                let len = cursor.number()?;
                let count = cursor.number_up_to(limits::DESCRIPTION)?;
                let steps = (0..count).map(|_| Step::get(cursor)).collect::<Result<_, _>>()?;
                Self::Run { len, steps }
            }
            _ => return Err(DeltaError::Damaged("an unknown part")),
        })
    }
}

impl Step {
    fn put(self, out: &mut Vec<u8>) {
        match self {
            Self::Plain { len } => {
                put(out, 0);
                put(out, len);
            }
            Self::Fill { coding, count } => {
                put(out, coding as u64 + 1);
                put(out, count);
            }
        }
    }

    fn get(cursor: &mut Cursor<'_>) -> Result<Self, DeltaError> {
        let number = cursor.number()?;
        let amount = cursor.number()?;
        Ok(match number.checked_sub(1) {
            None => Self::Plain { len: amount },
            Some(coding) => {
                let coding = usize::try_from(coding).unwrap_or(usize::MAX);
                Self::Fill { coding, count: amount }
            }
        })
    }
}
