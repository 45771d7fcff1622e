//! Defines the arguments of `lith build`, and maps them to a source, options and resources.

use std::{
    num::NonZeroUsize,
    path::{Path, PathBuf},
    sync::Arc,
};

use clap::{ArgMatches, Args, Command, FromArgMatches, error::ErrorKind};
use lith::{
    Adjust, Builder,
    bases::Search,
    builder::{Compression, ImageId, Options},
    codec::Compressor,
    composefs,
    format::kernel::KernelVersion,
    profile::Hint,
    provenance::Recipe,
    transform::Setting,
    verity::Protection,
};

use uuid::Uuid;

use super::{
    attributes::{AttributeArguments, Tables},
    content::{Content, ContentArguments},
    layout::{LayoutArguments, check_target},
    order::{OrderArguments, named_files},
    protection::ProtectionArgs,
    recipe::{self, Meaning},
    value::{self, Compressors, Size},
};

/// A validated request to build an image.
#[derive(Debug)]
pub(crate) struct Build {
    pub(crate) from: From,
    /// Where the devices of the source, and the bases of bases, are.
    pub(crate) search: Search,
    /// Images that the new one refers to.
    pub(crate) bases: Vec<PathBuf>,
    /// Whether these follow it on its device.
    pub(crate) flat: bool,
    /// How many images it may refer to, theirs included.
    pub(crate) max_depth: Option<usize>,
    pub(crate) image: PathBuf,
    pub(crate) content: Content,
    /// Whether a pattern that matches nothing is an error.
    pub(crate) strict: bool,
    pub(crate) options: Options,
    pub(crate) kernel: Kernel,
    /// Owners and times that replace those of the source.
    pub(crate) adjust: Adjust,
    /// What is changed by tables and patterns.
    pub(crate) tables: Arc<Tables>,
    pub(crate) settings: Vec<Setting>,
    /// What is read first.
    pub(crate) hints: Arc<[Hint]>,
    pub(crate) place: Place,
    /// What the image records of all this, if it does.
    pub(crate) recipe: Option<Recipe>,
    /// How the image is made, apart from what kind of image it is.
    pub(crate) work: Work,
    pub(crate) json: bool,
}

/// What an image is made of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum From {
    /// Directories, archives and images, each on top of the one before.
    Layers(Vec<PathBuf>),
    /// A container image, each layer of which becomes an image of its own, in a folder.
    EachLayer(PathBuf),
    /// A list of files, and the directory with their content.
    Manifest(PathBuf, PathBuf),
}

/// The oldest kernel that must mount an image.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Kernel {
    /// What decides on which kernels it mounts, in case that is not what is expected.
    pub(crate) notes: Vec<String>,
    /// Whether it is named, and so nothing may need a newer one.
    is_named: bool,
}

/// Where an image is put, besides its file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    /// Where in its file it starts.
    pub(crate) offset: u64,
    /// The folder with the content of files.
    pub(crate) objects: Option<PathBuf>,
    /// The version of an image with such a folder.
    version: Option<composefs::Version>,
    /// The file that chunks are written to instead.
    pub(crate) blob: Option<PathBuf>,
    /// How it is protected by a hash tree.
    pub(crate) protection: Option<Protection>,
}

/// How an image is made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Work {
    pub(crate) workers: NonZeroUsize,
    /// Bytes of memory; `None`: the library's default.
    pub(crate) memory: Option<usize>,
    /// Whether the image is read back and compared with its source.
    pub(crate) verify: bool,
    /// Whether a file that is no image is replaced.
    pub(crate) force: bool,
}

