//! How are words read as `getopt_long(3)` reads them?

use std::{
    ffi::{OsStr, OsString},
    path::Path,
    process::ExitCode,
};

use clap::{Arg, ArgAction, Args, Command, FromArgMatches};

/// A program with the options of `T`, which may stand behind other words, be glued to their values, be repeated (the
/// last one counts) and be shortened as far as they stay unique.
pub(super) fn program<T: Args>(command: Command) -> Command {
    // What is said of the arguments' type is not what is said of the program.
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

/// Reads the words of an applet, the first of which is its name.
///
/// Help and version are printed, and so is what is wrong, in one line; then there is nothing left to do but to exit.
pub(super) fn read<T: FromArgMatches>(command: Command, words: &[OsString]) -> Result<T, ExitCode> {
    let name = name_of(words);
    let read = command.name(name.clone()).try_get_matches_from(words);
    let read = read.and_then(|matches| T::from_arg_matches(&matches));
    read.map_err(|message| {
        if !message.use_stderr() {
            // There is nobody to tell that it can't be written.
            let _ = message.print();
            return ExitCode::SUCCESS;
        }
        refuse(&name, &first_paragraph(&message))
    })
}

/// The name that a program was called by.
pub(super) fn name_of(words: &[OsString]) -> String {
    let program = words.first().map(Path::new).and_then(Path::file_name);
    program.map(OsStr::to_string_lossy).unwrap_or_default().into_owned()
}

/// Says what is wrong with a command line.
pub(super) fn refuse(name: &str, problem: &str) -> ExitCode {
    eprintln!("{name}: {problem} (try '{name} --help')");
    ExitCode::FAILURE
}

/// What is wrong, in one line and without the hints behind it.
fn first_paragraph(message: &clap::Error) -> String {
    let text = message.render().to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    let paragraph = text.split("\n\n").next().unwrap_or_default();
    paragraph.split_whitespace().collect::<Vec<_>>().join(" ")
}
