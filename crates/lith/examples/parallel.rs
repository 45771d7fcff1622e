//! Reads all files of an image by several threads: `cargo run --release -p lith --example parallel IMAGE [THREADS]`

use std::{
    path::PathBuf,
    sync::atomic::{AtomicU64, AtomicUsize, Ordering},
    thread,
    time::Instant,
};

use lith::{
    Image,
    format::file_type::FileType,
    reader::{Error, Inode},
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args_os().skip(1).map(PathBuf::from);
    let image = args.next().ok_or("usage: parallel IMAGE [THREADS]")?;
    let threads = match args.next() {
        Some(threads) => threads.to_string_lossy().parse()?,
        None => thread::available_parallelism()?.get(),
    };
    let image = Image::open_path(image)?;
    let start = Instant::now();
    let inodes = image.files().map(|visit| Ok(visit?.inode));
    let mut files = inodes.collect::<Result<Vec<_>, Error>>()?;
    files.retain(|inode| inode.file_type == FileType::Regular);
    let bytes = read(&image, &files, threads)?;
    println!("{bytes} bytes of {} files in {:?}", files.len(), start.elapsed());
    Ok(())
}

/// Every thread takes the next file that none has; the image needs no lock.
fn read(image: &Image, files: &[Inode], threads: usize) -> Result<u64, Error> {
    let (next, bytes) = (AtomicUsize::new(0), AtomicU64::new(0));
    let work = || {
        let mut buffer = vec![0; 1 << 20];
        while let Some(inode) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
            let file = image.file(inode)?;
            let mut position = 0;
            while position < file.size() {
                let length = (file.size() - position).min(buffer.len() as u64);
                let (part, _) = buffer.split_at_mut(usize::try_from(length).unwrap_or(0));
                file.read_at(part, position)?;
                position += length;
            }
            bytes.fetch_add(position, Ordering::Relaxed);
        }
        Ok::<_, Error>(())
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let mut done = threads.into_iter().map(thread::ScopedJoinHandle::join);
        done.try_for_each(|done| done.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })?;
    Ok(bytes.into_inner())
}