/// Make an image of a directory, an archive or another image
#[derive(Args, Debug)]
#[command(
    override_usage = "lith build [OPTIONS] <SOURCE>... <IMAGE>",
    long_about = format!(
        "Makes an EROFS image of a directory, a tar, cpio or zip archive, a container image, or another image.\n\n\
        Without options the image is small, quick to read, and mounts on Linux {} and later. It is read back \
        and compared with the source before it replaces the file at its path; after any failure that file is \
        unchanged. The same source and options give the same bytes, on any machine and with any number of \
        workers.",
        KernelVersion::DEFAULT
    ),
    after_long_help = "\
Examples:
  lith build rootfs rootfs.erofs
  lith build -z lz4hc,12 -C 128K rootfs.tar.zst rootfs.erofs
  docker export box | lith build --all-root - box.erofs
  lith build rootfs - | ssh box 'cat > rootfs.erofs'
  lith build -z none --kernel 5.4 initrd initrd.erofs
  lith build /boot/initrd.img initrd.erofs
  lith build base.tar.zst overlay/ rootfs.erofs
  lith build oci:layout:v1 rootfs.erofs
  lith build docker://debian:13 rootfs.erofs
  lith build s3://bucket/rootfs.tar.zst rootfs.erofs
  lith build --platform linux/arm64 oci-archive:image.tar rootfs.erofs
  lith build --layers oci:layout:v1 images
  lith build --manifest rootfs.mtree rootfs rootfs.erofs
  lith build --profile app.profile rootfs rootfs.erofs
  lith build --rule '*.so=lz4' --rule '*.png=none' -z lzma rootfs rootfs.erofs
  lith build --verity --root-hash-file rootfs.roothash rootfs rootfs.erofs
  SOURCE_DATE_EPOCH=1700000000 lith build rootfs rootfs.erofs"
)]
struct Arguments {
    /// A directory, a tar or cpio archive (plain, gzip, xz, zstd or bzip2; `-`: standard input), a zip archive, an image of EROFS or
    /// SquashFS, any of these but directories also at `http(s)://`, `s3://`, `gs://`, `az://` or `oci://`, or a container image
    /// (`oci:DIR[:TAG]`, `oci-archive:FILE[:TAG]`, `docker-archive:FILE[:TAG]`, `docker://HOST/REPOSITORY:TAG`). Of several, each is a
    /// layer on top of the one before, as overlayfs has them. The last path is the image to make; `-` is standard output. A file that is
    /// there keeps its owner and mode
    // One list: of two, options could not be between them.
    #[arg(value_names = ["SOURCE", "IMAGE"], required = true, num_args = 1..)]
    paths: Vec<PathBuf>,

    #[command(flatten)]
    layout: LayoutArguments,

    #[command(flatten)]
    content: ContentArguments,

    #[command(flatten)]
    order: OrderArguments,

    #[command(flatten)]
    attributes: AttributeArguments,

    #[command(flatten)]
    protection: ProtectionArgs,

    /// Record in the image, outside of its tree, by what, with which options and of what it is made: for
    /// `lith info --provenance` and `lith rebuild`. The source's content is read once more for its digest
    #[arg(long, help_heading = "Integrity")]
    provenance: bool,

    #[command(flatten)]
    work: WorkArguments,
}

#[derive(Args, Debug)]
#[command(next_help_heading = "Resources and output")]
struct WorkArguments {
    /// Threads that read and compress [default: one for each core]
    #[arg(long, value_name = "N", value_parser = value::count)]
    workers: Option<NonZeroUsize>,

    /// Memory to use, encoders included, in addition to some hundred bytes for each file; fewer threads work if their
    /// encoders don't fit [default: 200M and what the encoders of all threads take]
    #[arg(long, value_name = "SIZE")]
    memory: Option<Size>,

    /// Replace a file that is neither an EROFS image nor empty
    #[arg(long)]
    force: bool,

    /// Don't read the image back to compare it with the source
    #[arg(long)]
    no_verify: bool,

    /// Print the report as a JSON object
    #[arg(long)]
    json: bool,
}

impl Args for Build {
    fn augment_args(command: Command) -> Command {
        Arguments::augment_args(command)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Arguments::augment_args_for_update(command)
    }
}

