//! Makes images and reuses those that exist.

use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    process::Command,
};

use xxhash_rust::xxh3::Xxh3;

use crate::{
    corpus::Corpus,
    error::failed,
    process::{self, Usage},
    program::Place,
    workplace::{Words, Workplace, programs_of},
};

/// How the content of a folder becomes one file that can be mounted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Recipe {
    /// By a command that reads SOURCE and writes IMAGE.
    Command(String),
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
            Self::Command(line) => line.split_whitespace().collect::<Vec<_>>().join(" "),
            Self::Filesystem { mkfs, options, .. } => {
                format!("{mkfs} IMAGE && mount -o {options} IMAGE MOUNT && cp -a SOURCE/. MOUNT")
            }
        }
    }

    pub(crate) fn lacks(&self, place: &Workplace) -> Option<String> {
        match self {
            Self::Command(line) => place.lacks_program(line),
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
    let path = place.images().join(name_of(place, recipe, corpus));
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

/// A name that differs for images that differ in content, options or the program that made them.
fn name_of(place: &Workplace, recipe: &Recipe, corpus: &Corpus) -> String {
    let text = recipe.text();
    let mut hasher = Xxh3::new();
    hasher.update(text.as_bytes());
    hasher.update(corpus.path.as_os_str().as_encoded_bytes());
    hasher.update(&corpus.facts.bytes.to_le_bytes());
    for name in programs_of(&text) {
        if let Some(Place::Here(path)) = place.programs.find(name)
            && let Ok(file) = fs::metadata(path)
        {
            hasher.update(&file.len().to_le_bytes());
            hasher.update(&file.mtime().to_le_bytes());
        }
    }
    format!("{}-{:016x}", corpus.facts.name, hasher.digest())
}
