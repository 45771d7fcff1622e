//! What do the bytes of an EROFS image mean?
//!
//! Superblock, inodes, directories, xattrs, chunks, devices and indexes, both ways: bytes are read into
//! checked values, and values written into bytes. Nothing here does I/O. Any byte may be corrupt: errors
//! name what was found and what was expected.
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod addr;
pub mod bases;
pub mod chunk;
pub mod compression;
pub mod device_table;
pub mod dirent;
pub mod features;
pub mod file_type;
mod halves;
pub mod hot;
pub mod inode;
pub mod joined;
pub mod kernel;
pub mod notes;
pub mod provenance;
mod record;
pub mod superblock;
#[cfg(test)]
mod testing;
pub mod xattr;
pub mod zmap;
