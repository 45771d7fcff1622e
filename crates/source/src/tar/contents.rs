//! Defines where the data of a tar's members are stored, and reads them.

use std::{io, path::PathBuf};

use lith_tree::{
    Content, ContentError, Contents, DataRange, Elsewhere, ExtraDevice, InodeIndex, Kind, Tree,
};

use super::{
    input::Store,
    sparse::{Stretch, are_aligned},
};

/// Where the data of a file are in the store.
#[derive(Clone, Copy, Debug)]
pub(super) enum Stored {
    /// Nowhere: it is not a regular file.
    Nothing,
    /// Contiguous.
    Whole {
        /// Where they start.
        at: u64,
    },
    /// In the stretches of a map.
    Sparse {
        /// The map's index.
        map: usize,
    },
}

pub(super) struct SparseData {
    /// Where they start in the store.
    pub(super) at: u64,
    pub(super) stretches: Vec<Stretch>,
}

/// Opens the data of a tar's members.
pub(super) struct TarContents {
    pub(super) store: Store,
    /// Where the data are, by inode.
    pub(super) stored: Vec<Stored>,
    pub(super) maps: Vec<SparseData>,
    /// The length of the tar, if an image is to refer to it.
    pub(super) referred: Option<u64>,
}

impl Contents for TarContents {
    fn open(&self, tree: &Tree, inode: InodeIndex) -> Result<Box<dyn Content + '_>, ContentError> {
        let path = lith_system::path(&tree.path(inode)).to_owned();
        let store = &self.store;
        let Kind::Regular { size } = tree.get(inode).kind else {
            return Err(ContentError::Io {
                path,
                action: "open",
                source: io::ErrorKind::InvalidInput.into(),
            });
        };
        let data = match self.stored.get(inode.index()) {
            Some(Stored::Sparse { map }) => self.maps.get(*map).map(Data::Sparse),
            Some(Stored::Whole { at }) => Some(Data::Whole(*at)),
            _ => None,
        };
        let Some(data) = data else {
            return Err(ContentError::Changed { path, what: "was not a regular file".to_owned() });
        };
        let referred = self.referred.is_some();
        Ok(Box::new(MemberContent { store, path, size, data, referred }))
    }

    fn devices(&self) -> Vec<ExtraDevice> {
        let device = |bytes| ExtraDevice { bytes, tag: Vec::new() };
        self.referred.into_iter().map(device).collect()
    }
}

#[derive(Clone, Copy)]
enum Data<'a> {
    Whole(u64),
    Sparse(&'a SparseData),
}

struct MemberContent<'a> {
    store: &'a Store,
    path: PathBuf,
    size: u64,
    data: Data<'a>,
    /// Whether an image is to refer to the data in the tar.
    referred: bool,
}

impl MemberContent<'_> {
    fn read_store(&self, buf: &mut [u8], at: u64) -> Result<(), ContentError> {
        self.store.read_at(buf, at).map_err(|source| match source.kind() {
            io::ErrorKind::UnexpectedEof => ContentError::Changed {
                path: self.path.clone(),
                what: "the archive has become shorter".to_owned(),
            },
            _ => self.io_error("read", source),
        })
    }

    /// Where the data are in the tar, and the holes between them.
    fn stretches(&self) -> Vec<Elsewhere> {
        let data = match self.data {
            Data::Whole(at) => return vec![Elsewhere { place: Some((0, at)), len: self.size }],
            Data::Sparse(data) => data,
        };
        let mut stretches = Vec::new();
        let mut end = 0;
        for stretch in &data.stretches {
            if stretch.at > end {
                stretches.push(Elsewhere { place: None, len: stretch.at - end });
            }
            let at = data.at + stretch.stored;
            stretches.push(Elsewhere { place: Some((0, at)), len: stretch.length });
            end = stretch.end();
        }
        if self.size > end {
            stretches.push(Elsewhere { place: None, len: self.size - end });
        }
        stretches
    }

    fn io_error(&self, action: &'static str, source: io::Error) -> ContentError {
        ContentError::Io { path: self.path.clone(), action, source }
    }

    /// Fills `buf` with zeros and the data of all stretches in its range.
    fn read_sparse(
        &self,
        buf: &mut [u8],
        position: u64,
        data: &SparseData,
    ) -> Result<(), ContentError> {
        let end = position.saturating_add(buf.len() as u64);
        buf.fill(0);
        let first = data.stretches.partition_point(|stretch| stretch.end() <= position);
        let following = data.stretches.iter().skip(first);
        for stretch in following.take_while(|stretch| stretch.at < end) {
            let from = stretch.at.max(position);
            let to = stretch.end().min(end);
            let part = usize::try_from(from - position)
                .ok()
                .zip(usize::try_from(to - position).ok())
                .and_then(|(from, to)| buf.get_mut(from..to))
                .expect("the stretch is in the buffer's range");
            let at = data.at + stretch.stored + (from - stretch.at);
            self.read_store(part, at)?;
        }
        Ok(())
    }

    fn past_end(&self) -> ContentError {
        self.io_error("read", io::ErrorKind::UnexpectedEof.into())
    }
}

