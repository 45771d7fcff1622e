//! Converts lengths of the format to lengths in memory.

/// A length in memory. Lengths of what is held in memory are far below 4 GiB by the format or by a limit; where a longer
/// one can occur, it is an upper bound of which the minimum is taken, so saturating loses nothing on 32-bit machines.
pub(crate) fn length(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}
