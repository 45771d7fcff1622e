//! Defines [`PclusterWriter`], which cuts bytes into extents and compresses each into a pcluster of fixed size.

use lith_codec::{CodecError, Encoder, Fit};
use lith_format::{
    addr::BlockBits,
    zmap::{EncodedExtent, HeadKind},
};

use crate::coding::Coding;

/// Bytes of its block that a pcluster beside its inode leaves free, so that both always fit one block.
const ROOM_BESIDE_TAIL: usize = 64;

/// The shortest end of a file that is sampled. Less is compressed as fast.
const LEAST_SAMPLED: usize = 32 << 10;
/// What is so many times longer than expected of a pcluster is not sampled, as it mostly fills one.
const MOST_EXPECTED: usize = 3;
/// Parts of which a sample consists, and which part of all it is.
const SAMPLE_PARTS: usize = 48;
const SAMPLE_SHARE: usize = 8;

/// Cuts bytes into extents that each fill a pcluster of fixed size.
#[derive(Debug)]
pub(crate) struct PclusterWriter {
    /// `None`: all extents are PLAIN.
    encoder: Option<Encoder>,
    /// How its extents start.
    head: HeadKind,
    /// Another one, for HEAD2 extents, and what it made last.
    second: Option<(Encoder, Vec<u8>)>,
    pcluster: usize,
    block: usize,
    /// The most bytes of an extent.
    longest: usize,
    /// Bytes of the last stream, or of the last plain block.
    last: usize,
    /// Samples of the end of a file.
    sample: Vec<u8>,
}

impl PclusterWriter {
    /// Bytes of a block.
    pub(crate) fn block_size(&self) -> u32 {
        u32::try_from(self.block).expect("a block is at most 64 KiB")
    }

    /// With extents of at most `longest` bytes.
    pub(crate) fn new(coding: &Coding, block: BlockBits, longest: u64) -> Self {
        let pcluster = coding.pcluster as usize;
        let encoder = |compressor| Encoder::for_pclusters(&compressor, coding.pcluster);
        Self {
            encoder: Some(encoder(coding.compressor)),
            head: HeadKind::Head1,
            second: coding.second.map(|second| (encoder(second), vec![0; pcluster])),
            pcluster,
            block: block.size() as usize,
            longest: usize::try_from(longest).expect("the format's limit fits memory"),
            last: 0,
            sample: Vec::new(),
        }
    }

    /// The same encoder, whose extents are those of the second algorithm of their file.
    pub(crate) fn for_head2(self) -> Self {
        Self { head: HeadKind::Head2, ..self }
    }

    /// A writer of PLAIN extents alone.
    pub(crate) const fn uncompressed(block: BlockBits) -> Self {
        let block = block.size() as usize;
        let (encoder, second) = (None, None);
        Self {
            encoder,
            head: HeadKind::Plain,
            second,
            pcluster: block,
            block,
            longest: block,
            last: 0,
            sample: Vec::new(),
        }
    }

