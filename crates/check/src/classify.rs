//! Maps errors of the reader to rules.

use std::error::Error as _;

use lith_device::DeviceError;
use lith_format::addr::Nid;
use lith_reader::{Corruption, Error, Unsupported};

use crate::{
    findings::{Log, Subject},
    rule::Rule,
};

/// The rules that are broken when a structure of one kind can't be read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading {
    /// It is corrupt.
    damaged: Rule,
    /// It has an unknown form.
    unsupported: Rule,
    /// It ends after the end of a device.
    beyond: Rule,
}

impl Reading {
    pub(crate) const INODE: Self =
        Self::new(Rule::InodeUnreadable, Rule::InodeUnsupported, Rule::InodeUnreadable);
    pub(crate) const MAP: Self =
        Self::new(Rule::MapDamaged, Rule::MapUnsupported, Rule::MapDamaged);
    pub(crate) const XATTRS: Self =
        Self::new(Rule::XattrDamaged, Rule::InodeUnsupported, Rule::XattrDamaged);
    pub(crate) const DATA: Self =
        Self::new(Rule::DataUndecodable, Rule::MapUnsupported, Rule::ExtentOutside);

    const fn new(damaged: Rule, unsupported: Rule, beyond: Rule) -> Self {
        Self { damaged, unsupported, beyond }
    }

    pub(crate) const fn rule(self, error: &Error) -> Rule {
        match error {
            Error::Corrupt { source, .. } => self.rule_of_corruption(source),
            Error::Unsupported { source: Unsupported::Extent(_), .. } => Rule::MapUnsupported,
            Error::Unsupported { .. } => self.unsupported,
            Error::Device { source: DeviceError::PastEnd { .. }, .. } => self.beyond,
            Error::Device { .. } => Rule::DeviceFailed,
            _ => self.damaged,
        }
    }

    const fn rule_of_corruption(self, corruption: &Corruption) -> Rule {
        match corruption {
            Corruption::Inode(_) | Corruption::NoMetabox => Rule::InodeUnreadable,
            Corruption::InlineCrossesBlock { .. } => Rule::InlineCrossesBlock,
            Corruption::Directory { .. } => Rule::DirBlock,
            Corruption::DirectorySize { .. } => Rule::DirSize,
            Corruption::DirectoryTwice => Rule::DirLoop,
            Corruption::SymlinkLength { .. } | Corruption::SymlinkNul => Rule::SymlinkTarget,
            Corruption::Xattr(_) => Rule::XattrDamaged,
            Corruption::Chunk(_)
            | Corruption::Header(_)
            | Corruption::Index(_)
            | Corruption::Map(_)
            | Corruption::UnknownAlgorithm(_) => Rule::MapDamaged,
            Corruption::Device(_) => Rule::ExtentOutside,
            Corruption::UndeclaredAlgorithm { .. } => Rule::AlgorithmUndeclared,
            Corruption::Decode { .. } => Rule::DataUndecodable,
            Corruption::NoPackedInode
            | Corruption::NestedFragment
            | Corruption::FragmentBeyondPacked { .. } => Rule::FragmentOutside,
            Corruption::NotAFile { .. } => Rule::SbSpecialInode,
            _ => self.damaged,
        }
    }
}

impl Log<'_> {
    /// Reports an error that occurred while a structure was read.
    pub(crate) fn error(&self, reading: Reading, error: &Error) {
        let subject = nid_of(error).map_or(Subject::Image, Subject::Inode);
        self.add(reading.rule(error), subject, explain(error));
    }
}

/// The inode that an error names.
pub(crate) const fn nid_of(error: &Error) -> Option<Nid> {
    match error {
        Error::Corrupt { nid, .. }
        | Error::Unsupported { nid, .. }
        | Error::Device { nid, .. }
        | Error::NotADirectory { nid }
        | Error::NotASymlink { nid }
        | Error::NoContent { nid }
        | Error::BeyondEnd { nid, .. } => Some(*nid),
        _ => None,
    }
}

/// The chain of an error's causes, without the inode, which the finding names.
pub(crate) fn explain(error: &Error) -> String {
    let Some(mut cause) = error.source() else { return error.to_string() };
    let mut text = cause.to_string();
    while let Some(source) = cause.source() {
        text = format!("{text}: {source}");
        cause = source;
    }
    text
}
