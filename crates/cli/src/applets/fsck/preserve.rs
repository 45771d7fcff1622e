//! Which attributes do extracted files keep?

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, parser::ValueSource};

/// A switch with what it says of owners and permissions, and its help.
type Switch = (&'static str, Option<bool>, Option<bool>, &'static str);

/// All switches; of those that are given the last one counts, for either of the two.
const SWITCHES: [Switch; 6] = [
    ("preserve", Some(true), Some(true), "Keep owners and permissions"),
    ("preserve-owner", Some(true), None, "Keep owners [default for root]"),
    ("preserve-perms", None, Some(true), "Keep permissions as they are [default for root]"),
    ("no-preserve", Some(false), Some(false), "Keep neither owners nor permissions"),
    ("no-preserve-owner", Some(false), None, "Files become those of whoever extracts them"),
    ("no-preserve-perms", None, Some(false), "Apply the umask to permissions"),
];

/// What is said of owners and permissions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Preserve {
    pub(super) owner: Option<bool>,
    pub(super) permissions: Option<bool>,
}

impl Preserve {
    /// Whether any of the switches is given.
    pub(super) const fn is_given(self) -> bool {
        self.owner.is_some() || self.permissions.is_some()
    }
}

impl Args for Preserve {
    fn augment_args(command: Command) -> Command {
        SWITCHES.iter().fold(command, |command, (name, _, _, help)| {
            command.arg(Arg::new(*name).long(*name).help(*help).action(ArgAction::SetTrue))
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Preserve {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let given = |name| matches.value_source(name) == Some(ValueSource::CommandLine);
        let mut switches: Vec<_> = SWITCHES.iter().filter(|(name, ..)| given(name)).collect();
        switches.sort_by_key(|(name, ..)| matches.index_of(name));
        Ok(switches.iter().fold(Self::default(), |before, (_, owner, permissions, _)| Self {
            owner: owner.or(before.owner),
            permissions: permissions.or(before.permissions),
        }))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &str) -> (Option<bool>, Option<bool>) {
        let command = Preserve::augment_args(Command::new("x")).args_override_self(true);
        let words = ["x"].into_iter().chain(words.split_whitespace());
        let matches = command.try_get_matches_from(words).unwrap();
        let Preserve { owner, permissions } = Preserve::from_arg_matches(&matches).unwrap();
        (owner, permissions)
    }

    #[test]
    fn the_last_switch_counts() {
        assert_eq!(read(""), (None, None));
        assert_eq!(read("--preserve"), (Some(true), Some(true)));
        assert_eq!(read("--preserve --no-preserve-owner"), (Some(false), Some(true)));
        assert_eq!(read("--no-preserve-owner --preserve"), (Some(true), Some(true)));
        assert_eq!(read("--preserve --no-preserve --preserve"), (Some(true), Some(true)));
        assert_eq!(read("--preserve-perms"), (None, Some(true)));
    }
}
