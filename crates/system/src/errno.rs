//! Defines the error numbers of Linux that reading an image has.
//!
//! On other systems they are those of most machines with Linux, since EROFS is a filesystem of Linux: some have no
//! `EUCLEAN`, and Windows has numbers of its own.

#[cfg(target_os = "linux")]
pub use libc::{EBADMSG, EINVAL, EIO, ELOOP, ENODEV, ENOENT, ENOTDIR, EOPNOTSUPP, EUCLEAN};

#[cfg(not(target_os = "linux"))]
mod numbers {
    #![expect(missing_docs, reason = "the names of Linux")]

    pub const ENOENT: i32 = 2;
    pub const EIO: i32 = 5;
    pub const ENODEV: i32 = 19;
    pub const ENOTDIR: i32 = 20;
    pub const EINVAL: i32 = 22;
    pub const ELOOP: i32 = 40;
    pub const EBADMSG: i32 = 74;
    pub const EOPNOTSUPP: i32 = 95;
    pub const EUCLEAN: i32 = 117;
}
#[cfg(not(target_os = "linux"))]
pub use numbers::*;
