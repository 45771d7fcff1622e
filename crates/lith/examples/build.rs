//! Makes an image of a folder: `cargo run --release -p lith --example build FOLDER IMAGE`.

use std::path::PathBuf;

use lith::{Builder, builder::Compression, codec::Compressor, source};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args_os().skip(1).map(PathBuf::from);
    let (Some(folder), Some(image)) = (args.next(), args.next()) else {
        return Err("usage: build FOLDER IMAGE".into());
    };
    let source = source::directory(&folder, &source::Options::default())?;
    let compressor = Compressor::Lz4Hc { level: 9 };
    let compression = Compression { compressor, pcluster: None, min_saving: 0 };
    let built = Builder::source(source)
        .options(|options| options.compression.files = Some(compression))
        .build_to(image)?;
    println!("{} bytes hold {} of content", built.report.image_bytes, built.report.content_bytes);
    Ok(())
}
