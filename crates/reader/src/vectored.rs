//! How do several buffers get what lies in the same extents?

use std::io::IoSliceMut;

use crate::{error::Error, file::File, map::ExtentKind};

/// The most bytes read at once on behalf of several buffers.
const PASS: u64 = 1 << 20;

/// A buffer to be filled with the bytes of a file from a position on.
#[derive(Debug)]
pub struct ReadRange<'b> {
    /// The first byte wanted.
    pub position: u64,
    /// Where it and those behind it go.
    pub buf: &'b mut [u8],
}

impl ReadRange<'_> {
    const fn end(&self) -> u64 {
        self.position.saturating_add(self.buf.len() as u64)
    }
}

impl File<'_> {
    /// Fills all buffers, one after the other, with the bytes from `position` on. As one [`Self::read_at`] of all: a
    /// compressed extent that several buffers share is decoded once.
    ///
    /// # Errors
    /// As [`Self::read_at`]; some buffers may be filled then.
    ///
    /// ```
    /// use std::io::IoSliceMut;
    ///
    /// use lith_device::FileDevice;
    /// use lith_reader::Image;
    ///
    /// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/03-lz4.erofs");
    /// let image = Image::open(FileDevice::open(path.as_ref())?)?;
    /// let file = image.file(&image.resolve(b"/text")?)?;
    /// let (mut header, mut body) = ([0; 16], vec![0; 5000]);
    /// file.read_vectored_at(&mut [IoSliceMut::new(&mut header), IoSliceMut::new(&mut body)], 32)?;
    /// # let mut all = vec![0; 5016];
    /// # file.read_at(&mut all, 32)?;
    /// # assert_eq!([&header[..], &body].concat(), all);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read_vectored_at(
        &self,
        bufs: &mut [IoSliceMut<'_>],
        position: u64,
    ) -> Result<(), Error> {
        let mut next = position;
        let mut ranges: Vec<_> = bufs
            .iter_mut()
            .map(|buf| {
                let range = ReadRange { position: next, buf };
                next = range.end();
                range
            })
            .collect();
        self.read_ranges(&mut ranges)
    }

    /// Fills each range's buffer; ranges may lie anywhere in the file, in any order, and overlap. A compressed extent
    /// of up to 1 MiB that several of them share is decoded once.
    ///
    /// # Errors
    /// As [`Self::read_at`]; some buffers may be filled then.
    pub fn read_ranges(&self, ranges: &mut [ReadRange<'_>]) -> Result<(), Error> {
        let mut sorted: Vec<_> = ranges.iter_mut().collect();
        sorted.sort_by_key(|range| range.position);
        let (mut rest, mut between) = (&mut sorted[..], Vec::new());
        while let Some(first) = rest.first() {
            let (start, mut end, mut count) = (first.position, first.end(), 1);
            let mut extent = self.compressed_end(end)?;
            while let Some(range) = rest.get(count) {
                let last = range.end().max(end);
                if range.position >= extent || last.saturating_sub(start) > PASS {
                    break;
                }
                if last > extent {
                    extent = self.compressed_end(last)?;
                }
                (end, count) = (last, count + 1);
            }
            let (pass, behind) = rest.split_at_mut(count);
            self.read_pass(pass, start..end, &mut between)?;
            rest = behind;
        }
        Ok(())
    }

    /// Where the compressed extent ends that holds the byte before `position`; `position` if none does.
    fn compressed_end(&self, position: u64) -> Result<u64, Error> {
        let before = position.saturating_sub(1);
        if before >= self.size() {
            return Ok(position);
        }
        let extent = self.extents_from(before).next().transpose()?;
        let compressed =
            extent.filter(|extent| matches!(extent.kind, ExtentKind::Compressed { .. }));
        Ok(compressed.map_or(position, |extent| extent.end().max(position)))
    }

    /// Reads all bytes from the first range of a pass to its end, and hands out what each wants.
    fn read_pass(
        &self,
        pass: &mut [&mut ReadRange<'_>],
        bytes: std::ops::Range<u64>,
        between: &mut Vec<u8>,
    ) -> Result<(), Error> {
        if let [range] = pass {
            return self.read_at(range.buf, range.position);
        }
        between.resize(usize::try_from(bytes.end - bytes.start).unwrap_or(0), 0);
        self.read_at(between, bytes.start)?;
        for range in pass {
            let start = usize::try_from(range.position - bytes.start).unwrap_or(usize::MAX);
            let wanted = between.get(start..).and_then(|bytes| bytes.get(..range.buf.len()));
            range.buf.iter_mut().zip(wanted.unwrap_or_default()).for_each(|(to, byte)| *to = *byte);
        }
        Ok(())
    }
}
