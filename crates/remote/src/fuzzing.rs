//! What must hold for whatever a server answers. Feature `fuzzing`: the fuzzers of `testkit` call it.

use crate::{
    Address, ChunkIndex, Reference, Version,
    cache::Header,
    client::ContentRange,
    registry::{Artifact, Challenge, Found},
};

/// Takes bytes as an index of chunks.
///
/// # Panics
/// If the chunks don't follow each other, or the index isn't what it was read from.
pub fn chunk_index(bytes: &[u8]) {
    let Ok(index) = ChunkIndex::parse(bytes) else { return };
    assert!(index.to_bytes() == bytes, "another index is written");
    let length = index.length();
    let end = index.chunks().fold(0, |end, chunk| {
        assert!(chunk.start == end && chunk.length > 0, "{chunk:?} after {end}");
        end + chunk.length
    });
    assert_eq!(end, length);
    for (start, end) in [(0, 1), (length / 3, length / 2), (length.saturating_sub(1), length)] {
        let Some(last) = end.min(length).checked_sub(1).filter(|last| *last >= start) else {
            continue;
        };
        let covering: Vec<_> = index.covering(&(start..end)).collect();
        let first = covering.first().expect("a part of the image is in a chunk");
        let reached = covering.last().map_or(0, |chunk| chunk.start + chunk.length);
        assert!(first.start <= start && reached > last, "{start}..{end}: {covering:?}");
    }
    let places: usize = index.distinct().iter().map(|(_, places)| places.len()).sum();
    assert_eq!(places, index.chunks().count());
}

/// Takes bytes as headers and documents of servers, and as what is stored of them.
///
/// # Panics
/// If what is written of something that was read isn't read as the same.
pub fn registry_answers(bytes: &[u8]) {
    if let Ok(Found::Artifact(artifact)) = Artifact::parse(bytes, "host") {
        let digest = format!("sha256:{}", "0".repeat(64));
        let written = artifact.manifest((&digest, 2)).expect("strings have a JSON form");
        let again = Artifact::parse(&written, "host");
        assert!(matches!(again, Ok(Found::Artifact(again)) if again == artifact), "{artifact:?}");
        artifact.config(None).expect("strings have a JSON form");
    }
    if let Some(header) = Header::decode(bytes)
        && let Some(written) = header.encode()
    {
        assert_eq!(Header::decode(&written), Some(header));
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        texts(text);
    }
}

fn texts(text: &str) {
    if let Some(range) = ContentRange::parse(text) {
        let ContentRange { bytes, length } = range.clone();
        assert!(bytes.start < bytes.end && bytes.end <= length, "{range:?}");
        let written = format!("bytes {}-{}/{length}", bytes.start, bytes.end - 1);
        assert_eq!(ContentRange::parse(&written), Some(range));
    }
    if let Ok(version) = text.parse::<Version>() {
        let again = version.to_string().parse::<Version>();
        assert_eq!(again.expect("a version that was written"), version);
    }
    if let Ok(reference) = Reference::parse(text) {
        let again = Reference::parse(&reference.to_string());
        assert_eq!(again.expect("a reference that was written"), reference);
    }
    if let Some(Challenge::Bearer { realm, .. }) = Challenge::parse(text) {
        let _ = Address::parse(&realm);
    }
    let _ = Address::parse(text);
}
