//! Parses the arguments of `lith bench`.

use std::{env, fs, iter, path::PathBuf};

use anyhow::Context;

use crate::corpus::Corpora;

/// Compare lith with other filesystems on this machine
#[derive(Debug, clap::Parser)]
#[command(
    name = "lith-bench",
    bin_name = "lith bench",
    version,
    max_term_width = 100,
    long_about = "Makes images of the same content by lith and by each rival that is installed, mounts and reads \
        them in turn with cold caches, and writes what it took as JSON, Markdown and one HTML page with plots. \
        Rivals: mkfs.erofs and the kernel, erofsfuse, SquashFS on the kernel, squashfuse, ext4, XFS, btrfs, F2FS, \
        DwarFS, tar. Rivals that are not installed are named and left out.\n\n\
        Mounting by the kernel and dropping caches need root; what works without is measured without. Nothing is \
        downloaded: corpora are made by bench/corpora.sh, rivals in a chroot by bench/rivals.sh.",
    after_long_help = "\
Examples:
  lith bench --list                                what there is to measure
  lith bench --out results                         the published comparisons, on the usual corpora
  lith bench erofs --corpus /srv/rootfs --repeat 5 one of them, on your own folder
  lith bench tar seq --rivals erofsfuse,kernel     how fast lith serves, beside some rivals"
)]
pub(crate) struct Bench {
    /// What to measure; the four published comparisons if nothing is named
    #[arg(value_name = "SUITE")]
    pub(crate) suites: Vec<String>,

    /// Print the names of all suites and end
    #[arg(long)]
    pub(crate) list: bool,

    /// Measure on this folder, or on the corpus of this name, in place of all corpora
    #[arg(long, value_name = "DIR|NAME")]
    corpus: Option<PathBuf>,

    /// Compare only with rivals whose names contain one of these texts
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub(crate) rivals: Vec<String>,

    /// Measure only tables and rows whose names contain this text (repeatable)
    #[arg(long, value_name = "TEXT")]
    pub(crate) only: Vec<String>,

    /// Rounds that are measured, after one to warm up
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) repeat: u32,

    /// Write results.json, results.md and results.html to this folder
    #[arg(long, value_name = "DIR", default_value = "lith-bench")]
    pub(crate) out: PathBuf,

    /// Show whether lith met the targets that its developers set; results.json always has them
    #[arg(long)]
    pub(crate) targets: bool,

    /// Measure nothing: rewrite the marked tables and pictures of this document from stored results
    #[arg(long, value_name = "DOCUMENT", conflicts_with_all = ["suites", "list"])]
    pub(crate) update: Vec<PathBuf>,

    /// Folder with the results that documents name, each as NAME.json
    #[arg(long, value_name = "DIR", default_value = "docs/benchmarks", requires = "update")]
    pub(crate) results: PathBuf,

    /// Folder with corpora [default: `$LITH_CORPORA`, or `~/.cache/lith-bench`]
    #[arg(long, value_name = "DIR")]
    corpora: Option<PathBuf>,

    /// Root filesystem in which rivals are installed [default: sid among the corpora]
    #[arg(long, value_name = "DIR")]
    chroot: Option<PathBuf>,

    /// Work below this folder, which needs free space for all images [default: that of the corpora]
    #[arg(long, value_name = "DIR")]
    work: Option<PathBuf>,

    /// Keep the images that are read in this folder, for the next run
    #[arg(long, value_name = "DIR")]
    pub(crate) images: Option<PathBuf>,

    /// The lith to measure [default: the one beside lith-bench, or in the PATH]
    #[arg(long, value_name = "PROGRAM", overrides_with = "lith")]
    lith: Option<PathBuf>,
}

impl Bench {
    pub(crate) fn corpora(&self) -> PathBuf {
        self.corpora.clone().unwrap_or_else(Corpora::default_folder)
    }

    /// The root filesystem in which rivals are installed, if there is one.
    pub(crate) fn chroot(&self) -> Option<PathBuf> {
        let chroot = self.chroot.clone().unwrap_or_else(|| self.corpora().join("sid"));
        Some(chroot).filter(|chroot| chroot.is_dir())
    }

    /// Where files are made: with the corpora, or with temporary files if there are no corpora.
    pub(crate) fn work(&self) -> PathBuf {
        let default = || Some(self.corpora()).filter(|corpora| corpora.is_dir());
        self.work.clone().or_else(default).unwrap_or_else(env::temp_dir)
    }

    pub(crate) fn lith(&self) -> anyhow::Result<PathBuf> {
        if let Some(lith) = &self.lith {
            return fs::canonicalize(lith).with_context(|| format!("no lith: {}", lith.display()));
        }
        let this = env::current_exe().context("cannot find this program")?;
        let path = env::var_os("PATH").unwrap_or_default();
        let in_path = env::split_paths(&path).map(|folder| folder.join("lith"));
        let mut places = iter::once(this.with_file_name("lith")).chain(in_path);
        let found = places.find(|place| place.is_file());
        found.context("no lith beside lith-bench or in the PATH; --lith names one")
    }

    /// A folder in place of all corpora, or the name of one of them.
    pub(crate) fn corpus(&self) -> anyhow::Result<(Option<PathBuf>, Option<String>)> {
        let Some(word) = &self.corpus else { return Ok((None, None)) };
        let corpora = self.corpora();
        if let Some(name) =
            word.to_str().filter(|name| corpora.join(name).is_dir() && !word.is_absolute())
        {
            return Ok((None, Some(name.to_owned())));
        }
        let folder = fs::canonicalize(word);
        let folder =
            folder.with_context(|| format!("no folder and no corpus: {}", word.display()))?;
        anyhow::ensure!(folder.is_dir(), "{}: not a folder", word.display());
        Ok((Some(folder), None))
    }

    /// The command that repeats the run on another machine, so without paths of this one.
    pub(crate) fn command(&self) -> String {
        let mut words = vec!["lith bench".to_owned()];
        words.extend(self.suites.iter().cloned());
        match &self.corpus {
            Some(corpus) if corpus.components().count() > 1 => words.push("--corpus DIR".into()),
            Some(corpus) => words.push(format!("--corpus {}", corpus.display())),
            None => {}
        }
        if !self.rivals.is_empty() {
            words.push(format!("--rivals {}", self.rivals.join(",")));
        }
        words.extend(self.only.iter().map(|only| format!("--only '{only}'")));
        words.push(format!("--repeat {}", self.repeat));
        words.join(" ")
    }
}
