//! Makes images and reuses those that exist.

use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::Context;
use xxhash_rust::xxh3::Xxh3;

use crate::{
    corpus::Corpus,
    error::failed,
    process::{self, Usage},
    program::Place,
    sort_file::priorities_of,
    workplace::{Words, Workplace, programs_of},
};

/// How the content of a folder becomes one file that can be mounted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Recipe {
    /// By a command that reads SOURCE and writes IMAGE.
    Command(String),
    /// By a command that also reads ORDER.
    Ordered { line: String, order: Recording },
    /// By a copy into a filesystem that can be written to.
    Filesystem {
        /// As the kernel calls it.
        name: &'static str,
        /// What makes an empty one.
        mkfs: &'static str,
        /// What it is mounted with.
        options: &'static str,
    },
}

#[derive(Clone, Debug)]
pub(crate) struct Image {
    pub(crate) path: PathBuf,
    /// Its bytes, or those in use.
    pub(crate) size: u64,
}

impl Recipe {
    /// The command line, with names in capitals in place of paths.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Command(line) | Self::Ordered { line, .. } => spaced(line),
            Self::Filesystem { mkfs, options, .. } => {
                format!("{mkfs} IMAGE && mount -o {options} IMAGE MOUNT && cp -a SOURCE/. MOUNT")
            }
        }
    }

    /// What ORDER is made of.
    fn order(&self) -> String {
        match self {
            Self::Ordered { order, .. } => order.key(),
            _ => String::new(),
        }
    }

    pub(crate) fn lacks(&self, place: &Workplace) -> Option<String> {
        match self {
            Self::Command(line) | Self::Ordered { line, .. } => place.lacks_program(line),
            Self::Filesystem { name, mkfs, .. } => {
                place.lacks_filesystem(name).or_else(|| place.lacks_program(mkfs))
            }
        }
    }

    /// Makes the image and returns the cost.
    pub(crate) fn make(
        &self,
        place: &Workplace,
        corpus: &Corpus,
        image: &Path,
    ) -> anyhow::Result<Usage> {
        place.enter_chroot(&corpus.path)?;
        match self {
            Self::Command(line) => {
                let source = corpus.path.clone();
                let words = Words { source, image: image.into(), ..Words::default() };
                run(place, line, &words)
            }
            Self::Ordered { line, order } => {
                let (source, order) = (corpus.path.clone(), order.file(place, corpus)?);
                let words = Words { source, image: image.into(), order, ..Words::default() };
                run(place, line, &words)
            }
            Self::Filesystem { name, mkfs, options } => {
                let file = fs::File::create(image);
                // Space for a copy, and for what the filesystem needs itself.
                let size = corpus.facts.bytes * 3 / 2 + corpus.facts.inodes * 4096 + (512 << 20);
                file.and_then(|file| file.set_len(size)).map_err(failed("create", image))?;
                let words = Words { image: image.into(), ..Words::default() };
                run(place, &format!("{mkfs} IMAGE"), &words)?;
                let mounted = Loop::new(place, image, name, &format!("loop,{options}"))?;
                let mut copy = Command::new("cp");
                let copied =
                    process::run(copy.arg("-a").arg(corpus.path.join(".")).arg(&mounted.folder));
                rustix::fs::sync();
                copied
            }
        }
    }

    /// Makes the image, and returns the cost and the seconds in which one thread ran; filesystems that are written to
    /// have none.
    pub(crate) fn trace(
        &self,
        place: &Workplace,
        corpus: &Corpus,
        image: &Path,
    ) -> anyhow::Result<(Usage, f64)> {
        let Self::Command(line) = self else {
            return self.make(place, corpus, image).map(|usage| (usage, 0.0));
        };
        let (source, image) = (corpus.path.clone(), image.into());
        let (mut command, _) = place.command(line, &Words { source, image, ..Words::default() })?;
        process::trace(&mut command)
    }

    fn size(&self, place: &Workplace, image: &Path) -> anyhow::Result<u64> {
        let Self::Filesystem { name, .. } = self else {
            return fs::metadata(image).map(|file| file.len()).map_err(failed("look at", image));
        };
        let mounted = Loop::new(place, image, name, "loop,ro")?;
        rustix::fs::statvfs(&mounted.folder)
            .map(|fs| (fs.f_blocks - fs.f_bfree) * fs.f_frsize)
            .map_err(failed("look at", &mounted.folder))
    }
}

/// What a command reads of an image, in the order of its first use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Recording {
    /// The image that is read.
    pub(crate) image: Box<Recipe>,
    /// A shell command, in which `$FOLDER` is the tree.
    pub(crate) command: &'static str,
    /// The tree in place of the one that is stored: an earlier version, next to that.
    pub(crate) of: Option<&'static str>,
    pub(crate) form: Form,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// A profile of lith.
    Profile,
    /// Whole files with priorities, for mksquashfs.
    Sort,
}

