//! Which choices of layout are images built with in a test?

use lith::{builder::Options, codec::Compressor};

use crate::image;

/// Images with one choice of layout each that is not the usual one, each with its name.
#[must_use]
pub fn kinds() -> Vec<(String, Options)> {
    let lz4 = image::compressed(Compressor::Lz4, 16 << 10);
    let bare = |options| Options { inline_data: false, ..options };
    let all = [("plain, not inline", bare(image::plain())), ("lz4 16K, not inline", bare(lz4))];
    all.map(|(name, options)| (name.to_owned(), options)).into()
}
