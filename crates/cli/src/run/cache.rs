//! Manages what is kept of images on web servers (`lith cache`).

use std::{
    io::{self, Write},
    time::UNIX_EPOCH,
};

use anyhow::Context;
use lith::remote::{self, CachedObject, Pruned, Verified};
use lith_report::number::{Bytes, Count};
use serde::Serialize;

use super::remote::cache;
use crate::{
    args::cache::{Cache, CacheVerb},
    exit::Outcome,
    output::{
        self, Stdout,
        error::{Place, harmless},
        json,
    },
};

pub(crate) fn run(request: &Cache) -> anyhow::Result<Outcome> {
    let cache = cache(request.folder.as_deref())?;
    let mut output = Output { to: output::stdout()?, is_json: request.json };
    let done = match &request.verb {
        CacheVerb::Ls => list(&cache, &mut output),
        CacheVerb::Prune { all: true, .. } => prune(&cache, 0, &mut output),
        CacheVerb::Prune { limit, .. } => {
            prune(&cache, limit.map_or(cache.limit(), |limit| limit.0), &mut output)
        }
        CacheVerb::Verify => verify(&cache, &mut output),
    };
    let outcome = done.with_context(|| Place(cache.folder()).to_string())?;
    output::finish(output.to)?;
    Ok(outcome)
}

/// Where lines go, and what they are.
struct Output {
    to: Stdout,
    is_json: bool,
}

impl Output {
    /// Prints a record, or its text.
    fn line(&mut self, record: &impl Serialize, text: &str) -> io::Result<()> {
        if self.is_json {
            return json::write_line(&mut self.to, record);
        }
        writeln!(self.to, "{text}")
    }
}

/// An image that is kept, as JSON has it.
#[derive(Serialize)]
struct Kept<'a> {
    address: &'a str,
    bytes: u64,
    present: u64,
    disk: u64,
    in_use: bool,
    /// Seconds since 1970.
    last_used: u64,
}

fn list(cache: &remote::Cache, output: &mut Output) -> anyhow::Result<Outcome> {
    for object in cache.list()? {
        let CachedObject { ref address, length, present, disk, in_use, last_used, .. } = object;
        let whole = if present == length { ", complete" } else { "" };
        let used = if in_use { ", in use" } else { "" };
        let text =
            format!("{}: {} of {}{whole}{used}", harmless(address), Bytes(present), Bytes(length));
        let last_used = last_used.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let record = Kept { address, bytes: length, present, disk, in_use, last_used };
        output.line(&record, &text)?;
    }
    Ok(Outcome::Success)
}

/// What was removed, as JSON has it.
#[derive(Serialize)]
struct Removal {
    removed: u64,
    bytes: u64,
    left: u64,
}

fn prune(cache: &remote::Cache, limit: u64, output: &mut Output) -> anyhow::Result<Outcome> {
    let Pruned { objects, bytes, left, .. } = cache.prune_to(limit)?;
    let text =
        format!("{} removed, {}; {} left", Count(objects, "image"), Bytes(bytes), Bytes(left));
    output.line(&Removal { removed: objects, bytes, left }, &text)?;
    Ok(Outcome::Success)
}

/// An image whose bytes were compared, as JSON has it.
#[derive(Serialize)]
struct Compared<'a> {
    address: &'a str,
    units: u64,
    damaged: u64,
}

/// Damage is a failure, although it is repaired by the next read.
fn verify(cache: &remote::Cache, output: &mut Output) -> anyhow::Result<Outcome> {
    let mut outcome = Outcome::Success;
    for Verified { address, units, damaged, .. } in cache.verify()? {
        let found = if damaged == 0 {
            "all sound".to_owned()
        } else {
            outcome = Outcome::Different;
            format!("{damaged} changed and forgotten")
        };
        let text = format!("{}: {}, {found}", harmless(&address), Count(units, "unit"));
        output.line(&Compared { address: &address, units, damaged }, &text)?;
    }
    Ok(outcome)
}
