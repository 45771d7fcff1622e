//! Defines the arguments of `lith build` about what is taken of its source.

use std::{
    fs,
    io::Read,
    path::{Path, PathBuf},
};

use clap::{Args, ValueEnum};
use lith::{
    Overlay,
    source::{self, Excludes, OnError, Platform, is_container},
};

use super::{common::DeviceArgs, value};

#[derive(Args, Debug)]
#[command(next_help_heading = "Source")]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(super) struct ContentArguments {
    /// Take names, owners, modes and devices from a list in the form of `lith dump`, `composefs-info dump` or mtree, and
    /// only the content of files from SOURCE, or where the list says; `-`: standard input
    #[arg(long, value_name = "FILE")]
    pub(super) manifest: Option<PathBuf>,

    /// Exclude paths that match, with everything below: `*.o` anywhere, `/tmp/*` from the root; can be repeated. The
    /// groups of bash are known, `!(*.c|*.h)`
    #[arg(long, value_name = "GLOB")]
    exclude: Vec<String>,

    /// Exclude the patterns in a file (`-`: standard input), one in each line; lines that start with `#` are comments, those
    /// with `!` are for --include
    #[arg(long, value_name = "FILE")]
    exclude_from: Vec<PathBuf>,

    /// Exclude paths, which have no leading slash, in which an extended regular expression matches
    #[arg(long, value_name = "REGEX")]
    exclude_regex: Vec<String>,

    /// Take paths that match, with everything below, also of what is excluded; can be repeated
    #[arg(long, value_name = "GLOB")]
    include: Vec<String>,

    /// Fail if an exclusion, an inclusion or a rule matches nothing
    #[arg(long)]
    pub(super) strict: bool,

    /// Leave out other filesystems that are mounted in the directory
    #[arg(short = 'x', long)]
    one_file_system: bool,

    /// What to do about files that can't be read: fail, or skip them and say which
    #[arg(long, value_name = "fail|skip", default_value = "fail", hide_possible_values = true)]
    on_error: Reaction,

    /// Whether extended attributes are stored
    #[arg(long, value_name = "on|off", default_value = "on", hide_possible_values = true)]
    xattrs: Switch,

    /// Store each hard link as a file of its own
    #[arg(long)]
    dereference_hard_links: bool,

    #[command(flatten)]
    pub(super) devices: DeviceArgs,

    /// Make a patch: what this image holds is not stored again but referred to. It may be a patch itself; can be repeated
    #[arg(long = "base", value_name = "IMAGE", value_parser = value::place())]
    pub(super) bases: Vec<PathBuf>,

    /// Make a patch that its bases follow on one device, for kernels before 5.16: `cat PATCH BASE > IMAGE`
    ///
    /// Without this, bases are devices of their own. The patch alone can't be read, and is built twice:
    /// its addresses count from its end. Of several bases each but the last must end with a block.
    #[arg(long, requires = "bases")]
    pub(super) flat: bool,

    /// The platform to take of a container image for several [default: that of this machine, or the only one]
    #[arg(long, value_name = "OS/ARCH[/VARIANT]")]
    platform: Option<Platform>,

    /// Make an image of each layer of a container image, and `merged.erofs` that refers to them, in the folder IMAGE
    #[arg(
        long,
        conflicts_with_all = [
            "bases", "blob", "composefs", "json", "manifest", "max_depth", "offset", "provenance", "strict", "verity",
            "whiteouts"
        ]
    )]
    pub(super) layers: bool,

    /// Write the configuration of the container image, a JSON document, to this file
    #[arg(long, value_name = "FILE", value_parser = value::place())]
    config_file: Option<PathBuf>,

    /// Whether whiteouts and opaque marks of overlayfs are kept, or dropped once they have hidden what is below
    /// [default: drop with several sources]
    #[arg(long, value_name = "keep|drop", hide_possible_values = true)]
    whiteouts: Option<Whiteouts>,

    /// Fail if the image would refer to more images than this, bases of bases included; without it, more than 8 are noted
    #[arg(long, value_name = "N", requires = "bases")]
    pub(super) max_depth: Option<usize>,

    /// Turn the whiteouts of an AUFS tar (container layers) into those of overlayfs
    #[arg(long)]
    aufs: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Switch {
    On,
    Off,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Whiteouts {
    Keep,
    Drop,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Reaction {
    Fail,
    Skip,
}

/// What is taken of a source.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a choice of its own")]
pub(crate) struct Content {
    pub(crate) exclude: Excludes,
    pub(crate) on_error: OnError,
    one_file_system: bool,
    pub(crate) xattrs: bool,
    dereference_hard_links: bool,
    pub(crate) aufs: bool,
    platform: Option<Platform>,
    config_file: Option<PathBuf>,
}

impl ContentArguments {
    /// What is taken of these sources.
    pub(super) fn content(&self, sources: &[PathBuf]) -> Result<Content, String> {
        let options = [
            (self.platform.is_some(), "--platform"),
            (self.config_file.is_some(), "--config-file"),
            (self.layers, "--layers"),
        ];
        let containers = sources.iter().filter(|source| is_container(source)).count();
        match options.iter().find(|(is_given, _)| *is_given) {
            Some((_, option)) if containers != 1 => {
                return Err(format!("{option} takes one container image as a source, as oci:DIR"));
            }
            _ => {}
        }
        Ok(Content {
            exclude: self.excludes()?,
            on_error: match self.on_error {
                Reaction::Fail => OnError::Fail,
                Reaction::Skip => OnError::Skip,
            },
            one_file_system: self.one_file_system,
            xattrs: self.xattrs == Switch::On,
            dereference_hard_links: self.dereference_hard_links,
            aufs: self.aufs,
            platform: self.platform.clone(),
            config_file: self.config_file.clone(),
        })
    }

    /// What becomes of the marks of overlayfs: those of several sources have done their work.
    pub(super) fn overlay(&self, sources: usize) -> Overlay {
        let default = if sources > 1 { Whiteouts::Drop } else { Whiteouts::Keep };
        match self.whiteouts.unwrap_or(default) {
            Whiteouts::Keep => Overlay::Keep,
            Whiteouts::Drop => Overlay::Strip,
        }
    }

    fn excludes(&self) -> Result<Excludes, String> {
        let mut patterns = self.exclude.clone();
        for path in &self.exclude_from {
            let text = read(path).map_err(|error| format!("{}: {error}", path.display()))?;
            patterns.extend(pattern_lines(&text).map(str::to_owned));
        }
        patterns.extend(self.include.iter().map(|pattern| format!("!{pattern}")));
        let mut excludes = Excludes::new(&patterns).map_err(|error| super::one_line(&error))?;
        for pattern in &self.exclude_regex {
            excludes.add_regex(pattern.as_bytes()).map_err(|error| super::one_line(&error))?;
        }
        Ok(excludes)
    }
}

impl Content {
    /// Sets what the arguments say.
    pub(crate) fn set(self, read: &mut source::Options) {
        read.exclude = self.exclude;
        read.one_file_system = self.one_file_system;
        read.xattrs = self.xattrs;
        // An image of composefs has none either.
        read.dereference_hard_links |= self.dereference_hard_links;
        read.aufs = self.aufs;
        read.platform = self.platform;
        read.config_copy = self.config_file;
    }
}

fn read(path: &Path) -> std::io::Result<String> {
    if path != Path::new("-") {
        return fs::read_to_string(path);
    }
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).map(|_bytes| text)
}

/// The patterns in a text: its lines that are neither blank nor comments.
fn pattern_lines(text: &str) -> impl Iterator<Item = &str> {
    let lines = text.lines().map(str::trim_end);
    lines.filter(|line| !line.is_empty() && !line.starts_with('#'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blank_lines_and_comments_are_no_patterns() {
        let text = "# all\n*.o\r\n\n  \n!keep.o \n /a b";
        assert_eq!(pattern_lines(text).collect::<Vec<_>>(), ["*.o", "!keep.o", " /a b"]);
    }
}
