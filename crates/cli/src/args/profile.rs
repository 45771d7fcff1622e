//! Defines the arguments of `lith profile`.

use std::path::PathBuf;

use super::common::ImageArgs;

/// Merge profiles, and show what one means for an image
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Works with profiles: lists of what programs read first, as `lith record` writes them and `lith build \
        --profile` takes them. They are text: an access (read, lookup, list), a path, a range of bytes, the order and how \
        often on each line.",
    after_long_help = "\
Examples:
  lith profile merge -o all.profile office.profile python.profile
  lith profile merge -o all.profile office.profile=3 python.profile
  lith profile show image.erofs office.profile
  lith profile show image.erofs office.profile --beside ordered.erofs"
)]
pub(crate) struct Profile {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// What is done with profiles.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Verb {
    Merge(Merge),
    Show(Box<Show>),
}

/// Merge profiles: what they have in common stands where it does on average
#[derive(Debug, clap::Args)]
pub(crate) struct Merge {
    /// The profile to write; `-` is standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    pub(crate) output: PathBuf,

    /// The profiles, each with a weight if it counts more than once
    #[arg(value_name = "FILE[=WEIGHT]", required = true)]
    pub(crate) profiles: Vec<WeightedFile>,
}

/// Show how scattered an image is under a profile: requests, bytes and seeks
#[derive(Debug, clap::Args)]
pub(crate) struct Show {
    #[command(flatten)]
    pub(crate) image: ImageArgs,

    /// The profile
    pub(crate) profile: PathBuf,

    /// Another image, for comparison
    #[arg(long, value_name = "IMAGE")]
    pub(crate) beside: Option<PathBuf>,

    /// Print it as JSON: docs/json.md
    #[arg(long)]
    pub(crate) json: bool,
}

/// A file with a weight.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WeightedFile {
    pub(crate) path: PathBuf,
    pub(crate) weight: u32,
}

impl std::str::FromStr for WeightedFile {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (path, weight) = match text.rsplit_once('=') {
            Some((path, weight)) => (path, weight.parse().ok().filter(|weight| *weight > 0)),
            None => (text, Some(1)),
        };
        let weight = weight.ok_or("the weight must be a number from 1 on")?;
        Ok(Self { path: path.into(), weight })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_weight_follows_the_last_equals_sign() {
        let parse = |text: &str| text.parse::<WeightedFile>();
        assert_eq!(parse("a").unwrap(), WeightedFile { path: "a".into(), weight: 1 });
        assert_eq!(parse("a=b=3").unwrap(), WeightedFile { path: "a=b".into(), weight: 3 });
        for wrong in ["a=0", "a=x", "a=-1", "a="] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
