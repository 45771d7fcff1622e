//! Measures how small and how fast each encoder packs.
//!
//! `cargo run --release -p lith-codec --example pack -- [-z lzma,6]... [-C 1048576]... [-n ROUNDS] FILE...`
//!
//! Each file is packed to pclusters one after another, as a builder does it. Printed are the bytes of all pclusters, and
//! the megabytes packed in a second of CPU time, the best of all rounds.

use std::error::Error;
use std::time::Duration;

use lith_codec::{Compressor, Encoder};

/// Bytes of an extent at most.
const LONGEST: usize = 12 << 20;

type Outcome<T> = Result<T, Box<dyn Error>>;

struct Options {
    compressors: Vec<Compressor>,
    sizes: Vec<usize>,
    rounds: usize,
    files: Vec<(String, Vec<u8>)>,
}

fn main() -> Outcome<()> {
    let options = parse()?;
    println!("{:<16} {:>8} {:>10} {:>8}  file", "", "pcluster", "bytes", "MB/s");
    for (name, content) in &options.files {
        for &size in &options.sizes {
            for compressor in &options.compressors {
                let (bytes, speed) = best(compressor, size, content, options.rounds)?;
                println!(
                    "{:<16} {size:>8} {bytes:>10} {speed:>8.2}  {name}",
                    compressor.to_string()
                );
            }
        }
    }
    Ok(())
}

fn parse() -> Outcome<Options> {
    let (compressors, sizes) = (Vec::new(), Vec::new());
    let mut options = Options { compressors, sizes, rounds: 1, files: Vec::new() };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or(format!("{word} wants a value"));
        match word.as_str() {
            "-z" => options.compressors.push(value()?.parse()?),
            "-C" => options.sizes.push(value()?.parse()?),
            "-n" => options.rounds = value()?.parse()?,
            _ => {
                let content = std::fs::read(&word)?;
                options.files.push((word, content));
            }
        }
    }
    if options.compressors.is_empty() {
        options.compressors.push("lzma,6".parse()?);
    }
    if options.sizes.is_empty() {
        options.sizes.push(1 << 20);
    }
    Ok(options)
}

/// Bytes of all pclusters, and megabytes in a second.
#[expect(clippy::cast_precision_loss, reason = "figures for people")]
fn best(
    compressor: &Compressor,
    size: usize,
    content: &[u8],
    rounds: usize,
) -> Outcome<(usize, f64)> {
    let mut encoder = Encoder::for_pclusters(compressor, u32::try_from(size)?);
    let (mut bytes, mut speed) = (0, 0.0_f64);
    for _ in 0..rounds {
        let begin = cpu()?;
        bytes = pack(&mut encoder, size, content)?;
        let time = cpu()?.saturating_sub(begin);
        speed = speed.max(content.len() as f64 / 1e6 / time.as_secs_f64());
    }
    Ok((bytes, speed))
}

/// Bytes of all pclusters that hold `content`, and of blocks of 4 KiB where nothing is gained.
///
/// The last one counts as many bytes as it would if the content went on: so the figure does not depend on where that ends.
fn pack(encoder: &mut Encoder, size: usize, content: &[u8]) -> Outcome<usize> {
    let (mut rest, mut bytes, mut output) = (content, 0, vec![0; size]);
    while !rest.is_empty() {
        let input = rest.get(..LONGEST).unwrap_or(rest);
        let (taken, stored) = if let Some(fit) = encoder.fill(input, &mut output)? {
            (fit.consumed, fit.written)
        } else {
            let run = encoder.plain_run(input, size, 4096);
            (run, run)
        };
        bytes += stored;
        rest = rest.get(taken..).unwrap_or_default();
    }
    Ok(bytes)
}

/// CPU time of this thread.
fn cpu() -> Outcome<Duration> {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Ok(Duration::new(now.tv_sec.try_into()?, now.tv_nsec.try_into()?))
}
