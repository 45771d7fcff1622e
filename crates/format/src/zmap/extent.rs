//! Reads tables of extent records (encoded extents), and maps bytes by them.

use alloc::vec::Vec;
use core::ops::Range;

use super::error::{MapDamage, MapError};
use super::header::{Advise, RecordSize, RecordsHeader, RecordsShape};
use super::locate::extent_records_offset;
use super::mapped::{ExtentError, ExtentKind, Location, MappedExtent};
use crate::addr::{BlockBits, La, Pa};

const PLEN_MASK: u32 = (1 << 21) - 1;
const PARTIAL: u32 = 1 << 27;

/// A record (`struct z_erofs_extent`); fields that its size has no room for are 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct ExtentRecord {
    /// Stored bytes in bits 0-20 (0 is a hole), bit 27 PARTIAL, algorithm number + 1 in bits 28-31 (0 is
    /// plain). For the fragment record the low half of its offset.
    pub(super) plen_word: u32,
    /// The pcluster's first byte; of the fragment record the high half of its offset in the low half.
    pub(super) pstart: u64,
    /// The extent's first byte in the file.
    pub(super) lstart: u64,
}

impl ExtentRecord {
    /// A record of an extent at `lstart` whose pcluster is `plen` (below 2 MiB) bytes at `pa`.
    pub(super) const fn new(lstart: La, pa: Pa, plen: u32, algorithm: Option<u8>) -> Self {
        let format = match algorithm {
            None => 0,
            Some(id) => (id as u32 + 1) << 28,
        };
        Self { plen_word: plen & PLEN_MASK | format, pstart: pa.0, lstart: lstart.0 }
    }

    /// The same, but decoding only the beginning of its pcluster.
    pub(super) const fn with_partial(self) -> Self {
        Self { plen_word: self.plen_word | PARTIAL, ..self }
    }

    /// Stored bytes.
    pub(super) const fn plen(&self) -> u32 {
        self.plen_word & PLEN_MASK
    }

    /// Whether it decodes only the beginning of its pcluster.
    pub(super) const fn partial(&self) -> bool {
        self.plen_word & PARTIAL != 0
    }

    /// The algorithm's number, unchecked; `None` if the extent is plain.
    pub(super) fn algorithm(&self) -> Option<u8> {
        let [.., high] = self.plen_word.to_le_bytes();
        (high >> 4).checked_sub(1)
    }

    /// Reads a record of that size from the beginning of `bytes`; `None` if they are too few.
    pub(super) fn decode(bytes: &[u8], size: RecordSize) -> Option<Self> {
        let word =
            |k: usize| bytes.get(k * 4..)?.first_chunk().map(|word| u32::from_le_bytes(*word));
        let long = |low: u32, high: u32| u64::from(high) << 32 | u64::from(low);
        let plen_word = word(0)?;
        let (pstart, lstart) = match size {
            RecordSize::Four => (0, 0),
            RecordSize::Eight => (word(1)?.into(), 0),
            RecordSize::Sixteen => (long(word(1)?, word(2)?), word(3)?.into()),
            RecordSize::ThirtyTwo => (long(word(1)?, word(2)?), long(word(3)?, word(4)?)),
        };
        Some(Self { plen_word, pstart, lstart })
    }

    /// Appends the record in that size to `out`; what has no room is left out.
    pub(super) fn encode(&self, size: RecordSize, out: &mut Vec<u8>) {
        let mut record = [0_u8; 32];
        let fields = self.plen_word.to_le_bytes().into_iter().chain(self.pstart.to_le_bytes());
        let fields = fields.chain(self.lstart.to_le_bytes());
        record.iter_mut().zip(fields).for_each(|(byte, field)| *byte = field);
        out.extend(record.into_iter().take(size.bytes() as usize));
    }
}

/// Where the bytes of a table of records are read from.
pub trait RecordSource {
    /// Why they can't be read.
    type Error;

    /// Fills `into` with the table's bytes from `at` on, counted from its start.
    ///
    /// # Errors
    /// What the source names, also if the table is not that long.
    fn read(&mut self, at: u64, into: &mut [u8]) -> Result<(), Self::Error>;
}

/// Where some pclusters of a table of 4-byte records are, so that the lengths of all before needn't be summed up
/// for each lookup: see [`RecordTable::anchors`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Anchors(Vec<u64>);

impl Anchors {
    /// Records from one anchor to the next: 8 bytes of memory for 2 KiB of the table.
    const STEP: u64 = 512;

