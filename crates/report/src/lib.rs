//! Where do an image's bytes go?
//!
//! [`gather()`] reads every inode and extent of an image and reports what is in it, where it is stored, and how many
//! bytes are stored for it: by folder, by type of file, by algorithm, for the largest files, and how much is saved by
//! storing data once. [`estimate()`] estimates how large the image would be with other options, and [`page()`] makes a
//! web page of all that. [`compare()`] finds what changed between two images, of which [`comparison_page()`] makes a page. [`census()`] only counts, and is quick.
//!
//! Stored bytes are attributed once: data that several files share (equal files, repeats, chunks) counts for the file
//! that is met first, and as 0 for the others. A fragment counts as its share of the pclusters of the packed inode that
//! hold it.
//!
//! Images are untrusted: time and memory stay within what the size of the devices justifies.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod claims;
mod comparison;
mod details;
mod equal;
mod error;
mod facts;
mod file_kind;
mod folders;
mod largest;
pub mod names;
pub mod number;
mod page;
mod physical;
mod presets;
mod shared;
mod walk;

pub use comparison::{Named as NamedImage, compare};
pub use details::Options;
pub use error::{ComparisonError, EstimateError, FactsError};
pub use facts::{
    Algorithm, Changes, Class, ClassSums, Compared, Comparison, Contents, Details, Device,
    DeviceSlot, Duplicates, EqualFiles, EqualGroup, Estimate, Estimates, Facts, Features,
    FileChange, FileFate, Folder, FolderChange, FolderFile, JoinedBase, Kernel, LargeFile, Largest,
    Located, Named, Region, Repeats, Requirement, Stretch, Summary, Sums, Tally, TypeChange,
    TypeSums,
};
pub use page::{GENERATOR, comparison_page, page};
pub use presets::estimate;
pub use walk::{census, gather};
