//! Where do an image's bytes go?
//!
//! [`gather()`] looks at every inode and extent of an image and says what is in it, where in the image it lies and what
//! takes how much: by folder, by type of file, by way of storing, the largest files, and what is stored once instead of
//! several times. [`estimate()`] says how large the image would be if it were made in another way, and [`page()`] makes
//! a web page of all that. [`census()`] only counts, and is quick.
//!
//! Bytes are attributed once: what several files share (equal files, stretches that repeat, chunks) is that of the file
//! that is met first, and takes nothing in the others. What files have in the packed inode takes its part of the
//! pclusters that hold it there.
//!
//! Any byte of an image may be a lie: time and memory stay within what the size of its devices justifies.
#![forbid(unsafe_code)]

mod budget;
mod claims;
mod details;
mod equal;
mod error;
mod facts;
mod file_kind;
mod folders;
mod gather;
mod largest;
pub mod names;
pub mod number;
mod page;
mod physical;
mod presets;
mod shared;
mod walk;

pub use error::{EstimateError, FactsError, PageError};
pub use facts::{
    Algorithm, ClassSums, Contents, Details, Device, DeviceSlot, Duplicates, EqualFiles,
    EqualGroup, Facts, Features, Folder, FolderFile, Kernel, LargeFile, Largest, Located, Named,
    Region, Repeats, Requirement, Summary, Sums, Tally, TypeSums,
};
pub use gather::{Options, census, gather};
pub use page::{GENERATOR, page};
pub use physical::Class;
pub use presets::{Candidate, Estimate, Estimates, estimate};
