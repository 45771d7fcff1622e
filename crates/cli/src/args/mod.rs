//! What does the command line ask for?
//!
//! Each verb has a file here that turns words into a typed request; nothing behind it looks at words again.

pub(crate) mod applets;
pub(crate) mod bench;
pub(crate) mod build;
pub(crate) mod c_number;
pub(crate) mod cat;
pub(crate) mod check;
pub(crate) mod completions;
pub(crate) mod diff;
pub(crate) mod dump;
pub(crate) mod extended;
pub(crate) mod extract;
pub(crate) mod hints;
pub(crate) mod image;
pub(crate) mod info;
pub(crate) mod ls;
pub(crate) mod man;
pub(crate) mod map;
pub(crate) mod mount;
pub(crate) mod mount_options;
pub(crate) mod report;
mod rule;
pub(crate) mod stat;
pub(crate) mod tar;
pub(crate) mod umount;
pub(crate) mod value;

use std::{env, num::NonZeroUsize, thread};

use clap::{CommandFactory, Parser, Subcommand};
use lith::tree::Timestamp;

/// Builds, reads, checks and compares EROFS images
#[derive(Debug, Parser)]
#[command(
    name = "lith",
    version,
    max_term_width = 100,
    disable_help_subcommand = true,
    subcommand_value_name = "VERB",
    subcommand_help_heading = "Verbs",
    long_about = "Builds, reads, checks and compares EROFS images: compressed, read-only filesystems \
                  that Linux mounts.",
    after_help = "`lith VERB --help` explains a verb, with examples.",
    after_long_help = "\
Examples:
  lith build rootfs rootfs.erofs         make an image of a folder
  lith mount rootfs.erofs /mnt           mount it
  lith ls -l rootfs.erofs /etc           or look inside without mounting
  lith extract rootfs.erofs copy         and get it all back
  lith diff rootfs rootfs.erofs          nothing got lost on the way

Exit codes:
  0  success; also when whoever reads the output stops early
  1  something went wrong (diff: the trees differ)
  2  wrong usage (diff: trouble of any kind)
  `lith check` has those of fsck(8): 0 sound, 4 unsound, 8 trouble, 16 wrong usage."
)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

/// What is to be done.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    Build(Box<build::Build>),
    Ls(ls::Ls),
    Cat(cat::Cat),
    Stat(stat::Stat),
    Extract(extract::Extract),
    Tar(tar::Tar),
    Mount(mount::Mount),
    Umount(umount::Umount),
    Check(check::Check),
    Info(info::Info),
    Report(report::Report),
    Map(map::Map),
    Diff(diff::Diff),
    Dump(dump::Dump),
    Bench(bench::Bench),
    Applets(applets::Applets),
    Completions(completions::Completions),
    Man(man::Man),
}

/// Reads the program's arguments.
pub(crate) fn parse() -> Result<Verb, clap::Error> {
    Cli::try_parse().map(|cli| cli.verb)
}

/// All that is known of the command line, for help, completions and manual pages.
pub(crate) fn command() -> clap::Command {
    Cli::command()
}

/// As many workers as asked for, or one for each core.
pub(crate) fn workers(asked: Option<NonZeroUsize>) -> NonZeroUsize {
    let cores = || thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    asked.unwrap_or_else(cores)
}

/// The environment's wish for times, as <https://reproducible-builds.org/specs/source-date-epoch> has it.
pub(crate) fn source_date_epoch() -> Result<Option<Timestamp>, String> {
    let Some(word) = env::var_os("SOURCE_DATE_EPOCH").filter(|word| !word.is_empty()) else {
        return Ok(None);
    };
    let sec = word.to_str().and_then(|word| word.parse().ok());
    let time = sec.map(|sec| Timestamp { sec, nsec: 0 });
    let problem =
        || format!("SOURCE_DATE_EPOCH is {}; seconds since 1970 are expected", word.display());
    time.ok_or_else(problem).map(Some)
}

/// An error with its causes.
pub(crate) fn one_line(error: &dyn std::error::Error) -> String {
    let mut line = error.to_string();
    let mut at = error.source();
    while let Some(cause) = at {
        line = format!("{line}: {cause}");
        at = cause.source();
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        command().debug_assert();
    }

    #[test]
    fn every_verb_teaches_by_example() {
        for verb in command().get_subcommands() {
            let help = verb.get_after_long_help().map(ToString::to_string).unwrap_or_default();
            let example = format!("  lith {} ", verb.get_name());
            assert!(help.contains("Examples:") && help.contains(&example), "{}", verb.get_name());
            for argument in verb.get_arguments() {
                assert!(argument.get_help().is_some(), "{} {}", verb.get_name(), argument.get_id());
            }
        }
    }
}
