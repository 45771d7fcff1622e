//! Runs suites: all participants of a table in turn, round by round.

use std::{
    cmp::Reverse,
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
};

use crate::{
    args::Bench,
    corpus::{Corpora, Corpus},
    error::in_short,
    image::Image,
    machine,
    program::Programs,
    results,
    suite::{Entry, Suite, Table},
    suites,
    workplace::{Workplace, programs_of},
};

/// Measures, and reports progress by `say`. What single participants can't do is left out and
/// listed in the results. Ends early, with everything removed, when `stop` is set. The chroot is
/// used only if this process has mounts of its own.
pub(crate) fn run(
    request: &Bench,
    has_own_mounts: bool,
    stop: &AtomicBool,
    say: &dyn Fn(&str),
) -> anyhow::Result<results::Results> {
    let (given, only_corpus) = request.corpus()?;
    let is_root = rustix::process::geteuid().is_root();
    let chroot = request.chroot().filter(|_| has_own_mounts && is_root);
    let programs = Programs::new(request.lith()?, chroot.clone());
    let place = Workplace::new(programs, chroot, (&request.work(), request.images.as_deref()))?;
    let is_given = given.is_some();
    let corpora = Corpora::new(request.corpora(), given, place.path("made"));
    let chosen = suites::chosen(&request.suites, &corpora.names())?;
    let mut left_out = BTreeSet::new();
    if !place.is_root {
        left_out
            .insert("without root nothing is mounted by the kernel, and caches stay warm".into());
    }
    if let (Some(given), false) = (&corpora.given, is_given) {
        let (folder, given) = (request.corpora(), given.display());
        let folder = folder.display();
        say(&format!("no corpora in {folder}: measuring on {given} (see bench/corpora.sh)"));
    }
    let mut run = Run {
        request,
        only_corpus,
        stop,
        place: &place,
        corpora: &corpora,
        left_out,
        names: BTreeSet::new(),
        say,
    };
    let suites = chosen.iter().filter_map(|suite| run.suite(suite)).collect();
    anyhow::ensure!(!run.must_stop(), "interrupted");
    Ok(results::Results {
        machine: machine::here(place.is_root),
        command: request.command(),
        repeat: request.repeat,
        programs: versions(&place, &run.names),
        left_out: run.left_out.into_iter().collect(),
        suites,
    })
}

struct Run<'a> {
    request: &'a Bench,
    /// The only one of the corpora that is measured on.
    only_corpus: Option<String>,
    stop: &'a AtomicBool,
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
        if self.must_stop() || self.only_corpus.as_ref().is_some_and(|only| *only != table.corpus) {
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
                let why = self.without_paths(&in_short(&error));
                self.left_out.insert(why);
                return None;
            }
        };
        let name = format!("{} {} {}", suite.name, table.name, table.corpus);
        let mut contestants = self.prepare(&name, &corpus, entries);
        // The first round warms up.
        let rounds = if table.is_long { 1..=1 } else { 0..=self.request.repeat };
        for round in rounds {
            contestants.retain_mut(|contestant| {
                !self.must_stop() && self.round(&name, &corpus, round, contestant)
            });
        }
        (!contestants.is_empty()).then(|| finished(table, corpus, contestants))
    }

    fn must_stop(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Whether an entry is requested.
    fn wants(&self, table: &Table, entry: &Entry) -> bool {
        let series = entry.series.to_lowercase();
        let rivals = &self.request.rivals;
        let is_wanted = series.starts_with("lith")
            || rivals.is_empty()
            || rivals.iter().any(|rival| series.contains(&rival.to_lowercase()));
        let (only, name) = (&self.request.only, format!("{}, {}", table.name, entry.label()));
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
                    let programs = commands.iter().flat_map(|line| programs_of(line));
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

    fn fails(&mut self, name: &str, entry: &Entry, error: &anyhow::Error) {
        (self.say)(&format!("{name}: {}: {error:#}", entry.label()));
        let why = self.without_paths(&in_short(error));
        self.left_out.insert(format!("{name}: {} failed: {why}", entry.label()));
    }

    /// A text without the folders of this machine, which mean nothing elsewhere.
    fn without_paths(&self, text: &str) -> String {
        let images = self.place.images();
        let given = self.corpora.given.as_deref();
        let mut folders = vec![self.place.path(""), self.corpora.folder.clone()];
        folders.extend(images.parent().into_iter().chain(given).map(Path::to_owned));
        folders.retain(|folder| folder.as_os_str().len() > 1);
        // One may be in another.
        folders.sort_by_key(|folder| Reverse(folder.as_os_str().len()));
        let replace = |text: String, folder: &PathBuf| text.replace(&*folder.to_string_lossy(), "");
        folders.iter().fold(text.to_owned(), replace)
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
        about: table.entries.first().map(|entry| entry.task.about()).unwrap_or_default(),
        corpus: corpus.facts,
        shown: table.shown.into(),
        rows: rows.collect(),
        plot: table.plot,
    }
}
