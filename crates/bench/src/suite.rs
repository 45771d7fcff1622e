//! Defines suites, tables and entries, and how each is measured.

use std::{fs, path::Path, time::Instant};

use crate::{
    corpus::Corpus,
    error::failed,
    image::{self, Image, Recipe},
    mount::{Mount, Mounted, counters_of_disk},
    process::{self, Usage},
    reading::{List, Reading, shell},
    results::{Metric, Plot, Sample, Target, number},
    storage::Storage,
    workplace::{Words, Workplace},
};

#[derive(Clone, Debug)]
pub(crate) struct Suite {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) about: &'static str,
    pub(crate) tables: Vec<Table>,
}

/// One thing that is done by all entries in turn.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) corpus: String,
    pub(crate) shown: &'static [Metric],
    pub(crate) plot: Option<Plot>,
    pub(crate) entries: Vec<Entry>,
    /// Whether it is measured once and without warming up: it takes long, and is about sizes.
    pub(crate) is_long: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) series: &'static str,
    pub(crate) variant: String,
    pub(crate) task: Task,
    /// The series that it is compared with, in the same variant.
    pub(crate) against: Option<&'static str>,
    pub(crate) targets: Vec<Target>,
}

#[derive(Clone, Debug)]
pub(crate) enum Task {
    /// An image is made.
    Build(Recipe),
    /// An image is made, and its threads are watched.
    Trace(Recipe),
    /// A command is run, which may read IMAGE and write DIR.
    Run { image: Recipe, command: String },
    /// A command makes MOUNT, a file, of files that are in the folder IMAGE.
    Make { set: Recipe, command: String },
    /// An image is mounted and read.
    Read { image: Recipe, mount: Mount, reading: Reading },
    /// An image on some storage is mounted, and a shell command run in it: `$FOLDER` is the tree.
    Start { image: Recipe, mount: Mount, command: &'static str, storage: Storage },
}

impl Entry {
    /// An entry that is compared with no other.
    pub(crate) fn new(series: &'static str, variant: &str, task: Task) -> Self {
        Self { series, variant: variant.into(), task, against: None, targets: Vec::new() }
    }

    pub(crate) fn label(&self) -> String {
        format!("{}, {}", self.series, self.variant)
    }
}

impl Task {
    pub(crate) fn about(&self) -> String {
        match self {
            Self::Build(_) | Self::Trace(_) => "each program makes an image".into(),
            Self::Run { .. } => "each program is given its image".into(),
            Self::Make { .. } => "each program makes a file".into(),
            Self::Read { reading, .. } => reading.text(),
            Self::Start { command, storage, .. } => {
                format!("mounting, and `{command}`, on {storage}")
            }
        }
    }

    /// The command lines, with names in capitals in place of paths.
    pub(crate) fn commands(&self) -> Vec<String> {
        match self {
            Self::Build(recipe) | Self::Trace(recipe) => vec![recipe.text()],
            Self::Run { image, command } | Self::Make { set: image, command } => {
                vec![image.text(), command.clone()]
            }
            Self::Read { image, mount, .. } | Self::Start { image, mount, .. } => {
                vec![image.text(), mount.text()]
            }
        }
    }

    pub(crate) fn lacks(&self, place: &Workplace) -> Option<String> {
        match self {
            Self::Build(recipe) | Self::Trace(recipe) => recipe.lacks(place),
            Self::Run { image, command } | Self::Make { set: image, command } => {
                image.lacks(place).or_else(|| place.lacks_program(command))
            }
            Self::Start { image, mount, command, storage } => image
                .lacks(place)
                .or_else(|| mount.lacks(place))
                .or_else(|| storage.lacks(place))
                .or_else(|| {
                    (!place.is_root && command.contains("chroot"))
                        .then(|| "chroot needs root".into())
                }),
            Self::Read { image, mount, reading } => {
                image.lacks(place).or_else(|| mount.lacks(place)).or_else(|| reading.lacks(place))
            }
        }
    }

    /// The image that it reads, made if it is not there.
    pub(crate) fn prepare(
        &self,
        place: &Workplace,
        corpus: &Corpus,
        say: &dyn Fn(&str),
    ) -> anyhow::Result<Option<Image>> {
        let recipe = match self {
            Self::Build(_) | Self::Trace(_) => return Ok(None),
            Self::Run { image, .. }
            | Self::Make { set: image, .. }
            | Self::Read { image, .. }
            | Self::Start { image, .. } => image,
        };
        image::image_of(place, recipe, corpus, say).map(Some)
    }