impl Recording {
    /// What it is made of, for names of files.
    fn key(&self) -> String {
        let Self { image, command, of, form } = self;
        format!("{form:?} {of:?} {} {command}", image.text())
    }

    /// The file with the order, made if it is not there yet.
    pub(crate) fn file(&self, place: &Workplace, corpus: &Corpus) -> anyhow::Result<PathBuf> {
        let corpus = match self.of {
            None => corpus.clone(),
            Some(name) => Corpus::new(name, corpus.path.with_file_name(name))?,
        };
        let profile = Self { form: Form::Profile, ..self.clone() };
        let name = name_of(place, (&self.image.text(), &profile.key()), &corpus);
        let path = place.images().join(name).with_extension("profile");
        if !path.exists() {
            self.record(place, &corpus, &path)?;
        }
        match self.form {
            Form::Profile => Ok(path),
            Form::Sort => {
                let text = fs::read_to_string(&path).map_err(failed("read", &path))?;
                let sort = path.with_extension("sort");
                fs::write(&sort, priorities_of(&text)).map_err(failed("write", &sort))?;
                Ok(sort)
            }
        }
    }

    fn record(&self, place: &Workplace, corpus: &Corpus, path: &Path) -> anyhow::Result<()> {
        let image = image_of(place, &self.image, corpus, &|_| ())?;
        let partial = path.with_extension("partial");
        let words = Words { image: image.path, mount: partial.clone(), ..Words::default() };
        let (mut record, _) = place.command("lith record -q -o DIR IMAGE --", &words)?;
        let script = format!("FOLDER=$LITH_MOUNT; export FOLDER; {}", self.command);
        process::run(record.args(["sh", "-c", &script]))?;
        let text = fs::read_to_string(&partial).map_err(failed("read", &partial))?;
        anyhow::ensure!(text.lines().any(|line| line.starts_with("read ")), "nothing was recorded");
        fs::rename(&partial, path).with_context(|| format!("cannot rename {}", partial.display()))
    }
}

fn spaced(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn run(place: &Workplace, line: &str, words: &Words) -> anyhow::Result<Usage> {
    let (mut command, _) = place.command(line, words)?;
    process::run(&mut command)
}

/// A filesystem that is mounted from a file, until it is dropped.
struct Loop {
    folder: PathBuf,
}

impl Loop {
    fn new(place: &Workplace, image: &Path, name: &str, options: &str) -> anyhow::Result<Self> {
        let folder = place.path("mount");
        let mut mount = Command::new("mount");
        process::run(mount.args(["-t", name, "-o", options]).arg(image).arg(&folder))?;
        Ok(Self { folder })
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _gone = Command::new("umount").arg(&self.folder).status();
    }
}

/// The image of a recipe, made if it is not there yet.
pub(crate) fn image_of(
    place: &Workplace,
    recipe: &Recipe,
    corpus: &Corpus,
    say: &dyn Fn(&str),
) -> anyhow::Result<Image> {
    let path = place.images().join(name_of(place, (&recipe.text(), &recipe.order()), corpus));
    if !path.exists() {
        say(&format!("{}: {}", corpus.facts.name, recipe.text()));
        // Another name until it is whole.
        let partial = path.with_extension("partial");
        remove(&partial);
        let made = recipe.make(place, corpus, &partial);
        if made.is_err() {
            remove(&partial);
        }
        made?;
        fs::rename(&partial, &path).map_err(failed("rename", partial))?;
    }
    let size = recipe.size(place, &path)?;
    Ok(Image { path, size })
}

/// Removes what a command may have left: a file, or a folder of files.
fn remove(path: &Path) {
    let _none_there = fs::remove_file(path).or_else(|_| fs::remove_dir_all(path));
}

/// A name that differs for files that differ in content, options or the programs that made them, which a text names.
pub(crate) fn name_of(place: &Workplace, (text, more): (&str, &str), corpus: &Corpus) -> String {
    let mut hasher = Xxh3::new();
    hasher.update(text.as_bytes());
    hasher.update(more.as_bytes());
    hasher.update(corpus.path.as_os_str().as_encoded_bytes());
    hasher.update(&corpus.facts.bytes.to_le_bytes());
    for name in programs_of(text) {
        if let Some(Place::Here(path)) = place.programs.find(name)
            && let Ok(file) = fs::metadata(path)
        {
            hasher.update(&file.len().to_le_bytes());
            hasher.update(&file.mtime().to_le_bytes());
        }
    }
    format!("{}-{:016x}", corpus.facts.name, hasher.digest())
}
