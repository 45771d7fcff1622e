//! Lists releases of distributions, whose kernels have a version and a configuration.

use core::{fmt, str::FromStr};

use super::version::KernelVersion;
use crate::compression::Algorithm::{self, Deflate, Lz4, Lzma, Zstd};

/// A release of a distribution, or a branch of a kernel: the oldest kernel that it has, and what its configuration leaves
/// of that kernel's EROFS. As text it is its name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Target {
    /// Its name, such as `debian-12`.
    pub name: &'static str,
    /// The oldest kernel of the release.
    pub kernel: KernelVersion,
    /// The algorithms that its kernel is configured for.
    pub algorithms: &'static [Algorithm],
    /// Where the configuration was read.
    pub source: &'static str,
}

const fn row(
    name: &'static str,
    (major, minor): (u16, u16),
    algorithms: &'static [Algorithm],
    source: &'static str,
) -> Target {
    Target { name, kernel: KernelVersion::new(major, minor), algorithms, source }
}

impl Target {
    /// All known ones, by name.
    pub const ALL: &[Self] = &[
        row("android16-6.12", (6, 12), &[Lz4], "gki_defconfig of the Android common kernel"),
        row("debian-11", (5, 10), &[Lz4], "package linux-config-5.10, amd64"),
        row("debian-12", (6, 1), &[Lz4], "package linux-config-6.1, amd64"),
        row("debian-13", (6, 12), &Algorithm::ALL, "package linux-config-6.12, amd64"),
        row("debian-sid", (7, 2), &Algorithm::ALL, "package linux-config-7.2, amd64"),
        row("fedora-43", (6, 17), &Algorithm::ALL, "kernel-x86_64-fedora.config of kernel 6.17.7"),
        row("rhel-10", (6, 12), &[Lz4, Lzma], "kernel-x86_64-rhel.config of kernel 6.12.12"),
        row("ubuntu-22.04", (5, 15), &[Lz4], "package linux-buildinfo-5.15.0-25-generic"),
        row("ubuntu-24.04", (6, 8), &[Lz4, Deflate], "package linux-buildinfo-6.8.0-31-generic"),
        row(
            "ubuntu-25.10",
            (6, 17),
            &[Lz4, Lzma, Deflate, Zstd],
            "package linux-buildinfo-6.17.0-5-generic",
        ),
        row(
            "ubuntu-26.04",
            (7, 0),
            &[Lz4, Lzma, Deflate, Zstd],
            "package linux-buildinfo-7.0.0-14-generic",
        ),
    ];

    /// Those whose kernels are built without EROFS, by name: no image can be made for them.
    pub const WITHOUT: &[Self] = &[
        row("openwrt-24.10", (6, 6), &[], "target/linux/generic/config-6.6 of OpenWrt"),
        row("openwrt-25.12", (6, 12), &[], "target/linux/generic/config-6.12 of OpenWrt"),
        row("rhel-9", (5, 14), &[], "kernel-x86_64-rhel.config of kernel 5.14.0-362"),
    ];

    /// Whether its kernel reads an algorithm.
    #[must_use]
    pub fn reads(&self, algorithm: Algorithm) -> bool {
        self.algorithms.contains(&algorithm)
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// Why a text names no [`Target`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TargetError {
    /// It is no known name.
    #[error("no known distribution; see the list of names, or use a kernel version")]
    Unknown,
    /// Its kernels mount no EROFS image.
    #[error(
        "the kernels of {0} (Linux {kernel}) are built without CONFIG_EROFS_FS; for one that you configure use --kernel {kernel}",
        kernel = .0.kernel
    )]
    WithoutErofs(Target),
}

impl FromStr for Target {
    type Err = TargetError;

    fn from_str(name: &str) -> Result<Self, TargetError> {
        let named = |targets: &[Self]| targets.iter().find(|target| target.name == name).copied();
        let unknown =
            || named(Self::WITHOUT).map_or(TargetError::Unknown, TargetError::WithoutErofs);
        named(Self::ALL).ok_or_else(unknown)
    }
}

impl Algorithm {
    /// The option of the kernel's configuration that it needs.
    #[must_use]
    pub const fn kernel_option(self) -> &'static str {
        match self {
            Lz4 => "CONFIG_EROFS_FS_ZIP",
            Lzma => "CONFIG_EROFS_FS_ZIP_LZMA",
            Deflate => "CONFIG_EROFS_FS_ZIP_DEFLATE",
            Zstd => "CONFIG_EROFS_FS_ZIP_ZSTD",
        }
    }
}

#[cfg(test)]
mod tests {
    use std::string::ToString;

    use super::*;

    #[test]
    fn rows_are_sorted_sourced_and_possible() {
        assert!(Target::ALL.is_sorted_by_key(|target| target.name));
        for target in Target::ALL {
            assert_eq!(target.to_string().parse(), Ok(*target));
            assert!(!target.source.is_empty(), "{target}");
            for algorithm in target.algorithms {
                assert!(target.kernel >= algorithm.since(), "{target}: {algorithm}");
            }
        }
        assert_eq!("debian".parse::<Target>(), Err(TargetError::Unknown));
        assert!(Target::WITHOUT.is_sorted_by_key(|target| target.name));
        for target in Target::WITHOUT {
            assert_eq!(target.name.parse::<Target>(), Err(TargetError::WithoutErofs(*target)));
            assert!(!target.source.is_empty() && target.algorithms.is_empty(), "{target}");
        }
    }

    #[test]
    fn debian_12_has_lz4_only() {
        let debian: Target = "debian-12".parse().unwrap();
        assert_eq!(
            Algorithm::ALL.map(|algorithm| debian.reads(algorithm)),
            [true, false, false, false]
        );
        assert_eq!(Lzma.kernel_option(), "CONFIG_EROFS_FS_ZIP_LZMA");
    }
}
