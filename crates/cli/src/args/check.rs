//! Defines the arguments of `lith check`.

use lith::check::Options;

use super::common::{ImageArgs, WorkersArgs};

/// Check whether an image is sound
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Checks the superblock, inodes, directories, extended attributes and indexes of an image, and \
        decodes all data. Nothing is changed. Each finding is one line that starts with the id of the violated \
        rule; ids don't change between versions. With --json all findings are one object.\n\n\
        Exit codes are those of fsck(8): 0 sound, 4 corrupt, 8 failure or an image with features that this \
        version doesn't know, 16 wrong usage.",
    after_long_help = "\
Examples:
  lith check image.erofs
  lith check --no-data image.erofs       metadata only: fast
  lith check --json image.erofs | jq -r '.findings[].rule' | sort | uniq -c
  lith check --rules",
    mut_arg("image", |image| image.required(false).required_unless_present("rules").default_value_if("rules", "true", "-"))
)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(crate) struct Check {
    #[command(flatten)]
    pub(crate) image: ImageArgs,

    /// List all rules, with how bad it is to break them and what they require; checks nothing
    #[arg(long)]
    pub(crate) rules: bool,

    /// Check metadata only; decode no data
    #[arg(long)]
    no_data: bool,

    /// Compare the content of files with the digests that their attributes record (see `lith build --digests`)
    #[arg(long, conflicts_with = "no_data")]
    pub(crate) digests: bool,

    /// The most findings to print; all are counted
    #[arg(long, value_name = "N", default_value_t = 1000)]
    max_findings: usize,

    #[command(flatten)]
    pub(crate) workers: WorkersArgs,

    /// Print JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

impl Check {
    pub(crate) fn options(&self) -> Options {
        let mut options = Options::default();
        options.data = !self.no_data;
        options.workers = self.workers.count();
        options.max_findings = self.max_findings;
        options
    }
}
