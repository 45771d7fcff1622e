//! Builds images (`lith.build`).

use std::path::{Path, PathBuf};

use lith::{
    Adjust, BuildOptions, Builder, Preset, Times,
    bases::Search,
    builder::Compression,
    codec::Compressor,
    format::kernel::KernelVersion,
    temporary_directory,
    tree::{DisplayPath, Timestamp},
};
use pyo3::{
    buffer::PyBuffer,
    exceptions::{PyTypeError, PyValueError},
    prelude::*,
    types::{PyBytes, PyIterator},
};

use crate::{
    error::{of_work, os_error},
    path::bytes,
    remote,
    spool::{Spool, SpoolError},
    task,
};

/// The arguments of `lith.build` that say what kind of image is made, and how.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Choices {
    preset: String,
    kernel: Option<String>,
    compressor: Option<String>,
    rules: Vec<(String, Option<String>)>,
    exclude: Vec<String>,
    label: String,
    mtime: Option<i64>,
    workers: Option<usize>,
    memory: Option<usize>,
    force: bool,
    verify: bool,
}

/// What was built.
#[pyclass(frozen, get_all, module = "lith._lith")]
pub(crate) struct Built {
    /// Bytes of the image.
    image_bytes: u64,
    /// Bytes of all files' content, each hard-linked file once.
    content_bytes: u64,
    /// Inodes of every kind.
    inodes: u64,
    /// Regular files.
    files: u64,
    /// Patterns that matched no file.
    unmatched: Vec<String>,
}

#[pymethods]
impl Built {
    fn __repr__(&self) -> String {
        let Self { image_bytes, content_bytes, inodes, files, .. } = self;
        format!(
            "Built(image_bytes={image_bytes}, content_bytes={content_bytes}, inodes={inodes}, files={files})"
        )
    }
}

/// Builds an image of folders, tars or images; of several, each is a layer on top of the one before.
#[pyfunction]
pub(crate) fn build_paths(
    py: Python<'_>,
    paths: Vec<PathBuf>,
    image: PathBuf,
    choices: Choices,
) -> PyResult<Built> {
    let plan = Plan::new(choices)?;
    let change = |read: &mut lith::source::Options| read.remote = remote::options(None);
    run(py, &image, plan, || Ok(Builder::paths(paths, Search::default()).read(change)))
}

/// Builds an image of an iterator of `(path, bytes)`; `None` in place of bytes makes a directory.
#[pyfunction]
pub(crate) fn build_files(
    py: Python<'_>,
    files: &Bound<'_, PyIterator>,
    image: PathBuf,
    choices: Choices,
) -> PyResult<Built> {
    let plan = Plan::new(choices)?;
    let folder = temporary_directory(&image);
    let time = Timestamp { sec: plan.mtime.unwrap_or(0), nsec: 0 };
    let failed = |source: std::io::Error| of_work(py, &source, &folder);
    let mut spool = Spool::new(&folder, time).map_err(failed)?;
    for item in files {
        add(&mut spool, &item?, &folder)?;
    }
    let source = spool.finish().map_err(failed)?;
    run(py, &image, plan, || Ok(Builder::source(source)))
}

