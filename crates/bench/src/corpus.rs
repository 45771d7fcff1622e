//! Finds the trees and files that are measured on.

use std::{
    collections::HashSet,
    env, fs,
    io::Write,
    os::unix::{ffi::OsStrExt, fs::MetadataExt},
    path::{Path, PathBuf},
    process::Command,
};

use crate::{error::failed, process, results};

/// The seed of all that is random, so that every run does the same.
pub(crate) const SEED: u64 = 20_240_229;
/// The folders of a succession's two versions.
const OLD: &str = "old";
const NEW: &str = "new";
/// The end of the name of a succession that was given.
const VERSIONS: &str = ", two versions";
/// A tree that every machine has, for those that have made no corpora.
const ANYWHERE: &str = "/usr/bin";

/// Which corpora the suites are to take.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    /// Trees of programs and their data.
    pub(crate) trees: Vec<String>,
    /// These and others, for choices that must hold for all.
    pub(crate) many_trees: Vec<String>,
    /// A tree of very many small files.
    pub(crate) many: String,
    /// A folder with one large file of text.
    pub(crate) text: String,
    /// A folder with one file of mixed content.
    pub(crate) mixed: String,
    /// A folder with one very large file, to be built as fast as can be.
    pub(crate) large: String,
    /// A root filesystem with an application in it.
    pub(crate) application: String,
    /// Trees of which there is an old version, too.
    pub(crate) successions: Vec<String>,
}

#[derive(Clone, Debug)]
pub(crate) struct Corpora {
    pub(crate) folder: PathBuf,
    /// The folder in place of all corpora, if there is one.
    pub(crate) given: Option<PathBuf>,
    /// What was made for this run.
    made: PathBuf,
}

/// A folder that is measured on.
#[derive(Clone, Debug)]
pub(crate) struct Corpus {
    pub(crate) path: PathBuf,
    pub(crate) facts: results::Corpus,
    /// The largest file, below the folder.
    pub(crate) file: PathBuf,
}

impl Corpora {
    /// The default folder of corpora: `$LITH_CORPORA`, or a folder in the home folder's cache.
    pub(crate) fn default_folder() -> PathBuf {
        let set = env::var_os("LITH_CORPORA").filter(|path| !path.is_empty());
        let home =
            || PathBuf::from(env::var_os("HOME").unwrap_or_default()).join(".cache/lith-bench");
        set.map_or_else(home, PathBuf::from)
    }

    /// The corpora in `folder`, or `given` in place of all of them. Files made from them are stored in `made`.
    pub(crate) fn new(folder: PathBuf, given: Option<PathBuf>, made: PathBuf) -> Self {
        let known = Names::known();
        let has_any = known.trees.iter().any(|name| folder.join(name).is_dir());
        let given = given.or_else(|| (!has_any).then(|| ANYWHERE.into()));
        Self { folder, given, made }
    }

    pub(crate) fn names(&self) -> Names {
        let Some(given) = &self.given else { return Names::known() };
        let tree = given.file_name().map_or_else(|| "root".into(), |name| name.to_string_lossy());
        let (tree, file) = (tree.to_string(), format!("{tree}.tar"));
        Names {
            trees: vec![tree.clone()],
            many_trees: vec![tree.clone()],
            many: tree.clone(),
            text: file.clone(),
            mixed: file.clone(),
            large: file,
            application: "office".into(),
            successions: vec![format!("{tree}{VERSIONS}")],
        }
    }

    pub(crate) fn find(&self, name: &str) -> anyhow::Result<Corpus> {
        let own = self.folder.join(name);
        let path = match &self.given {
            Some(given) if name.ends_with(VERSIONS) => given.join(NEW),
            Some(given) if name != "office" => match name.strip_suffix(".tar") {
                Some(_) => self.tar_of(given, name)?,
                None => given.clone(),
            },
            // The old version is beside the new one, on which is measured.
            _ if own.join(NEW).is_dir() && own.join(OLD).is_dir() => own.join(NEW),
            _ => own,
        };
        anyhow::ensure!(path.is_dir(), "no corpus {name}: bench/corpora.sh {name}");
        Corpus::new(name, path)
    }

    /// A folder with the whole of a tree as one file.
    fn tar_of(&self, tree: &Path, name: &str) -> anyhow::Result<PathBuf> {
        let folder = self.made.join(name).with_extension("folder");
        if !folder.is_dir() {
            fs::create_dir_all(&folder).map_err(failed("create", &folder))?;
            let mut tar = Command::new("tar");
            process::run(tar.arg("-C").arg(tree).arg("-cf").arg(folder.join(name)).arg("."))?;
        }
        Ok(folder)
    }
}

impl Names {
    /// Those that `bench/corpora.sh` makes.
    pub(crate) fn known() -> Self {
        Self {
            trees: vec!["debian".into(), "libreoffice".into()],
            many_trees: ["debian", "libreoffice", "linux", "gosrc", "node"].map(Into::into).into(),
            many: "linux".into(),
            text: "text".into(),
            mixed: "silesia7".into(),
            large: "linuxtar".into(),
            application: "office".into(),
            successions: ["updates-go", "updates-npm", "updates-debian"].map(Into::into).into(),
        }
    }
}

