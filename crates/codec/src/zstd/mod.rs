//! How does a zstd frame fill N bytes?
//!
//! libzstd compresses the input piece by piece as one frame, each piece to whole blocks. What a piece
//! took determines the length of the next, so that the last one ends a little after the output's end.
//! The block that crosses it is cut there, which costs far less than compressing anything again.

mod bits;
mod cut;
mod fse;
mod header;
mod huffman;
mod sections;
#[cfg(test)]
mod tests;

use crate::Fit;
use crate::ffi::zstd::{Compressor, Frame, MAX_WINDOW_LOG, Parameters};
use crate::guess;
use cut::Cutter;
use header::{BLOCK_HEADER, Block, Header, Kind, block_header};

/// Most content of a frame.
const MAX_CONTENT: usize = 12 << 20;
/// With less free space another block would gain nothing.
const LEAST_ROOM: usize = 24;
/// Shortest piece that is compressed by itself.
const LEAST_PIECE: usize = 1024;
/// Longest one. Blocks this short follow the data better than the library's own splitting does, in less time;
/// most often that is worth more than their headers.
const MOST_PIECE: usize = 32 << 10;

/// A fixed-output encoder.
#[derive(Debug)]
pub(crate) struct Zstd {
    level: i32,
    window_log: u32,
    /// The context, and the output length that its tables suit.
    compressor: Option<(usize, Compressor)>,
    cutter: Cutter,
}

impl Zstd {
    /// An encoder of `level` (-7 to 22) whose frames need a window of at most `1 << window_log` (10 to
    /// 20) bytes.
    pub(crate) fn new(level: i32, window_log: u32) -> Self {
        Self {
            level: level.clamp(-7, 22),
            window_log: window_log.clamp(10, MAX_WINDOW_LOG),
            compressor: None,
            cutter: Cutter::default(),
        }
    }

    /// Encodes about the longest prefix of `input` that fits `output`, as one frame.
    ///
    /// The result depends on `input`, the length of `output` and the parameters, never on earlier calls.
    pub(crate) fn fill(&mut self, input: &[u8], output: &mut [u8]) -> Fit {
        let input = input.get(..MAX_CONTENT).unwrap_or(input);
        self.try_fill(input, output).unwrap_or(Fit { consumed: 0, written: 0 })
    }

    fn try_fill(&mut self, input: &[u8], output: &mut [u8]) -> Option<Fit> {
        let compressor = match self.compressor.take() {
            Some((len, compressor)) if len == output.len() => compressor,
            _ => Compressor::new(self.parameters(output.len()))?,
        };
        let (_, compressor) = self.compressor.insert((output.len(), compressor));
        let mut filling = Filling {
            output,
            window_log: self.window_log,
            header: 0,
            written: 0,
            last: None,
            input,
            consumed: 0,
            cutter: &mut self.cutter,
        };
        filling.run(&mut compressor.frame(input))?;
        filling.finish()
    }

    fn parameters(&self, room: usize) -> Parameters {
        Parameters {
            level: self.level,
            window_log: self.window_log,
            content: room.saturating_mul(2),
        }
    }
}

/// An output while it is filled.
struct Filling<'a> {
    output: &'a mut [u8],
    window_log: u32,
    /// Bytes left free for the frame header.
    header: usize,
    /// End of the blocks.
    written: usize,
    /// Where the header of the last block is.
    last: Option<usize>,
    input: &'a [u8],
    consumed: usize,
    cutter: &'a mut Cutter,
}

