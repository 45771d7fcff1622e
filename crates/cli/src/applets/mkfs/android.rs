//! What does Android ask of its images?

use std::{fs::File, io::BufWriter, path::PathBuf};

use anyhow::Context;
use lith::{
    reader::Image,
    source::Source,
    transform::{FileContexts, FsConfig},
};

use super::words::AttributeWords;
use crate::{args, output::error::Place};

/// What files get, and what is written down of them. Paths are looked up and told below the mount point.
#[derive(Debug)]
pub(super) struct Android {
    mount_point: Vec<u8>,
    owners: Option<FsConfig>,
    labels: Option<FileContexts>,
    block_list: Option<PathBuf>,
}

impl Android {
    pub(super) fn new(words: &AttributeWords) -> Result<Self, String> {
        if words.product_out.is_some() && words.fs_config_file.is_none() {
            return Err("--product-out takes --fs-config-file with it: there is no table of \
                        Android's owners and modes here"
                .into());
        }
        let told =
            |option, error: &dyn std::error::Error| format!("{option}: {}", args::one_line(error));
        let owners = words.fs_config_file.as_deref().map(FsConfig::read).transpose();
        let labels = words.file_contexts.as_deref().map(FileContexts::read).transpose();
        let mount_point = words.mount_point.clone().unwrap_or_default().into_encoded_bytes();
        Ok(Self {
            mount_point,
            owners: owners.map_err(|error| told("--fs-config-file", &error))?,
            labels: labels.map_err(|error| told("--file-contexts", &error))?,
            block_list: words.block_list_file.clone(),
        })
    }

    /// Gives files their owners, modes, capabilities and labels.
    pub(super) fn apply(&self, source: &mut Source) -> anyhow::Result<()> {
        if let Some(owners) = &self.owners {
            owners.apply(&mut source.tree, &self.mount_point)?;
        }
        if let Some(labels) = &self.labels {
            labels.apply(&mut source.tree, &self.mount_point);
        }
        Ok(())
    }

    /// Writes down where files lie in the finished image.
    pub(super) fn write_block_list(&self, image: &Image) -> anyhow::Result<()> {
        let Some(path) = &self.block_list else { return Ok(()) };
        let mut file = BufWriter::new(create(path)?);
        lith::export::block_list(image, &self.mount_point, &mut file)?;
        finish(path, file)
    }
}

/// Makes a file for a text.
pub(super) fn create(path: &std::path::Path) -> anyhow::Result<File> {
    File::create(path).with_context(|| format!("{}: cannot create", Place(path)))
}

/// Writes what is left of a text.
pub(super) fn finish(path: &std::path::Path, file: BufWriter<File>) -> anyhow::Result<()> {
    let ended = file.into_inner().map(drop).map_err(std::io::IntoInnerError::into_error);
    ended.with_context(|| format!("{}: cannot write", Place(path)))
}
