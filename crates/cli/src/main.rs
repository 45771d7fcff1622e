//! Words in, words out: the `lith` program.
#![forbid(unsafe_code)]

mod applets;
mod args;
mod exit;
mod output;
mod run;

use std::{env, ffi::OsString, process::ExitCode};

use applets::Applet;
use exit::{Convention, Outcome};

fn main() -> ExitCode {
    let words: Vec<OsString> = env::args_os().collect();
    // Called as `mkfs.erofs …` or as `lith mkfs.erofs …`.
    for (at, word) in words.iter().enumerate().take(2) {
        if let Some(applet) = Applet::named(word) {
            let (_, words) = words.split_at(at);
            return applet.run(words);
        }
    }
    let verb = words.get(1).cloned().unwrap_or_default();
    let convention = Convention::of(&verb.to_string_lossy());
    let verb = match args::parse() {
        Ok(verb) => verb,
        Err(message) => return say(&message, convention),
    };
    let mut result = run::run(verb);
    match &result {
        Err(error) if output::error::is_broken_pipe(error) => result = Ok(Outcome::Success),
        Err(error) => output::error::tell("lith", error),
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
