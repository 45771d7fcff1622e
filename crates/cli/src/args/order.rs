//! Defines the arguments about what is read first of an image, and reads the files that they name.

use std::{
    collections::HashSet,
    fs::File,
    io::{self, BufReader},
    path::{Path, PathBuf},
};

use clap::Args;
use lith::{
    builder::Files,
    profile::{self, Access, Earlier, Hint, Profile, Weighted},
    reader::Image,
};

use super::rule::HeatArgument;
use crate::output::error::Place;

#[derive(Args, Debug)]
#[command(next_help_heading = "Order")]
pub(super) struct OrderArguments {
    /// Store first, and in that order, what `lith record` saw a program read; of several profiles the mean counts. Paths that
    /// the source lacks are told and ignored; can be repeated
    #[arg(long = "profile", value_name = "FILE")]
    profiles: Vec<PathBuf>,

    /// Store these files first, in this order: a list with one path on each line
    #[arg(long, value_name = "FILE")]
    order: Option<PathBuf>,

    /// Order files by priority, as `mksquashfs -sort` does: on each line a path or glob, and a number from -32768 (last) to
    /// 32767 (first); other files have 0
    #[arg(long, value_name = "FILE")]
    sort: Option<PathBuf>,

    /// Keep the order of the image that --base names, where files are the same, and refer to nothing in it: rsync, zsync and
    /// casync then find its bytes in the new one. What is new follows, so the image grows a little
    #[arg(long, requires = "bases", conflicts_with = "flat")]
    pub(super) append_stable: bool,

    /// The compression of what --profile or --order names, if it isn't that of the rest: `lz4hc,12`, `zstd,3,pcluster=16K`,
    /// `none`. A large file of which ranges are named has both; one for which a --rule matches has that rule's
    #[arg(long, value_name = "ALGORITHM[,LEVEL][,pcluster=SIZE]")]
    pub(super) hot: Option<HeatArgument>,

    /// The compression of the rest, as -z and -C: `lzma,6,pcluster=1M`
    #[arg(
        long,
        value_name = "ALGORITHM[,LEVEL][,pcluster=SIZE]",
        requires = "hot",
        conflicts_with = "compress"
    )]
    pub(super) cold: Option<HeatArgument>,
}

/// The files of which profiles and lists name something.
pub(super) fn named_files(hints: &[Hint]) -> Files {
    let mut paths: HashSet<Vec<u8>> = HashSet::new();
    for hint in hints {
        match hint {
            Hint::Profile(profile) => {
                let reads = profile
                    .entries()
                    .iter()
                    .filter(|entry| matches!(entry.access, Access::Read { .. }));
                paths.extend(reads.map(|entry| without_slashes(&entry.path)));
            }
            Hint::Paths(list) => paths.extend(list.iter().map(|path| without_slashes(path))),
            Hint::Sort(_) | Hint::Earlier(_) => {}
        }
    }
    Files::new(move |path| paths.contains(path))
}

/// The order of the one image that is the base.
pub(super) fn order_of(bases: &[PathBuf]) -> Result<Hint, String> {
    let [base] = bases else { return Err("--append-stable takes one --base".into()) };
    let about = |why: String| format!("{}: {why}", Place(base));
    let image = Image::open_path(base).map_err(|error| about(super::one_line(&error)))?;
    let order = Earlier::read(&image).map_err(|error| about(super::one_line(&error)))?;
    Ok(Hint::Earlier(order))
}

fn without_slashes(path: &[u8]) -> Vec<u8> {
    let names = path.split(|byte| *byte == b'/').filter(|name| !name.is_empty());
    names.collect::<Vec<_>>().join(&b'/')
}

impl OrderArguments {
    /// What the files say.
    pub(super) fn hints(&self) -> Result<Vec<Hint>, String> {
        let mut hints = Vec::new();
        let profiles: Vec<_> =
            self.profiles.iter().map(|path| read_profile(path)).collect::<Result<_, _>>()?;
        let weighted: Vec<_> =
            profiles.iter().map(|profile| Weighted { profile, weight: 1 }).collect();
        if !weighted.is_empty() {
            hints.push(Hint::Profile(profile::merge(&weighted)));
        }
        if let Some(path) = &self.order {
            hints.push(Hint::Paths(read(path, profile::paths_of_list)?));
        }
        if let Some(path) = &self.sort {
            hints.push(Hint::Sort(read(path, profile::priorities)?));
        }
        Ok(hints)
    }
}

/// Reads the profile in a file; `-` is standard input.
pub(crate) fn read_profile(path: &Path) -> Result<Profile, String> {
    read(path, Profile::read)
}

fn read<T>(
    path: &Path,
    parse: impl FnOnce(Box<dyn io::BufRead>) -> io::Result<T>,
) -> Result<T, String> {
    let about = |error: io::Error| format!("{}: {}", Place(path), super::one_line(&error));
    let text: Box<dyn io::BufRead> = if path == Path::new("-") {
        Box::new(io::stdin().lock())
    } else {
        Box::new(BufReader::new(File::open(path).map_err(about)?))
    };
    parse(text).map_err(about)
}
