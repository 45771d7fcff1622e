//! Entry points for fuzzers: what must hold for any bytes at all.
//!
//! Each function takes what a fuzzer found and must come back: no panic, no hang, no memory beyond what the bytes
//! justify. Where there is an answer it must make sense; if not, that is a panic here.

mod sources;

use std::{cell::RefCell, num::NonZeroUsize, path::Path, sync::Arc};

use lith::{
    builder::{IndexForm, Options},
    delta::{self, Header},
    device::{FileDevice, MemoryDevice, ReadAt},
    profile::{self, Profile},
    reader::{DataRange as ReaderRange, Image, Inode},
    source,
    tree::{Aspects, Filesystem},
    verity::{RootHash, VerifiedDevice, VerityError, find_appended},
};
use lith_codec::{
    Algorithm, Compressor, DecodeError, Encoder, Window, decode, decode_in_place, decode_partial,
    decode_rolling, in_place_margin, strip_padding,
};
use lith_format::{
    addr::{BlockBits, La, Lcn},
    bases::{encode_note, parse_note},
    device_table::DeviceSlot,
    dirent::DirBlock,
    features::Incompat,
    hot::find_hot_note,
    joined::find_joined_header,
    provenance::{encode_provenance, find_provenance},
    zmap::{
        Anchors, HeaderContext, IndexError, IndexLayout, IndexMap, IndexSource, IndexTable,
        LclusterIndex, MapHeader, RecordSource, RecordTable,
    },
};

pub use lith_remote::fuzzing::{chunk_index, registry_answers};
pub use sources::{archive_file, container_image, manifest, squashfs_source, tar_source};

use self::sources::{NAMES, RANGES, READ, READ_ALL, touch};
use crate::{compare, golden, image, recipe};

