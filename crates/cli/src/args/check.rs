//! Which image shall be examined, and how far?

use std::num::NonZeroUsize;

use lith::check::Options;

use super::image::ImageArgs;

/// Find out whether an image is sound
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Examines a whole image: superblock, inodes, directories, extended attributes and indexes, \
        and decodes all data. Nothing is changed. Each finding is one line that begins with the id of the \
        rule that is broken; ids stay the same from version to version.\n\n\
        Exit codes are those of fsck(8): 0 sound, 4 not sound, 8 the check could not be done, \
        or the image uses what this version does not know, 16 wrong usage.",
    after_long_help = "\
Examples:
  lith check image.erofs
  lith check --no-data image.erofs       quick: structure only
  lith check --json image.erofs | jq -r '.findings[].rule' | sort | uniq -c"
)]
pub(crate) struct Check {
    #[command(flatten)]
    pub(crate) image: ImageArgs,

    /// Examine the structure only; decode no data
    #[arg(long)]
    no_data: bool,

    /// The most findings that are told; all are counted
    #[arg(long, value_name = "N", default_value_t = 1000)]
    max_findings: usize,

    /// Threads that decode [default: one for each core]
    #[arg(long, value_name = "N")]
    workers: Option<NonZeroUsize>,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,

    /// Print nothing; the exit code says it
    #[arg(short, long, conflicts_with = "json")]
    pub(crate) quiet: bool,
}

impl Check {
    /// How to check.
    pub(crate) fn options(&self) -> Options {
        let mut options = Options::default();
        options.data = !self.no_data;
        options.workers = super::workers(self.workers);
        options.max_findings = self.max_findings;
        options
    }
}
