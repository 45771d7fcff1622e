//! Defines the releases of Linux.

use core::{fmt, str::FromStr};

/// A Linux release, such as 6.1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct KernelVersion {
    /// The number before the dot.
    pub major: u16,
    /// The number after the dot.
    pub minor: u16,
}

impl KernelVersion {
    /// The release `major.minor`.
    #[must_use]
    pub const fn new(major: u16, minor: u16) -> Self {
        Self { major, minor }
    }
}

impl fmt::Display for KernelVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// Text that is no kernel release.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("a kernel version looks like 6.1 or 6.12.3-generic")]
#[non_exhaustive]
pub struct KernelVersionError;

impl FromStr for KernelVersion {
    type Err = KernelVersionError;

    /// Reads `6.1`; what `uname -r` prints after it (`.27-arch1`) is allowed and ignored.
    fn from_str(text: &str) -> Result<Self, KernelVersionError> {
        let (major, rest) = leading_number(text).ok_or(KernelVersionError)?;
        let rest = rest.strip_prefix('.').ok_or(KernelVersionError)?;
        let (minor, rest) = leading_number(rest).ok_or(KernelVersionError)?;
        let ends_well = rest.is_empty() || rest.starts_with(['.', '-', '+']);
        ends_well.then_some(Self::new(major, minor)).ok_or(KernelVersionError)
    }
}

fn leading_number(text: &str) -> Option<(u16, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at_checked(end)?;
    Some((digits.parse().ok()?, rest))
}

#[cfg(test)]
mod tests {
    use std::string::ToString;

    use super::*;

    #[test]
    fn versions_are_read_as_people_and_kernels_write_them() {
        let parse = |text: &str| text.parse::<KernelVersion>().ok().map(|v| (v.major, v.minor));
        assert_eq!(parse("6.1"), Some((6, 1)));
        assert_eq!(parse("5.10.223"), Some((5, 10)));
        assert_eq!(parse("6.18.5-arch1-1"), Some((6, 18)));
        assert_eq!(parse("6.12-rc3"), Some((6, 12)));
        for text in ["", "6", "6.", ".1", "6.x", "6.1x", "v6.1", "6.70000", "-6.1", "6 .1"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn versions_are_ordered_by_number() {
        assert!(KernelVersion::new(5, 4) < KernelVersion::new(5, 10));
        assert!(KernelVersion::new(5, 19) < KernelVersion::new(6, 1));
        assert_eq!(KernelVersion::new(6, 10).to_string(), "6.10");
    }
}