/// A target's name and its function.
pub type Target = (&'static str, fn(&[u8]));

/// All targets.
pub const TARGETS: [Target; 17] = [
    ("reader_open_walk", reader_open_walk),
    ("tar_source", tar_source),
    ("squashfs_source", squashfs_source),
    ("zmap_tables", zmap_tables),
    ("dirent_block", dirent_block),
    ("lz4_decode", lz4_decode),
    ("decode_ways", decode_ways),
    ("build_roundtrip", build_roundtrip),
    ("delta_apply", delta_apply),
    ("verity_device", verity_device),
    ("notes", notes),
    ("lists", lists),
    ("archive_file", archive_file),
    ("manifest", manifest),
    ("container_image", container_image),
    ("chunk_index", chunk_index),
    ("registry_answers", registry_answers),
];

/// Bytes that a delta may make.
const NEW_IMAGE: u64 = 1 << 20;

/// Applies a delta to a golden image.
pub fn delta_apply(bytes: &[u8]) {
    let Ok(header) = Header::read(&mut &*bytes) else { return };
    if header.new_bytes() > NEW_IMAGE {
        return;
    }
    let old = FileDevice::open(golden::folder().join("03-lz4.erofs")).expect("a golden image");
    let new = tempfile::tempfile().expect("a temporary file");
    let one = NonZeroUsize::MIN;
    if let Ok(applied) = delta::apply(&old, &mut &*bytes, &new, (one, &())) {
        assert_eq!(applied.bytes, header.new_bytes());
    }
}

/// Reads data with a hash tree, wherever that is in the bytes. Whoever knows the root hash gets the bytes or an error.
pub fn verity_device(bytes: &[u8]) {
    let device = || Box::new(MemoryDevice::new(bytes.to_vec()));
    let length = u64::from_le_bytes(bytes.first_chunk().copied().unwrap_or_default());
    let found = find_appended(&*device(), length % 8192).expect("memory can be read");
    for offset in found.into_iter().chain([0, 512, 4096]) {
        let open = |root| VerifiedDevice::new(device(), (device(), offset), root);
        let verified = match open(RootHash([0; 32])) {
            Err(VerityError::RootHash { found, .. }) => open(found).expect("it is its root hash"),
            Err(_) => continue,
            Ok(verified) => verified,
        };
        let end = usize::try_from(verified.size()).expect("it is in memory");
        for (start, end) in [(0, end), (end / 3, end / 2), (end.saturating_sub(1), end)] {
            let mut read = vec![0xa5; end - start];
            match verified.read_at(&mut read, start as u64) {
                Ok(()) => assert!(bytes.get(start..end) == Some(&*read), "{start}..{end}"),
                Err(_) => assert!(read.iter().all(|byte| *byte == 0), "{start}..{end}"),
            }
        }
    }
}

/// Takes bytes as what surrounds a tree: notes in the head of an image, device tables, superblocks of hash trees.
pub fn notes(bytes: &[u8]) {
    let stretches = find_hot_note(bytes).unwrap_or_default();
    assert!(stretches.iter().all(|stretch| stretch.start <= stretch.end), "{stretches:?}");
    if let Some(text) = find_provenance(bytes) {
        let note = encode_provenance(text, 0).expect("a text that was found is not too long");
        assert_eq!(find_provenance(&note), Some(text));
    }
    if let Some(header) = find_joined_header(bytes) {
        let rest = usize::try_from(header.end()).ok().and_then(|end| bytes.get(end..));
        if let Ok(joined) = header.with_bases(rest.unwrap_or_default()) {
            let ranges = joined.ranges(BlockBits::DEFAULT).unwrap_or_default();
            assert!(ranges.iter().all(|range| range.start <= range.end), "{ranges:?}");
        }
    }
    let count = bytes.first().copied().unwrap_or_default().into();
    if let Ok(Some(bases)) = parse_note(bytes, count) {
        let again = parse_note(&encode_note(&bases), count);
        assert_eq!(again.expect("a note of what was read"), Some(bases));
    }
    for wide in [false, true] {
        let Ok(slots) = DeviceSlot::parse_all(bytes, count, wide) else { continue };
        let mut table = Vec::new();
        for slot in &slots {
            slot.encode_into(wide, &mut table).expect("a slot that was read");
        }
        let again = DeviceSlot::parse_all(&table, count, wide).expect("slots that were read");
        assert_eq!(format!("{again:?}"), format!("{slots:?}"));
    }
    if let Some(bytes) = bytes.first_chunk() {
        let _ = lith::verity::Superblock::parse(bytes);
    }
}

/// Takes bytes as the texts that name what is read first.
pub fn lists(bytes: &[u8]) {
    if let Ok(profile) = Profile::read(bytes) {
        let text = profile.to_string();
        let again = Profile::read(text.as_bytes()).expect("a profile that was written");
        assert_eq!(again.to_string(), text);
    }
    let _ = profile::paths_of_list(bytes);
    let _ = profile::priorities(bytes);
}

/// Opens an image and reads everything in it, up to a limit.
pub fn reader_open_walk(bytes: &[u8]) {
    let Ok(image) = Image::open(MemoryDevice::new(bytes.to_vec())) else { return };
    let image = Arc::new(image);
    let mut left = READ_ALL;
    let Ok(root) = image.root() else { return };
    let mut inodes = vec![root];
    inodes.extend(image.packed_inode().copied());
    inodes.extend(image.metabox_inode().copied());
    let mut at = 0;
    while let Some(inode) = inodes.get(at).copied() {
        at += 1;
        look_at(&image, &inode, &mut left);
        let Ok(entries) = image.read_dir(&inode) else { continue };
        for entry in entries.with_dots().take(NAMES).flatten() {
            assert!((1..=255).contains(&entry.name.len()), "a name of {} bytes", entry.name.len());
            assert!(!entry.name.iter().any(|byte| matches!(byte, b'/' | 0)), "{:?}", entry.name);
            let _ = image.lookup(&inode, &entry.name);
            if inodes.len() < NAMES && !entry.is_dot_or_dot_dot() {
                inodes.extend(image.inode(entry.nid));
            }
        }
    }
    let _ = image.resolve_following(b"a/../b/./link");
    for visit in image.files().take(NAMES).flatten() {
        assert!(!visit.path.is_empty() && !visit.path.starts_with(b"/"), "{visit:?}");
    }
    if let Ok(source) =
        source::image(Arc::clone(&image), Path::new("image"), &source::Options::default())
    {
        touch(&source);
    }
}

fn look_at(image: &Image, inode: &Inode, left: &mut u64) {
    let _ = image.xattrs_with_hidden(inode);
    let _ = image.xattr(inode, b"user.note");
    if let Ok(target) = image.read_link(inode) {
        assert!(target.len() <= 4095 && !target.is_empty() && !target.contains(&0));
    }
    let Ok(file) = image.file(inode) else { return };
    let size = file.size();
    let mut next = 0;
    for extent in file.extents().take(RANGES) {
        let Ok(extent) = extent else { break };
        assert!(
            extent.la == next && extent.len > 0 && extent.end() <= size,
            "{extent:?} of {size} bytes"
        );
        next = extent.end();
    }
    let mut position = 0;
    for _ in 0..RANGES {
        let range = file.range_at(position);
        let Ok(Some(ReaderRange::Data { end } | ReaderRange::Hole { end })) = range else { break };
        assert!(end > position && end <= size);
        position = end;
    }
    for start in [0, size.saturating_sub(READ)] {
        let length = READ.min(size - start).min(*left);
        *left -= length;
        let mut buf = vec![0; length as usize];
        let _ = file.read_at(&mut buf, start);
    }
}

/// Takes bytes as a map: two for shape and block size, eight for the file's size, eight of header, then the table.
pub fn zmap_tables(bytes: &[u8]) {
    let Some(([shape, bits], rest)) = bytes.split_first_chunk() else { return };
    let Some((size, rest)) = rest.split_first_chunk() else { return };
    let Some((header, table)) = rest.split_first_chunk() else { return };
    // Most files are small.
    let size = u64::from_le_bytes(*size) >> (shape >> 2);
    let block_bits = BlockBits::new(9 + bits % 8).unwrap();
    let layout = if shape & 1 == 0 { IndexLayout::Full } else { IndexLayout::Compact };
    let header_at = if shape & 2 == 0 { 32 } else { 64 };
    let context = HeaderContext { layout, block_bits, features: Incompat::from_bits_retain(0x32) };
    match MapHeader::parse(*header, context) {
        Ok(MapHeader::Indexes(header)) => {
            let Ok(index) = IndexTable::new(&header, block_bits, size, header_at) else { return };
            let map = IndexMap::new(header, block_bits, size);
            let source =
                SliceIndexes { table: index, bytes: after_header(table, header_at, index.start()) };
            check_tiles(
                map.extents_from(source, La(0))
                    .map(|extent| extent.ok().map(|e| (e.la.0, e.end().0))),
                size,
            );
            for la in [0, size / 2, size.saturating_sub(1), size, u64::MAX] {
                if let Some(Ok(extent)) = map.extents_from(source, La(la)).next() {
                    assert!(extent.la.0 <= la && la < extent.end().0 && extent.end().0 <= size);
                }
            }
        }
        Ok(MapHeader::Records(header)) => {
            let Some(records) = RecordTable::new(header, block_bits, size, header_at) else {
                return;
            };
            let mut table = SliceRecords(after_header(table, header_at, records.start()));
            let Ok(anchors) = records.anchors(&mut table) else { return };
            let mut next = 0;
            check_tiles(
                std::iter::from_fn(|| {
                    let extent = (next < size).then(|| records.map(&mut table, La(next), &anchors));
                    let range = extent?.ok().map(|e| (e.la.0, e.end().0));
                    assert!(range.is_none_or(|(start, end)| (start..end).contains(&next)));
                    // Readers refuse it: a lookup doesn't see that records elsewhere are out of order.
                    let range = range.filter(|(start, _)| *start == next);
                    next = range.map_or(size, |(_, end)| end);
                    Some(range)
                }),
                size,
            );
            for la in [0, size / 2, size.saturating_sub(1), size, u64::MAX] {
                let _ = records.map(&mut table, La(la), &Anchors::default());
            }
        }
        _ => {}
    }
}

/// A whole index table in memory.
#[derive(Clone, Copy)]
struct SliceIndexes<'a> {
    table: IndexTable,
    /// Its bytes, from its start on.
    bytes: &'a [u8],
}

