//! Applies Android's tables of owners, modes and labels to a source, and writes its block list.

use std::{fs::File, io::BufWriter, path::PathBuf};

use anyhow::Context;
use lith::{
    reader::Image,
    source::Source,
    transform::{FileContexts, FsConfig},
};

use super::arguments::AttributeArguments;
use crate::{args, output::error::Place};

/// Tables for files and the path of a block list. Paths in all of them start with the mount point.
#[derive(Debug)]
pub(super) struct Android {
    mount_point: Vec<u8>,
    owners: Option<FsConfig>,
    labels: Option<FileContexts>,
    block_list: Option<PathBuf>,
}

impl Android {
    pub(super) fn new(arguments: &AttributeArguments) -> Result<Self, String> {
        if arguments.product_out.is_some() && arguments.fs_config_file.is_none() {
            return Err("--product-out takes --fs-config-file with it: there is no table of \
                        Android's owners and modes here"
                .into());
        }
        let failed =
            |option, error: &dyn std::error::Error| format!("{option}: {}", args::one_line(error));
        let owners = arguments.fs_config_file.as_deref().map(FsConfig::read).transpose();
        let labels = arguments.file_contexts.as_deref().map(FileContexts::read).transpose();
        let mount_point = arguments.mount_point.clone().unwrap_or_default().into_encoded_bytes();
        Ok(Self {
            mount_point,
            owners: owners.map_err(|error| failed("--fs-config-file", &error))?,
            labels: labels.map_err(|error| failed("--file-contexts", &error))?,
            block_list: arguments.block_list_file.clone(),
        })
    }

    /// Sets owners, modes, capabilities and labels of files.
    pub(super) fn apply(&self, source: &mut Source) -> anyhow::Result<()> {
        if let Some(owners) = &self.owners {
            owners.apply(&mut source.tree, &self.mount_point)?;
        }
        if let Some(labels) = &self.labels {
            labels.apply(&mut source.tree, &self.mount_point);
        }
        Ok(())
    }

    pub(super) fn write_block_list(&self, image: &Image) -> anyhow::Result<()> {
        let Some(path) = &self.block_list else { return Ok(()) };
        let mut file = BufWriter::new(create(path)?);
        lith::export::block_list(image, &self.mount_point, &mut file)?;
        finish(path, file)
    }
}

/// Creates a text file.
pub(super) fn create(path: &std::path::Path) -> anyhow::Result<File> {
    File::create(path).with_context(|| format!("{}: cannot create", Place(path)))
}

/// Writes the rest of a text file.
pub(super) fn finish(path: &std::path::Path, file: BufWriter<File>) -> anyhow::Result<()> {
    let ended = file.into_inner().map(drop).map_err(std::io::IntoInnerError::into_error);
    ended.with_context(|| format!("{}: cannot write", Place(path)))
}