impl Corpus {
    /// The corpus in a folder.
    pub(crate) fn new(name: &str, path: PathBuf) -> anyhow::Result<Self> {
        let path = fs::canonicalize(&path).map_err(failed("find", path))?;
        let (mut inodes, mut bytes, mut seen) = (0, 0, HashSet::new());
        let (mut file, mut file_size) = (PathBuf::new(), 0);
        walk(&path, &mut |found, metadata| {
            if !seen.insert((metadata.dev(), metadata.ino())) {
                return;
            }
            inodes += 1;
            if metadata.is_file() {
                bytes += metadata.len();
                if metadata.len() > file_size {
                    (file, file_size) =
                        (found.strip_prefix(&path).unwrap_or(found).into(), metadata.len());
                }
            }
        })?;
        let facts = results::Corpus { name: name.into(), inodes, bytes };
        Ok(Self { path, facts, file })
    }

    /// Writes the paths below the folder to a file, a NUL after each, in a random order that is always the same:
    /// those of `most` regular files, or without a number those of everything.
    pub(crate) fn list(&self, most: Option<usize>, to: &Path) -> anyhow::Result<()> {
        let mut paths = Vec::new();
        walk(&self.path, &mut |found, metadata| {
            let below = found.strip_prefix(&self.path).unwrap_or(found);
            if (most.is_none() || metadata.is_file()) && !below.as_os_str().is_empty() {
                paths.push(below.to_owned());
            }
        })?;
        paths.sort();
        fastrand::Rng::with_seed(SEED).shuffle(&mut paths);
        paths.truncate(most.unwrap_or(usize::MAX));
        let mut list = Vec::new();
        for path in paths {
            list.extend_from_slice(path.as_os_str().as_bytes());
            list.push(0);
        }
        let written = fs::File::create(to).and_then(|mut file| file.write_all(&list));
        written.map_err(failed("write", to))
    }
}

/// Shows everything in a folder, and itself. What vanishes meanwhile is left out.
fn walk(path: &Path, see: &mut impl FnMut(&Path, &fs::Metadata)) -> anyhow::Result<()> {
    let mut stack = vec![path.to_owned()];
    while let Some(path) = stack.pop() {
        let Ok(metadata) = fs::symlink_metadata(&path) else { continue };
        see(&path, &metadata);
        if metadata.is_dir() {
            let entries = fs::read_dir(&path).map_err(failed("list", &path))?;
            stack.extend(entries.filter_map(Result::ok).map(|entry| entry.path()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("sub")).unwrap();
        fs::write(folder.path().join("sub/large"), [7; 1000]).unwrap();
        fs::hard_link(folder.path().join("sub/large"), folder.path().join("again")).unwrap();
        fs::write(folder.path().join("small"), [7; 10]).unwrap();
        std::os::unix::fs::symlink("small", folder.path().join("link")).unwrap();
        folder
    }

    #[test]
    fn a_corpus_counts_hard_links_once() {
        let folder = tree();
        let corpus = Corpus::new("some", folder.path().into()).unwrap();
        assert_eq!((corpus.facts.inodes, corpus.facts.bytes), (5, 1010));
        assert!(corpus.file.ends_with("large") || corpus.file.ends_with("again"), "{corpus:?}");
    }

    #[test]
    fn lists_are_random_but_always_the_same() {
        let folder = tree();
        let corpus = Corpus::new("some", folder.path().into()).unwrap();
        let to = tempfile::NamedTempFile::new().unwrap();
        let paths = |most| {
            corpus.list(most, to.path()).unwrap();
            let text = fs::read_to_string(to.path()).unwrap();
            text.split_terminator('\0').map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(paths(None).len(), 5);
        assert_eq!(paths(None), paths(None));
        assert_eq!(paths(Some(99)).len(), 3);
        assert_eq!(paths(Some(2)), paths(Some(99))[..2]);
    }

    #[test]
    fn a_given_folder_stands_for_all_and_for_its_tar() {
        let (folder, made) = (tree(), tempfile::tempdir().unwrap());
        let corpora =
            Corpora::new("/nowhere".into(), Some(folder.path().into()), made.path().into());
        let names = corpora.names();
        assert_eq!(corpora.find(&names.trees[0]).unwrap().facts.bytes, 1010);
        let large = corpora.find(&names.large).unwrap();
        assert!(large.facts.bytes > 1010 && large.facts.inodes == 2, "{large:?}");
        let error = corpora.find("office").unwrap_err().to_string();
        assert_eq!(error, "no corpus office: bench/corpora.sh office");
        let without = Corpora::new("/nowhere".into(), None, made.path().into());
        assert_eq!(without.given.as_deref(), Some(Path::new(ANYWHERE)));
    }
}
