//! Defines the program `lith-bench`, which `lith bench` starts.
#![forbid(unsafe_code)]

mod args;
mod run;

use std::{io, process::ExitCode};

use args::Bench;
use clap::Parser;

fn main() -> ExitCode {
    match run::run(&Bench::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        // A reader that stops early is no failure.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("lith bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let kinds = error.chain().filter_map(|cause| cause.downcast_ref().map(io::Error::kind));
    kinds.into_iter().any(|kind| kind == io::ErrorKind::BrokenPipe)
}