    /// The last record up to `k` that has an anchor, and where its pcluster is.
    fn before(&self, k: u64) -> Option<(u64, u64)> {
        let index = k / Self::STEP;
        let address = self.0.get(usize::try_from(index).ok()?)?;
        Some((index * Self::STEP, *address))
    }
}

/// The extent records of one file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RecordTable {
    header: RecordsHeader,
    block: BlockBits,
    file_size: u64,
    start: u64,
    count: u64,
}

impl RecordTable {
    /// The table of a file of `file_size` bytes whose map header stands at `header_at` in its metadata space;
    /// `None` if it would end beyond 2^64.
    #[must_use]
    pub fn new(
        header: RecordsHeader,
        block: BlockBits,
        file_size: u64,
        header_at: u64,
    ) -> Option<Self> {
        let count = match header.shape {
            RecordsShape::Fixed { unit_bits } => {
                file_size.div_ceil(1_u64.checked_shl(unit_bits.into())?)
            }
            RecordsShape::Variable { count } => count,
        };
        let start = extent_records_offset(header_at, header.record_size)?;
        let table = Self { header, block, file_size, start, count };
        table.first().checked_add(count.checked_mul(table.record_size())?)?.checked_add(start)?;
        Some(table)
    }

    /// Where the table begins in the metadata space.
    #[must_use]
    pub const fn start(&self) -> u64 {
        self.start
    }

    /// Bytes of the table.
    #[must_use]
    pub const fn size(&self) -> u64 {
        self.range(self.count).start
    }

    const fn record_size(&self) -> u64 {
        self.header.record_size.bytes() as u64
    }

    /// Where record 0 stands: 4-byte records follow the address of the first pcluster.
    const fn first(&self) -> u64 {
        match self.header.record_size {
            RecordSize::Four => 8,
            _ => 0,
        }
    }

    /// Which bytes of the table, counted from its start, hold record `k`, at most `count`.
    const fn range(&self, k: u64) -> Range<u64> {
        let start = self.first().saturating_add(k.saturating_mul(self.record_size()));
        start..start.saturating_add(self.record_size())
    }

    /// Record `k`, with `lstart` filled in for every record size.
    fn record<S: RecordSource>(
        &self,
        source: &mut S,
        k: u64,
    ) -> Result<ExtentRecord, MapError<S::Error>> {
        let mut bytes = [0; 32];
        let size = self.header.record_size;
        let (wanted, _) = bytes.split_at_mut(size.bytes() as usize);
        source.read(self.range(k).start, wanted).map_err(MapError::Source)?;
        let mut record =
            ExtentRecord::decode(&bytes, size).expect("the largest record has 32 bytes");
        if let RecordsShape::Fixed { unit_bits } = self.header.shape {
            record.lstart = k << unit_bits;
        }
        Ok(record)
    }

    /// The extent that holds byte `la`. With the table's [`Self::anchors`] at hand few records are
    /// read, without them all 4-byte records before it.
    ///
    /// Only the record and the next one are known to be in order: extents that are looked up one after the other can overlap if
    /// others are not.
    ///
    /// # Errors
    /// [`MapError`] if `la` is not in the file or the table is unsound.
    pub fn map<S: RecordSource>(
        &self,
        source: &mut S,
        la: La,
        anchors: &Anchors,
    ) -> Result<MappedExtent, MapError<S::Error>> {
        if la.0 >= self.file_size {
            return Err(MapDamage::BeyondEof { la, size: self.file_size }.into());
        }
        let (count, size) = (self.count, self.file_size);
        if count == 0 || count > size {
            return Err(MapDamage::BadCount { count, size }.into());
        }
        let k = match self.header.shape {
            RecordsShape::Fixed { unit_bits } => la.0 >> unit_bits,
            RecordsShape::Variable { .. } => self.search(source, la)?,
        };
        let mut record = self.record(source, k)?;
        if self.header.record_size == RecordSize::Four && !self.is_fragment(k) {
            record.pstart = self.running_address(source, k, anchors)?;
        }
        let end = self.end_of(source, k)?;
        if record.lstart > la.0 || end <= la.0 {
            return Err(MapDamage::OutOfOrder { record: k, lstart: record.lstart }.into());
        }
        self.extent(k, record, end).map_err(MapError::from)
    }

