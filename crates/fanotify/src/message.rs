//! Defines what guard and worker send each other.

use std::ops::Range;

use crate::event::array;

/// Bytes of a [`Request`].
pub(crate) const REQUEST: usize = 24;
/// Bytes of an [`Answer`].
pub(crate) const ANSWER: usize = 16;

/// A number that is not an event's.
const NO_EVENT: u64 = u64::MAX;

/// What a guard sends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Request {
    /// The event of this number waits for these bytes.
    Fill(u64, Range<u64>),
    /// There is nothing more to do.
    End,
}

/// What a worker sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Answer {
    /// The bytes are there.
    Filled(u64),
    /// They can't be had.
    Failed(u64),
    /// All bytes of the file are there.
    Complete,
}

impl Request {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let (id, Range { start, end }) = match self {
            Self::Fill(id, range) => (*id, range.clone()),
            Self::End => (NO_EVENT, 0..0),
        };
        [id, start, end].map(u64::to_ne_bytes).concat()
    }

    pub(crate) fn decode(bytes: &[u8; REQUEST]) -> Option<Self> {
        let number = |at| Some(u64::from_ne_bytes(array(bytes, at)?));
        Some(match (number(0)?, number(8)?..number(16)?) {
            (NO_EVENT, _) => Self::End,
            (id, range) => Self::Fill(id, range),
        })
    }
}

impl Answer {
    pub(crate) fn encode(self) -> Vec<u8> {
        let (id, is_filled) = match self {
            Self::Filled(id) => (id, 1),
            Self::Failed(id) => (id, 0),
            Self::Complete => (NO_EVENT, 1),
        };
        [id, is_filled].map(u64::to_ne_bytes).concat()
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let number = |at| Some(u64::from_ne_bytes(array(bytes, at)?));
        Some(match (number(0)?, number(8)?) {
            (NO_EVENT, _) => Self::Complete,
            (id, 1) => Self::Filled(id),
            (id, _) => Self::Failed(id),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_decoded_as_they_were() {
        for request in [Request::Fill(7, 5..9), Request::End] {
            let bytes = request.encode();
            assert_eq!(Request::decode(bytes.first_chunk().unwrap()), Some(request));
        }
        for answer in [Answer::Filled(7), Answer::Failed(7), Answer::Complete] {
            let bytes = answer.encode();
            assert_eq!((bytes.len(), Answer::decode(&bytes)), (ANSWER, Some(answer)));
        }
        assert_eq!(Answer::decode(&[0; ANSWER - 1]), None);
    }
}
