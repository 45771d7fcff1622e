//! Defines what one fill of an output took in and wrote.

/// What one [`Encoder::fill`](crate::Encoder::fill) did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fit {
    /// Input bytes that the output holds; always more than `written`.
    pub consumed: usize,
    /// Output bytes used, from the output's beginning.
    pub written: usize,
}
