//! Limits the memory that a server's allocator keeps.
//!
//! glibc gives each thread a heap of its own and keeps freed memory there. Buffers of decoded data, large and of many
//! sizes, then take twice the memory of the cache. One heap for small buffers and mmap(2) for large ones cost no
//! measurable time.

use std::{env, os::unix::process::CommandExt, process::Command};

/// Settings of glibc's allocator; other C libraries ignore them.
const ALLOCATOR: [(&str, &str); 2] =
    [("MALLOC_ARENA_MAX", "1"), ("MALLOC_MMAP_THRESHOLD_", "131072")];

/// Limits the memory of a program that is about to be started.
pub(super) fn limit(command: &mut Command) -> &mut Command {
    command.envs(ALLOCATOR)
}

/// Executes this program again with the limits, unless it has them already.
pub(super) fn limit_this() {
    let (name, _) = ALLOCATOR[0];
    if env::var_os(name).is_none() {
        let mut command = Command::new("/proc/self/exe");
        let mut line = env::args_os();
        command.arg0(line.next().unwrap_or_else(|| "lith".into())).args(line);
        // exec(2) returns only on failure; the server then works, but takes more memory.
        let _ = limit(&mut command).exec();
    }
}
