//! How is each verb carried out?

mod applets;
mod bench;
pub(crate) mod build;
pub(crate) mod cat;
mod check;
mod completions;
mod diff;
mod dump;
mod extract;
mod info;
mod ls;
mod man;
mod map;
mod mount;
mod presets;
mod report;
mod stat;
pub(crate) mod subject;
mod tar;
mod trees;
mod umount;

use crate::{args::Verb, exit::Outcome};

/// Does what was asked for.
pub(crate) fn run(verb: Verb) -> anyhow::Result<Outcome> {
    match verb {
        Verb::Build(request) => build::run(*request),
        Verb::Ls(request) => ls::run(&request),
        Verb::Cat(request) => cat::run(&request),
        Verb::Stat(request) => stat::run(&request),
        Verb::Extract(request) => extract::run(&request),
        Verb::Tar(request) => tar::run(&request),
        Verb::Mount(request) => mount::run(&request),
        Verb::Umount(request) => umount::run(&request),
        Verb::Check(request) => check::run(&request),
        Verb::Info(request) => info::run(&request),
        Verb::Report(request) => report::run(&request),
        Verb::Map(request) => map::run(&request),
        Verb::Diff(request) => diff::run(&request),
        Verb::Dump(request) => dump::run(&request),
        Verb::Bench(request) => bench::run(&request).map(|never| match never {}),
        Verb::Applets(request) => applets::run(&request),
        Verb::Completions(request) => completions::run(&request),
        Verb::Man(request) => man::run(&request),
    }
}