    /// The last record that starts at or before `la`.
    fn search<S: RecordSource>(&self, source: &mut S, la: La) -> Result<u64, MapError<S::Error>> {
        let (mut low, mut high) = (0, self.count);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if self.record(source, middle)?.lstart <= la.0 {
                low = middle;
            } else {
                high = middle;
            }
        }
        Ok(low)
    }

    /// The byte after the extent of record `k`.
    fn end_of<S: RecordSource>(&self, source: &mut S, k: u64) -> Result<u64, MapError<S::Error>> {
        if k + 1 >= self.count {
            return Ok(self.file_size);
        }
        Ok(self.record(source, k + 1)?.lstart.min(self.file_size))
    }

    /// Reads a whole table of 4-byte records, once for many lookups by [`Self::map`]. Of other
    /// tables nothing is read, since they need no anchors.
    ///
    /// # Errors
    /// [`MapError::Source`] if the table can't be read.
    pub fn anchors<S: RecordSource>(&self, source: &mut S) -> Result<Anchors, MapError<S::Error>> {
        let mut anchors = Anchors::default();
        if self.header.record_size != RecordSize::Four || self.count == 0 {
            return Ok(anchors);
        }
        let (mut record, mut address) = (0, first_address(source)?);
        while record < self.count {
            anchors.0.push(address);
            let end = self.count.min(record.saturating_add(Anchors::STEP));
            address = self.add_lengths(source, address, record..end)?;
            record = end;
        }
        Ok(anchors)
    }

    /// Where the pcluster of 4-byte record `k` is: after those of all records before it.
    fn running_address<S: RecordSource>(
        &self,
        source: &mut S,
        k: u64,
        anchors: &Anchors,
    ) -> Result<u64, MapError<S::Error>> {
        let (from, address) = match anchors.before(k) {
            Some(anchor) => anchor,
            None => (0, first_address(source)?),
        };
        self.add_lengths(source, address, from..k)
    }

    /// `address` moved on by the pclusters of these 4-byte records.
    fn add_lengths<S: RecordSource>(
        &self,
        source: &mut S,
        mut address: u64,
        records: Range<u64>,
    ) -> Result<u64, MapError<S::Error>> {
        let mut buffer = [0; 512];
        let mut next = records.start;
        while next < records.end {
            let count = (records.end - next).min(128);
            let len = usize::try_from(count * 4).expect("at most 512");
            let (wanted, _) = buffer.split_at_mut(len);
            source.read(self.range(next).start, wanted).map_err(MapError::Source)?;
            for word in wanted.as_chunks::<4>().0 {
                let plen = u32::from_le_bytes(*word) & PLEN_MASK;
                address = address.saturating_add(plen.into());
            }
            next += count;
        }
        Ok(address)
    }

    fn is_fragment(&self, k: u64) -> bool {
        self.header.advise.contains(Advise::FRAGMENT) && k + 1 == self.count
    }

    fn extent(&self, k: u64, record: ExtentRecord, end: u64) -> Result<MappedExtent, ExtentError> {
        let la = La(record.lstart);
        let location = self.location(k, record)?;
        let interlaced = self.header.advise.contains(Advise::INTERLACED)
            && self.block.within(record.pstart | u64::from(record.plen())) == 0
            && matches!(location, Location::Blocks { .. });
        let plain = ExtentKind::Plain { interlaced };
        let kind =
            record.algorithm().map_or(plain, |algorithm| ExtentKind::Compressed { algorithm });
        let partial = record.partial() && !self.is_fragment(k);
        let llen = end.saturating_sub(la.0);
        MappedExtent { la, llen, location, kind, partial }.checked(self.block)
    }

    fn location(&self, k: u64, record: ExtentRecord) -> Result<Location, ExtentError> {
        let (pa, plen) = (Pa(record.pstart), record.plen());
        if self.is_fragment(k) {
            // Where records have no room for an address, there is no high half either.
            let offset = (pa.0 & 0xffff_ffff) << 32 | u64::from(record.plen_word);
            return Ok(Location::Fragment { offset });
        }
        if plen == 0 {
            return Ok(Location::Hole);
        }
        match pa.checked_add(plen.into()) {
            Some(_) => Ok(Location::Blocks { pa, plen }),
            None => Err(ExtentError::AddressOverflow { la: La(record.lstart) }),
        }
    }
}

/// Where the first pcluster is in a table of 4-byte records.
fn first_address<S: RecordSource>(source: &mut S) -> Result<u64, MapError<S::Error>> {
    let mut address = [0; 8];
    source.read(0, &mut address).map_err(MapError::Source)?;
    Ok(u64::from_le_bytes(address))
}