impl IndexSource for SliceIndexes<'_> {
    type Error = IndexError;

    fn load(&mut self, lcn: Lcn) -> Result<LclusterIndex, IndexError> {
        let start = usize::try_from(self.table.range(lcn)?.start).unwrap_or(usize::MAX);
        self.table.decode(self.bytes.get(start..).unwrap_or_default(), lcn)
    }
}

/// A whole table of extent records in memory.
struct SliceRecords<'a>(&'a [u8]);

impl RecordSource for SliceRecords<'_> {
    /// The table is not that long.
    type Error = ();

    fn read(&mut self, at: u64, into: &mut [u8]) -> Result<(), ()> {
        let rest = usize::try_from(at).ok().and_then(|at| self.0.get(at..));
        into.copy_from_slice(rest.and_then(|rest| rest.get(..into.len())).ok_or(())?);
        Ok(())
    }
}

/// The table, which begins at `start`, of the bytes that follow an 8-byte header at `header_at`.
fn after_header(bytes: &[u8], header_at: u64, start: u64) -> &[u8] {
    bytes.get((start - header_at - 8) as usize..).unwrap_or_default()
}

/// Extents follow each other from 0 to the size, or end with an error.
fn check_tiles(extents: impl Iterator<Item = Option<(u64, u64)>>, size: u64) {
    let mut next = 0;
    for (number, extent) in extents.enumerate() {
        let Some((start, end)) = extent else { return };
        assert!(
            start == next && end > start && end <= size,
            "extent {start} to {end} behind {next} of {size} bytes"
        );
        next = end;
        if number > 20_000 {
            return;
        }
    }
    assert_eq!(next, size);
}

