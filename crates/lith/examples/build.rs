//! Makes an image of a folder: `cargo run --release -p lith --example build FOLDER IMAGE`.

use std::path::PathBuf;

use lith::{
    BuildOptions,
    builder::{Compression, Progress},
    codec::Compressor,
    source,
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args_os().skip(1).map(PathBuf::from);
    let (Some(folder), Some(image)) = (args.next(), args.next()) else {
        return Err("usage: build FOLDER IMAGE".into());
    };
    let source = source::directory(&folder, &source::Options::default())?;
    let mut options = BuildOptions::default();
    let compressor = Compressor::Lz4Hc { level: 9 };
    options.image.compression = Some(Compression { compressor, pcluster: None, min_saving: 0 });
    let report = lith::build(source, &image, &options, &Progress::default())?;
    println!("{} bytes hold {} of content", report.image_bytes, report.content_bytes);
    Ok(())
}