    /// Appends the pclusters of `input` to `out` and its extents to `extents`.
    ///
    /// With `may_leave_rest` it leaves what would not fill the last pcluster, and returns it.
    pub(crate) fn write<'i>(
        &mut self,
        input: &'i [u8],
        may_leave_rest: bool,
        out: &mut Vec<u8>,
        extents: &mut Vec<EncodedExtent>,
    ) -> Result<&'i [u8], CodecError> {
        let mut rest = input;
        let left = if may_leave_rest { self.pcluster } else { 0 };
        // What the pcluster before held.
        let mut before = 0;
        while rest.len() > left {
            if may_leave_rest && self.is_rest(rest, before, out)? {
                break;
            }
            let start = out.len();
            let consumed = match self.compressed(rest, out)? {
                Some(extent)
                    if may_leave_rest
                        && extent.llen as usize == rest.len()
                        && self.last < self.pcluster =>
                {
                    out.truncate(start);
                    break;
                }
                Some(extent) => {
                    extents.push(extent);
                    extent.llen as usize
                }
                None => self.plain_run(rest, out, extents),
            };
            before = consumed;
            rest = rest.get(consumed..).unwrap_or_default();
        }
        Ok(rest)
    }

    /// Whether the end of a file, after a pcluster that held the bytes `before`, fills no pcluster by what samples of it take:
    /// as they are compressed without what is between them, that is mostly more than their share. To compress all of it only
    /// to find that out would be in vain, since as a fragment it is compressed once more.
    fn is_rest(
        &mut self,
        rest: &[u8],
        before: usize,
        out: &mut Vec<u8>,
    ) -> Result<bool, CodecError> {
        let Some(encoder) = &mut self.encoder else { return Ok(false) };
        let most = match before {
            0 => MOST_EXPECTED * encoder.expected(rest, self.pcluster),
            before => before + before / 2,
        };
        if rest.len() < LEAST_SAMPLED || rest.len() > most {
            return Ok(false);
        }
        take_sample(rest, &mut self.sample);
        let start = out.len();
        out.resize(start + self.pcluster, 0);
        let fit = encoder.fill(&self.sample, out.get_mut(start..).unwrap_or_default())?;
        out.truncate(start);
        let Some(fit) = fit.filter(|fit| fit.consumed == self.sample.len()) else {
            return Ok(false);
        };
        let all = rest.len() as u64 * fit.written as u64 / fit.consumed as u64;
        Ok(all + all / 32 <= self.pcluster as u64)
    }

    /// Appends pclusters that end where `input` does, which starts at `position` in its file and is not the file's end.
    /// Returns whether an index can describe them; if not, nothing is appended.
    pub(crate) fn write_exactly(
        &mut self,
        input: &[u8],
        position: u64,
        out: &mut Vec<u8>,
        extents: &mut Vec<EncodedExtent>,
    ) -> Result<bool, CodecError> {
        let (first, start) = (extents.len(), out.len());
        self.write(input, false, out, extents)?;
        let last = extents.get(first..).and_then(<[_]>::last).map_or(0, |last| last.llen as usize);
        let block = self.block as u64;
        let end = position + input.len() as u64;
        // An lcluster can hold the start of one extent only.
        let is_right = (end - last as u64) / block < end / block;
        let is_written = last == 0 || is_right || self.lengthen_last(input, first, out, extents)?;
        if !is_written {
            extents.truncate(first);
            out.truncate(start);
        }
        Ok(is_written)
    }

    /// Extends the last extent, which is PLAIN and less than a block, to a whole block: bytes of the last compressed extent
    /// move to the PLAIN ones after it. Returns whether there are enough of them.
    fn lengthen_last(
        &mut self,
        input: &[u8],
        first: usize,
        out: &mut Vec<u8>,
        extents: &mut Vec<EncodedExtent>,
    ) -> Result<bool, CodecError> {
        let plain = extents.iter().skip(first).rev().take_while(|e| e.kind == HeadKind::Plain);
        let (count, bytes) = plain.fold((0, 0), |(n, sum), e| (n + 1, sum + e.llen as usize));
        let before = extents.len() - count;
        let Some(shortened) = extents.get(first..before).and_then(<[_]>::last).copied() else {
            return Ok(false);
        };
        let behind = bytes.next_multiple_of(self.block);
        let end = input.len() - behind;
        let start = input.len() - bytes - shortened.llen as usize;
        extents.truncate(before - 1);
        out.truncate(out.len() - (usize::from(shortened.blocks) + count) * self.block);
        let Some(piece) = input.get(start..end) else { return Ok(false) };
        match self.compressed(piece, out)? {
            Some(extent) if extent.llen as usize == piece.len() => extents.push(extent),
            _ => return Ok(false),
        }
        for bytes in input.get(end..).unwrap_or_default().chunks(self.block) {
            out.extend_from_slice(bytes);
            self.last = bytes.len();
            extents.push(self.extent(bytes.len(), self.block, HeadKind::Plain));
        }
        Ok(true)
    }

    /// Removes the last pcluster from `out`, if it is less than a block, and returns it, to be stored beside its inode.
    pub(crate) fn cut_tail(&self, out: &mut Vec<u8>, extents: &[EncodedExtent]) -> Vec<u8> {
        let Some(extent) = extents.last() else { return Vec::new() };
        if extent.blocks != 1 || self.last > self.block - ROOM_BESIDE_TAIL {
            return Vec::new();
        }
        let block = out.split_off(out.len() - self.block);
        let stream = match extent.kind {
            HeadKind::Plain => block.get(..self.last),
            _ => block.get(self.block - self.last..),
        };
        stream.unwrap_or_default().to_vec()
    }

    /// Appends one compressed pcluster, if that is smaller than what it holds.
    fn compressed(
        &mut self,
        rest: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Option<EncodedExtent>, CodecError> {
        if rest.len() <= self.block {
            return Ok(None);
        }
        let head = self.head;
        let Some(encoder) = &mut self.encoder else { return Ok(None) };
        let rest = rest.get(..self.longest).unwrap_or(rest);
        let start = out.len();
        out.resize(start + self.pcluster, 0);
        let room = out.get_mut(start..).unwrap_or_default();
        let fit = encoder.fill(rest, room)?.map(|fit| (fit, head));
        let fit = self.or_second(fit, rest, room)?;
        let Some((fit, kind)) = fit.filter(|(fit, _)| self.stored(*fit) < fit.consumed) else {
            out.truncate(start);
            return Ok(None);
        };
        self.last = fit.written;
        let size = self.stored(fit);
        let padding = size - fit.written;
        out.copy_within(start..start + fit.written, start + padding);
        out.get_mut(start..start + padding).unwrap_or_default().fill(0);
        out.truncate(start + size);
        Ok(Some(self.extent(fit.consumed, size, kind)))
    }

    /// Bytes of the blocks that a stream takes.
    const fn stored(&self, fit: Fit) -> usize {
        fit.written.next_multiple_of(self.block)
    }

    /// What the first encoder put into `room`, or in its place what the second makes if that is clearly better.
    fn or_second(
        &mut self,
        first: Option<(Fit, HeadKind)>,
        rest: &[u8],
        room: &mut [u8],
    ) -> Result<Option<(Fit, HeadKind)>, CodecError> {
        let Some((encoder, made)) = &mut self.second else { return Ok(first) };
        let Some(second) = encoder.fill(rest, made)? else { return Ok(first) };
        let block = self.block;
        if first.is_some_and(|(first, _)| !is_clearly_better(second, first, block)) {
            return Ok(first);
        }
        for (to, from) in room.iter_mut().zip(made.iter().take(second.written)) {
            *to = *from;
        }
        Ok(Some((second, HeadKind::Head2)))
    }

    /// Appends blocks that hold the next bytes as they are, up to where compression may gain something
    /// again, and says how many bytes that were.
    fn plain_run(
        &mut self,
        rest: &[u8],
        out: &mut Vec<u8>,
        extents: &mut Vec<EncodedExtent>,
    ) -> usize {
        let mut run = rest.len();
        if let Some(encoder) = &mut self.encoder {
            run = run.min(encoder.plain_run(rest, self.pcluster, self.block));
        }
        if let Some((second, _)) = &mut self.second {
            run = run.min(second.plain_run(rest, self.pcluster, self.block));
        }
        for bytes in rest.get(..run).unwrap_or_default().chunks(self.block) {
            let start = out.len();
            out.extend_from_slice(bytes);
            out.resize(start + self.block, 0);
            self.last = bytes.len();
            extents.push(self.extent(bytes.len(), self.block, HeadKind::Plain));
        }
        run
    }

    fn extent(&self, llen: usize, size: usize, kind: HeadKind) -> EncodedExtent {
        EncodedExtent {
            llen: u32::try_from(llen).expect("an extent has less bytes than a segment"),
            blocks: u16::try_from(size / self.block).expect("a pcluster has at most 256 blocks"),
            kind,
            partial: false,
        }
    }
}