impl Content for MemberContent<'_> {
    fn read_at(&self, buf: &mut [u8], position: u64) -> Result<(), ContentError> {
        let end = position.checked_add(buf.len() as u64);
        if end.is_none_or(|end| end > self.size) {
            return Err(self.past_end());
        }
        match self.data {
            Data::Whole(at) => self.read_store(buf, at + position),
            Data::Sparse(data) => self.read_sparse(buf, position, data),
        }
    }

    fn range_at(&self, position: u64) -> Result<DataRange, ContentError> {
        let Data::Sparse(data) = self.data else {
            return Ok(DataRange::Data { end: self.size });
        };
        Ok(range_at(&data.stretches, position, self.size))
    }

    fn check_unchanged(&self) -> Result<(), ContentError> {
        let difference = self.store.difference();
        match difference.map_err(|source| self.io_error("read the attributes", source))? {
            None => Ok(()),
            Some((path, what)) => Err(ContentError::Changed { path: path.to_owned(), what }),
        }
    }

    fn elsewhere(&self) -> Result<Option<Vec<Elsewhere>>, ContentError> {
        let aligned = match self.data {
            Data::Whole(_) => true,
            Data::Sparse(data) => are_aligned(&data.stretches, self.size),
        };
        Ok((self.referred && aligned && self.size > 0).then(|| self.stretches()))
    }
}

/// The range at a position of a sparse file; adjacent stretches are one range.
fn range_at(stretches: &[Stretch], position: u64, size: u64) -> DataRange {
    let first = stretches.partition_point(|stretch| stretch.end() <= position);
    let mut rest = stretches.iter().skip(first);
    match rest.next() {
        None => DataRange::Hole { end: size },
        Some(next) if next.at > position => DataRange::Hole { end: next.at },
        Some(here) => {
            let end =
                rest.try_fold(
                    here.end(),
                    |end, next| {
                        if next.at == end { Ok(next.end()) } else { Err(end) }
                    },
                );
            let (Ok(end) | Err(end)) = end;
            DataRange::Data { end }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_tile_a_sparse_file() {
        let stretch = |at, length, stored| Stretch { at, length, stored };
        let stretches = [stretch(10, 5, 0), stretch(15, 5, 5), stretch(30, 1, 10)];
        let cases = [
            (0, DataRange::Hole { end: 10 }),
            (10, DataRange::Data { end: 20 }),
            (17, DataRange::Data { end: 20 }),
            (20, DataRange::Hole { end: 30 }),
            (30, DataRange::Data { end: 31 }),
            (31, DataRange::Hole { end: 40 }),
        ];
        for (position, expected) in cases {
            assert_eq!(range_at(&stretches, position, 40), expected, "{position}");
        }
        assert_eq!(range_at(&[], 0, 40), DataRange::Hole { end: 40 });
    }
}
