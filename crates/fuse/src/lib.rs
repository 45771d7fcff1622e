//! How is an image served?
//!
//! [`Mounted::new`] puts an open image into the file tree by FUSE, [`Mounted::serve`] answers the kernel's requests
//! until it is unmounted. What an image holds never changes, so the kernel may keep all that it is told: names,
//! attributes, links and pages stay in its caches, and most calls of programs never come here.
//!
//! The kernel's threads wait for one of ours each; every thread has a descriptor of its own and decodes what it was
//! asked for by itself. Needs Linux 4.5.
#![forbid(unsafe_code)]

mod attributes;
mod backing;
mod buffer;
mod cookie;
mod directory;
mod errno;
mod idle;
mod mount;
mod numbers;
mod options;
mod presence;
mod push;
mod readahead;
mod requests;
mod session;
mod unmount;
mod watch;
mod xattrs;

pub use backing::ImageFile;
pub use options::Options;
pub use session::{Mounted, Unmounter};
pub use unmount::{is_dead, unmount};
pub use watch::watch;
