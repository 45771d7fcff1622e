//! Writes regular files, large ones by several workers.

use std::{
    fs::File,
    ops::Range,
    os::{fd::AsFd, unix::fs::FileExt},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use lith_tree::{Piece, Pieces};

use super::{
    ExtractError,
    attributes::Handle,
    extraction::Extraction,
    place::{OpenDirectory, Place},
    plan::Large,
    process::Certain,
};

/// Makes a file with content and attributes; a file that can't be finished is removed.
pub(super) fn make(place: &Place<'_>, size: u64, buffer: &mut [u8]) -> Result<(), ExtractError> {
    let (fd, certain) = place.make_file()?;
    let file = File::from(fd);
    let mut finish = || {
        if size > 0 {
            write(place, &file, 0..size, buffer)?;
        }
        place.set_attributes(Handle::Open(file.as_fd()), certain)
    };
    let result = finish();
    if result.is_err() {
        place.remove();
    }
    result
}

/// Writes a range of a file, except its holes. The file is then at least as long as the end of the range.
fn write(
    place: &Place<'_>,
    file: &File,
    range: Range<u64>,
    buffer: &mut [u8],
) -> Result<(), ExtractError> {
    let Extraction { fs, counter, .. } = place.extraction;
    let content = fs.open(place.inode)?;
    let mut pieces = Pieces::new(&*content, range.clone(), buffer);
    let mut written = range.start;
    while let Some(piece) = pieces.advance()? {
        if let Piece::Data { position, bytes } = piece {
            let error = |source| place.extraction.io_error("write", &place.path(), source);
            file.write_all_at(bytes, position).map_err(error)?;
            written = position.saturating_add(bytes.len() as u64);
            place.extraction.check_cancelled()?;
        }
    }
    content.check_unchanged()?;
    if written < range.end {
        grow(place, file, range.end)?;
    }
    counter.advance(range.end - range.start);
    Ok(())
}

/// Extends a file that ends with a hole. Other workers may have written after the hole already.
fn grow(place: &Place<'_>, file: &File, end: u64) -> Result<(), ExtractError> {
    let error = |source| place.extraction.io_error("write", &place.path(), source);
    let length = file.metadata().map_err(error)?.len();
    if length < end {
        file.set_len(end).map_err(error)?;
    }
    Ok(())
}

/// A large file while several workers write it.
pub(super) struct LargeFile<'a> {
    large: &'a Large<'a>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    open: Option<(Arc<File>, Certain)>,
    segments_done: usize,
}

impl<'a> LargeFile<'a> {
    pub(super) fn new(large: &'a Large<'a>) -> Self {
        Self { large, state: Mutex::default() }
    }

    /// Writes one segment. The first call makes the file, the last one to finish sets its attributes.
    pub(super) fn write_segment(
        &self,
        extraction: &Extraction<'_>,
        range: Range<u64>,
        buffer: &mut [u8],
    ) -> Result<(), ExtractError> {
        let directory = OpenDirectory::open(extraction, self.large.entry.parent)?;
        let place = Place::new(extraction, &directory, &self.large.entry);
        let file = self.open(&place)?;
        write(&place, &file, range, buffer)?;
        let mut state = self.state();
        state.segments_done += 1;
        if state.segments_done < self.large.segments {
            return Ok(());
        }
        let Some((file, certain)) = state.open.take() else {
            return Ok(());
        };
        let result = place.set_attributes(Handle::Open(file.as_fd()), certain);
        match &result {
            Ok(()) => extraction.counter.named(1),
            Err(_) => place.remove(),
        }
        result
    }

    fn open(&self, place: &Place<'_>) -> Result<Arc<File>, ExtractError> {
        let mut state = self.state();
        if let Some((file, _)) = &state.open {
            return Ok(Arc::clone(file));
        }
        let (fd, certain) = place.make_file()?;
        let file = Arc::new(File::from(fd));
        // With its final size set here, segments that end with holes need not extend it.
        let error = |source| place.extraction.io_error("write", &place.path(), source);
        let sized = file.set_len(self.large.size).map_err(error);
        state.open = Some((Arc::clone(&file), certain));
        sized.map(|()| file)
    }

    /// Removes the file if it was made and not finished.
    pub(super) fn remove_unfinished(&self, extraction: &Extraction<'_>) {
        if self.state().open.is_some()
            && let Ok(directory) = OpenDirectory::open(extraction, self.large.entry.parent)
        {
            Place::new(extraction, &directory, &self.large.entry).remove();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
