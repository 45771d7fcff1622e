//! What does the program's exit code say?

use std::process::{self, ExitCode};

/// What a verb that ran to its end has to say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    /// All is well.
    Success,
    /// The two trees differ.
    Different,
    /// The image is not sound, and stays so.
    Unsound,
    /// Whether the image is sound can't be told.
    Undecided,
    /// Something went wrong, and another process said what.
    Told,
}

impl Outcome {
    const fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Different | Self::Told => 1,
            Self::Unsound => 4,
            Self::Undecided => 8,
        }
    }
}

/// Whose exit codes a verb has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Convention {
    /// 1 when something went wrong, 2 for wrong usage.
    Usual,
    /// As diff(1): 1 is a difference, 2 is trouble of any kind.
    Diff,
    /// As fsck(8): 4 is an unsound image, 8 when something went wrong, 16 for wrong usage.
    Fsck,
}

impl Convention {
    /// The convention of the verb of this name.
    pub(crate) fn of(verb: &str) -> Self {
        match verb {
            "check" => Self::Fsck,
            "diff" => Self::Diff,
            _ => Self::Usual,
        }
    }

    /// The code of a command line that makes no sense.
    pub(crate) fn usage(self) -> ExitCode {
        match self {
            Self::Usual | Self::Diff => 2.into(),
            Self::Fsck => 16.into(),
        }
    }

    /// The code of what could not be done.
    fn failure(self) -> ExitCode {
        match self {
            Self::Usual => 1.into(),
            Self::Diff => 2.into(),
            Self::Fsck => 8.into(),
        }
    }

    /// The code of a verb that ran.
    pub(crate) fn code<E>(self, result: &Result<Outcome, E>) -> ExitCode {
        result.as_ref().map_or_else(|_failed| self.failure(), |outcome| outcome.code().into())
    }
}

/// Ends the program at once, where the rest of the work would change nothing.
pub(crate) fn now(outcome: Outcome) -> ! {
    process::exit(outcome.code().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_those_that_scripts_know() {
        let codes = |verb: &str| {
            let convention = Convention::of(verb);
            [convention.code(&Err(())), convention.usage()]
        };
        let expected = |failure: u8, usage: u8| [ExitCode::from(failure), ExitCode::from(usage)];
        for (verb, codes_of_verb) in
            [("build", expected(1, 2)), ("diff", expected(2, 2)), ("check", expected(8, 16))]
        {
            assert_eq!(format!("{:?}", codes(verb)), format!("{codes_of_verb:?}"), "{verb}");
        }
        let outcomes = [Outcome::Success, Outcome::Different, Outcome::Unsound, Outcome::Undecided];
        assert_eq!(outcomes.map(Outcome::code), [0, 1, 4, 8]);
    }
}
