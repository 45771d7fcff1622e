//! Measures how fast each way to decode is, for each algorithm and size of pcluster.
//!
//! `cargo run --release -p lith-codec --example ways -- [-z zstd,9]... [-C 65536]... [-n ROUNDS] FILE...`
//!
//! The files are packed to pclusters, each of which is then decoded in every way. Printed are megabytes that reach
//! the reader's buffer in a second of CPU time, the best of all rounds.

use std::error::Error;
use std::hint::black_box;
use std::time::Duration;

use lith_codec::{
    Algorithm, Compressor, DecodeError, Encoder, Window, decode, decode_in_place, decode_partial,
    decode_rolling, in_place_margin,
};

/// Bytes read of each file.
const MOST: usize = 16 << 20;
/// Bytes of an extent at most.
const WINDOW: usize = 4 << 20;

type Outcome<T> = Result<T, Box<dyn Error>>;

struct Options {
    compressors: Vec<Compressor>,
    sizes: Vec<usize>,
    rounds: usize,
    contents: Vec<Vec<u8>>,
}

/// A pcluster's stream, and how many bytes it decodes to.
struct Pcluster {
    algorithm: Algorithm,
    stream: Vec<u8>,
    length: usize,
}

/// The buffers of one reader.
#[derive(Default)]
struct Buffers {
    wanted: Vec<u8>,
    between: Vec<u8>,
    window: Window,
}

/// Decodes one pcluster; returns the bytes that reached the reader's buffer.
type Way = fn(&Pcluster, &mut Buffers) -> Outcome<usize>;

const WAYS: [(&str, Way); 9] = [
    ("whole", whole),
    ("whole, copied", whole_copied),
    ("whole, in place", whole_in_place),
    ("first half", first_half),
    ("first 4 KiB", first_block),
    ("second half, copied", second_half_copied),
    ("second half, rolling", second_half_rolling),
    ("last 4 KiB, copied", last_block_copied),
    ("last 4 KiB, rolling", last_block_rolling),
];

fn whole(pcluster: &Pcluster, buffers: &mut Buffers) -> Outcome<usize> {
    let wanted = room(&mut buffers.wanted, pcluster.length);
    decode(pcluster.algorithm, &pcluster.stream, wanted)?;
    Ok(wanted.len())
}

fn whole_copied(pcluster: &Pcluster, buffers: &mut Buffers) -> Outcome<usize> {
    let between = room(&mut buffers.between, pcluster.length);
    decode(pcluster.algorithm, &pcluster.stream, between)?;
    let wanted = room(&mut buffers.wanted, pcluster.length);
    wanted.copy_from_slice(between);
    Ok(wanted.len())
}

fn first_half(pcluster: &Pcluster, buffers: &mut Buffers) -> Outcome<usize> {
    first(pcluster, buffers, pcluster.length / 2)
}

fn first_block(pcluster: &Pcluster, buffers: &mut Buffers) -> Outcome<usize> {
    first(pcluster, buffers, pcluster.length.min(4096))
}

fn first(pcluster: &Pcluster, buffers: &mut Buffers, length: usize) -> Outcome<usize> {
    let wanted = room(&mut buffers.wanted, length);
    decode_partial(pcluster.algorithm, &pcluster.stream, wanted)?;
    Ok(length)
}

/// The stream has to be brought to the end of the buffer first, which a reader's device does.
fn whole_in_place(pcluster: &Pcluster, buffers: &mut Buffers) -> Outcome<usize> {
    let Pcluster { algorithm, stream, length } = pcluster;
    let Some(margin) = in_place_margin(*algorithm, stream.len(), *length) else { return Ok(0) };
    let end = (length + margin).max(stream.len());
    let buffer = room(&mut buffers.wanted, end);
    let start = end - stream.len();
    buffer.split_at_mut(start).1.copy_from_slice(stream);
    match decode_in_place(*algorithm, buffer, start..end, *length) {
        Err(DecodeError::NotInPlace { .. }) => Ok(0),
        done => done.map(|()| *length).map_err(Into::into),
    }
}

fn second_half_copied(pcluster: &Pcluster, buffers: &mut Buffers) -> Outcome<usize> {
    copied(pcluster, buffers, pcluster.length / 2)
}

fn second_half_rolling(pcluster: &Pcluster, buffers: &mut Buffers) -> Outcome<usize> {
    rolling(pcluster, buffers, pcluster.length / 2)
}

fn last_block_copied(pcluster: &Pcluster, buffers: &mut Buffers) -> Outcome<usize> {
    copied(pcluster, buffers, pcluster.length.saturating_sub(4096))
}

