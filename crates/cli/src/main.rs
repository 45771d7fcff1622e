//! Words in, words out: the `lith` program.
#![forbid(unsafe_code)]

mod args;
mod exit;
mod output;
mod run;

use std::{env, process::ExitCode};

use exit::{Convention, Outcome};

fn main() -> ExitCode {
    let verb = env::args_os().nth(1).unwrap_or_default();
    let convention = Convention::of(&verb.to_string_lossy());
    let verb = match args::parse() {
        Ok(verb) => verb,
        Err(message) => return say(&message, convention),
    };
    let mut result = run::run(verb);
    match &result {
        Err(error) if output::error::is_broken_pipe(error) => result = Ok(Outcome::Success),
        Err(error) => output::error::tell(error),
        Ok(_) => {}
    }
    convention.code(&result)
}

/// Prints what the parser has to say: help, the version, or what is wrong.
fn say(message: &clap::Error, convention: Convention) -> ExitCode {
    // There is nobody to tell that a message can't be written.
    let _ = message.print();
    if message.use_stderr() { convention.usage() } else { ExitCode::SUCCESS }
}
