//! How does the `lith` program turn its arguments into an exit code? Dispatches to applets and verbs.
#![deny(unsafe_code)]
#![cfg_attr(
    not(target_os = "linux"),
    allow(dead_code, unused_imports, reason = "the command line is the same on all systems")
)]
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
// These macros panic where standard output or error can't be written; see `output`.
#![warn(clippy::print_stderr, clippy::print_stdout)]

#[cfg_attr(not(target_os = "linux"), path = "no_applets.rs")]
mod applets;
mod args;
mod exit;
mod output;
mod run;

use std::{env, ffi::OsString, panic, process::ExitCode, time::Instant};

use args::{MessageArgs, Verb, build::From};
use exit::{Convention, Outcome};
use output::{color, error, usage};

fn main() -> ExitCode {
    let started = Instant::now();
    if cfg!(panic = "abort") {
        remove_files_on_panic();
    }
    let line: Vec<OsString> = env::args_os().collect();
    // Called as `mkfs.erofs …` or as `lith mkfs.erofs …`.
    for (index, argument) in line.iter().enumerate().take(2) {
        if let Some(applet) = applets::named(argument) {
            let (_, line) = line.split_at(index);
            return (applet.main)(line);
        }
    }
    let mut words = line.iter().skip(1).map(|word| word.to_string_lossy());
    let verb = words.find(|word| !word.starts_with('-')).unwrap_or_default();
    let convention = Convention::of(&verb);
    let result = match args::parse() {
        Ok((verb, messages)) => {
            color::choose(messages.color);
            let result = run(verb, messages);
            if messages.verbose {
                usage::tell(started);
            }
            result
        }
        Err(message) if message.use_stderr() => {
            // If this can't be printed, nobody is left to be told.
            let _ = message.print();
            return convention.usage();
        }
        Err(message) => error::answer(&message),
    };
    convention.code(&error::conclude("lith", result))
}

/// From now on, a panic removes the program's temporary files, where nothing is dropped after one.
fn remove_files_on_panic() {
    let tell = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        tell(info);
        lith::remove_hidden();
    }));
}

fn run(verb: Verb, messages: MessageArgs) -> anyhow::Result<Outcome> {
    match verb {
        Verb::Build(request) if matches!(request.from, From::EachLayer(_)) => {
            run::layers::run(&request, messages)
        }
        Verb::Build(request) => run::build::run(*request, messages),
        Verb::Ls(request) => run::ls::run(&request),
        Verb::Cat(request) => run::cat::run(&request),
        Verb::Stat(request) => run::stat::run(&request),
        Verb::Extract(request) => run::extract::run(&request, messages),
        Verb::Flatten(request) => run::flatten::run(&request, messages),
        Verb::Merge(request) => run::merge::run(&request, messages),
        Verb::Delta(request) => run::delta::make(&request, messages),
        Verb::Apply(request) => run::delta::apply(&request, messages),
        Verb::Tar(request) => run::tar::run(&request, messages),
        Verb::OnLinux(verb) => run::linux::run(verb, messages),
        Verb::Profile(request) => run::profile::run(&request.verb),
        Verb::Check(request) => run::check::run(&request, messages),
        Verb::Info(request) => run::info::run(&request),
        Verb::Rebuild(request) => run::rebuild::run(&request, messages),
        Verb::Report(request) => run::report::run(&request, messages),
        Verb::Map(request) => run::map::run(&request),
        Verb::Diff(request) => run::diff::run(&request, messages),
        Verb::Dump(request) => run::dump::run(&request, messages),
        Verb::Verity(request) => run::verity::run(&request, messages),
        #[cfg(feature = "remote")]
        Verb::Push(request) => run::push::run(&request, messages),
        #[cfg(feature = "remote")]
        Verb::Pull(request) => run::pull::run(&request, messages),
        #[cfg(feature = "remote")]
        Verb::Cache(request) => run::cache::run(&request),
        Verb::Bench(request) => run::bench::run(&request).map(|never| match never {}),
        Verb::Applets(request) => run::applets::run(&request, applets::names()),
        Verb::Completions(request) => run::completions::run(&request),
        Verb::Man(request) => run::man::run(&request, applets::commands()),
    }
}
