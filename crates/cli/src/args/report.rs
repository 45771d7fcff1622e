//! Which image shall there be a page about, and where?

use std::path::PathBuf;

use super::image::ImageArgs;

/// Make a web page about an image
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Makes a web page about an image: where its bytes go, by folder and by type of file, before and after \
        compression; how well each algorithm did; what lies where in the image; the largest files; what is stored once \
        instead of several times; and how large the image would be with other presets, for which a sample of it is \
        built in each of them.\n\n\
        The page is one file without scripts that loads nothing from anywhere. `lith info --all --presets` prints the \
        same facts as text, and with --json as one object.",
    after_long_help = "\
Examples:
  lith report image.erofs                image.html in this folder
  lith report -o /srv/www/image.html image.erofs
  lith report --no-presets -o - image.erofs > page.html"
)]
pub(crate) struct Report {
    #[command(flatten)]
    pub(crate) image: ImageArgs,

    /// The page, replaced once it is complete; `-` for standard output [default: the image's name with .html, in this
    /// folder]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Don't try how large the image would be with other presets
    #[arg(long)]
    pub(crate) no_presets: bool,

    /// Look for equal files that are stored several times: reads all files of equal sizes
    #[arg(long)]
    pub(crate) equal_files: bool,

    /// Don't tell what was written, nor how far the work is
    #[arg(short, long)]
    pub(crate) quiet: bool,
}
