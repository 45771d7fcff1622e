//! Measures random reads: their rate and what they read and decode.
//!
//! `random IMAGE [THREADS [COUNT [SIZE [CACHE [WAY]]]]]` reads COUNT times SIZE bytes of the largest file by each of
//! THREADS threads, with CACHE bytes of decoded content. WAY is `direct`, `buffered`, `rolling`, `inplace`, or
//! `handoff`: then every read is sent to another thread, which decodes and sends it back.

use std::{
    sync::{Arc, mpsc},
    time::Instant,
};

use lith_device::FileDevice;
use lith_format::{addr::Nid, file_type::FileType};
use lith_reader::{Error, File, Image, Inode, Options, Way};

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// A read for the thread that does it: its position, and the channel for its bytes.
type Order = (u64, mpsc::Sender<Result<Vec<u8>, Error>>);

fn main() -> Result<(), Failure> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let path =
        arguments.first().ok_or("usage: random IMAGE [THREADS [COUNT [SIZE [CACHE [WAY]]]]]")?;
    let number = |index: usize, default| {
        arguments.get(index).map_or(Ok(default), |word| word.parse::<usize>())
    };
    let (threads, count, size) = (number(1, 4)?, number(2, 10_000)?, number(3, 4096)?);
    let mut options = Options::default();
    options.limits.decoded_cache = number(4, options.limits.decoded_cache)?;
    let way = arguments.get(5).map_or("", String::as_str);
    options.way = match way {
        "direct" => Some(Way::Direct),
        "buffered" => Some(Way::Buffered),
        "rolling" => Some(Way::Rolling),
        "inplace" => Some(Way::InPlace),
        "" | "handoff" => None,
        _ => return Err(format!("{way}: no such way").into()),
    };
    let device = FileDevice::open(path)?;
    let image = Arc::new(Image::open_with(vec![Box::new(device)], options)?);
    let inode = largest(&image)?;
    let start = Instant::now();
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..threads as u64)
            .map(|seed| {
                let image = Arc::clone(&image);
                scope.spawn(move || {
                    if way == "handoff" {
                        return handed_off(&image, &inode, seed, (count, size));
                    }
                    let (file, mut buf) = (image.file(&inode)?, vec![0; size]);
                    positions(seed, &file, count, size)
                        .try_for_each(|at| Ok(file.read_at(&mut buf, at)?))
                })
            })
            .collect();
        readers
            .into_iter()
            .try_for_each(|reader| reader.join().unwrap_or(Err("a reader panicked".into())))
    })?;
    let seconds = start.elapsed().as_secs_f64();
    #[expect(clippy::cast_precision_loss, reason = "rates for people")]
    let rate = (threads * count) as f64 / seconds;
    println!("{seconds:.3} s, {rate:.0} reads/s, {:?}", image.stats());
    Ok(())
}

/// Reads by another thread, as a server would with a pool of decoding threads.
fn handed_off(
    image: &Image,
    inode: &Inode,
    seed: u64,
    (count, size): (usize, usize),
) -> Result<(), Failure> {
    let file = image.file(inode)?;
    let (orders, taken) = mpsc::channel::<Order>();
    std::thread::scope(|scope| {
        let worker = &file;
        scope.spawn(move || {
            for (at, back) in taken {
                let mut buf = vec![0; size];
                // Fails only if the receiver has ended.
                let _ = back.send(worker.read_at(&mut buf, at).map(|()| buf));
            }
        });
        let done = positions(seed, &file, count, size).try_for_each(|at| {
            let (back, bytes) = mpsc::channel();
            orders.send((at, back))?;
            bytes.recv()??;
            Ok(())
        });
        drop(orders);
        done
    })
}

/// Positions in a file, the same for the same seed.
fn positions(seed: u64, file: &File<'_>, count: usize, size: usize) -> impl Iterator<Item = u64> {
    let last = file.size().saturating_sub(size as u64) / 4096;
    let mut state = seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (0..count).map(move |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % (last + 1) * 4096
    })
}

fn largest(image: &Image) -> Result<Inode, Failure> {
    let mut directories = vec![image.root()?];
    let mut found: Option<Inode> = None;
    while let Some(directory) = directories.pop() {
        for entry in image.read_dir(&directory)? {
            let nid: Nid = entry?.nid;
            let inode = image.inode(nid)?;
            match inode.file_type {
                FileType::Directory => directories.push(inode),
                FileType::Regular if found.is_none_or(|found| found.size < inode.size) => {
                    found = Some(inode);
                }
                _ => {}
            }
        }
    }
    found.ok_or_else(|| "no file in the image".into())
}
