//! How is each verb executed? Holds a file per verb, whose `run` takes its parsed arguments.
//!
//! Applets call the same functions, so nothing here knows them.

pub(crate) mod applets;
pub(crate) mod bench;
pub(crate) mod build;
#[cfg(feature = "remote")]
pub(crate) mod cache;
pub(crate) mod cat;
pub(crate) mod check;
pub(crate) mod completions;
pub(crate) mod delta;
pub(crate) mod device;
pub(crate) mod diff;
mod digests;
pub(crate) mod dump;
pub(crate) mod extract;
pub(crate) mod flatten;
pub(crate) mod info;
pub(crate) mod layers;
#[cfg_attr(not(target_os = "linux"), path = "not_linux.rs")]
pub(crate) mod linux;
#[cfg(target_os = "linux")]
mod log;
pub(crate) mod ls;
pub(crate) mod man;
pub(crate) mod map;
pub(crate) mod merge;
#[cfg(target_os = "linux")]
pub(crate) mod mount;
mod owners;
mod paths;
mod presets;
pub(crate) mod profile;
#[cfg(feature = "remote")]
pub(crate) mod pull;
#[cfg(feature = "remote")]
pub(crate) mod push;
pub(crate) mod rebuild;
#[cfg(target_os = "linux")]
mod record;
mod remote;
pub(crate) mod report;
mod salvage;
pub(crate) mod stat;
pub(crate) mod subject;
pub(crate) mod tar;
mod tree;
mod trees;
#[cfg(target_os = "linux")]
pub(crate) mod umount;
mod verified;
pub(crate) mod verity;
mod volume;
