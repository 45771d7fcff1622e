//! Lists the names in an image: `cargo run --release -p lith --example list IMAGE`

use std::{io::Write, path::PathBuf};

use lith::Image;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let image = std::env::args_os().nth(1).map(PathBuf::from).ok_or("usage: list IMAGE")?;
    let image = Image::open_path(image)?;
    let mut output = std::io::stdout().lock();
    for visit in image.files() {
        // One damaged directory does not hide the others.
        match visit {
            Ok(visit) => {
                let path = String::from_utf8_lossy(&visit.path);
                let (kind, size) = (visit.inode.file_type, visit.inode.size);
                writeln!(output, "{kind:?} {size:>12} {path}")?;
            }
            Err(error) => eprintln!("{error}"),
        }
    }
    Ok(())
}