impl FromArgMatches for Build {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let arguments = Arguments::from_arg_matches(matches)?;
        let command = || Arguments::augment_args(Command::new("lith build"));
        let is_recorded = arguments.provenance;
        let request = arguments.into_request().and_then(|mut build| {
            if is_recorded {
                build.recipe = Some(recipe::record(&build.meaning()?, &command(), matches)?);
            }
            Ok(build)
        });
        request.map_err(|problem| {
            clap::Error::raw(ErrorKind::ValueValidation, problem).format(&mut command())
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Build {
    /// The build that an image records, of these sources and with these files that its options named.
    pub(crate) fn again(
        recipe: &Recipe,
        (sources, files): (&[PathBuf], &[PathBuf]),
        image: &Path,
    ) -> Result<Self, String> {
        if sources.len() != recipe.sources {
            let Recipe { sources: expected, .. } = recipe;
            return Err(format!("it was made of {expected} sources, not of {}", sources.len()));
        }
        let mut words = recipe::words(recipe, files)?;
        words.push("--".into());
        words.extend(sources.iter().map(|path| path.as_os_str().to_owned()));
        words.push(image.as_os_str().to_owned());
        let command = Self::augment_args(Command::new("lith build"));
        let matches = command.try_get_matches_from(words).map_err(|error| error.to_string())?;
        Self::from_arg_matches(&matches).map_err(|error| error.to_string())
    }

    /// What the arguments mean here and now. A random UUID is chosen.
    fn meaning(&mut self) -> Result<Meaning, String> {
        if self.place.blob.is_some() {
            return Err("--provenance describes one file: it has no meaning with --blob".into());
        }
        let id = &mut self.options.identity.id;
        if *id == ImageId::Random {
            *id = ImageId::Fixed(*Uuid::new_v4().as_bytes());
        }
        let uuid = match *id {
            ImageId::Fixed(uuid) => Some(Uuid::from_bytes(uuid)),
            _ => None,
        };
        let sources = match &self.from {
            From::Layers(paths) => paths.len(),
            From::EachLayer(_) | From::Manifest(..) => 1,
        };
        Ok(Meaning { sources, adjust: self.adjust, kernel: self.options.kernel, uuid })
    }

    /// The build that is requested.
    pub(crate) fn builder(&self) -> Builder<'static> {
        let content = self.content.clone();
        let search = self.search.clone();
        // Bases have devices, and so has a source that is an image.
        let search = if self.bases.is_empty() { search } else { search.shared() };
        let builder = match self.from.clone() {
            From::Layers(paths) => Builder::paths(paths, search.clone()),
            From::EachLayer(path) => Builder::paths([path], search.clone()),
            From::Manifest(list, folder) => Builder::manifest(list, folder),
        };
        let builder = self.bases.iter().fold(builder, Builder::base).search(search);
        self.with(builder).on_error(content.on_error).read(|read| content.set(read))
    }

    /// The same build of another source, which is read already.
    pub(crate) fn with<'a>(&self, builder: Builder<'a>) -> Builder<'a> {
        let (options, tables) = (self.options.clone(), Arc::clone(&self.tables));
        let Work { workers, memory, verify, force } = self.work;
        let builder = self.settings.iter().cloned().fold(builder, Builder::set);
        let builder = match &self.place.blob {
            Some(blob) => builder.blob(blob),
            None => builder,
        };
        let builder = match &self.place.objects {
            Some(objects) => builder.composefs(objects, self.place.version),
            None => builder,
        };
        let builder = match &self.recipe {
            Some(recipe) => builder.provenance(recipe.clone()),
            None => builder,
        };
        let builder = match &self.place.protection {
            Some(protection) => builder.protect(protection.clone()),
            None => builder,
        };
        let builder = match memory {
            Some(bytes) => builder.memory(bytes),
            None => builder,
        };
        builder
            .flat(self.flat)
            .raise_kernel(!self.kernel.is_named)
            .max_bases(self.max_depth.unwrap_or(usize::MAX))
            .offset(self.place.offset)
            .hints(Arc::clone(&self.hints))
            .strict(self.strict)
            .options(|all| *all = options)
            .edit(move |tree| Ok(tables.apply(tree)?))
            .adjust(self.adjust)
            .workers(workers)
            .verify(verify)
            .force(force)
    }
}

