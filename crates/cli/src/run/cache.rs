//! Manages what is kept of images on web servers (`lith cache`).

use std::io::Write;

use anyhow::Context;
use lith::remote::{self, CachedObject, Pruned, Verified};
use lith_report::number::{Bytes, Count};

use super::remote::cache;
use crate::{
    args::cache::{Cache, CacheVerb},
    exit::Outcome,
    output::{
        self, Stdout,
        error::{Place, harmless},
    },
};

pub(crate) fn run(request: &Cache) -> anyhow::Result<Outcome> {
    let cache = cache(request.cache_dir.as_deref())?;
    let mut output = output::stdout()?;
    let done = match &request.verb {
        CacheVerb::Ls => list(&cache, &mut output),
        CacheVerb::Prune { all: true, .. } => prune(&cache, 0, &mut output),
        CacheVerb::Prune { limit, .. } => {
            prune(&cache, limit.map_or(cache.limit(), |limit| limit.0), &mut output)
        }
        CacheVerb::Verify => verify(&cache, &mut output),
    };
    let outcome = done.with_context(|| Place(cache.folder()).to_string())?;
    output::finish(output)?;
    Ok(outcome)
}

fn list(cache: &remote::Cache, output: &mut Stdout) -> anyhow::Result<Outcome> {
    for CachedObject { address, length, present, in_use, .. } in cache.list()? {
        let whole = if present == length { ", complete" } else { "" };
        let used = if in_use { ", in use" } else { "" };
        let (present, length) = (Bytes(present), Bytes(length));
        writeln!(output, "{}: {present} of {length}{whole}{used}", harmless(&address))?;
    }
    Ok(Outcome::Success)
}

fn prune(cache: &remote::Cache, limit: u64, output: &mut Stdout) -> anyhow::Result<Outcome> {
    let Pruned { objects, bytes, left, .. } = cache.prune_to(limit)?;
    let (objects, bytes, left) = (Count(objects, "image"), Bytes(bytes), Bytes(left));
    writeln!(output, "{objects} removed, {bytes}; {left} left")?;
    Ok(Outcome::Success)
}

/// Damage is a failure, although it is repaired by the next read.
fn verify(cache: &remote::Cache, output: &mut Stdout) -> anyhow::Result<Outcome> {
    let mut outcome = Outcome::Success;
    for Verified { address, units, damaged, .. } in cache.verify()? {
        let (address, units) = (harmless(&address), Count(units, "unit"));
        if damaged == 0 {
            writeln!(output, "{address}: {units}, all sound")?;
        } else {
            writeln!(output, "{address}: {units}, {damaged} changed and forgotten")?;
            outcome = Outcome::Different;
        }
    }
    Ok(outcome)
}
