//! How many pclusters, bytes and CPU seconds do our LZMA and DEFLATE encoders need, and the libraries?
//!
//! `cargo run --release -p lith-codec --example fit_lzma_deflate -- [-z lzma|deflate] [-l LEVEL]...
//! [-C 65536]... [-m MEGABYTES] [-n ROUNDS] [--ours] FILE...`
//!
//! Each file is cut into segments of 16 MiB; each segment is packed pcluster by pcluster, one plain
//! block where that gains nothing. Every stream is decoded and compared. Rows:
//!
//! - `ours`: one fill for each pcluster; where it gains nothing, all blocks it took are plain;
//! - `call`: the library's plain call on each piece that ours consumed (LZMA: a new stream for each);
//! - `search`: DEFLATE only, the plain call again and again until a prefix fills the pcluster.
//!
//! The least CPU time of all rounds counts.

use std::error::Error;
use std::fs;
use std::time::Duration;

use lith_codec::{Fit, trial};

const BLOCK: usize = 4096;
const SEGMENT: usize = 16 << 20;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Decodes a whole stream.
type Decode = fn(&[u8], &mut [u8]) -> Option<usize>;

/// How a segment is packed.
#[derive(Clone, Copy)]
struct Packing {
    size: usize,
    decode: Decode,
    /// After a fill that gained nothing, are all blocks that it took plain, or only one?
    whole_stretch: bool,
}

struct Options {
    is_lzma: bool,
    levels: Vec<u8>,
    sizes: Vec<usize>,
    most: usize,
    rounds: usize,
    ours_only: bool,
    files: Vec<String>,
}

#[derive(Clone, Copy, Default)]
struct Tally {
    bytes: usize,
    blocks: usize,
    pclusters: usize,
    plain: usize,
    time: Duration,
}

fn main() -> Outcome<()> {
    let options = parse()?;
    for file in &options.files {
        let data = fs::read(file)?;
        let data = data.get(..options.most).unwrap_or(&data);
        println!("{file}, {} bytes", data.len());
        for &size in &options.sizes {
            for &level in &options.levels {
                compare(&options, data, size, level)?;
            }
        }
    }
    Ok(())
}

fn parse() -> Outcome<Options> {
    let mut options = Options {
        is_lzma: false,
        levels: Vec::new(),
        sizes: Vec::new(),
        most: usize::MAX,
        rounds: 1,
        ours_only: false,
        files: Vec::new(),
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or(format!("{word} wants a value"));
        match word.as_str() {
            "-z" => options.is_lzma = value()? == "lzma",
            "-l" => options.levels.push(value()?.parse()?),
            "-C" => options.sizes.push(value()?.parse()?),
            "-m" => options.most = value()?.parse::<usize>()? << 20,
            "-n" => options.rounds = value()?.parse()?,
            "--ours" => options.ours_only = true,
            _ => options.files.push(word),
        }
    }
    if options.sizes.is_empty() {
        options.sizes.push(65536);
    }
    if options.levels.is_empty() {
        options.levels.push(if options.is_lzma { 6 } else { 9 });
    }
    Ok(options)
}

fn compare(options: &Options, data: &[u8], size: usize, level: u8) -> Outcome<()> {
    let rounds = options.rounds;
    let decode: Decode = if options.is_lzma { trial::unlzma } else { trial::inflate };
    let ours = Packing { size, decode, whole_stretch: true };
    let theirs = Packing { whole_stretch: false, ..ours };
    let (ours, call, search) = if options.is_lzma {
        let mut lzma = trial::Lzma::new(level, false, size);
        let ours = best(rounds, data, ours, |i, o| lzma.fill(i, o))?;
        let fresh = |i: &[u8], o: &mut [u8]| trial::Lzma::new(level, false, size).fill(i, o);
        (ours, best(rounds, data, theirs, fresh)?, None)
    } else {
        let mut deflate = trial::Deflate::new(level);
        let packing = ours;
        let ours = best(rounds, data, packing, |i, o| deflate.fill(i, o))?;
        if options.ours_only {
            print("ours", size, level, &ours, &ours);
            return Ok(());
        }
        let call = plain_calls(rounds, data, packing, level)?;
        let mut search = Search::new(level);
        (ours, call, Some(best(rounds, data, theirs, |i, o| search.fill(i, o))?))
    };
    let yardstick = search.unwrap_or(call);
    print("ours", size, level, &ours, &yardstick);
    print("call", size, level, &call, &yardstick);
    if let Some(search) = search {
        print("search", size, level, &search, &yardstick);
    }
    Ok(())
}

fn print(name: &str, size: usize, level: u8, tally: &Tally, yardstick: &Tally) {
    let Tally { bytes, blocks, pclusters, plain, time } = tally;
    println!(
        "{size:>7} level {level:>2} {name:<6} pclusters {pclusters:>6} plain {plain:>5} blocks {blocks:>6} \
         bytes {bytes:>9} cpu {:>7.2} s  ratios: blocks {:.4} cpu {:.3}",
        time.as_secs_f64(),
        ratio(*blocks, yardstick.blocks),
        time.div_duration_f64(yardstick.time),
    );
}

