//! How is an image served?
//!
//! [`Mounted::new`] mounts an open image by FUSE, [`Mounted::serve`] answers the kernel's requests until it is unmounted.
//! An image never changes, so the kernel may keep all replies: names, attributes, links and pages stay in its caches, and
//! most system calls of programs cause no request.
//!
//! Each thread has a descriptor of its own, takes one request at a time and decodes for it by itself. Needs Linux 4.5.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod agent;
mod attributes;
mod backing;
mod calls;
mod directory;
mod errno;
mod idle;
mod mount;
mod numbers;
mod options;
mod presence;
mod push;
mod requests;
mod sandbox;
mod session;
mod unmount;
mod watch;
mod xattrs;

pub use agent::Agent;
pub use backing::ImageFile;
pub use options::Options;
pub use sandbox::{Enforced, Sandbox};
pub use session::{Connection, Mounted, Unmounter};
pub use unmount::{is_dead, unmount, watch};
pub use watch::Watch;
