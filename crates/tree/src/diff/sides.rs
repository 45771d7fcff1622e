//! Defines [`Sides`], one value for each of the two trees that are compared.

/// One value for the left tree and one for the right.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Sides<T> {
    pub(super) left: T,
    pub(super) right: T,
}
