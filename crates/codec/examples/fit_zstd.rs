//! How many pclusters and how much CPU do our zstd encoder and repeated whole compressions need?
//!
//! `cargo run --release -p lith-codec --example fit_zstd -- [-l LEVEL]... [-C BYTES]... [-w LOG] [-m MIB] [-s] FILE...`
//!
//! Each file is cut into segments of 16 MiB. `plain` compresses the pieces that ours came to, each
//! with one call: the floor of any search's time, with the sizes found for free. `search` is
//! upstream's way: secant steps over whole calls until the largest prefix that fits is found to within
//! a block. `perfect` goes on to the byte. `-s` leaves both searches out.

use std::error::Error;
use std::time::Duration;

use lith_codec::Zstd;
use zstd::zstd_safe::{CCtx, CParameter, DCtx};

type Outcome<T> = Result<T, Box<dyn Error>>;

const SEGMENT: usize = 16 << 20;
/// Most content of a pcluster.
const MAX_CONTENT: usize = 12 << 20;

struct Options {
    levels: Vec<i32>,
    rooms: Vec<usize>,
    window_log: Option<u32>,
    limit: usize,
    search: bool,
    paths: Vec<String>,
}

/// What is compared.
#[derive(Clone, Copy)]
struct Case {
    room: usize,
    level: i32,
    window_log: u32,
}

#[derive(Default)]
struct Tally {
    pclusters: usize,
    written: usize,
    calls: usize,
    time: Duration,
}

fn main() -> Outcome<()> {
    let options = parse()?;
    for path in &options.paths {
        let mut data = std::fs::read(path)?;
        data.truncate(options.limit);
        println!("{path}: {} bytes", data.len());
        for &room in &options.rooms {
            for &level in &options.levels {
                compare(&options, &data, room, level)?;
            }
        }
    }
    Ok(())
}

fn parse() -> Outcome<Options> {
    let mut options = Options {
        levels: Vec::new(),
        rooms: Vec::new(),
        window_log: None,
        limit: usize::MAX,
        search: true,
        paths: Vec::new(),
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or(format!("{word} wants a value"));
        match word.as_str() {
            "-l" => options.levels.push(value()?.parse()?),
            "-C" => options.rooms.push(value()?.parse()?),
            "-w" => options.window_log = Some(value()?.parse()?),
            "-m" => options.limit = value()?.parse::<usize>()? << 20,
            "-s" => options.search = false,
            _ => options.paths.push(word),
        }
    }
    if options.levels.is_empty() {
        options.levels = vec![3, 9, 15, 19];
    }
    if options.rooms.is_empty() {
        options.rooms = vec![65536];
    }
    Ok(options)
}

fn compare(options: &Options, data: &[u8], room: usize, level: i32) -> Outcome<()> {
    // As upstream chooses it.
    let window_log = options.window_log.unwrap_or((room * 8).min(1 << 20).ilog2());
    let case = Case { room, level, window_log };
    let (ours, pieces) = ours(data, case)?;
    let plain = plain(&pieces, case)?;
    let print = |name, tally| print(name, case, tally, [&ours, &plain]);
    print("ours", &ours);
    print("plain", &plain);
    if options.search {
        let [search, perfect] = search(data, case)?;
        print("search", &search);
        print("perfect", &perfect);
    }
    Ok(())
}

/// A line of the table; ratios are to our pclusters and to the plain compression's time.
fn print(name: &str, case: Case, tally: &Tally, [ours, plain]: [&Tally; 2]) {
    println!(
        "{:>8} {:>3} {name:<8} pclusters {:>6} ({:.4}) bytes {:>10} calls {:>6} cpu {:>8.3} s ({:.3})",
        case.room,
        case.level,
        tally.pclusters,
        ratio(tally.pclusters, ours.pclusters),
        tally.written,
        tally.calls,
        tally.time.as_secs_f64(),
        tally.time.div_duration_f64(plain.time),
    );
}

