//! Checks the fields of an inode.

use lith_format::{
    file_type::FileType,
    inode::{InodeData, InodeForm, Layout},
};
use lith_reader::{Image, Inode};

use crate::{classify::Reading, findings::Log, raw::Raw, rule::Rule};

/// Nanoseconds in a second.
const SECOND: u32 = 1_000_000_000;

/// Checks the fields of an inode and the target of a symlink.
pub(crate) fn check(image: &Image, log: &Log<'_>, raw: Option<&mut Raw<'_>>, inode: &Inode) {
    if inode.mtime_nsec >= SECOND {
        let detail = format!("its time has {} nanoseconds", inode.mtime_nsec);
        log.inode(Rule::InodeTime, inode.nid, detail);
    }
    if !inode.file_type.has_content() && (inode.size != 0 || inode.layout != Layout::FlatPlain) {
        let (size, layout) = (inode.size, inode.layout.to_raw());
        let detail = format!("a special file of {size} bytes in layout {layout}");
        log.inode(Rule::InodeSpecial, inode.nid, detail);
    }
    if inode.file_type == FileType::Symlink
        && let Err(error) = image.read_link(inode)
    {
        log.error(Reading::DATA, &error);
    }
    if let Some(raw) = raw {
        check_reserved(log, raw, inode);
    }
}

fn check_reserved(log: &Log<'_>, raw: &mut Raw<'_>, inode: &Inode) {
    let Some(bytes) = raw.bytes(inode.space, inode.position, inode.size_on_disk()) else { return };
    let set = |range: std::ops::Range<usize>| {
        bytes.get(range).is_some_and(|field| field.iter().any(|byte| *byte != 0))
    };
    let reserved = match inode.form {
        InodeForm::Compact => 28..32,
        InodeForm::Extended => 48..64,
    };
    if set(reserved) {
        log.inode(Rule::ReservedSet, inode.nid, "reserved bytes at the inode's end are set");
    }
    let unused = match inode.data {
        InodeData::Chunked(_) => 18..20,
        InodeData::None => 16..20,
        _ => 0..0,
    };
    if set(unused) {
        log.inode(Rule::ReservedSet, inode.nid, "unused bytes of i_u are set");
    }
}
