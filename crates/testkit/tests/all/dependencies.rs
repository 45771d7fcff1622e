//! Dependencies have licences that `deny.toml` allows, come from the registry, and are there in one version. `.ci/run` has
//! cargo-deny compare more, also with advisories, where it is installed.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "in tests failures should be loud"
)]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    process::Command,
};

use lith_testkit::tier;
use serde_json::Value;
use spdx::{Expression, LicenseReq, ParseMode};

fn workspace() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// The strings of a list in `deny.toml`.
fn list(name: &str) -> Vec<String> {
    let text = fs::read_to_string(workspace().join("deny.toml")).unwrap();
    let (_, rest) = text.split_once(&format!("\n{name} = [\n")).unwrap();
    let (list, _) = rest.split_once("\n]").unwrap();
    let lines = list.lines().map(|line| line.trim().trim_end_matches(','));
    lines.map(|line| line.trim_matches('"').to_owned()).collect()
}

/// The packages that a program for Linux takes; `None`: they can't be listed without network.
fn packages() -> Option<Vec<Value>> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--offline", "--locked", "--format-version", "1", "--all-features"])
        .args(["--filter-platform", "x86_64-unknown-linux-gnu"])
        .current_dir(workspace())
        .output()
        .unwrap();
    if !output.status.success() {
        tier::skip("dependencies", "cargo has not fetched all of them");
        return None;
    }
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let used = found["resolve"]["nodes"].as_array().unwrap().iter();
    let used: BTreeSet<_> = used.map(|node| node["id"].as_str().unwrap()).collect();
    let all = found["packages"].as_array().unwrap().iter();
    tier::ran("dependencies");
    Some(all.filter(|package| used.contains(package["id"].as_str().unwrap())).cloned().collect())
}

#[test]
fn licences_are_allowed() {
    let Some(packages) = packages() else { return };
    let allowed = list("allow");
    let is_allowed = |requirement: &LicenseReq| allowed.contains(&requirement.to_string());
    for package in packages {
        let name = &package["name"];
        let text = package["license"].as_str().unwrap_or_else(|| panic!("{name} has no licence"));
        let expression = Expression::parse_mode(text, ParseMode::LAX).unwrap();
        assert!(expression.evaluate(is_allowed), "{name}: {text} is not allowed by deny.toml");
    }
    eprintln!(
        "advisories are not compared: their database needs network (cargo deny check advisories)"
    );
}

#[test]
fn packages_come_from_the_registry_and_are_there_once() {
    let Some(packages) = packages() else { return };
    let skipped = list("skip");
    let mut versions = BTreeMap::<String, BTreeSet<String>>::new();
    for package in &packages {
        let text = |field: &str| package[field].as_str().map(ToOwned::to_owned);
        let name = text("name").unwrap();
        let source = text("source");
        let is_of_registry =
            source.as_ref().is_none_or(|source| source.ends_with("/rust-lang/crates.io-index"));
        assert!(is_of_registry, "{name} comes from {source:?}");
        versions.entry(name).or_default().insert(text("version").unwrap());
    }
    for (name, versions) in versions {
        let is_fine = versions.len() == 1 || skipped.contains(&name);
        assert!(is_fine, "{name} is there in several versions: {versions:?}");
    }
}