/// Collects bytes from all over others.
fn take_sample(bytes: &[u8], sample: &mut Vec<u8>) {
    sample.clear();
    let part = bytes.len().div_ceil(SAMPLE_PARTS).max(1);
    for bytes in bytes.chunks(part) {
        let start = bytes.len() - bytes.len() / SAMPLE_SHARE;
        sample.extend_from_slice(bytes.get(start..).unwrap_or_default());
    }
}

/// Whether a stream holds over 2 % more for each of its blocks than another does.
fn is_clearly_better(one: Fit, other: Fit, block: usize) -> bool {
    let blocks = |fit: Fit| fit.written.div_ceil(block) as u64;
    // A fit has at most 12 MiB in at most 2047 blocks.
    let (one, other) = (one.consumed as u64 * blocks(other), other.consumed as u64 * blocks(one));
    one * 100 > other * 102
}

#[cfg(test)]
mod tests {
    use lith_codec::{Algorithm, Compressor, decode, strip_padding};
    use lith_format::zmap::MAX_EXTENT_LEN;

    use super::*;

    fn decoded(extents: &[EncodedExtent], mut blocks: &[u8]) -> Vec<u8> {
        let mut all = Vec::new();
        for extent in extents {
            let (pcluster, rest) = blocks.split_at(usize::from(extent.blocks) * 4096);
            let mut out = vec![0; extent.llen as usize];
            match extent.kind {
                HeadKind::Plain => out.copy_from_slice(&pcluster[..extent.llen as usize]),
                _ => decode(Algorithm::Lz4, strip_padding(pcluster, 4096).unwrap(), &mut out)
                    .unwrap(),
            }
            all.extend(out);
            blocks = rest;
        }
        assert!(blocks.is_empty());
        all
    }

