//! Defines [`Platform`], what kind of machine an image is for.

use std::{fmt, str::FromStr};

use lith_system::architecture;
use serde::Deserialize;

/// An operating system and a kind of processor, in the terms of Go.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
pub struct Platform {
    /// As `linux`.
    #[serde(default)]
    pub os: String,
    /// As `amd64` or `arm64`.
    #[serde(default)]
    pub architecture: String,
    /// As `v7`; `None`: any.
    #[serde(default)]
    pub variant: Option<String>,
}

/// Text is not of the form `OS/ARCH[/VARIANT]`.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("expected OS/ARCH[/VARIANT], as linux/arm64 or linux/arm/v7")]
pub struct NoPlatform;

impl FromStr for Platform {
    type Err = NoPlatform;

    fn from_str(text: &str) -> Result<Self, NoPlatform> {
        let parts: Vec<&str> = text.split('/').collect();
        let (os, architecture, variant) = match *parts {
            [os, architecture] => (os, architecture, None),
            [os, architecture, variant] => (os, architecture, Some(variant)),
            _ => return Err(NoPlatform),
        };
        if parts.iter().any(|part| part.is_empty()) {
            return Err(NoPlatform);
        }
        let variant = variant.map(str::to_owned);
        Ok(Self { os: os.to_owned(), architecture: architecture.to_owned(), variant })
    }
}

impl fmt::Display for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.os, self.architecture)?;
        self.variant.as_ref().map_or(Ok(()), |variant| write!(f, "/{variant}"))
    }
}

impl Platform {
    /// That of this machine, for Linux.
    pub(super) fn host() -> Self {
        Self { os: "linux".to_owned(), architecture: architecture().to_owned(), variant: None }
    }

    /// Whether an image for `offered` is what is wanted here.
    pub(super) fn takes(&self, offered: &Self) -> bool {
        // The only variant that 64-bit ARM has had is often left out.
        let default = (self.architecture == "arm64").then_some("v8");
        let is_wanted = |variant: &str| offered.variant.as_deref().or(default) == Some(variant);
        self.os == offered.os
            && self.architecture == offered.architecture
            && self.variant.as_deref().is_none_or(is_wanted)
    }

    /// Whether a descriptor has it that refers to no image, but to what is known of one.
    pub(super) fn is_unknown(&self) -> bool {
        self.architecture == "unknown"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_platform_without_a_variant_takes_any() {
        let parse = |text: &str| text.parse::<Platform>().unwrap();
        for (wanted, offered, expected) in [
            ("linux/arm", "linux/arm/v7", true),
            ("linux/arm/v6", "linux/arm/v7", false),
            ("linux/arm/v6", "linux/arm", false),
            ("linux/arm64/v8", "linux/arm64", true),
            ("linux/amd64", "linux/arm64", false),
            ("linux/amd64", "windows/amd64", false),
        ] {
            assert_eq!(parse(wanted).takes(&parse(offered)), expected, "{wanted}, {offered}");
        }
        for text in ["", "linux", "linux/", "a/b/c/d"] {
            assert_eq!(text.parse::<Platform>(), Err(NoPlatform), "{text}");
        }
        assert_eq!(parse("linux/arm/v7").to_string(), "linux/arm/v7");
    }
}