    /// Does it once.
    pub(crate) fn measure(
        &self,
        place: &Workplace,
        corpus: &Corpus,
        image: Option<&Image>,
    ) -> anyhow::Result<Sample> {
        let mut sample = match (self, image) {
            (Self::Make { command, .. }, Some(set)) => return make(place, corpus, set, command),
            (Self::Build(recipe), _) => build(place, corpus, recipe, false)?,
            (Self::Trace(recipe), _) => build(place, corpus, recipe, true)?,
            (Self::Run { command, .. }, Some(image)) => run(place, corpus, image, command)?,
            (Self::Read { mount, reading, .. }, Some(image)) => {
                read(place, corpus, image, (mount, reading))?
            }
            (Self::Start { mount, command, storage, .. }, Some(image)) => {
                start(place, (image, mount), command, storage)?
            }
            (
                Self::Run { .. } | Self::Make { .. } | Self::Read { .. } | Self::Start { .. },
                None,
            ) => Sample::new(),
        };
        if let Some(image) = image.filter(|image| !image.path.is_dir()) {
            add_size(&mut sample, image.size, corpus);
        }
        Ok(sample)
    }
}

fn build(
    place: &Workplace,
    corpus: &Corpus,
    recipe: &Recipe,
    is_traced: bool,
) -> anyhow::Result<Sample> {
    let output = place.path("image");
    remove(&output)?;
    place.settle(false);
    let mut sample = if is_traced {
        let (usage, alone) = recipe.trace(place, corpus, &output)?;
        let mut sample = sample_of(&usage, corpus);
        sample.insert(Metric::Alone, alone / usage.cpu.max(1e-9));
        sample
    } else {
        sample_of(&recipe.make(place, corpus, &output)?, corpus)
    };
    if let Recipe::Command(_) = recipe {
        let size = fs::metadata(&output).map_err(failed("look at", &output))?.len();
        add_size(&mut sample, size, corpus);
    }
    remove(&output)?;
    Ok(sample)
}

fn run(place: &Workplace, corpus: &Corpus, image: &Image, command: &str) -> anyhow::Result<Sample> {
    let output = place.path("tree");
    remove(&output)?;
    place.settle(true);
    let words = Words { image: image.path.clone(), mount: output.clone(), ..Words::default() };
    let (mut command, _) = place.command(command, &words)?;
    let usage = process::run(&mut command)?;
    remove(&output)?;
    Ok(sample_of(&usage, corpus))
}

/// Measures a command that makes a file; rates are of its bytes.
fn make(place: &Workplace, corpus: &Corpus, set: &Image, command: &str) -> anyhow::Result<Sample> {
    let output = place.path("image");
    remove(&output)?;
    place.settle(false);
    let (source, image) = (corpus.path.clone(), set.path.clone());
    let words = Words { source, image, mount: output.clone(), ..Words::default() };
    let (mut command, _) = place.command(command, &words)?;
    let usage = process::run(&mut command)?;
    let size = fs::metadata(&output).map_err(failed("look at", &output))?.len();
    remove(&output)?;
    let mut sample = sample_of(&usage, corpus);
    sample.insert(Metric::Rate, number(size) / usage.wall.max(1e-9));
    sample.insert(Metric::CpuRate, number(size) / usage.cpu.max(1e-9));
    add_size(&mut sample, size, corpus);
    Ok(sample)
}

fn read(
    place: &Workplace,
    corpus: &Corpus,
    image: &Image,
    (mount, reading): (&Mount, &Reading),
) -> anyhow::Result<Sample> {
    let wanted = match reading {
        Reading::Shell { list: List::Files(most), .. } => Some(Some(*most)),
        Reading::Shell { list: List::All, .. } => Some(None),
        _ => None,
    };
    let list = place.path(&format!("list-{}-{wanted:?}", corpus.facts.name));
    // The same in all rounds.
    if let Some(most) = wanted.filter(|_| !list.exists()) {
        corpus.list(most, &list)?;
    }
    place.settle(true);
    reading.warm_up(place, &list);
    let mounted = Mounted::new(place, mount, image)?;
    reading.take(place, &mounted, corpus, &list)
}

/// Mounts an image with nothing of it in memory, and runs a command there. The time is that of both: what is read ahead
/// begins with the mount.
fn start(
    place: &Workplace,
    (image, mount): (&Image, &Mount),
    command: &str,
    storage: &Storage,
) -> anyhow::Result<Sample> {
    place.settle(true);
    // The program itself is not on that storage.
    let (mut version, _) = place.command("lith --version", &Words::default())?;
    process::run(&mut version)?;
    let _limited = storage.limit(place)?;
    let before = counters_of_disk(place);
    let begun = Instant::now();
    let mounted = Mounted::new(place, mount, image)?;
    let usage = process::run(&mut shell(place, command, &mounted.folder, Path::new("")))?;
    let wall = begun.elapsed().as_secs_f64();
    let after = counters_of_disk(place);
    let grown = |(metric, count): (&Metric, &f64)| Some((*metric, count - before.get(metric)?));
    let mut sample: Sample = after.iter().filter_map(grown).collect();
    sample.extend([(Metric::Wall, wall), (Metric::Cpu, usage.cpu)]);
    Ok(sample)
}

fn sample_of(usage: &Usage, corpus: &Corpus) -> Sample {
    let bytes = number(corpus.facts.bytes);
    Sample::from([
        (Metric::Wall, usage.wall),
        (Metric::Cpu, usage.cpu),
        (Metric::PeakMemory, number(usage.peak)),
        (Metric::Rate, bytes / usage.wall.max(1e-9)),
        (Metric::CpuRate, bytes / usage.cpu.max(1e-9)),
    ])
}

fn add_size(sample: &mut Sample, size: u64, corpus: &Corpus) {
    let relative = number(size) / number(corpus.facts.bytes.max(1));
    sample.insert(Metric::Size, number(size));
    sample.insert(Metric::RelativeSize, relative);
    sample.insert(Metric::Saving, 1.0 - relative);
}

fn remove(path: &Path) -> anyhow::Result<()> {
    let removed = match fs::symlink_metadata(path) {
        Err(_) => return Ok(()),
        Ok(found) if found.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
    };
    removed.map_err(failed("remove", path))
}
