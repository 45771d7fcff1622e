//! Defines the program `lith-test-child`, which tests kill, limit and measure. It also plants the nasty tree.
//!
//! ```text
//! lith-test-child build SOURCE IMAGE [COMPRESSOR PCLUSTER WORKERS]
//! lith-test-child large-file BYTES IMAGE
//! lith-test-child large-file-in-chunks BYTES IMAGE
//! lith-test-child many-files COUNT IMAGE
//! lith-test-child rules LEVELS IMAGE
//! lith-test-child plant FOLDER
//! lith-test-child hostile IMAGE FIRST-SEED COUNT FOLDER
//! lith-test-child hostile-inside IMAGE FIRST-SEED COUNT FOLDER
//! lith-test-child fuzz TARGET FIRST-SEED SECONDS
//! lith-test-child sandbox FOLDER read|write|start|connect|unmount|thread PATH
//! lith-test-child guest
//! ```
//!
//! The last is for machines that boot with it. Most others print the peak of their memory in KiB at the end.
#![forbid(unsafe_code)]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a helper that fails is a test that fails, and should say so at once"
)]

use std::{
    env,
    error::Error,
    fs,
    net::TcpStream,
    panic,
    path::Path,
    process::{Command, ExitCode},
    thread,
    time::{Duration, Instant},
};

use lith::{
    builder::{Compression, Options},
    codec::Compressor,
    mount::Sandbox,
    source::{self, Source},
    tree::{Contents, Tree},
};
use lith_testkit::{
    chunks, corpus,
    fuzz::TARGETS,
    guest, hostile, image, mutation,
    nasty::{self, Nasty},
    rules, synthetic,
};
use rustix::io::Errno;

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let result = match &words[..] {
        ["build", source, image, rest @ ..] => build_directory(source, image, rest),
        ["large-file", bytes, image] => {
            let (tree, contents) = synthetic::one_file(bytes.parse().unwrap());
            build(tree, contents, image, &image::compressed(Compressor::Lz4, 65536))
        }
        ["large-file-in-chunks", bytes, image] => {
            let (tree, contents) = synthetic::one_file(bytes.parse().unwrap());
            build(tree, contents, image, &chunks::with(image::plain(), 64 << 10))
        }
        ["many-files", count, image] => {
            let (tree, contents) = synthetic::many_files(count.parse().unwrap());
            build(tree, contents, image, &image::compressed(Compressor::Lz4, 65536))
        }
        ["many-files-in-metabox", count, image] => {
            let (tree, contents) = synthetic::many_files(count.parse().unwrap());
            let options = image::compressed(Compressor::Lz4, 65536);
            build(tree, contents, image, &image::with_metabox(options, "lz4", 65536))
        }
        ["rules", levels, image] => build_by_rules(levels, image),
        ["plant", folder] => {
            fs::create_dir(folder).unwrap();
            nasty::plant(Path::new(folder), Nasty::Whole);
            Ok(())
        }
        [way @ ("hostile" | "hostile-inside"), image, first, count, folder] => {
            let seeds = (first.parse().unwrap(), count.parse().unwrap());
            damage(way, &fs::read(image).unwrap(), seeds, Path::new(folder));
            Ok(())
        }
        ["fuzz", target, first, seconds] => {
            let time = Duration::from_secs(seconds.parse().unwrap());
            println!("{target}: {} executions", fuzz(target, first.parse().unwrap(), time));
            return ExitCode::SUCCESS;
        }
        ["sandbox", folder, what, path] => {
            let mut sandbox = Sandbox::default();
            sandbox.read.push(folder.into());
            let entered = sandbox.enter().unwrap();
            let result =
                if entered.files { attempt(what, path) } else { Err("no Landlock".into()) };
            println!("{}", result.err().unwrap_or_else(|| "done".into()));
            return ExitCode::SUCCESS;
        }
        ["guest"] => {
            guest::run();
            Ok(())
        }
        _ => panic!("unknown words: {words:?}"),
    };
    if let Err(error) = result {
        eprintln!("{}", chain(&*error));
        return ExitCode::FAILURE;
    }
    println!("{}", peak());
    ExitCode::SUCCESS
}

