//! Writes files of an image to standard output: `cargo run --release -p lith --example cat IMAGE PATH...`

use std::{io, os::unix::ffi::OsStrExt, path::PathBuf};

use lith::Image;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args_os().skip(1).map(PathBuf::from);
    let image = args.next().ok_or("usage: cat IMAGE PATH...")?;
    let image = Image::open_path(image)?;
    for path in args {
        let inode = image.resolve_following(path.as_os_str().as_bytes())?;
        let file = image.file(&inode)?;
        // The more is read at once, the faster.
        let mut handle = io::BufReader::with_capacity(1 << 20, file.into_handle());
        io::copy(&mut handle, &mut io::stdout().lock())?;
    }
    Ok(())
}
