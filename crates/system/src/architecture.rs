//! Names the architecture of this machine.

use std::env::consts;

/// This machine's architecture in the terms of Go, as images of containers have it.
#[must_use]
pub fn architecture() -> &'static str {
    match consts::ARCH {
        "x86_64" => "amd64",
        "x86" => "386",
        "aarch64" => "arm64",
        "loongarch64" => "loong64",
        "powerpc64" if cfg!(target_endian = "little") => "ppc64le",
        "powerpc64" => "ppc64",
        "mips64" if cfg!(target_endian = "little") => "mips64le",
        other => other,
    }
}
