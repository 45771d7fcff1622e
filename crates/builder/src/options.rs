//! What kind of image is built, and do the format and the target kernel allow it?

mod all;
mod attributes;
mod check;
mod check_attributes;
mod check_chunks;
mod check_compression;
mod check_layout;
mod chunks;
mod compression;
mod data;
mod derived;
mod identity;
mod layout;
mod method;
mod preset;
mod rule;

pub use self::{
    all::Options,
    attributes::{AttributeOptions, InodeForm},
    check::Need,
    chunks::{ChunkForm, Chunks},
    compression::{CompressionOptions, Fragments, Heat, IndexForm},
    data::DataImport,
    identity::{Identity, ImageId},
    layout::LayoutOptions,
    method::Compression,
    preset::{Preset, UnknownPreset},
    rule::{Files, Rule},
};
