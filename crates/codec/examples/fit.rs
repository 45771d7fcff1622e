//! How many blocks and how much CPU do our encoder and liblz4's need for the same files?
//!
//! `cargo run --release -p lith-codec --example fit -- [-z lz4hc,12] [-C 65536]... [-n ROUNDS] PATH...`
//!
//! Both pack each file in turn as mkfs.erofs does: one fill for each pcluster over the rest of the
//! file, one plain block where that gains nothing. Ours asks `plain_run` how many. Every
//! stream is decoded and compared. The least CPU time of all rounds counts.

use std::collections::HashSet;
use std::error::Error;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use lith_codec::{Algorithm, Compressor, Encoder, decode};

const BLOCK: usize = 4096;
/// Most of a file that an encoder is shown at once.
const WINDOW: usize = 4 << 20;

type Outcome<T> = Result<T, Box<dyn Error>>;

struct Options {
    compressor: Compressor,
    sizes: Vec<usize>,
    rounds: usize,
    paths: Vec<PathBuf>,
}

#[derive(Clone, Copy, Default)]
struct Tally {
    blocks: usize,
    pclusters: usize,
    plain: usize,
    time: Duration,
}

fn main() -> Outcome<()> {
    let options = parse()?;
    let files = load(&options.paths)?;
    let bytes: usize = files.iter().map(Vec::len).sum();
    println!("{} files, {bytes} bytes, {}", files.len(), options.compressor);
    for &size in &options.sizes {
        let library = best(&options, &files, size, false)?;
        let ours = best(&options, &files, size, true)?;
        print("liblz4", size, bytes, &library);
        print("ours", size, bytes, &ours);
        println!(
            "{size:>7} ratio   cpu {:.3}  blocks {:.5}",
            ours.time.div_duration_f64(library.time),
            ratio(ours.blocks, library.blocks)
        );
    }
    Ok(())
}

fn parse() -> Outcome<Options> {
    let mut options = Options {
        compressor: Compressor::Lz4Hc { level: 12 },
        sizes: Vec::new(),
        rounds: 1,
        paths: Vec::new(),
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or(format!("{word} wants a value"));
        match word.as_str() {
            "-z" => options.compressor = value()?.parse()?,
            "-C" => options.sizes.push(value()?.parse()?),
            "-n" => options.rounds = value()?.parse()?,
            _ => options.paths.push(word.into()),
        }
    }
    if options.sizes.is_empty() {
        options.sizes = vec![4096, 16384, 65536, 131_072];
    }
    Ok(options)
}

/// The contents of all regular files below `paths`, hard links once.
fn load(paths: &[PathBuf]) -> Outcome<Vec<Vec<u8>>> {
    let (mut files, mut seen) = (Vec::new(), HashSet::new());
    for path in paths {
        gather(path, &mut files, &mut seen)?;
    }
    files.sort();
    files.iter().map(|file| Ok(fs::read(file)?)).collect()
}

fn gather(path: &Path, files: &mut Vec<PathBuf>, seen: &mut HashSet<(u64, u64)>) -> Outcome<()> {
    let meta = path.symlink_metadata()?;
    if meta.is_file() && seen.insert((meta.dev(), meta.ino())) {
        files.push(path.to_owned());
    } else if meta.is_dir() {
        for entry in fs::read_dir(path)? {
            gather(&entry?.path(), files, seen)?;
        }
    }
    Ok(())
}

fn best(options: &Options, files: &[Vec<u8>], size: usize, ours: bool) -> Outcome<Tally> {
    let mut best: Option<Tally> = None;
    for _ in 0..options.rounds {
        let mut encoder = if ours {
            Encoder::new(&options.compressor)
        } else {
            Encoder::of_library(&options.compressor)
        };
        let mut total = Tally::default();
        for file in files {
            pack(&mut encoder, file, size, ours, &mut total)?;
        }
        if best.is_none_or(|best| total.time < best.time) {
            best = Some(total);
        }
    }
    Ok(best.unwrap_or_default())
}

fn pack(
    encoder: &mut Encoder,
    file: &[u8],
    size: usize,
    ours: bool,
    tally: &mut Tally,
) -> Outcome<()> {
    let mut output = vec![0; size];
    let mut rest = file;
    while !rest.is_empty() {
        let input = rest.get(..WINDOW).unwrap_or(rest);
        let begin = cpu()?;
        let fit = if rest.len() > BLOCK { encoder.fill(input, &mut output)? } else { None };
        let fit = fit.filter(|fit| fit.written.next_multiple_of(BLOCK) < fit.consumed);
        let taken = match fit {
            Some(fit) => fit.consumed,
            None if ours => encoder.plain_run(input, size, BLOCK),
            None => rest.len().min(BLOCK),
        };
        tally.time += cpu()?.saturating_sub(begin);
        let (content, after) = rest.split_at(taken);
        if let Some(fit) = fit {
            check(output.get(..fit.written).unwrap_or_default(), content)?;
            tally.blocks += fit.written.div_ceil(BLOCK);
            tally.pclusters += 1;
        } else {
            tally.blocks += taken.div_ceil(BLOCK);
            tally.plain += taken.div_ceil(BLOCK);
        }
        rest = after;
    }
    Ok(())
}

fn check(stream: &[u8], content: &[u8]) -> Outcome<()> {
    let mut decoded = vec![0; content.len()];
    decode(Algorithm::Lz4, stream, &mut decoded)?;
    if decoded == content { Ok(()) } else { Err("decoded data differs".into()) }
}

fn print(name: &str, size: usize, bytes: usize, tally: &Tally) {
    let Tally { blocks, pclusters, plain, time } = tally;
    let speed = ratio(bytes, 1_000_000) / time.as_secs_f64();
    println!(
        "{size:>7} {name:<7} blocks {blocks:>7} pclusters {pclusters:>6} plain {plain:>6} \
         cpu {:>8.3} s {speed:>6.2} MB/s",
        time.as_secs_f64(),
    );
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