    /// Bytes of which the first third is text-like, the second noise, the third zeros.
    fn mixed(len: usize) -> Vec<u8> {
        let mut state = 1u64;
        let mut noise = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            state.to_le_bytes()[6]
        };
        (0..len)
            .map(|i| match i * 3 / len {
                0 => b"the quick brown fox "[i % 20],
                1 => noise(),
                _ => 0,
            })
            .collect()
    }

    #[test]
    fn pclusters_end_where_they_shall_or_nothing_is_written() {
        let compressor = Compressor::Lz4Hc { level: 5 };
        let coding = Coding { compressor, second: None, pcluster: 16384, min_saving: 0 };
        let mut writer = PclusterWriter::new(&coding, BlockBits::DEFAULT, MAX_EXTENT_LEN);
        let (mut written, mut refused) = (0, 0);
        for position in [0, 1, 2000, 4095] {
            for len in [1, 4000, 4097, 9000, 30_001, 100_000, 100_500, 110_001, 150_000] {
                // Text, and then noise.
                let input = &mixed(300_000)[..len];
                let (mut out, mut extents) = (vec![7; 3], Vec::new());
                if !writer.write_exactly(input, position, &mut out, &mut extents).unwrap() {
                    assert_eq!((out.as_slice(), extents.len()), (&[7; 3][..], 0));
                    refused += 1;
                    continue;
                }
                written += 1;
                assert_eq!(decoded(&extents, &out[3..]), input);
                let mut start = position;
                for extent in &extents {
                    let end = start + u64::from(extent.llen);
                    assert!(start / 4096 < end / 4096, "{position} {len}: {extents:?}");
                    start = end;
                }
            }
        }
        assert!(written >= 24 && refused > 0, "{written} written, {refused} refused");
    }

    #[test]
    fn ends_that_fill_no_pcluster_are_left_untried() {
        let mut numbers =
            (0..).map(|n: u32| format!("{} ", n.wrapping_mul(0x9e37_79b1)).into_bytes());
        let numbers: Vec<u8> = numbers.by_ref().take(60_000).flatten().collect();
        let text = b"the quick brown fox jumps over the lazy dog, again and ".repeat(10_000);
        for compressor in [Compressor::Lz4Hc { level: 12 }, Compressor::Deflate { level: 6 }] {
            let coding = Coding { compressor, second: None, pcluster: 65536, min_saving: 0 };
            let mut writer = PclusterWriter::new(&coding, BlockBits::DEFAULT, MAX_EXTENT_LEN);
            let mut is_rest = |bytes: &[u8], before| {
                let mut out = vec![7; 3];
                let is_rest = writer.is_rest(bytes, before, &mut out).unwrap();
                assert_eq!(out, [7; 3]);
                is_rest
            };
            assert!(is_rest(&numbers[..70_000], 0) && is_rest(&text[..100_000], 0));
            assert!(!is_rest(&numbers[..200_000], 0) && !is_rest(&numbers, 150_000));
            assert!(!is_rest(&text, 90_000), "the one before held far less");
        }
    }

    #[test]
    fn samples_come_from_all_over() {
        let (bytes, mut sample) = ((0..=255).cycle().take(100_003).collect::<Vec<u8>>(), vec![1]);
        take_sample(&bytes, &mut sample);
        assert!(
            sample.len() > 12_400 && sample.len() <= 12_500 && sample.ends_with(&bytes[99_900..])
        );
        take_sample(&[], &mut sample);
        assert!(sample.is_empty());
    }

    #[test]
    fn pclusters_decode_to_the_input_and_mix_with_plain_blocks() {
        for (compressor, pcluster) in
            [(Compressor::Lz4, 4096), (Compressor::Lz4Hc { level: 9 }, 16384)]
        {
            let coding = Coding { compressor, second: None, pcluster, min_saving: 0 };
            let mut writer = PclusterWriter::new(&coding, BlockBits::DEFAULT, MAX_EXTENT_LEN);
            for len in [1, 4096, 4097, 100_000, 300_001] {
                let (input, mut out, mut extents) = (mixed(len), Vec::new(), Vec::new());
                assert!(writer.write(&input, false, &mut out, &mut extents).unwrap().is_empty());
                assert_eq!(decoded(&extents, &out), input);
                if len > 100_000 {
                    assert!(extents.iter().any(|e| e.kind == HeadKind::Plain));
                    assert!(out.len() < len / 2);
                }
            }
        }
    }
}
