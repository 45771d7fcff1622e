//! Makes an image of a directory: `cargo run --release --example build DIRECTORY IMAGE`.

use std::path::PathBuf;

use lith::{Builder, Preset};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args_os().skip(1).map(PathBuf::from);
    let (Some(directory), Some(image)) = (args.next(), args.next()) else {
        return Err("usage: build DIRECTORY IMAGE".into());
    };
    let built =
        Builder::directory(directory).preset(Preset::Fast).exclude("*.o").build_to(image)?;
    for note in &built.notes {
        eprintln!("{note:?}");
    }
    let report = built.report;
    println!("{} bytes hold {} of content", report.image_bytes, report.content_bytes);
    Ok(())
}
