//! Tests of lith as a whole. One program, so that the library is linked once.

mod bounded;
mod chunks;
mod dedupe;
mod deltas;
mod determinism;
mod devices;
mod digests;
mod erofs_utils;
mod fuse;
mod fuzz_corpus;
mod goldens;
mod hostile;
mod imports;
mod kernel;
mod kernels;
mod layouts;
mod lists;
mod nothing_lost;
mod orders;
mod patches;
mod roundtrip;
mod rules;
mod squashfs;
mod targets;
mod walk;
mod ways;
