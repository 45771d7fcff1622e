//! Defines the arguments of `lith report`.

use std::path::PathBuf;

use super::{
    common::{DeviceArgs, ImageArgs},
    trust::TrustArgs,
    value::Size,
};

/// Write a web page about an image, or about two
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Writes a web page about an image: space by folder and by file type, before and after compression; \
        compression ratio by algorithm; the layout of the image; the largest files; deduplicated data; and the \
         estimated size with other presets, for each of which a sample is built. With \
         --profile also what a program reads first of it.\n\n\
         With a second image the page shows what changed between both and what grew, by folder, file and type; \
         --json prints that.\n\n\
        The page is one file without scripts and external resources. `lith info --all --presets` prints the same \
        facts as text, with --json as one object.",
    after_long_help = "\
Examples:
  lith report image.erofs                writes image.html
  lith report -o /srv/www/image.html image.erofs
  lith report --profile app.profile --no-presets image.erofs
  lith report --no-presets -o - image.erofs > page.html
  lith report old.erofs new.erofs        writes old-new.html"
)]
pub(crate) struct Report {
    #[command(flatten)]
    pub(crate) image: ImageArgs,

    /// A second image, to show what changed; --offset, --device and --root-hash are for the first one
    #[arg(value_name = "NEW", conflicts_with = "equal_files")]
    pub(crate) new: Option<PathBuf>,

    /// The page, replaced when it is complete; `-`: standard output [default: the image's name with .html, of two both
    /// names, in the current directory]
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

    /// Print the page's path and size as JSON, and with two images what changed: docs/json.md
    #[arg(long)]
    pub(crate) json: bool,
}

impl Report {
    /// The second image, if there is one. It has the folders of bases in common with the first one.
    pub(crate) fn new_image(&self) -> Option<ImageArgs> {
        let base_dirs = self.image.devices.base_dirs.clone();
        let of_new = |path: &PathBuf| ImageArgs {
            image: path.clone(),
            offset: Size(0),
            devices: DeviceArgs { devices: Vec::new(), base_dirs },
            ignore_checksum: self.image.ignore_checksum,
            trust: TrustArgs::default(),
            remote: self.image.remote.clone(),
        };
        self.new.as_ref().map(of_new)
    }
}