impl Arguments {
    /// The request, or the reason why the arguments don't go together.
    fn into_request(mut self) -> Result<Build, String> {
        if self.layout.composefs.is_some() {
            self.layout.compress = Some(Compressors(Vec::new()));
        }
        if let Some(cold) = self.order.cold.take() {
            let (compressors, pcluster) = cold.into_parts();
            self.layout.compress = Some(Compressors(compressors));
            self.layout.pcluster = pcluster.or(self.layout.pcluster);
        }
        let hints = self.order.hints()?;
        let (options, kernel_notes) = self.options(&hints)?;
        let mut hints = hints;
        if self.order.append_stable {
            let bases = std::mem::take(&mut self.content.bases);
            hints.push(super::order::order_of(&bases)?);
        }
        let mut sources = std::mem::take(&mut self.paths);
        let image = sources.pop().ok_or("missing arguments: SOURCE IMAGE")?;
        if sources.is_empty() && self.content.manifest.is_none() {
            return Err("missing argument: IMAGE".to_owned());
        }
        let mut adjust = self.attributes.adjust(super::source_date_epoch()?)?;
        adjust.overlay = self.content.overlay(sources.len());
        let tables = Arc::new(self.attributes.tables()?);
        let content = self.content.content(&sources)?;
        Ok(Build {
            hints: hints.into(),
            from: from(sources, self.content.manifest.clone(), self.content.layers)?,
            content,
            strict: self.content.strict,
            search: self.content.devices.search(),
            bases: self.content.bases,
            flat: self.content.flat,
            max_depth: self.content.max_depth,
            image,
            options,
            kernel: Kernel { notes: kernel_notes, is_named: self.layout.names_kernel() },
            adjust,
            tables,
            settings: self.attributes.settings,
            place: Place {
                offset: self.layout.offset.0,
                objects: self.layout.composefs,
                version: self.layout.composefs_version,
                blob: self.layout.blob,
                protection: self.protection.protection(None)?,
            },
            recipe: None,
            work: self.work.work()?,
            json: self.work.json,
        })
    }

    /// What kind of image is made, and notes about the kernels that mount it.
    fn options(&self, hints: &[Hint]) -> Result<(Options, Vec<String>), String> {
        let mut options = self.layout.options()?;
        if let Some(hot) = &self.order.hot {
            if hints.is_empty() {
                return Err("--hot has no meaning without --profile or --order".into());
            }
            let min_saving = self.layout.min_saving;
            let default = Compression { min_saving, ..Compression::new(Compressor::Lz4) };
            match hot.as_heat(default) {
                // Ranges of files that are otherwise uncompressed are not: they would lose what is read in place.
                Some(heat) if options.compression.files.is_some() => {
                    options.compression.hot = Some(heat);
                }
                _ => {
                    let rule = hot.clone().into_rule(named_files(hints), default);
                    options.compression.rules.push(rule);
                }
            }
        }
        options.identity.label =
            self.attributes.label.clone().unwrap_or_default().into_encoded_bytes();
        options.identity.id = self.attributes.uuid;
        let digests = self.attributes.digests.as_ref();
        options.attributes.digest_xattr = digests.map(|name| name.as_encoded_bytes().to_vec());
        let mut notes = Vec::new();
        if let Some(target) = &self.layout.target {
            check_target(&options, target)?;
        } else if self.layout.kernel.is_none() {
            let needs = options.raise_kernel().map_err(|error| error.to_string())?;
            if !needs.is_empty() {
                let what: Vec<_> = needs.into_iter().map(|need| need.what).collect();
                let what = what.join(", ");
                notes.push(format!("mounts on Linux {} and later: {what}", options.kernel));
            }
        }
        options.check().map_err(|error| error.to_string())?;
        notes.extend(self.layout.preset_note(options.kernel));
        notes.extend(self.layout.configuration_note(&options));
        Ok((options, notes))
    }
}

/// The sources, or the list with the directory of its files' content.
fn from(
    mut sources: Vec<PathBuf>,
    manifest: Option<PathBuf>,
    each_layer: bool,
) -> Result<From, String> {
    match (manifest, sources.len()) {
        (None, 1) if each_layer => Ok(From::EachLayer(sources.remove(0))),
        (None, _) if each_layer => {
            Err("--layers takes one container image as a source, as oci:DIR".into())
        }
        (None, _) => Ok(From::Layers(sources)),
        (Some(list), 0) => Ok(From::Manifest(list, PathBuf::from("."))),
        (Some(list), 1) => Ok(From::Manifest(list, sources.remove(0))),
        (Some(_), _) => Err("--manifest takes one source: the directory with the content".into()),
    }
}

