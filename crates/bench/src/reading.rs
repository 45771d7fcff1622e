//! Reads mounted trees in several orders and measures that.

use std::{
    fs::{self, File},
    os::unix::fs::FileExt,
    path::Path,
    process::Command,
    thread,
    time::Instant,
};

use rustix::fs::{Advice, fadvise};

use crate::{
    corpus::{Corpus, SEED},
    error::failed,
    machine,
    mount::{self, Mounted},
    process::{self, Usage},
    results::{Metric, Sample, number},
    workplace::Workplace,
};

/// What is done with a mounted tree.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Reading {
    /// A shell command, in which `$FOLDER` is the tree and `$LIST` a file of paths in it.
    Shell {
        command: &'static str,
        list: List,
        /// Whether it reads the content of everything, so that bytes per second mean something.
        reads_all: bool,
        /// Whether it has run once already, with nothing dropped since.
        is_warm: bool,
    },
    /// Reads of the largest file.
    File(Pattern),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum List {
    None,
    /// So many regular files, at random.
    Files(usize),
    /// Everything, at random.
    All,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pattern {
    pub(crate) order: Order,
    /// Bytes of one read.
    pub(crate) piece: u32,
    /// How many reads at most; without a number as many as there are.
    pub(crate) most: Option<usize>,
    /// Threads, each of which does its share.
    pub(crate) threads: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// From the beginning to the end.
    Sequential,
    /// Each piece once, the next one anywhere.
    Random,
    /// The first piece of each stretch of so many bytes.
    Stride(u32),
}

impl Reading {
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Shell { command, .. } => format!("`{command}`"),
            Self::File(pattern) => pattern.text(),
        }
    }

    pub(crate) fn lacks(&self, place: &Workplace) -> Option<String> {
        match self {
            Self::Shell { command, .. } if command.contains("chroot") && !place.is_root => {
                Some("chroot needs root".into())
            }
            _ => None,
        }
    }

    /// Reads a mounted tree and returns the cost. The list, if there is one, is in a file.
    pub(crate) fn take(
        &self,
        place: &Workplace,
        mounted: &Mounted,
        corpus: &Corpus,
        list: &Path,
    ) -> anyhow::Result<Sample> {
        if let Self::Shell { is_warm: true, .. } = self {
            self.run(place, &mounted.folder, corpus, list)?;
        }
        let free = || machine::bytes("/proc/meminfo", "MemFree").map_or(0.0, number);
        let (before, free_before) = (mounted.counters(), free());
        let (usage, asked) = self.run(place, &mounted.folder, corpus, list)?;
        let (after, free_after) = (mounted.counters(), free());
        let grown = |(metric, count): (&Metric, &f64)| Some((*metric, count - before.get(metric)?));
        let mut sample: Sample = after.iter().filter_map(grown).collect();
        sample.extend([(Metric::Wall, usage.wall), (Metric::Cpu, usage.cpu)]);
        sample.extend(mounted.memory().into_iter().flatten());
        if let Some(asked) = asked.map(number) {
            sample.insert(Metric::Rate, asked / usage.wall.max(1e-9));
            if let Some(fetched) = sample.get(&Metric::Fetched) {
                sample.insert(Metric::Amplification, fetched / asked);
            }
            let gone = free_before - free_after - asked;
            sample.insert(Metric::KernelMemory, gone.max(0.0));
        }
        Ok(sample)
    }

    /// The cost, and the number of bytes requested if that is known.
    fn run(
        &self,
        place: &Workplace,
        folder: &Path,
        corpus: &Corpus,
        list: &Path,
    ) -> anyhow::Result<(Usage, Option<u64>)> {
        match self {
            Self::Shell { command, reads_all, .. } => {
                let usage = process::run(&mut shell(place, command, folder, list))?;
                Ok((usage, reads_all.then_some(corpus.facts.bytes)))
            }
            Self::File(pattern) => pattern.read(&folder.join(&corpus.file)),
        }
    }

    /// Loads the programs that read into memory, so that no sample includes that.
    pub(crate) fn warm_up(&self, place: &Workplace, list: &Path) {
        if let Self::Shell { command, .. } = self
            && !command.contains("chroot")
        {
            // That files of the list aren't there is all the same.
            let _failed = process::run(&mut shell(place, command, &place.path("warm"), list));
        }
    }
}

/// A shell command, in which `$FOLDER` is a tree and `$LIST` a file of paths in it.
pub(crate) fn shell(place: &Workplace, command: &str, folder: &Path, list: &Path) -> Command {
    let mut shell = Command::new("timeout");
    shell.args(["900", "sh", "-c", command]).current_dir(place.path("warm"));
    shell.env("FOLDER", folder).env("LIST", list).env("LC_ALL", "C");
    shell
}