fn ours(data: &[u8], case: Case) -> Outcome<(Tally, Vec<&[u8]>)> {
    let room = case.room;
    let mut zstd = Zstd::new(case.level, case.window_log);
    let (mut tally, mut pieces) = (Tally::default(), Vec::new());
    let mut output = vec![0; room];
    for mut rest in data.chunks(SEGMENT) {
        while !rest.is_empty() {
            let begin = cpu()?;
            let fit = zstd.fill(rest, &mut output);
            tally.time += cpu()?.saturating_sub(begin);
            // What gains nothing is stored plain.
            let gained = fit.consumed > fit.written;
            let (piece, after) =
                rest.split_at(if gained { fit.consumed } else { room.min(rest.len()) });
            if gained {
                check(output.get(..fit.written).unwrap_or_default(), piece)?;
            }
            pieces.push(piece);
            tally.written += if gained { fit.written } else { piece.len() };
            tally.pclusters += 1;
            tally.calls += 1;
            rest = after;
        }
    }
    Ok((tally, pieces))
}

fn check(stream: &[u8], piece: &[u8]) -> Outcome<()> {
    let mut decoded = vec![0; piece.len()];
    let result = DCtx::create().decompress(&mut decoded[..], stream);
    let len = result.map_err(zstd::zstd_safe::get_error_name)?;
    if len == piece.len() && decoded == piece { Ok(()) } else { Err("decoded data differs".into()) }
}

fn plain(pieces: &[&[u8]], case: Case) -> Outcome<Tally> {
    let mut library = Library::new(case)?;
    let begin = cpu()?;
    let mut written = 0;
    for piece in pieces {
        written += library.compress(piece)?.min(piece.len());
    }
    let time = cpu()?.saturating_sub(begin);
    Ok(Tally { pclusters: pieces.len(), written, calls: pieces.len(), time })
}

struct Library {
    context: CCtx<'static>,
    output: Vec<u8>,
}

impl Library {
    fn new(case: Case) -> Outcome<Self> {
        let Case { level, window_log, .. } = case;
        let mut context = CCtx::create();
        for parameter in [CParameter::CompressionLevel(level), CParameter::WindowLog(window_log)] {
            context.set_parameter(parameter).map_err(zstd::zstd_safe::get_error_name)?;
        }
        Ok(Self { context, output: vec![0; MAX_CONTENT + (1 << 20)] })
    }

    fn compress(&mut self, piece: &[u8]) -> Outcome<usize> {
        let result = self.context.compress2(&mut self.output[..], piece);
        Ok(result.map_err(zstd::zstd_safe::get_error_name)?)
    }
}

/// Upstream's way, and how it ends if it goes on to the byte.
fn search(data: &[u8], case: Case) -> Outcome<[Tally; 2]> {
    let room = case.room;
    let mut library = Library::new(case)?;
    let mut tallies = [Tally::default(), Tally::default()];
    for (tally, tolerance) in tallies.iter_mut().zip([64, 1]) {
        for mut rest in data.chunks(SEGMENT) {
            while !rest.is_empty() {
                let begin = cpu()?;
                let (taken, written) =
                    largest(&mut library, rest, room, tolerance, &mut tally.calls)?;
                tally.time += cpu()?.saturating_sub(begin);
                let taken = if taken > written { taken } else { room.min(rest.len()) };
                tally.pclusters += 1;
                tally.written += written;
                rest = rest.get(taken..).unwrap_or_default();
            }
        }
    }
    Ok(tallies)
}

/// The longest prefix of `input` whose compression fits `room`, as content and stream bytes; the search ends
/// when less than `tolerance` bytes are free or when the next longer prefix does not fit.
fn largest(
    library: &mut Library,
    input: &[u8],
    room: usize,
    tolerance: usize,
    calls: &mut usize,
) -> Outcome<(usize, usize)> {
    let most = input.len().min(MAX_CONTENT);
    // What fits, and what does not, with their compressed sizes.
    let (mut low, mut high): ((usize, usize), Option<(usize, usize)>) = ((0, 0), None);
    let mut next = most.min(room * 2);
    loop {
        let size = library.compress(input.get(..next).unwrap_or(input))?;
        *calls += 1;
        if size <= room {
            low = (next, size);
        } else {
            high = Some((next, size));
        }
        if low.0 == most || room - low.1 < tolerance {
            return Ok(low);
        }
        next = match high {
            None => (low.0 * (room + room / 32) / low.1.max(1)).clamp(low.0 + 1, most),
            Some(high) if high.0 - low.0 <= 1.max(tolerance / 4) => return Ok(low),
            Some(high) => {
                let (width, rise) = (high.0 - low.0, (high.1 - low.1).max(1));
                let secant = low.0 + width * (room - low.1) / rise;
                // A step that hardly narrows the search is moved inward.
                secant.clamp(low.0 + 1 + width / 16, (high.0 - 1 - width / 16).max(low.0 + 1))
            }
        };
    }
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
