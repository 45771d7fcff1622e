//! How does a source become an image that can be relied on?

use std::{
    fs::File,
    io, iter,
    path::{Path, PathBuf},
    sync::Arc,
};

use lith_builder::{BuildError, Options, Output, Progress, Report};
use lith_source::Source;

use crate::{
    Adjust, Mismatch, flush,
    staged::{Staged, temporary_directory},
    verify,
};

/// Where an image's UUID comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ImageId {
    /// From the image's content, so that equal images have equal ids and different ones different ids.
    #[default]
    FromContent,
    /// All zeros.
    Clear,
    /// By chance: two builds of one source differ.
    Random,
    /// As given.
    Fixed([u8; 16]),
}

/// How an image is made.
#[derive(Clone, Debug)]
pub struct BuildOptions {
    /// What kind of image it is. Its UUID and its place for temporary data are taken from elsewhere.
    pub image: Options,
    /// The UUID.
    pub id: ImageId,
    /// Owners and times that replace those of the source.
    pub adjust: Adjust,
    /// The device that chunks go to instead of the image; nothing if they are in the image.
    pub blob: Option<PathBuf>,
    /// Where in its file the image begins. What lies before, of a file that is there already, stays.
    pub offset: u64,
    /// Whether the image is read back and compared with what was read of the source.
    pub verify: bool,
}

impl Default for BuildOptions {
    fn default() -> Self {
        Self {
            image: Options::default(),
            id: ImageId::default(),
            adjust: Adjust::default(),
            blob: None,
            offset: 0,
            verify: true,
        }
    }
}

/// Why there is no new image.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Its file can't be made or named.
    #[error("{}: cannot {action}", path.display())]
    Target {
        /// The image's path.
        path: PathBuf,
        /// `create`, `put into place`.
        action: &'static str,
        /// What the operating system said.
        source: io::Error,
    },
    /// It can't be built.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// What was written is not what was read.
    #[error("the image was read back and is wrong; it was not put into place")]
    Verify(#[from] Mismatch),
}

/// The device for chunks in the making.
struct Blob<'p> {
    path: &'p Path,
    staged: Staged,
    file: Arc<File>,
}

impl<'p> Blob<'p> {
    fn create(path: &'p Path, image: &Path) -> Result<Self, Error> {
        let failed = |action| move |source| target(path, action, source);
        if path == image {
            let same = io::Error::new(io::ErrorKind::InvalidInput, "it is the image itself");
            return Err(target(path, "create", same));
        }
        let staged = Staged::create(path).map_err(failed("create"))?;
        let file = staged.file().try_clone().map_err(failed("create"))?;
        Ok(Self { path, staged, file: Arc::new(file) })
    }

    /// Puts it on disk and gives it a name, though not yet its own.
    fn prepare(mut self) -> Result<Self, Error> {
        let failed = |source| target(self.path, "put into place", source);
        self.file.sync_data().map_err(failed)?;
        self.staged.prepare().map_err(failed)?;
        Ok(self)
    }

    fn commit(self) -> Result<(), Error> {
        self.staged.commit().map_err(|source| target(self.path, "put into place", source))
    }
}

fn target(path: &Path, action: &'static str, source: io::Error) -> Error {
    Error::Target { path: path.to_owned(), action, source }
}

/// Makes an image of `source` at `path`.
///
/// The image is written without a name, read back and compared unless that is switched off, put on
/// disk, and only then named: on any failure, whatever was at `path` is still there. A device for chunks is named
/// just before.
///
/// # Errors
/// [`Error`] names what is wrong.
pub fn build(
    mut source: Source,
    path: &Path,
    options: &BuildOptions,
    progress: &Progress,
) -> Result<Report, Error> {
    let failed = |action| move |source| target(path, action, source);
    options.adjust.apply(&mut source.tree);
    let mut staged = Staged::create(path).map_err(failed("create"))?;
    let blob = options.blob.as_deref().map(|blob| Blob::create(blob, path)).transpose()?;
    staged.keep(options.offset).map_err(failed("keep the beginning of"))?;
    let mut image = options.image.clone();
    image.temporary = temporary_directory(path);
    image.blob = blob.as_ref().map(|blob| Arc::clone(&blob.file));
    image.id = match options.id {
        ImageId::FromContent => lith_builder::ImageId::FromContent,
        ImageId::Clear => lith_builder::ImageId::Fixed([0; 16]),
        ImageId::Random => lith_builder::ImageId::Fixed(*uuid::Uuid::new_v4().as_bytes()),
        ImageId::Fixed(uuid) => lith_builder::ImageId::Fixed(uuid),
    };
    // The disk is slow, but busy on its own: what is built and what is read back goes to it meanwhile.
    let (report, written) = flush::beside(staged.file(), |finished| {
        let fs = source.filesystem();
        let output = Output::new(staged.file(), options.offset);
        let built = lith_builder::build(fs, output, &image, progress)?;
        finished();
        if options.verify {
            let copies = iter::once(staged.file()).chain(image.blob.as_deref());
            let copies = copies.map(File::try_clone).collect::<Result<Vec<_>, _>>();
            let copies = copies.map_err(failed("read back"))?;
            verify::verify((copies, options.offset), fs, &built, &image)?;
        }
        Ok::<_, Error>(built.report)
    })?;
    written.and_then(|()| staged.prepare()).map_err(failed("put into place"))?;
    if let Some(blob) = blob.map(Blob::prepare).transpose()? {
        blob.commit()?;
    }
    staged.commit().map_err(failed("put into place"))?;
    Ok(report)
}
