//! Builds, reads, compares, extracts and mounts compressed, read-only filesystem images in the EROFS format.
//!
//! # Build an image
//!
//! [`Builder`] makes an image of a directory, a tar or a tree in memory. By default it is the image
//! that the command `lith build` makes: small, quick to read, and for Linux since
//! [`KernelVersion::DEFAULT`](format::kernel::KernelVersion::DEFAULT).
//!
//! ```
//! use lith::{Builder, Preset, codec::Compressor, format::kernel::KernelVersion};
//!
//! # let folder = tempfile::tempdir()?;
//! # let (rootfs, image) = (folder.path().join("rootfs"), folder.path().join("rootfs.erofs"));
//! # std::fs::create_dir(&rootfs)?;
//! Builder::directory(&rootfs).build_to(&image)?;
//!
//! let built = Builder::directory(&rootfs)
//!     .preset(Preset::Small)
//!     .kernel(KernelVersion::new(6, 12))
//!     .exclude("*.o")
//!     .rule("*.so", Compressor::Lz4)
//!     .rule("*.png", None)
//!     .options(|options| options.identity.label = b"rootfs".to_vec())
//!     .build_to(&image)?;
//! println!("{} bytes", built.report.image_bytes);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A tar can come from a pipe, plain or compressed:
//!
//! ```no_run
//! lith::Builder::tar(std::io::stdin()).build_to("rootfs.erofs")?;
//! # Ok::<(), lith::Error>(())
//! ```
//!
//! A tree can be made in memory, without any file:
//!
//! ```
//! use lith::{
//!     Builder,
//!     source::Source,
//!     tree::{InodeIndex, Kind, MemoryContents, Metadata, Name, Tree},
//! };
//!
//! let directory = Metadata { permissions: 0o755, ..Metadata::default() };
//! let file = Metadata { permissions: 0o644, ..Metadata::default() };
//! let (mut tree, mut contents) = (Tree::new(directory), MemoryContents::default());
//! let etc = tree.add(InodeIndex::ROOT, Name::new(b"etc")?, directory, Kind::directory())?;
//! contents.add(&mut tree, (etc, Name::new(b"hostname")?), file, b"box".as_slice())?;
//! # let folder = tempfile::tempdir()?;
//! # let image = folder.path().join("image");
//! Builder::source(Source::new(tree, contents)).build_to(&image)?;
//! # assert_eq!(lith::Image::open_path(&image)?.open_file("/etc/hostname")?.size(), 3);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Read an image
//!
//! [`Image`] lists files and reads any range of them, by any number of threads at once, without a lock around it:
//!
//! ```
//! use lith::Image;
//!
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/03-lz4.erofs");
//! let image = Image::open_path(path)?;
//! for file in image.files() {
//!     let file = file?;
//!     println!("{} {}", String::from_utf8_lossy(&file.path), file.inode.size);
//! }
//! let bytes = image.open_file("/text")?.read_range(1000..2000)?;
//! # assert_eq!(bytes.len(), 1000);
//! # Ok::<(), lith::Error>(())
//! ```
//!
//! # Extract, check and compare
//!
//! ```
//! use lith::{Image, source, tree};
//!
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/03-lz4.erofs");
//! # let folder = tempfile::tempdir()?;
//! # let directory = folder.path().join("extracted");
//! let image = Image::open_path(path)?;
//! image.extract_to(&directory)?;
//!
//! let report = image.check()?;
//! assert!(report.findings.is_empty());
//!
//! let (left, right) = (image.source()?, source::directory(&directory, &source::Options::default())?);
//! let options = tree::DiffOptions::with(|options| options.ignore = tree::Aspects::OWNERS);
//! tree::diff(left.filesystem(), right.filesystem(), &options, &(), &mut |difference| {
//!     println!("{difference:?}");
//!     # panic!("{difference:?}");
//! })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Mount an image
//!
//! By FUSE, also without root; to mount it with the kernel's own EROFS takes no library.
//!
//! ```no_run
//! # #[cfg(all(feature = "fuse", target_os = "linux"))] {
//! let image = lith::Image::open_path("rootfs.erofs")?;
//! let mounted = image.mount("/mnt", &lith::mount::Options::default())?;
//! // Ends `serve` from another thread.
//! let unmounter = mounted.unmounter();
//! mounted.serve()?;
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Follow and cancel
//!
//! Long work reports to an [`Observer`], which can cancel it. [`Progress`] keeps what was reported for another thread:
//!
//! ```
//! use lith::{Builder, Progress};
//!
//! # let folder = tempfile::tempdir()?;
//! # std::fs::write(folder.path().join("file"), "text")?;
//! # let (directory, image) = (folder.path(), folder.path().join("image"));
//! let progress = Progress::default();
//! progress.cancel();
//! let built = Builder::directory(directory).observer(&progress).build_to(image);
//! assert!(built.is_err());
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! # Modules
//!
//! | module | |
//! |---|---|
//! | [`bases`] | the images that an image refers to |
//! | [`builder`] | what kind of image is built: options, presets, rules |
//! | [`composefs`] | images whose files have their content in objects |
//! | [`delta`] | what makes a new image of an old one |
//! | [`source`] | directories, tars and images become trees |
//! | [`profile`] | what is read first: recordings, and the order in which an image is stored |
//! | [`transform`] | trees are changed: owners, times, labels, digests |
//! | [`tree`] | trees in memory, comparing and printing them |
//! | [`reader`] | inodes, directories, extended attributes and content of an image |
//! | [`device`] | where the bytes of an image come from |
//! | [`provenance`] | by what, with which options and of what an image was made |
//! | [`verity`] | hash trees, signatures, and reading only what they cover |
//! | [`check`] | defects of an image |
//! | [`export`] | trees become directories and tars |
//! | `mount` | serving by FUSE, on Linux (feature `fuse`, on by default) |
//! | `report` | where the bytes of an image go (feature `report`, on by default) |
//! | [`observer`] | progress and cancelling |
//! | [`codec`], [`format`](mod@format) | algorithms, and the terms of the format |
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod build;
pub mod composefs;
mod deltas;
mod digest;
mod error;
mod image;
mod mismatch;
mod modules;
mod open;
pub mod provenance;

pub use modules::*;

/// The code of the guide's page, which is compiled and run with that of the documentation.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/library.md")]
struct Guide;

pub use build::{Builder, Built, Hidden, is_replaceable, remove_hidden, temporary_directory};
pub use builder::{Options as BuildOptions, Preset};
pub use deltas::{apply_delta, make_delta};
pub use digest::{DigestFinding, DigestState, check_digests, digest_name};
pub use error::Error;
pub use image::Image;
pub use mismatch::Mismatch;
pub use observer::{Observer, Phase, Progress};
pub use open::{Opened, open};
pub use transform::{Adjust, Overlay, Times};