/// The library's call on the pieces that our encoder consumes.
fn plain_calls(rounds: usize, data: &[u8], packing: Packing, level: u8) -> Outcome<Tally> {
    let mut deflate = trial::Deflate::new(level);
    let mut library = trial::Libdeflate::new(level);
    let mut room = vec![0; 1 << 20];
    let mut least = Tally::default();
    for round in 0..rounds {
        let (mut time, mut bytes) = (Duration::ZERO, 0);
        let mut tally = pack(data, packing, |input, output| {
            let fit = deflate.fill(input, output);
            let piece = input.get(..fit.consumed).unwrap_or_default();
            room.resize(piece.len() + piece.len() / 64 + 1024, 0);
            let begin = cpu().unwrap_or_default();
            bytes += library.compress(piece, &mut room).unwrap_or(0);
            time += cpu().unwrap_or_default().saturating_sub(begin);
            fit
        })?;
        (tally.time, tally.bytes) = (time, bytes);
        if round == 0 || tally.time < least.time {
            least = tally;
        }
    }
    Ok(least)
}

/// As a library that can only be called as a whole is made to fill an output.
struct Search {
    library: trial::Libdeflate,
    level: usize,
    /// What the last pcluster held.
    last: usize,
}

impl Search {
    fn new(level: u8) -> Self {
        Self { library: trial::Libdeflate::new(level), level: level.into(), last: 0 }
    }

    fn fill(&mut self, input: &[u8], output: &mut [u8]) -> Fit {
        let room = output.len();
        let mut spare = vec![0; room + 9];
        let mut found = Fit { consumed: 0, written: 0 };
        let mut too_much = input.len() + 1;
        let mut guess = if self.last > 0 { self.last * 15 / 16 } else { room * 4 };
        while too_much > found.consumed + 1 {
            guess = guess.max(found.consumed + 1).min(too_much - 1);
            let piece = input.get(..guess).unwrap_or_default();
            let written = self.library.compress(piece, &mut spare).filter(|&size| size <= room);
            let Some(written) = written else {
                too_much = guess;
                guess = found.consumed.midpoint(too_much);
                continue;
            };
            found = Fit { consumed: guess, written };
            output.copy_from_slice(spare.get(..room).unwrap_or_default());
            if written + 22usize.saturating_sub(2 * self.level) >= room {
                break;
            }
            guess = room * guess / written;
        }
        self.last = found.consumed;
        found
    }
}

fn best(
    rounds: usize,
    data: &[u8],
    packing: Packing,
    mut fill: impl FnMut(&[u8], &mut [u8]) -> Fit,
) -> Outcome<Tally> {
    let mut least = pack(data, packing, &mut fill)?;
    for _ in 1..rounds {
        let tally = pack(data, packing, &mut fill)?;
        if tally.time < least.time {
            least = tally;
        }
    }
    Ok(least)
}

fn pack(
    data: &[u8],
    packing: Packing,
    mut fill: impl FnMut(&[u8], &mut [u8]) -> Fit,
) -> Outcome<Tally> {
    let Packing { size, decode, whole_stretch } = packing;
    let mut tally = Tally::default();
    let mut output = vec![0; size];
    for segment in data.chunks(SEGMENT) {
        let mut rest = segment;
        while !rest.is_empty() {
            let begin = cpu()?;
            let fit = fill(rest, &mut output);
            tally.time += cpu()?.saturating_sub(begin);
            let stream = output.get(..fit.written).ok_or("more written than there is room")?;
            let mut decoded = vec![0; fit.consumed];
            if fit.consumed > 0 && decode(stream, &mut decoded) != Some(fit.consumed)
                || !rest.starts_with(&decoded)
            {
                return Err("decoded data differs".into());
            }
            let taken = if fit.written.next_multiple_of(BLOCK) < fit.consumed {
                tally.pclusters += 1;
                tally.bytes += fit.written;
                tally.blocks += fit.written.div_ceil(BLOCK);
                fit.consumed
            } else {
                let stretch = if whole_stretch { fit.consumed / BLOCK * BLOCK } else { 0 };
                let taken = stretch.max(BLOCK).min(rest.len());
                tally.plain += taken.div_ceil(BLOCK);
                tally.bytes += taken;
                tally.blocks += taken.div_ceil(BLOCK);
                taken
            };
            rest = rest.get(taken..).ok_or("more consumed than there is")?;
        }
    }
    Ok(tally)
}

#[expect(clippy::cast_precision_loss, reason = "figures for people")]
fn ratio(a: usize, b: usize) -> f64 {
    a as f64 / b as f64
}

/// CPU time of this thread.
fn cpu() -> Outcome<Duration> {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Ok(Duration::new(now.tv_sec.try_into()?, now.tv_nsec.try_into()?))
}
