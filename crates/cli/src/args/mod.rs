//! What does the command line request? Defines the arguments of each verb in a file of its own.
//!
//! All text of the command line is parsed here; other modules get typed values.

pub(crate) mod applets;
pub(crate) mod attributes;
pub(crate) mod bench;
pub(crate) mod build;
pub(crate) mod c_number;
#[cfg(feature = "remote")]
pub(crate) mod cache;
pub(crate) mod cat;
pub(crate) mod check;
pub(crate) mod common;
pub(crate) mod completions;
pub(crate) mod content;
pub(crate) mod delta;
pub(crate) mod diff;
pub(crate) mod dump;
pub(crate) mod extended;
pub(crate) mod extract;
pub(crate) mod flatten;
pub(crate) mod hints;
pub(crate) mod info;
pub(crate) mod layout;
pub(crate) mod location;
pub(crate) mod ls;
pub(crate) mod man;
pub(crate) mod map;
pub(crate) mod merge;
pub(crate) mod mount;
pub(crate) mod mount_flags;
pub(crate) mod mount_options;
pub(crate) mod order;
pub(crate) mod paths;
pub(crate) mod profile;
pub(crate) mod protection;
#[cfg(feature = "remote")]
pub(crate) mod push;
pub(crate) mod rebuild;
mod recipe;
pub(crate) mod record;
pub(crate) mod remote;
pub(crate) mod report;
mod rule;
mod squashfs;
pub(crate) mod stat;
pub(crate) mod stream;
pub(crate) mod tar;
pub(crate) mod trust;
pub(crate) mod umount;
pub(crate) mod value;
pub(crate) mod verity;

use std::env;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand, error::ErrorKind};

pub(crate) use crate::output::error::one_line;
pub(crate) use common::{MessageArgs, source_date_epoch, workers};

/// Builds, reads, checks and compares EROFS images
#[derive(Debug, Parser)]
#[command(
    name = "lith",
    version,
    max_term_width = 100,
    subcommand_value_name = "VERB",
    subcommand_help_heading = "Verbs",
    long_about = "Builds, reads, checks and compares EROFS images: compressed, read-only filesystems \
                  that Linux mounts.",
    after_help = "`lith help VERB` explains a verb, with examples.",
    after_long_help = "\
Examples:
  lith build rootfs rootfs.erofs         build an image of a directory
  lith mount rootfs.erofs /mnt           mount it
  lith ls -l rootfs.erofs /etc           list its files without mounting
  lith extract -C copy rootfs.erofs      extract all files
  lith diff rootfs rootfs.erofs          compare it with its source

Exit codes:
  0  success; also if the reader of the output closes it early
  1  failure (diff: the trees differ)
  2  wrong usage (diff: failure or wrong usage)
  `lith check` has those of fsck(8): 0 sound, 4 corrupt, 8 failure, 16 wrong usage."
)]
struct Cli {
    #[command(flatten)]
    messages: MessageArgs,

    #[command(subcommand)]
    verb: Verb,
}

/// A verb with its arguments.
#[derive(Debug, Subcommand)]
// Defining the arguments of all verbs would take longer than many a verb does.
#[command(defer = true)]
pub(crate) enum Verb {
    Build(Box<build::Build>),
    Ls(ls::Ls),
    Cat(cat::Cat),
    Stat(stat::Stat),
    Extract(extract::Extract),
    Flatten(flatten::Flatten),
    Merge(merge::Merge),
    Delta(delta::Delta),
    Apply(delta::Apply),
    Tar(tar::Tar),
    #[command(flatten)]
    OnLinux(OnLinux),
    Profile(profile::Profile),
    Check(check::Check),
    Info(info::Info),
    Rebuild(rebuild::Rebuild),
    Report(report::Report),
    Map(map::Map),
    Diff(diff::Diff),
    Dump(dump::Dump),
    Verity(verity::Verity),
    #[cfg(feature = "remote")]
    Push(push::Push),
    #[cfg(feature = "remote")]
    Pull(push::Pull),
    #[cfg(feature = "remote")]
    Cache(cache::Cache),
    Bench(bench::Bench),
    Applets(applets::Applets),
    Completions(completions::Completions),
    Man(man::Man),
}

/// A verb that other systems can't execute.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum OnLinux {
    Mount(Box<mount::Mount>),
    Umount(umount::Umount),
    Record(record::Record),
}

/// Parses the program's arguments: a verb, and what is printed beside its result.
pub(crate) fn parse() -> Result<(Verb, MessageArgs), clap::Error> {
    let cli = Cli::try_parse().or_else(|error| {
        if error.kind() == ErrorKind::DisplayVersion {
            return Err(error);
        }
        // Help and errors may describe any verb, so all of them must be defined.
        let (mut command, line): (_, Vec<_>) = (command(), env::args_os().collect());
        let matches = command.try_get_matches_from_mut(&line);
        let matches = matches.map_err(|error| squashfs::explain(error, &mut command, &line))?;
        Cli::from_arg_matches(&matches)
    });
    cli.map(|cli| (cli.verb, cli.messages))
}

/// The definition of the command line, for completions and manual pages.
pub(crate) fn command() -> clap::Command {
    let mut command = Cli::command();
    command.build();
    command
}

/// The verbs, without `help`, which clap adds.
pub(crate) fn verbs(command: &clap::Command) -> impl Iterator<Item = &clap::Command> {
    command.get_subcommands().filter(|verb| verb.get_name() != "help")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        command().debug_assert();
    }

    #[test]
    fn the_help_of_every_verb_has_an_example() {
        for verb in verbs(&command()) {
            let help = verb.get_after_long_help().map(ToString::to_string).unwrap_or_default();
            let example = format!("  lith {} ", verb.get_name());
            assert!(help.contains("Examples:") && help.contains(&example), "{}", verb.get_name());
            for argument in verb.get_arguments() {
                assert!(argument.get_help().is_some(), "{} {}", verb.get_name(), argument.get_id());
            }
        }
    }
}
