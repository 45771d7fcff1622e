//! Reads variables of the environment.

use std::env;

/// The first of some variables that is set and not empty.
pub(crate) fn variable(names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| env::var(name).ok().filter(|value| !value.is_empty()))
}