impl WorkArguments {
    fn work(&self) -> Result<Work, String> {
        let bytes = self.memory.map(|Size(bytes)| usize::try_from(bytes)).transpose();
        let too_large = |_error| "--memory is more than this machine can address".to_owned();
        Ok(Work {
            workers: super::workers(self.workers),
            memory: bytes.map_err(too_large)?,
            verify: !self.no_verify,
            force: self.force,
        })
    }
}

#[cfg(test)]
mod tests {
    use lith::{
        Overlay, Times,
        builder::{Fragments, ImageId, Preset},
        tree::Timestamp,
    };

    use super::*;

    #[test]
    fn a_preset_is_that_of_the_library() {
        for preset in Preset::ALL {
            for kernel in ["5.4", "5.10", "5.15", "6.1", "6.12", "6.15", "6.17", "7.0"] {
                let found = parse(&["--preset", preset.name(), "--kernel", kernel]).unwrap();
                let expected = preset.options(kernel.parse().unwrap());
                let (found, expected) = (format!("{:?}", found.options), format!("{expected:?}"));
                assert_eq!(found, expected, "{preset}, {kernel}");
            }
        }
    }

    #[test]
    fn fragments_of_the_default_can_be_switched_off() {
        for (arguments, expected) in [
            (&[][..], Fragments::Tails),
            (&["-z", "zstd", "--kernel", "6.10"], Fragments::Tails),
            (&["-E", "^fragments"], Fragments::None),
            (&["-z", "none"], Fragments::None),
            (&["--kernel", "5.15"], Fragments::None),
            (&["--preset", "fast"], Fragments::None),
        ] {
            let found = parse(arguments).unwrap().options.compression.fragments;
            assert_eq!(found, expected, "{arguments:?}");
        }
    }

    fn parse(arguments: &[&str]) -> Result<Build, clap::Error> {
        let all = ["lith", "source", "image"].iter().chain(arguments);
        let command = Build::augment_args(Command::new("lith"));
        Build::from_arg_matches(&command.try_get_matches_from(all)?)
    }

    #[test]
    fn the_default_is_compressed_verified_and_deterministic() {
        let request = parse(&[]).unwrap();
        let image = &request.options;
        let compression = image.compression.files.unwrap();
        assert_eq!(compression.compressor, Compressor::Lz4Hc { level: 12 });
        assert_eq!((compression.pcluster, compression.min_saving), (None, 2));
        assert_eq!(format!("{image:?}"), format!("{:?}", Options::default()));
        assert_eq!(image.kernel, KernelVersion::new(6, 1));
        assert_eq!(request.work.memory, None);
        assert!(request.work.verify && !request.work.force && request.content.xattrs);
        assert_eq!(request.options.identity.id, ImageId::FromContent);
        assert_eq!(request.adjust, Adjust::default());
        assert!(!request.json);
    }

    #[test]
    fn short_options_may_be_glued_to_their_values() {
        let request = parse(&["-zlz4", "-C16K", "-b4096", "-T-7", "-Uclear", "-Lname"]).unwrap();
        let image = &request.options;
        let compression = image.compression.files.unwrap();
        assert_eq!(compression.compressor, Compressor::Lz4);
        assert_eq!(compression.pcluster, Some(16384));
        let time = Timestamp { sec: -7, nsec: 0 };
        assert_eq!(request.adjust.times, Times::Fixed(time));
        assert_eq!(request.options.identity.id, ImageId::Clear);
        assert_eq!(image.identity.label, b"name");
    }

    #[test]
    fn owners_and_switches_arrive() {
        let request = parse(&["--all-root", "--xattrs", "off", "--aufs", "--no-verify"]).unwrap();
        assert_eq!((request.adjust.uid, request.adjust.gid), (Some(0), Some(0)));
        assert!(!request.content.xattrs && request.content.aufs && !request.work.verify);
        let request = parse(&["--uid", "7", "--exclude", "*.o", "--exclude=/tmp", "-z", "none"]);
        let request = request.unwrap();
        assert_eq!((request.adjust.uid, request.adjust.gid), (Some(7), None));
        assert!(request.content.exclude.covers(b"a/x.o"));
        assert!(request.options.compression.files.is_none());
        let request = parse(&["-z", "none", "-C", "8K", "--rule", "*.o=lz4"]).unwrap();
        let rule = &request.options.compression.rules[0];
        assert_eq!(rule.compression.unwrap().pcluster, Some(8192));
    }