impl Filling<'_> {
    fn run(&mut self, frame: &mut Frame<'_>) -> Option<()> {
        while self.consumed < self.input.len() {
            let piece = self.next_piece().min(self.input.len() - self.consumed);
            if !self.make_header_room(self.consumed + piece) || self.room() < LEAST_ROOM {
                break;
            }
            let blocks = frame.append(piece)?;
            if !self.take(blocks, piece) {
                break;
            }
        }
        Some(())
    }

    fn room(&self) -> usize {
        self.output.len() - self.written
    }

    /// How much to compress next.
    fn next_piece(&self) -> usize {
        let (blocks, total) = (self.written - self.header, self.output.len());
        if blocks == 0 {
            return first_piece(self.input, total);
        }
        let left = self.room().saturating_mul(self.consumed) / blocks;
        left.saturating_add(left / 16).clamp(LEAST_PIECE, MOST_PIECE)
    }

    /// Moves the blocks so that a header for `content` fits before them; returns whether it does.
    fn make_header_room(&mut self, content: usize) -> bool {
        let header = Header::new(content, self.window_log).bytes().len();
        let more = header.saturating_sub(self.header);
        if more > self.room() {
            return false;
        }
        self.output.copy_within(self.header..self.written, self.header + more);
        self.header += more;
        self.written += more;
        self.last = self.last.map(|last| last + more);
        true
    }

    /// Takes `blocks`, which hold the next `content` bytes, as far as they fit; returns whether all did.
    fn take(&mut self, blocks: &[u8], content: usize) -> bool {
        let (mut rest, mut left) = (blocks, content);
        while let Some((block, after)) = Block::split(rest) {
            let earlier = self.output.get(self.header..self.written);
            let earlier = earlier.expect("blocks are written within the output");
            let size = match block.kind {
                _ if after.is_empty() => Some(left),
                Kind::Compressed if block.len() <= self.room() => {
                    cut::content(block.stream, earlier)
                }
                Kind::Compressed => Some(left),
                _ => Some(block.size),
            };
            let Some(size) = size.filter(|&size| size <= left) else { return false };
            if block.len() > self.room() {
                self.take_part(&block, size);
                return false;
            }
            self.push(rest.get(..block.len()).expect("the block was split from it"), size);
            (rest, left) = (after, left - size);
        }
        true
    }

    /// Takes as much as fits of a block that does not fit whole and holds at most `size` bytes.
    fn take_part(&mut self, block: &Block<'_>, size: usize) {
        let Some(room) = self.room().checked_sub(BLOCK_HEADER) else { return };
        let Some(content) = self.input.get(self.consumed..) else { return };
        let Some(content) = content.get(..size) else { return };
        let earlier = self.output.get(self.header..self.written);
        let earlier = earlier.expect("blocks are written within the output");
        let cut = match block.kind {
            Kind::Compressed => self.cutter.cut(block.stream, earlier, content, room),
            _ => None,
        };
        let plain = content.get(..room).unwrap_or(content);
        match cut.filter(|&cut| cut >= plain.len()) {
            Some(cut) => {
                let block = std::mem::take(&mut self.cutter.block);
                self.push(&block_header(Kind::Compressed, block.len()), 0);
                self.extend(&block, cut);
                self.cutter.block = block;
            }
            None if plain.is_empty() => {}
            None => {
                self.push(&block_header(Kind::Raw, plain.len()), 0);
                self.extend(plain, plain.len());
            }
        }
    }

    /// Adds the beginning of a block.
    fn push(&mut self, bytes: &[u8], content: usize) {
        self.last = Some(self.written);
        self.extend(bytes, content);
    }

    fn extend(&mut self, bytes: &[u8], content: usize) {
        let end = self.written + bytes.len();
        if let Some(room) = self.output.get_mut(self.written..end) {
            room.copy_from_slice(bytes);
            self.written = end;
            self.consumed += content;
        }
    }

    /// Marks the last block and writes the frame header.
    fn finish(self) -> Option<Fit> {
        *self.output.get_mut(self.last?)? |= 1;
        let header = Header::new(self.consumed, self.window_log);
        let start = header.bytes().len();
        let written = self.written.checked_sub(self.header.checked_sub(start)?)?;
        self.output.copy_within(self.header..self.written, start);
        self.output.get_mut(..start)?.copy_from_slice(header.bytes());
        Some(Fit { consumed: self.consumed, written })
    }
}

/// How much to compress first for an output of `room` bytes: rather too little, since what is compressed
/// in vain costs more than another block.
fn first_piece(input: &[u8], room: usize) -> usize {
    if room >= 2 * MOST_PIECE {
        return MOST_PIECE;
    }
    (guess::content(input, room) / 4 * 3).clamp(LEAST_PIECE, MOST_PIECE)
}