/// Takes bytes as a block of a directory.
pub fn dirent_block(bytes: &[u8]) {
    let Ok(block) = DirBlock::parse(bytes) else { return };
    let mut sorted = true;
    let mut last: Option<Vec<u8>> = None;
    let mut all = Vec::new();
    for dirent in block.dirents() {
        let Ok(dirent) = dirent else { return };
        assert!((1..=255).contains(&dirent.name.len()));
        sorted &= last.as_deref().is_none_or(|last| last < dirent.name);
        last = Some(dirent.name.to_vec());
        all.push(dirent);
    }
    assert_eq!(all.len(), block.len());
    for dirent in all {
        let found = block.find(dirent.name).unwrap();
        assert!(!sorted || found == Some(dirent), "{:?} is not found", dirent.name);
    }
    let _ = block.find(bytes);
}

/// Decodes bytes as LZ4, whole and in part, and takes them through compression and back.
pub fn lz4_decode(bytes: &[u8]) {
    let Some((length, stream)) = bytes.split_first_chunk() else { return };
    let length = usize::from(u16::from_le_bytes(*length));
    let stream = strip_padding(stream, 4096).unwrap_or(stream);
    // The output of an invalid stream can depend on what was in the buffer: nothing to compare.
    let _ = decode(Algorithm::Lz4, stream, &mut vec![0xa5; length]);
    let _ = decode_partial(Algorithm::Lz4, stream, &mut vec![0x5a; length / 2]);
    ENCODERS.with_borrow_mut(|encoders| {
        for encoder in encoders {
            let mut out = vec![0; 64 + length % 4096];
            let Some(fit) = encoder.fill(bytes, &mut out).unwrap() else { continue };
            assert!(fit.consumed > fit.written, "nothing is gained");
            check_decodes(&out[..fit.written], &bytes[..fit.consumed]);
        }
    });
}

thread_local! {
    /// Kept from one input to the next: making them takes longer than all else.
    static ENCODERS: RefCell<[Encoder; 3]> = RefCell::new(
        [Compressor::Lz4, image::lz4hc(9), image::lz4hc(12)].map(|compressor| Encoder::new(&compressor)),
    );
}

