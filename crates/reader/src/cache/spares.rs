//! Defines the buffers of dropped pieces, kept for the next pieces.

use std::collections::VecDeque;

/// Bytes in spare buffers at most, and how many buffers.
const SPARE_BYTES: usize = 4 << 20;
const SPARE_COUNT: usize = 32;

/// Capacities of large buffers are multiples of this, so that one fits pieces of similar lengths.
const ROUND: usize = 128 << 10;

/// Buffers without a use. New memory costs more than decoding into it, and freed memory fragments the heap.
#[derive(Debug, Default)]
pub(super) struct Spares {
    buffers: VecDeque<Vec<u8>>,
    bytes: usize,
}

impl Spares {
    /// A buffer of `length` bytes with any content: the smallest that fits, unless it is more than twice too large.
    pub(super) fn take(&mut self, length: usize) -> Vec<u8> {
        let fits = length..=length.saturating_mul(2);
        let sizes = self.buffers.iter().map(Vec::capacity).enumerate();
        let best = sizes.filter(|(_, size)| fits.contains(size)).min_by_key(|(_, size)| *size);
        let Some(mut buffer) = best.and_then(|(index, _)| self.buffers.remove(index)) else {
            return allocate(length);
        };
        self.bytes -= buffer.capacity();
        buffer.resize(length, 0);
        buffer
    }

    /// Keeps a buffer, and drops the oldest ones that are too many.
    pub(super) fn add(&mut self, buffer: Vec<u8>) {
        self.bytes += buffer.capacity();
        self.buffers.push_back(buffer);
        while self.bytes > SPARE_BYTES || self.buffers.len() > SPARE_COUNT {
            let Some(oldest) = self.buffers.pop_front() else { break };
            self.bytes -= oldest.capacity();
        }
    }
}

fn allocate(length: usize) -> Vec<u8> {
    let capacity = if length < ROUND { length } else { length.next_multiple_of(ROUND) };
    let mut buffer = Vec::with_capacity(capacity);
    buffer.resize(length, 0);
    buffer
}
