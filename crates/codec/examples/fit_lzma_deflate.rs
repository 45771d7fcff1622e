//! How many pclusters and how much CPU do our LZMA and DEFLATE encoders need, and other ways?
//!
//! `cargo run --release -p lith-codec --example fit_lzma_deflate -- [-z lzma|deflate] [-l LEVEL]...
//! [-C 65536]... [-m MEGABYTES] [-n ROUNDS] FILE...`
//!
//! Each file is cut into segments of 16 MiB; each segment is packed pcluster by pcluster, one plain
//! block where that gains nothing. Every stream is decoded and compared. The least CPU time counts.

use std::error::Error;
use std::fs;
use std::time::Duration;

use lith_codec::{Fit, trial};

const BLOCK: usize = 4096;
const SEGMENT: usize = 16 << 20;

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let mut words = std::env::args().skip(1);
    let (mut levels, mut sizes, mut files) = (Vec::new(), Vec::new(), Vec::new());
    let (mut name, mut most) = ("lzma".to_owned(), usize::MAX);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or(format!("{word} wants a value"));
        match word.as_str() {
            "-z" => name = value()?,
            "-l" => levels.push(value()?.parse::<u8>()?),
            "-C" => sizes.push(value()?.parse::<usize>()?),
            "-m" => most = value()?.parse::<usize>()? << 20,
            _ => files.push(word),
        }
    }
    for file in &files {
        let data = fs::read(file)?;
        let data = data.get(..most).unwrap_or(&data);
        for &size in &sizes {
            for &level in &levels {
                let mut lzma = trial::Lzma::new(level, false, size);
                let tally = pack(data, size, |i, o| lzma.fill(i, o))?;
                println!("{name} {file} {size} {level} {tally:?}");
            }
        }
    }
    Ok(())
}

#[derive(Clone, Copy, Default, Debug)]
struct Tally {
    bytes: usize,
    blocks: usize,
    pclusters: usize,
    plain: usize,
    time: Duration,
}

fn pack(data: &[u8], size: usize, mut fill: impl FnMut(&[u8], &mut [u8]) -> Fit) -> Outcome<Tally> {
    let mut tally = Tally::default();
    let mut output = vec![0; size];
    for segment in data.chunks(SEGMENT) {
        let mut rest = segment;
        while !rest.is_empty() {
            let begin = cpu()?;
            let fit = fill(rest, &mut output);
            tally.time += cpu()?.saturating_sub(begin);
            let taken = if fit.written.next_multiple_of(BLOCK) < fit.consumed {
                tally.bytes += fit.written;
                tally.blocks += fit.written.div_ceil(BLOCK);
                tally.pclusters += 1;
                let mut decoded = vec![0; fit.consumed];
                let stream = output.get(..fit.written).unwrap_or_default();
                if trial::unlzma(stream, &mut decoded) != Some(fit.consumed)
                    || !rest.starts_with(&decoded)
                {
                    return Err("decoded data differs".into());
                }
                fit.consumed
            } else {
                let plain = BLOCK.min(rest.len());
                tally.bytes += plain;
                tally.blocks += 1;
                tally.plain += 1;
                plain
            };
            rest = rest.get(taken..).unwrap_or_default();
        }
    }
    Ok(tally)
}

/// CPU time of this thread.
fn cpu() -> Outcome<Duration> {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Ok(Duration::new(now.tv_sec.try_into()?, now.tv_nsec.try_into()?))
}