/// A stream decodes to these bytes, and a part of it to their beginning.
fn check_decodes(stream: &[u8], bytes: &[u8]) {
    for length in [bytes.len(), bytes.len() / 2, 1] {
        let mut back = vec![0x5a; length];
        if length == bytes.len() {
            decode(Algorithm::Lz4, stream, &mut back).unwrap();
        } else {
            decode_partial(Algorithm::Lz4, stream, &mut back).unwrap();
        }
        assert!(back == bytes[..length], "other bytes come back");
    }
}

/// Decodes bytes in every way: one for the algorithm, two for the length, two for what is skipped of it, then the
/// stream. Ways that accept it must agree.
pub fn decode_ways(bytes: &[u8]) {
    let Some(([shape, lengths @ ..], stream)) = bytes.split_first_chunk::<5>() else { return };
    let [length, skip] = [&lengths[..2], &lengths[2..]]
        .map(|bytes| usize::from(u16::from_le_bytes(bytes.try_into().unwrap())) * 4);
    let skip = skip.min(length);
    let algorithm = [Algorithm::Lz4, Algorithm::Lzma, Algorithm::Deflate, Algorithm::Zstd]
        [usize::from(shape & 3)];
    let (mut whole, mut part, mut rest) =
        (vec![0xa5; length], vec![0x5a; length], vec![0xa5; length - skip]);
    let decoded = decode(algorithm, stream, &mut whole).is_ok();
    let in_part = decode_partial(algorithm, stream, &mut part).is_ok();
    let rolled = decode_rolling(algorithm, stream, skip, &mut rest, &mut Window::new()).is_ok();
    assert!(!(in_part && rolled) || rest == part[skip..], "rolling gives other bytes");
    let buffer = decoded_in_place(algorithm, stream, length);
    // liblz4's output of an invalid stream can depend on what was in the buffer: nothing to compare.
    if let (Some(buffer), true, Algorithm::Zstd) = (buffer, decoded, algorithm) {
        assert!(buffer[..length] == whole, "in place gives other bytes");
    }
}

/// The buffer that a stream was decoded in, if it could be.
fn decoded_in_place(algorithm: Algorithm, stream: &[u8], length: usize) -> Option<Vec<u8>> {
    let margin = in_place_margin(algorithm, stream.len(), length).unwrap_or(0);
    let end = (length + margin).max(stream.len());
    let mut buffer = vec![0; end];
    let start = end - stream.len();
    buffer[start..].copy_from_slice(stream);
    let done = decode_in_place(algorithm, &mut buffer, start..end, length);
    if matches!(done, Err(DecodeError::NotInPlace { .. })) {
        assert!(buffer[start..] == *stream, "a refused stream changed");
    }
    done.is_ok().then_some(buffer)
}

/// Makes a tree of bytes, an image of the tree, and a tree of the image: it must be the first one.
pub fn build_roundtrip(bytes: &[u8]) {
    let (shape, bytes) = bytes.split_first().unwrap_or((&0, &[]));
    let (tree, contents) = recipe::from_bytes(bytes).follow();
    let built = image::build(Filesystem::new(&tree, &contents), &options_of(*shape));
    let read = image::open_bytes(built);
    compare::assert_same_but_for(
        Filesystem::new(&tree, &contents),
        read.filesystem(),
        Aspects::empty(),
        "tree and image",
    );
}

fn options_of(shape: u8) -> Options {
    let bits = [12, 12, 9, 16][usize::from(shape >> 6)];
    let pcluster = (1_u32 << bits << (shape >> 2 & 7)).min(1 << 20);
    let options = match shape & 3 {
        0 => image::plain(),
        1 => image::compressed(Compressor::Lz4, pcluster),
        2 => image::compressed(image::lz4hc(3), pcluster),
        _ => image::compressed(image::lz4hc(12), pcluster),
    };
    let index = if shape & 32 == 0 { IndexForm::Compact } else { IndexForm::Full };
    image::with_blocks(options, bits).with(|o| o.compression.index = index)
}
