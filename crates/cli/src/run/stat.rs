//! Shows the attributes of files (`lith stat`).

use std::io::Write;

use lith::{
    format::inode::{InodeData, InodeForm, Layout},
    reader::{Inode, Xattr},
    tree::DisplayPath,
};
use serde::Serialize;

use super::{paths, subject::Subject, volume::Volume};
use crate::{
    args::stat::Stat,
    exit::Outcome,
    output::{
        self, Stdout,
        attributes::{ModeString, Time, Zone},
        file::FileRecord,
        json,
    },
};

/// Shows files; none if one of them does not exist.
pub(crate) fn run(request: &Stat) -> anyhow::Result<Outcome> {
    let subject = Subject::open(&request.image)?;
    let paths = paths::requested(&subject, &request.paths, |_any| true)?;
    let found = paths.iter().map(|path| Facts::gather(&subject, path, request.dereference));
    let found = found.collect::<anyhow::Result<Vec<_>>>()?;
    let mut output = output::stdout()?;
    for facts in found {
        if request.json {
            json::write_line(&mut output, &facts.record())?;
        } else {
            facts.write(Zone::local_if(request.local), &mut output)?;
        }
    }
    output::finish(output)
}

/// Everything that is shown of a file.
struct Facts<'a> {
    path: &'a [u8],
    inode: Inode,
    target: Option<Vec<u8>>,
    xattrs: Vec<Xattr>,
    stored: Stored,
}

/// The number of extents and their stored bytes.
#[derive(Clone, Copy, Default, Serialize)]
struct Stored {
    extents: u64,
    stored: u64,
}

#[derive(Serialize)]
struct StatRecord<'a> {
    #[serde(flatten)]
    file: FileRecord<'a>,
    inode: &'static str,
    layout: &'static str,
    #[serde(flatten)]
    stored: Stored,
    xattrs: Vec<XattrRecord<'a>>,
}

#[derive(Serialize)]
struct XattrRecord<'a> {
    name: std::borrow::Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<&'a str>,
    value_hex: String,
}

impl<'a> Facts<'a> {
    fn gather(subject: &Subject<'_>, path: &'a [u8], follow: bool) -> anyhow::Result<Self> {
        let about = |error| subject.about(path, error);
        let inode = subject.find(path, follow)?;
        let target = subject.target(path, &inode)?;
        let xattrs = subject.image.xattrs(&inode).map_err(about)?;
        let mut stored = Stored::default();
        if inode.file_type.has_content() {
            let mut place = None;
            for extent in subject.image.extents(&inode).map_err(about)? {
                let extent = extent.map_err(about)?;
                stored.extents += 1;
                // Consecutive extents can share a pcluster, which is counted once.
                if place.replace(extent.place) != Some(extent.place) {
                    stored.stored = stored.stored.saturating_add(extent.plen);
                }
            }
        }
        Ok(Self { path, inode, target, xattrs, stored })
    }

    fn record(&self) -> StatRecord<'_> {
        let xattrs = self.xattrs.iter().map(|xattr| XattrRecord {
            name: json::text(&xattr.name),
            value: str::from_utf8(&xattr.value).ok(),
            value_hex: hex::encode(&xattr.value),
        });
        StatRecord {
            file: FileRecord::new(self.path, &(&self.inode).into(), self.target.as_deref()),
            inode: form_name(self.inode.form),
            layout: layout_name(self.inode.layout),
            stored: self.stored,
            xattrs: xattrs.collect(),
        }
    }

    fn write(&self, zone: Zone, output: &mut Stdout) -> anyhow::Result<()> {
        let inode = &self.inode;
        write!(output, "  File: {}", DisplayPath(self.path))?;
        if let Some(target) = &self.target {
            write!(output, " -> {}", DisplayPath(target))?;
        }
        let Stored { extents, stored } = self.stored;
        let kind = inode.file_type.name();
        writeln!(output)?;
        writeln!(
            output,
            "  Size: {:<14} Stored: {stored:<14} Extents: {extents:<6} {kind}",
            inode.size
        )?;
        let (form, layout) = (form_name(inode.form), layout_name(inode.layout));
        let nid = inode.nid.0;
        writeln!(output, "   NID: {nid:<15} Inode: {form:<15} Layout: {layout}")?;
        if let InodeData::Device(rdev) = inode.data {
            writeln!(output, "Device: {}, {}", rdev.major, rdev.minor)?;
        }
        let (mode, text) = (inode.mode & 0o7777, ModeString(inode.file_type, inode.mode));
        let (uid, gid, links) = (inode.uid, inode.gid, inode.nlink);
        writeln!(output, "Access: {mode:04o}/{text}  Uid: {uid}  Gid: {gid}  Links: {links}")?;
        writeln!(output, "Modify: {:#}", Time(inode.mtime, inode.mtime_nsec, zone))?;
        for xattr in &self.xattrs {
            writeln!(output, " Xattr: {}={}", DisplayPath(&xattr.name), value(&xattr.value))?;
        }
        Ok(())
    }
}

/// An xattr value: quoted if it is printable text, with or without a final NUL, otherwise hexadecimal.
fn value(bytes: &[u8]) -> String {
    let text = bytes.strip_suffix(b"\0").unwrap_or(bytes);
    match str::from_utf8(text) {
        Ok(text) if !text.contains(char::is_control) => {
            format!("\"{}\"", DisplayPath(bytes))
        }
        _ => format!("0x{}", hex::encode(bytes)),
    }
}

const fn form_name(form: InodeForm) -> &'static str {
    match form {
        InodeForm::Compact => "compact",
        InodeForm::Extended => "extended",
    }
}

pub(super) const fn layout_name(layout: Layout) -> &'static str {
    match layout {
        Layout::FlatPlain => "flat plain",
        Layout::CompressedFull => "compressed full",
        Layout::FlatInline => "flat inline",
        Layout::CompressedCompact => "compressed compact",
        Layout::ChunkBased => "chunk-based",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_quoted_text_or_hexadecimal() {
        assert_eq!(value(b"plain"), "\"plain\"");
        assert_eq!(value(b"label\0"), "\"label\\x00\"");
        assert_eq!(value(b"\x01\x00\xff"), "0x0100ff");
        assert_eq!(value(b""), "\"\"");
    }
}