impl Pattern {
    fn text(self) -> String {
        let Self { order, piece, most, threads } = self;
        let order = match order {
            Order::Sequential => "one after the other".to_owned(),
            Order::Random => "at random".to_owned(),
            Order::Stride(step) => format!("the first of each {} KiB", step >> 10),
        };
        let reads = most.map_or_else(|| "all reads".to_owned(), |most| format!("{most} reads"));
        let threads = if threads > 1 { format!(", by {threads} threads") } else { String::new() };
        format!("{reads} of {}, {order}{threads}", size_text(piece))
    }

    /// Where the reads of a file of so many bytes begin.
    fn positions(self, size: u64) -> Vec<u64> {
        let piece = u64::from(self.piece);
        let step = if let Order::Stride(step) = self.order { u64::from(step) } else { piece };
        let mut positions: Vec<u64> = (0..size / step).map(|number| number * step).collect();
        if self.order == Order::Random {
            fastrand::Rng::with_seed(SEED).shuffle(&mut positions);
        }
        positions.truncate(self.most.unwrap_or(usize::MAX));
        positions
    }

    /// Reads, and returns the cost and the number of bytes requested.
    fn read(self, path: &Path) -> anyhow::Result<(Usage, Option<u64>)> {
        let size = fs::metadata(path).map_err(failed("look at", path))?.len();
        let positions = self.positions(size);
        let share = positions.len().div_ceil(self.threads.max(1)).max(1);
        let cpu = mount::cpu_of("self");
        let start = Instant::now();
        let results: Vec<_> = thread::scope(|scope| {
            let shares =
                positions.chunks(share).map(|share| scope.spawn(|| self.read_at(path, share)));
            shares.collect::<Vec<_>>().into_iter().map(thread::ScopedJoinHandle::join).collect()
        });
        let wall = start.elapsed().as_secs_f64();
        let cpu = mount::cpu_of("self") - cpu;
        for result in results {
            result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        }
        let asked = positions.len() as u64 * u64::from(self.piece);
        Ok((Usage { wall, cpu, peak: 0 }, Some(asked)))
    }

    fn read_at(self, path: &Path, positions: &[u64]) -> anyhow::Result<()> {
        let file = File::open(path).map_err(failed("open", path))?;
        if self.order == Order::Random {
            // The advice that programs give that read at random; where it is refused they read without.
            let _refused = fadvise(&file, 0, None, Advice::Random);
        }
        let mut bytes = vec![0; self.piece as usize];
        for position in positions {
            file.read_exact_at(&mut bytes, *position).map_err(failed("read", path))?;
        }
        Ok(())
    }
}

/// `4 KiB`, `1 MiB`.
pub(crate) fn size_text(bytes: u32) -> String {
    if bytes >> 20 > 0 { format!("{} MiB", bytes >> 20) } else { format!("{} KiB", bytes >> 10) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(order: Order, most: Option<usize>) -> Pattern {
        Pattern { order, piece: 4096, most, threads: 2 }
    }

    #[test]
    fn random_reads_hit_each_piece_once() {
        let mut positions = pattern(Order::Random, None).positions(1_000_000);
        assert_eq!(positions.len(), 244);
        assert!(!positions.is_sorted());
        assert_eq!(positions[..9], pattern(Order::Random, Some(9)).positions(1_000_000));
        positions.sort_unstable();
        assert_eq!(positions, pattern(Order::Sequential, None).positions(1_000_000));
        assert_eq!(pattern(Order::Stride(1 << 17), None).positions(300_000), [0, 1 << 17]);
    }

    #[test]
    fn a_file_is_read_by_all_threads() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), vec![7; 100_000]).unwrap();
        let (usage, asked) = pattern(Order::Random, None).read(file.path()).unwrap();
        assert_eq!(asked, Some(24 * 4096));
        assert!(usage.wall > 0.0);
        assert!(pattern(Order::Random, None).read(Path::new("/there/is/none")).is_err());
    }

    #[test]
    fn patterns_are_told_in_words() {
        assert_eq!(
            pattern(Order::Random, Some(9)).text(),
            "9 reads of 4 KiB, at random, by 2 threads"
        );
        let all = Pattern { order: Order::Sequential, piece: 1 << 20, most: None, threads: 1 };
        assert_eq!(all.text(), "all reads of 1 MiB, one after the other");
    }
}
