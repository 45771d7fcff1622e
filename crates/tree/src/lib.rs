//! What is a filesystem tree, apart from any format?
//!
//! A [`Tree`] holds names, attributes and links; the bytes of its regular files stay where they are stored, and
//! [`Contents`] reads them. Both together are a [`Filesystem`], which sources make and builders and exports take.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod content;
mod diff;
mod dump;
mod filesystem;
mod inode;
mod memory;
mod name;
mod pieces;
mod tree;
mod xattr;

pub use content::{ByNumber, Content, ContentError, Contents, DataRange, Elsewhere, ExtraDevice};
pub use diff::{Aspects, Change, DiffError, DiffOptions, Difference, Side, diff};
pub use dump::{DumpError, DumpRow, dump, dump_observed, dump_rows};
pub use filesystem::Filesystem;
pub use inode::{Directory, Inode, InodeIndex, Kind, Metadata, Rdev, Timestamp};
pub use memory::{MemoryContents, MemoryError};
pub use name::{DisplayPath, Name, NameError, push_name};
pub use pieces::{Piece, Pieces};
pub use tree::{Tree, TreeError, Visit, Walk};
pub use xattr::{Xattr, XattrPool, XattrSet};