/// Adds one `(path, bytes)`.
fn add(spool: &mut Spool, item: &Bound<'_, PyAny>, folder: &Path) -> PyResult<()> {
    let py = item.py();
    let (path, content): (PathBuf, Bound<'_, PyAny>) = item.extract()?;
    let added = if content.is_none() {
        spool.add_directory(&path)
    } else if let Ok(content) = content.cast::<PyBytes>() {
        spool.add_file(&path, content.as_bytes())
    } else {
        let kind = content.get_type().name()?;
        let content = PyBuffer::<u8>::get(&content).map_err(|_error| {
            let text = format!("{}: content must be bytes or None, not {kind}", path.display());
            PyTypeError::new_err(text)
        })?;
        spool.add_file(&path, &content.to_vec(py)?)
    };
    added.map_err(|error| {
        let path_text = DisplayPath(bytes(&path)).to_string();
        match error {
            SpoolError::Io(source) => of_work(py, &source, folder),
            SpoolError::Name(error) => PyValueError::new_err(format!("{path_text}: {error}")),
            SpoolError::Tree(error) => PyValueError::new_err(format!("{path_text}: {error}")),
        }
    })
}

/// Parsed choices.
struct Plan {
    preset: Preset,
    kernel: KernelVersion,
    /// Of all files; `None`: as the preset has it.
    compressor: Option<Storing>,
    rules: Vec<(String, Option<Compressor>)>,
    exclude: Vec<String>,
    label: String,
    mtime: Option<i64>,
    workers: Option<std::num::NonZeroUsize>,
    memory: usize,
    force: bool,
    verify: bool,
}

impl Plan {
    fn new(choices: Choices) -> PyResult<Self> {
        let rule = |(glob, compressor): (String, Option<String>)| {
            let compressor = compressor.as_deref().map_or(Ok(Storing(None)), Storing::named)?.0;
            PyResult::Ok((glob, compressor))
        };
        Ok(Self {
            preset: parsed(&choices.preset)?,
            kernel: choices.kernel.as_deref().map_or(Ok(KernelVersion::DEFAULT), parsed)?,
            compressor: choices.compressor.as_deref().map(Storing::named).transpose()?,
            rules: choices.rules.into_iter().map(rule).collect::<PyResult<_>>()?,
            exclude: choices.exclude,
            label: choices.label,
            mtime: choices.mtime,
            workers: choices.workers.map(TryInto::try_into).transpose()?,
            memory: choices.memory.unwrap_or(Builder::DEFAULT_MEMORY),
            force: choices.force,
            verify: choices.verify,
        })
    }

    fn apply(self, mut builder: Builder<'_>) -> Builder<'_> {
        builder = builder.preset(self.preset).kernel(self.kernel).memory(self.memory);
        builder = builder.force(self.force).verify(self.verify);
        builder = self.exclude.into_iter().fold(builder, Builder::exclude);
        builder = self
            .rules
            .into_iter()
            .fold(builder, |builder, (glob, compressor)| builder.rule(glob, compressor));
        if let Some(workers) = self.workers {
            builder = builder.workers(workers);
        }
        if let Some(sec) = self.mtime {
            let times = Times::Fixed(Timestamp { sec, nsec: 0 });
            builder = builder.adjust(Adjust { times, ..Adjust::default() });
        }
        let (label, compressor) = (self.label, self.compressor);
        builder.options(move |options| {
            options.identity.label = label.into_bytes();
            if let Some(compressor) = compressor {
                compressor.apply(options);
            }
        })
    }
}

/// How files are stored: compressed so, or uncompressed.
struct Storing(Option<Compressor>);

impl Storing {
    /// A compressor by its name and level, as `zstd,9`, or `none`.
    fn named(name: &str) -> PyResult<Self> {
        Ok(Self(if name == "none" { None } else { Some(parsed(name)?) }))
    }

    fn apply(self, options: &mut BuildOptions) {
        let files = options.compression.files;
        options.compression.files = self.0.map(|compressor| match files {
            Some(files) => Compression { compressor, ..files },
            None => Compression::new(compressor),
        });
    }
}

fn parsed<T: std::str::FromStr<Err: std::fmt::Display>>(text: &str) -> PyResult<T> {
    text.parse().map_err(|error: T::Err| PyValueError::new_err(error.to_string()))
}

fn run<'a>(
    py: Python<'_>,
    image: &Path,
    plan: Plan,
    builder: impl FnOnce() -> PyResult<Builder<'a>> + Send,
) -> PyResult<Built> {
    let built = task::run(py, move |progress| {
        let builder: Builder<'_> = plan.apply(builder()?);
        PyResult::Ok(builder.observer(progress).build_to(image))
    })??;
    let built = built.map_err(|error| match error {
        lith::Error::Occupied(path) => os_error(
            py,
            libc::EEXIST,
            "Exists and is no EROFS image (force=True replaces it)",
            &path,
        ),
        error => of_work(py, &error, error.path().unwrap_or(image)),
    })?;
    let report = &built.report;
    Ok(Built {
        image_bytes: report.image_bytes,
        content_bytes: report.content_bytes,
        inodes: report.inodes,
        files: report.files,
        unmatched: built.unmatched.iter().map(|unmatched| unmatched.pattern.clone()).collect(),
    })
}
