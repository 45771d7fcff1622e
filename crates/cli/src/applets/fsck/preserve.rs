//! Parses the switches that decide which attributes extracted files keep.

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, parser::ValueSource};

/// A switch: its name, whether it keeps owners and permissions (`None`: it does not decide), and its help.
type Switch = (&'static str, Option<bool>, Option<bool>, &'static str);

/// All switches. The last one given decides, separately for owners and for permissions.
const SWITCHES: [Switch; 6] = [
    ("preserve", Some(true), Some(true), "Keep owners and permissions"),
    ("preserve-owner", Some(true), None, "Keep owners [default for root]"),
    ("preserve-perms", None, Some(true), "Keep permissions unchanged [default for root]"),
    ("no-preserve", Some(false), Some(false), "Keep neither owners nor permissions"),
    (
        "no-preserve-owner",
        Some(false),
        None,
        "The extracting user owns the files [default for other users]",
    ),
    (
        "no-preserve-perms",
        None,
        Some(false),
        "Apply the umask to permissions [default for other users]",
    ),
];

/// Whether owners and permissions are kept; `None`: no switch decides.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Preserve {
    pub(super) owner: Option<bool>,
    pub(super) permissions: Option<bool>,
}

impl Preserve {
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
    use crate::applets::program::parsed;

    fn preserved(line: &str) -> (Option<bool>, Option<bool>) {
        let Preserve { owner, permissions } = parsed(line);
        (owner, permissions)
    }

    #[test]
    fn the_last_switch_decides() {
        assert_eq!(preserved("x"), (None, None));
        assert_eq!(preserved("x --preserve"), (Some(true), Some(true)));
        assert_eq!(preserved("x --preserve --no-preserve-owner"), (Some(false), Some(true)));
        assert_eq!(preserved("x --no-preserve-owner --preserve"), (Some(true), Some(true)));
        assert_eq!(preserved("x --preserve --no-preserve --preserve"), (Some(true), Some(true)));
        assert_eq!(preserved("x --preserve-perms"), (None, Some(true)));
    }
}
