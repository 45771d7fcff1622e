//! Defines the errors of extended regular expressions.

/// Why an extended regular expression is invalid or can't be used. Positions count bytes.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RegexError {
    /// It has a back-reference.
    #[error("the back-reference \\{0} is not supported")]
    BackReference(char),
    /// It ends in a backslash.
    #[error("a backslash ends it")]
    TrailingBackslash,
    /// A repetition has nothing before it.
    #[error("the repetition at byte {0} has nothing to repeat")]
    NothingToRepeat(usize),
    /// The braces hold no numbers, or not in ascending order.
    #[error("the braces at byte {0} hold no interval")]
    Interval(usize),
    /// A bracket expression is not closed.
    #[error("the bracket at byte {0} is not closed")]
    OpenBracket(usize),
    /// A parenthesis is not closed.
    #[error("a parenthesis is not closed")]
    OpenGroup,
    /// A bracket expression has a range whose ends are not characters in ascending order.
    #[error("the bracket at byte {0} has an impossible range")]
    Range(usize),
    /// A bracket expression names an unknown class or character.
    #[error("the bracket at byte {0} names something unknown")]
    Unknown(usize),
    /// It is too large, or nested too deeply.
    #[error("it can't be compiled")]
    Compile(#[source] regex::Error),
}
