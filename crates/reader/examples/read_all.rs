//! How fast does an image read? `read_all IMAGE [BUFFER [ROUNDS [WAY]]]` reads every file from beginning to end.

use std::{path::Path, time::Instant};

use lith_device::FileDevice;
use lith_format::file_type::FileType;
use lith_reader::{Error, Image, Options, Way};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("usage: read_all IMAGE [BUFFER [ROUNDS [WAY]]]")?;
    let buffer = arguments.next().map_or(Ok(1 << 20), |buffer| buffer.parse())?;
    let rounds = arguments.next().map_or(Ok(1), |rounds| rounds.parse::<u32>())?;
    let way = match arguments.next().as_deref() {
        Some("direct") => Some(Way::Direct),
        Some("buffered") => Some(Way::Buffered),
        Some("rolling") => Some(Way::Rolling),
        Some("inplace") => Some(Way::InPlace),
        _ => None,
    };
    let options = Options { way, ..Options::default() };
    for _ in 0..rounds {
        let start = Instant::now();
        let device = FileDevice::open(Path::new(&path))?;
        let image = Image::open_with(vec![Box::new(device)], options)?;
        let (inodes, bytes) = read(&image, buffer)?;
        let seconds = start.elapsed().as_secs_f64();
        #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
        let rate = bytes as f64 / 1e6 / seconds;
        println!(
            "{inodes} inodes, {bytes} bytes in {seconds:.3} s: {rate:.0} MB/s, {:?}",
            image.stats()
        );
    }
    Ok(())
}

/// Reads everything; returns how many names there are and how many bytes they have.
fn read(image: &Image, buffer: usize) -> Result<(u64, u64), Error> {
    let mut buffer = vec![0; buffer.max(1)];
    let mut directories = vec![image.root()?];
    let (mut inodes, mut bytes) = (0, 0);
    while let Some(directory) = directories.pop() {
        for entry in image.read_dir(&directory)? {
            let inode = image.inode(entry?.nid)?;
            inodes += 1;
            match inode.file_type {
                FileType::Directory => directories.push(inode),
                FileType::Regular if buffer.len() > 1 => {
                    let file = image.file(&inode)?;
                    let mut position = 0;
                    while position < file.size() {
                        let rest = usize::try_from(file.size() - position).unwrap_or(usize::MAX);
                        let length = rest.min(buffer.len());
                        let (part, _) = buffer.split_at_mut(length);
                        file.read_at(part, position)?;
                        position += length as u64;
                    }
                    bytes += file.size();
                }
                _ => {}
            }
        }
    }
    Ok((inodes, bytes))
}
