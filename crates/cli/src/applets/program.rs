//! Defines what all applets share as programs: arguments parsed as `getopt_long(3)` does, messages, version and exit
//! code.

use std::{
    ffi::{OsStr, OsString},
    path::Path,
    process::ExitCode,
};

use clap::{Arg, ArgAction, Args, Command, FromArgMatches};

use crate::{
    exit::{Convention, Outcome},
    output::error::{answer, conclude, tell},
};

/// The release of erofs-utils whose options the applets have.
pub(super) const RELEASE: &str = "1.9.4";

/// A program with the options of `T`. They may follow positional arguments, be joined to their values, be repeated (the
/// last one counts) and be shortened as long as they stay unique.
pub(super) fn program<T: Args>(command: Command) -> Command {
    // `augment_args` replaces the description of the program by that of `T`.
    let about = command.get_about().cloned().unwrap_or_default();
    let version = Arg::new("version").short('V').long("version");
    T::augment_args(command)
        .about(about)
        .args_override_self(true)
        .infer_long_args(true)
        .disable_version_flag(true)
        .arg(version.help("Print the version").action(ArgAction::Version))
        .max_term_width(100)
}

/// The text after the program's name in the output of `--version`: the release of erofs-utils, `more`, and lith's own
/// version.
pub(super) fn version(more: &str) -> String {
    format!("(erofs-utils) {RELEASE}\n{more}lith {}", env!("CARGO_PKG_VERSION"))
}

/// Runs an applet with a command line whose first argument is its name: parses its arguments, makes
/// a request of them, and executes that under the program's name.
pub(super) fn main<T: FromArgMatches, R>(
    command: Command,
    line: &[OsString],
    request: impl FnOnce(T) -> Result<R, String>,
    run: impl FnOnce(&str, &R) -> anyhow::Result<Outcome>,
) -> ExitCode {
    let program = line.first().map(Path::new).and_then(Path::file_name);
    let name = program.map(OsStr::to_string_lossy).unwrap_or_default().into_owned();
    let request = match parse(command.name(name.clone()), line) {
        Ok(arguments) => request(arguments),
        Err(message) if message.use_stderr() => Err(first_paragraph(&message)),
        Err(message) => {
            return Convention::Usual.code(&conclude(&name, answer(&message)));
        }
    };
    match request {
        Ok(request) => Convention::Usual.code(&conclude(&name, run(&name, &request))),
        Err(problem) => {
            tell(format_args!("{name}: {problem} (try '{name} --help')"));
            ExitCode::FAILURE
        }
    }
}

fn parse<T: FromArgMatches>(command: Command, line: &[OsString]) -> Result<T, clap::Error> {
    T::from_arg_matches(&command.try_get_matches_from(line)?)
}

/// A parser's error in one line, without the hints that follow it.
fn first_paragraph(message: &clap::Error) -> String {
    let text = message.render().to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    let paragraph = text.split("\n\n").next().unwrap_or_default();
    paragraph.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Parses a command line that is written with spaces between its arguments.
#[cfg(test)]
pub(super) fn parsed<T: Args>(line: &str) -> T {
    let command = program::<T>(Command::new("program").version("1"));
    parse(command, &line.split(' ').map(OsString::from).collect::<Vec<_>>()).unwrap()
}
