//! Runs suites: all participants of a table in turn, round by round.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use crate::{
    corpus::{Corpora, Corpus},
    error::Error,
    image::Image,
    machine,
    program::Programs,
    results,
    suite::{Entry, Suite, Table, Task},
    suites,
    workplace::Workplace,
};

/// What is to be measured, and where.
#[derive(Clone, Debug)]
pub struct Options {
    /// Names of suites; without any the three published comparisons and the start of an application.
    pub suites: Vec<String>,
    /// Only tables and rows with one of these texts in their names; without any all of them.
    pub only: Vec<String>,
    /// Only rivals with one of these texts in their names; without any all of them.
    pub rivals: Vec<String>,
    /// How often each thing is measured, after one round to warm up.
    pub repeat: u32,
    /// The folder with corpora, of which each has its name.
    pub corpora: PathBuf,
    /// A folder to measure on in place of all corpora.
    pub corpus: Option<PathBuf>,
    /// Only this one of the corpora.
    pub only_corpus: Option<String>,
    /// The program that is compared.
    pub lith: PathBuf,
    /// A root filesystem with rivals in it.
    pub chroot: Option<PathBuf>,
    /// Where files are made.
    pub work: PathBuf,
    /// Where images that are read are kept; without a folder they are removed.
    pub images: Option<PathBuf>,
    /// The command line, for the results.
    pub command: String,
    /// Set by the caller to end early, with everything removed.
    pub stop: Arc<AtomicBool>,
}

/// Measures, and reports progress by `say`.
///
/// # Errors
/// An unknown suite, no place to work, nothing to measure on. What single participants can't do is left out and listed
/// in the results.
pub fn run(options: &Options, say: &dyn Fn(&str)) -> Result<results::Results, Error> {
    let is_root = rustix::process::geteuid().is_root();
    let chroot = options.chroot.clone().filter(|_| is_root);
    let programs = Programs::new(options.lith.clone(), chroot.clone());
    let place = Workplace::new(programs, chroot, (&options.work, options.images.as_deref()))?;
    let corpora = Corpora::new(options.corpora.clone(), options.corpus.clone(), place.made());
    let chosen = suites::chosen(&options.suites, &corpora.names())?;
    let mut left_out = BTreeSet::new();
    if !place.is_root {
        left_out
            .insert("without root nothing is mounted by the kernel, and caches stay warm".into());
    }
    if let (Some(given), None) = (corpora.given(), &options.corpus) {
        let folder = options.corpora.display();
        say(&format!(
            "no corpora in {folder}: measuring on {} (see bench/corpora.sh)",
            given.display()
        ));
    }
    let mut run =
        Run { options, place: &place, corpora: &corpora, left_out, names: BTreeSet::new(), say };
    let suites = chosen.iter().filter_map(|suite| run.suite(suite)).collect();
    if options.stop.load(Ordering::Relaxed) {
        return Err(Error::Interrupted);
    }
    let names = std::mem::take(&mut run.names);
    Ok(results::Results {
        machine: machine::here(place.is_root),
        command: options.command.clone(),
        repeat: options.repeat,
        programs: versions(&place, &names),
        left_out: run.left_out.into_iter().collect(),
        suites,
    })
}

struct Run<'a> {
    options: &'a Options,
    place: &'a Workplace,
    corpora: &'a Corpora,
    left_out: BTreeSet<String>,
    /// The programs that took part.
    names: BTreeSet<String>,
    say: &'a dyn Fn(&str),
}

/// A participating entry and its samples so far.
struct Contestant<'a> {
    entry: &'a Entry,
    image: Option<Image>,
    samples: Vec<results::Sample>,
}