/// Damages an image anywhere, or only inside of its metabox and says how many can't be read, are damaged, and are sound.
fn damage(way: &str, image: &[u8], (first, count): (u64, u64), folder: &Path) {
    if way == "hostile" {
        return hostile::try_all(image, first..first + count, folder);
    }
    let tried = hostile::try_inside(image, (first, count), folder);
    print!("{} {} {} ", tried.unreadable, tried.damaged, tried.sound);
}

/// Runs a fuzz target on changed inputs of its corpus, and says how many: what a stable compiler can do. Ends with the first panic.
fn fuzz(target: &str, first: u64, time: Duration) -> u64 {
    let (_, run) = TARGETS.iter().find(|(name, _)| *name == target).unwrap();
    let inputs = corpus::inputs(target);
    let started = Instant::now();
    let seeds = (first..).take_while(|_| started.elapsed() < time);
    let executions = seeds.map(|seed| {
        let number = usize::try_from(seed % inputs.len() as u64).unwrap();
        let (file, bytes) = &inputs[number];
        let mut bytes = bytes.clone();
        // Each step changes little: what is deep inside is reached by several.
        for step in 0..=seed % 4 {
            mutation::mutate(&mut bytes, &[], seed.wrapping_mul(4).wrapping_add(step));
        }
        panic::catch_unwind(|| run(&bytes)).unwrap_or_else(|_told| panic!("{file}, seed {seed}"));
    });
    executions.count() as u64
}

/// Tries something that a sandbox may not allow, and returns the name of the error.
fn attempt(what: &str, path: &str) -> Result<(), String> {
    let result = match what {
        "read" => fs::File::open(path).map(drop),
        "write" => fs::File::options().write(true).open(path).map(drop),
        "start" => Command::new(path).status().map(drop),
        "connect" => TcpStream::connect(path).map(drop),
        "unmount" => lith::mount::unmount(Path::new(path), false),
        "thread" => thread::Builder::new().spawn(|| ()).map(|thread| thread.join().unwrap()),
        _ => panic!("unknown attempt: {what}"),
    };
    result.map_err(|error| match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::ACCESS) => "EACCES".to_owned(),
        Some(Errno::PERM) => "EPERM".to_owned(),
        _ => error.to_string(),
    })
}

fn build_directory(source: &str, image: &str, rest: &[&str]) -> Result<(), Box<dyn Error>> {
    let (mut options, mut means) = (image::plain(), image::Means::default());
    if let [compressor, pcluster, workers] = rest {
        let (compressor, pcluster) = (compressor.parse()?, Some(pcluster.parse()?));
        options.compression.files = Some(Compression { compressor, pcluster, min_saving: 0 });
        means = image::workers(workers.parse()?);
    }
    let source = source::directory(Path::new(source), &source::Options::default())?;
    means.builder(source, &options).build_to(image)?;
    Ok(())
}

fn build(
    tree: Tree,
    contents: impl Contents + 'static,
    image: &str,
    options: &Options,
) -> Result<(), Box<dyn Error>> {
    build_with(2, tree, contents, image, options)
}

fn build_with(
    workers: usize,
    tree: Tree,
    contents: impl Contents + 'static,
    image: &str,
    options: &Options,
) -> Result<(), Box<dyn Error>> {
    let source = Source { tree, contents: Box::new(contents), notes: Vec::new() };
    image::workers(workers).builder(source, options).build_to(image)?;
    Ok(())
}

/// Which encoders several workers hold at a time is a matter of their turns; with one, it is the same in each run.
fn build_by_rules(levels: &str, image: &str) -> Result<(), Box<dyn Error>> {
    let (tree, contents) = synthetic::equal_files(28, 6 << 20);
    let options = rules::with(image::plain(), &every_level(levels));
    build_with(1, tree, contents, image, &options)
}

/// A rule for each of these compressors, with commas between levels, as `zstd,1,2,3`.
fn every_level(levels: &str) -> Vec<(String, u32)> {
    let (name, levels) = levels.split_once(',').unwrap();
    levels.split(',').map(|level| (format!("{name},{level}"), 1 << 20)).collect()
}

/// An error with all that caused it.
fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

/// The most memory that this process had, in KiB.
fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}
