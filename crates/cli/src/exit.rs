//! Defines the outcomes of verbs and maps them to exit codes.

use std::process::{self, ExitCode};

/// The outcome of a verb that ran to its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    Success,
    Different,
    /// The image is corrupt; as nothing is repaired, it stays so.
    Unsound,
    /// The image uses what this version doesn't know, so whether it is sound is unknown.
    Undecided,
    /// It failed, and the error is printed already.
    Reported,
    /// A command ran, and ended with this code.
    OfCommand(u8),
}

impl Outcome {
    const fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Different | Self::Reported => 1,
            Self::Unsound => 4,
            Self::Undecided => 8,
            Self::OfCommand(code) => code,
        }
    }
}

/// Which program's exit codes a verb has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Convention {
    /// 1 for a failure, 2 for wrong usage.
    Usual,
    /// As diff(1): 1 if the trees differ, 2 for a failure or wrong usage.
    Diff,
    /// As fsck(8): 4 for a corrupt image, 8 for a failure, 16 for wrong usage.
    Fsck,
}

impl Convention {
    pub(crate) fn of(verb: &str) -> Self {
        match verb {
            "check" => Self::Fsck,
            "diff" => Self::Diff,
            _ => Self::Usual,
        }
    }

    /// All exit codes with their meaning.
    pub(crate) const fn meanings(self) -> &'static [(u8, &'static str)] {
        match self {
            Self::Usual => &[(0, "Success."), (1, "Failure."), (2, "Wrong usage.")],
            Self::Diff => {
                &[(0, "No differences."), (1, "The trees differ."), (2, "Failure or wrong usage.")]
            }
            Self::Fsck => &[
                (0, "The image is sound."),
                (4, "It is not sound."),
                (8, "It could not be checked: a failure, or something unknown in it."),
                (16, "Wrong usage."),
            ],
        }
    }

    pub(crate) fn usage(self) -> ExitCode {
        match self {
            Self::Usual | Self::Diff => 2.into(),
            Self::Fsck => 16.into(),
        }
    }

    fn failure(self) -> ExitCode {
        match self {
            Self::Usual => 1.into(),
            Self::Diff => 2.into(),
            Self::Fsck => 8.into(),
        }
    }

    /// The code for the result of a verb.
    pub(crate) fn code<E>(self, result: &Result<Outcome, E>) -> ExitCode {
        result.as_ref().map_or_else(|_failed| self.failure(), |outcome| outcome.code().into())
    }
}

/// Ends the program at once, if the rest of the work can't change the exit code.
pub(crate) fn now(outcome: Outcome) -> ! {
    process::exit(outcome.code().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_follow_the_convention_of_the_verb() {
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