impl Run<'_> {
    /// A suite without what can't be measured here; `None` if nothing is left.
    fn suite(&mut self, suite: &Suite) -> Option<results::Suite> {
        let tables: Vec<_> =
            suite.tables.iter().filter_map(|table| self.table(suite, table)).collect();
        (!tables.is_empty()).then(|| results::Suite {
            name: suite.name.into(),
            title: suite.title.into(),
            about: suite.about.into(),
            tables,
        })
    }

    fn table(&mut self, suite: &Suite, table: &Table) -> Option<results::Table> {
        if self.must_stop()
            || self.options.only_corpus.as_ref().is_some_and(|only| *only != table.corpus)
        {
            return None;
        }
        let entries: Vec<_> =
            table.entries.iter().filter(|entry| self.wants(table, entry)).collect();
        let entries: Vec<_> = entries.into_iter().filter(|entry| self.can(entry)).collect();
        if entries.is_empty() {
            return None;
        }
        let corpus = match self.corpora.find(&table.corpus) {
            Ok(corpus) => corpus,
            Err(error) => {
                self.left_out.insert(error.to_string());
                return None;
            }
        };
        let name = format!("{} {} {}", suite.name, table.name, table.corpus);
        let mut contestants = self.prepare(&name, &corpus, entries);
        // The first round warms up.
        for round in 0..=self.options.repeat {
            contestants.retain_mut(|contestant| {
                !self.must_stop() && self.round(&name, &corpus, round, contestant)
            });
        }
        (!contestants.is_empty()).then(|| finished(table, corpus, contestants))
    }

    fn must_stop(&self) -> bool {
        self.options.stop.load(Ordering::Relaxed)
    }

    /// Whether an entry is requested.
    fn wants(&self, table: &Table, entry: &Entry) -> bool {
        let series = entry.series.to_lowercase();
        let rivals = &self.options.rivals;
        let is_wanted = series.starts_with("lith")
            || rivals.is_empty()
            || rivals.iter().any(|rival| series.contains(&rival.to_lowercase()));
        let (only, name) = (&self.options.only, format!("{}, {}", table.name, entry.label()));
        is_wanted && (only.is_empty() || only.iter().any(|text| name.contains(text)))
    }

    /// Whether an entry can take part; if not, the results give the reason.
    fn can(&mut self, entry: &Entry) -> bool {
        let missing = entry.task.lacks(self.place);
        if let Some(why) = &missing {
            self.left_out.insert(format!("{}: {why}", entry.series));
        }
        missing.is_none()
    }

    fn prepare<'e>(
        &mut self,
        name: &str,
        corpus: &Corpus,
        entries: Vec<&'e Entry>,
    ) -> Vec<Contestant<'e>> {
        let mut contestants = Vec::new();
        for entry in entries {
            if self.must_stop() {
                break;
            }
            match entry.task.prepare(self.place, corpus, self.say) {
                Ok(image) => {
                    let commands = entry.task.commands();
                    let programs =
                        commands.iter().flat_map(|line| crate::workplace::programs_of(line));
                    self.names.extend(programs.map(str::to_owned));
                    contestants.push(Contestant { entry, image, samples: Vec::new() });
                }
                Err(error) => self.fails(name, entry, &error),
            }
        }
        contestants
    }

    /// One round of one participant; false if it fails, which ends its part.
    fn round(
        &mut self,
        name: &str,
        corpus: &Corpus,
        round: u32,
        contestant: &mut Contestant<'_>,
    ) -> bool {
        let Contestant { entry, image, samples } = contestant;
        match entry.task.measure(self.place, corpus, image.as_ref()) {
            Ok(sample) => {
                let wall = sample.get(&results::Metric::Wall).copied().unwrap_or(0.0);
                (self.say)(&format!("{name}: round {round}, {}: {wall:.3} s", entry.label()));
                if round > 0 {
                    samples.push(sample);
                }
                true
            }
            Err(error) => {
                self.fails(name, entry, &error);
                false
            }
        }
    }

    fn fails(&mut self, name: &str, entry: &Entry, error: &Error) {
        let text = with_sources(error);
        (self.say)(&format!("{name}: {}: {text}", entry.label()));
        let why = without_paths(&error.in_short(), self.place);
        self.left_out.insert(format!("{name}: {} failed: {why}", entry.label()));
    }
}

/// The programs that report their version.
fn versions(place: &Workplace, names: &BTreeSet<String>) -> Vec<results::Program> {
    let programs = names.iter().filter_map(|name| place.programs.version(name));
    programs.filter(|program| !program.version.is_empty()).collect()
}

fn finished(table: &Table, corpus: Corpus, contestants: Vec<Contestant<'_>>) -> results::Table {
    let keys: Vec<_> =
        contestants.iter().map(|c| (c.entry.series, c.entry.variant.clone())).collect();
    let rows = contestants.into_iter().map(|Contestant { entry, samples, .. }| results::Row {
        series: entry.series.into(),
        variant: entry.variant.clone(),
        commands: entry.task.commands(),
        samples,
        against: entry.against.and_then(|series| {
            keys.iter().position(|key| (key.0, &key.1) == (series, &entry.variant))
        }),
        targets: entry.targets.clone(),
    });
    results::Table {
        name: table.name.clone(),
        title: table.title.clone(),
        about: table.entries.first().map(|entry| Task::about(&entry.task)).unwrap_or_default(),
        corpus: corpus.facts,
        shown: table.shown.into(),
        rows: rows.collect(),
        plot: table.plot,
    }
}

/// An error and what caused it.
fn with_sources(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

/// A text without the folders of this machine, which mean nothing elsewhere.
fn without_paths(text: &str, place: &Workplace) -> String {
    let folder = place.output("");
    let text = text.replace(&folder.to_string_lossy().into_owned(), "");
    match place.images().parent().map(Path::to_string_lossy) {
        Some(images) if images.len() > 1 => text.replace(&*images, ""),
        _ => text,
    }
}