    #[test]
    fn marks_of_overlayfs_stay_only_in_a_single_source() {
        for (arguments, expected) in [
            (&[][..], Overlay::Keep),
            (&["--whiteouts", "drop"], Overlay::Strip),
            (&["third"], Overlay::Strip),
            (&["third", "--whiteouts", "keep"], Overlay::Keep),
        ] {
            assert_eq!(parse(arguments).unwrap().adjust.overlay, expected, "{arguments:?}");
        }
    }

    #[test]
    fn options_that_exclude_each_other_are_wrong_usage() {
        for (arguments, found) in [
            (&["-z", "none", "-C", "64K"][..], "--pcluster"),
            (&["-C", "5000"], "pcluster"),
            (&["-C", "8M"], "pcluster"),
            (&["-z", "zstd", "--for", "debian-12"], "CONFIG_EROFS_FS_ZIP_ZSTD"),
            (&["--rule", "*.so=lzma", "--for", "ubuntu-24.04"], "CONFIG_EROFS_FS_ZIP_LZMA"),
            (&["-m4096", "--for", "debian-13"], "6.17"),
            (&["--kernel", "6.1", "--for", "debian-12"], "cannot be used with"),
            (&["-C", "64K", "--kernel", "5.4"], "5.13"),
            (&["--xattr-prefix", "user.a.", "--kernel", "6.1"], "6.4"),
            (&["-E48bit", "--kernel", "6.12"], "48-bit layout needs Linux 6.15"),
            (&["-m4096", "--kernel", "6.15"], "compressed metadata needs Linux 6.17"),
            (&["-m4096", "-znone", "--kernel", "6.18"], "-m"),
            (&["-m4096:zip", "--kernel", "6.18"], "zip"),
            (&["-m5000:lzma", "--kernel", "6.18"], "pcluster"),
            (&["--zD", "--kernel", "6.18"], "fragments"),
            (&["--zD=2"], "0 or 1"),
            (&["-Edot-omitted", "--kernel", "6.1"], "6.15"),
            (&["--index", "records", "--kernel", "6.1"], "6.15"),
            (&["--xattr-prefix", "system.", "--kernel", "6.6"], "system."),
            (&["-b", "3000"], "512"),
            (&["-z", "zip"], "zip"),
            (&["-L", "sixteen letters."], "label"),
            (&["--mtime", "clamp"], "SOURCE_DATE_EPOCH"),
            (&["--all-root", "--uid", "3"], "--uid"),
            (&["--exclude", "a[b"], "a[b"),
            (&["--rule", "*.so=lzo"], "lzo"),
            (&["--rule", "*.so=lz4,pcluster=5000"], "pcluster"),
            (&["--rule", "*.so=lz4|lz4hc"], "another algorithm"),
            (&["--rule", "*.so=none|lz4"], "another algorithm"),
            (&["--rule", "*.so=lz4|zstd", "--kernel", "6.1"], "6.10"),
            (&["-z", "lz4:zstd:none"], "none"),
            (&["--compress-hints", "/nowhere/hints"], "/nowhere/hints"),
            (&["--rule", "*.so=zstd", "--kernel", "6.1"], "6.10"),
            (&["--rule", "*.so=lz4,pcluster=8K", "--kernel", "5.4"], "5.13"),
            (&["--workers", "0"], "0"),
            (&["--profile", "/nowhere/profile"], "/nowhere/profile"),
            (&["--sort", "/dev/null", "--order", "/nowhere/list"], "/nowhere/list"),
            (&["--profile", "/dev/null"], "this is no profile"),
            (&["--base", "/nowhere/old", "--flat", "--append-stable"], "cannot be used with"),
            (&["--platform", "linux/arm64"], "--platform takes one container image"),
            (&["--platform", "linux"], "OS/ARCH"),
            (&["--config-file", "config"], "--config-file takes one container image"),
        ] {
            let error = parse(arguments).unwrap_err().to_string();
            assert!(error.contains(found), "{arguments:?}: {error}");
        }
    }
}
