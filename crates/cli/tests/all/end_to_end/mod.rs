//! Tests the verbs and applets by their command lines.
#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

mod applet_inspect;
mod applet_mkfs;
mod applet_mount;
mod arriving;
mod attributes;
mod bases;
mod bench;
mod build;
mod chunks;
mod composefs;
mod depth;
mod diff;
mod digests;
mod environment;
mod errors;
mod export;
mod faults;
mod help;
mod inspect;
mod layers;
mod mount;
mod overwrite;
mod profiles;
mod provenance;
mod registry;
mod remote;
mod remote_kernel;
mod report;
mod salvage;
mod sample;
mod sandbox;
mod schema;
mod sources;
mod sparse;
mod squashfs;
mod stores;
mod verity;
mod ways_out;

use sample::args;
pub(crate) use sample::command;