fn last_block_rolling(pcluster: &Pcluster, buffers: &mut Buffers) -> Outcome<usize> {
    rolling(pcluster, buffers, pcluster.length.saturating_sub(4096))
}

/// The bytes after the first `skip`, by way of a buffer for all.
fn copied(pcluster: &Pcluster, buffers: &mut Buffers, skip: usize) -> Outcome<usize> {
    let between = room(&mut buffers.between, pcluster.length);
    decode_partial(pcluster.algorithm, &pcluster.stream, between)?;
    let (_, wanted) = between.split_at(skip);
    room(&mut buffers.wanted, wanted.len()).copy_from_slice(wanted);
    Ok(wanted.len())
}

fn rolling(pcluster: &Pcluster, buffers: &mut Buffers, skip: usize) -> Outcome<usize> {
    let wanted = room(&mut buffers.wanted, pcluster.length - skip);
    decode_rolling(pcluster.algorithm, &pcluster.stream, skip, wanted, &mut buffers.window)?;
    Ok(wanted.len())
}

/// The first `length` bytes of a buffer that grows as needed.
fn room(buffer: &mut Vec<u8>, length: usize) -> &mut [u8] {
    if buffer.len() < length {
        buffer.resize(length, 0);
    }
    buffer.split_at_mut(length).0
}

fn main() -> Outcome<()> {
    let options = parse()?;
    println!("{:<12} {:>8} {:<20} {:>8}", "", "pcluster", "way", "MB/s");
    for compressor in &options.compressors {
        for &size in &options.sizes {
            let pclusters = pack(compressor, size, &options.contents)?;
            for (name, way) in WAYS {
                let speed = best(&pclusters, way, options.rounds)?;
                if speed > 0.0 {
                    println!("{:<12} {size:>8} {name:<20} {speed:>8.1}", compressor.to_string());
                }
            }
        }
    }
    Ok(())
}

fn parse() -> Outcome<Options> {
    let (compressors, sizes) = (Vec::new(), Vec::new());
    let mut options = Options { compressors, sizes, rounds: 5, contents: Vec::new() };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or(format!("{word} wants a value"));
        match word.as_str() {
            "-z" => options.compressors.push(value()?.parse()?),
            "-C" => options.sizes.push(value()?.parse()?),
            "-n" => options.rounds = value()?.parse()?,
            _ => options.contents.push(load(&word)?),
        }
    }
    if options.compressors.is_empty() {
        let names = ["lz4hc,12", "deflate,9", "zstd,9", "lzma,6"];
        options.compressors = names.map(str::parse).into_iter().collect::<Result<_, _>>()?;
    }
    if options.sizes.is_empty() {
        options.sizes = vec![4096, 65536, 1 << 20];
    }
    Ok(options)
}

fn load(path: &str) -> Outcome<Vec<u8>> {
    let mut content = std::fs::read(path)?;
    content.truncate(MOST);
    Ok(content)
}

/// The pclusters of all files; what can't be compressed is left out.
fn pack(compressor: &Compressor, size: usize, contents: &[Vec<u8>]) -> Outcome<Vec<Pcluster>> {
    let mut encoder = Encoder::for_pclusters(compressor, u32::try_from(size)?);
    let (mut pclusters, mut output) = (Vec::new(), vec![0; size]);
    for content in contents {
        let mut rest = content.as_slice();
        while !rest.is_empty() {
            let input = rest.get(..WINDOW).unwrap_or(rest);
            let fit = encoder.fill(input, &mut output)?;
            let taken = fit.map_or(rest.len().min(4096), |fit| fit.consumed);
            let (held, after) = rest.split_at(taken);
            if let Some(fit) = fit {
                let stream = output.get(..fit.written).unwrap_or_default().to_vec();
                let pcluster =
                    Pcluster { algorithm: compressor.algorithm(), stream, length: held.len() };
                pclusters.push(pcluster);
            }
            rest = after;
        }
    }
    Ok(pclusters)
}

#[expect(clippy::cast_precision_loss, reason = "figures for people")]
fn best(pclusters: &[Pcluster], way: Way, rounds: usize) -> Outcome<f64> {
    let mut buffers = Buffers::default();
    let mut best = 0.0_f64;
    for _ in 0..rounds {
        let (begin, mut bytes) = (cpu()?, 0);
        for pcluster in pclusters {
            bytes += way(pcluster, &mut buffers)?;
            black_box(&buffers.wanted);
        }
        let time = cpu()?.saturating_sub(begin);
        best = best.max(bytes as f64 / 1e6 / time.as_secs_f64());
    }
    Ok(best)
}

/// CPU time of this thread.
fn cpu() -> Outcome<Duration> {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Ok(Duration::new(now.tv_sec.try_into()?, now.tv_nsec.try_into()?))
}
