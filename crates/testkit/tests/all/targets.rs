//! The table of distributions says what the configurations of their kernels say: Debian's, whose packages are small.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "in tests failures should be loud"
)]

use std::{fs, path::Path, process::Command};

use lith_format::{compression::Algorithm, kernel::Target};
use lith_testkit::{place, tier};

const TIER: &str = "configurations of Debian's kernels";
const ARCHIVE: &str = "http://deb.debian.org/debian";

/// The output of a command, if it succeeds.
fn output(program: &str, args: &[&str]) -> Option<Vec<u8>> {
    let output = Command::new(program).args(args).output().ok()?;
    output.status.success().then_some(output.stdout)
}

fn fetch(url: &str) -> Option<Vec<u8>> {
    output("curl", &["--silent", "--fail", "--location", "--max-time", "60", url])
}

/// The path of a package in the archive.
fn path_of(suite: &str, package: &str, folder: &Path) -> Option<String> {
    let (packed, index) = (folder.join("Packages.xz"), "main/binary-amd64/Packages.xz");
    fs::write(&packed, fetch(&format!("{ARCHIVE}/dists/{suite}/{index}"))?).unwrap();
    let text = String::from_utf8(output("xz", &["-dc", packed.to_str()?])?).ok()?;
    let (_, entry) = text.split_once(&format!("Package: {package}\n"))?;
    let name = entry.lines().find_map(|line| line.strip_prefix("Filename: "));
    name.map(ToOwned::to_owned)
}

/// The configuration of the kernel in a package.
fn configuration(suite: &str, package: &str, folder: &Path) -> Option<String> {
    let path = path_of(suite, package, folder)?;
    let (file, tree) = (folder.join("package.deb"), folder.join(package));
    fs::write(&file, fetch(&format!("{ARCHIVE}/{path}"))?).unwrap();
    output("dpkg-deb", &["-x", file.to_str()?, tree.to_str()?])?;
    let config = tree.join("usr/src").join(package).join("config.amd64_none_amd64.xz");
    String::from_utf8(output("xz", &["-dc", config.to_str()?])?).ok()
}

#[test]
fn debians_rows_are_what_its_packages_say() {
    let folder = place::folder();
    let mut found = 0;
    for (suite, name) in [
        ("bullseye", "debian-11"),
        ("bookworm", "debian-12"),
        ("trixie", "debian-13"),
        ("sid", "debian-sid"),
    ] {
        let target: Target = name.parse().unwrap();
        let package = target.source.split([' ', ',']).nth(1).unwrap();
        assert_eq!(package, format!("linux-config-{}", target.kernel));
        let Some(text) = configuration(suite, package, folder.path()) else {
            tier::skip(TIER, format!("{package}: no network, or no curl, dpkg-deb and xz"));
            continue;
        };
        found += 1;
        assert!(text.contains("CONFIG_EROFS_FS=m") || text.contains("CONFIG_EROFS_FS=y"));
        for algorithm in Algorithm::ALL {
            let option = format!("{}=y", algorithm.kernel_option());
            let is_set = text.lines().any(|line| line == option);
            assert_eq!(is_set, target.reads(algorithm), "{target}: {option}");
        }
    }
    if found > 0 {
        tier::ran(TIER);
    }
}
