//! Defines the arguments of `lith report`.

use std::path::PathBuf;

use super::common::ImageArgs;

/// Write a web page about an image
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Writes a web page about an image: space by folder and by file type, before and after compression; \
        compression ratio by algorithm; the layout of the image; the largest files; deduplicated data; and the \
        estimated size with other presets, for each of which a sample is built. With \
        --profile also what a program reads first of it.\n\n\
        The page is one file without scripts and external resources. `lith info --all --presets` prints the same \
        facts as text, with --json as one object.",
    after_long_help = "\
Examples:
  lith report image.erofs                writes image.html
  lith report -o /srv/www/image.html image.erofs
  lith report --profile app.profile --no-presets image.erofs
  lith report --no-presets -o - image.erofs > page.html"
)]
pub(crate) struct Report {
    #[command(flatten)]
    pub(crate) image: ImageArgs,

    /// The page, replaced when it is complete; `-`: standard output [default: the image's name with .html, in the
    /// current directory]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Don't estimate the size with other presets
    #[arg(long)]
    pub(crate) no_presets: bool,

    /// Find equal files that are stored several times; reads all files of equal size
    #[arg(long)]
    pub(crate) equal_files: bool,

    /// Draw what this profile names: where it is in the image, in which order it is read, and how scattered it is
    #[arg(long, value_name = "FILE")]
    pub(crate) profile: Option<PathBuf>,

    /// Print the page's path and size as JSON: docs/json.md
    #[arg(long)]
    pub(crate) json: bool,
}
