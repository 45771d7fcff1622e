//! How is a server kept from holding memory that it doesn't use?
//!
//! The C library gives each thread a heap of its own, and keeps what is freed there in case that thread needs it again:
//! a server's pieces of decoded data, as large as they are different, then take twice the memory of its cache. One heap
//! for the small ones, and the system's own pages for the large, cost no time that could be measured.

use std::{env, os::unix::process::CommandExt, process::Command};

/// What glibc's allocator is told by; other C libraries don't look.
const ALLOCATOR: [(&str, &str); 2] =
    [("MALLOC_ARENA_MAX", "1"), ("MALLOC_MMAP_THRESHOLD_", "131072")];

/// Tells a program that is about to be started.
pub(super) fn bound(command: &mut Command) -> &mut Command {
    command.envs(ALLOCATOR)
}

/// Starts this process again, told so, unless it is already or can't be.
pub(super) fn bound_this() {
    let (name, _) = ALLOCATOR[0];
    if env::var_os(name).is_none() {
        let mut command = Command::new("/proc/self/exe");
        let mut words = env::args_os();
        command.arg0(words.next().unwrap_or_else(|| "lith".into())).args(words);
        // It comes back only if it fails; then the server is larger, but serves.
        let _ = bound(&mut command).exec();
    }
}
