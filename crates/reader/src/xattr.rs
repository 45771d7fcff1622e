//! Reads the extended attributes of inodes.

use std::ops::Range;

use lith_format::{
    features::Compat,
    xattr::{ENTRY_HEADER_SIZE, Entry, XattrBody, XattrName, entry_size, shared_position},
};

use crate::{
    error::{Corruption, Error, Fault},
    image::Image,
    inode::Inode,
    metadata::{Metadata, View},
    piece::Space,
};

/// An extended attribute.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Xattr {
    /// The whole name, for example `user.note`. A hidden one has no namespace.
    pub name: Vec<u8>,
    /// The value.
    pub value: Vec<u8>,
    /// Linux does not show it: it is for internal use, for example a digest of content.
    pub hidden: bool,
}

impl Image {
    /// The extended attributes of an inode that Linux shows: first those stored after the inode, then the shared ones.
    /// Each name occurs once: the first of several is returned.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Unsupported`], [`Error::Device`].
    pub fn xattrs(&self, inode: &Inode) -> Result<Vec<Xattr>, Error> {
        let mut xattrs = self.xattrs_with_hidden(inode)?;
        xattrs.retain(|xattr| !xattr.hidden);
        Ok(xattrs)
    }

    /// As [`Self::xattrs`], including those that Linux hides.
    ///
    /// # Errors
    /// As [`Self::xattrs`].
    pub fn xattrs_with_hidden(&self, inode: &Inode) -> Result<Vec<Xattr>, Error> {
        let mut xattrs = Vec::new();
        self.each_xattr(inode, |name, entry| {
            xattrs.push(to_xattr(name, entry));
            true
        })?;
        keep_first(&mut xattrs);
        Ok(xattrs)
    }

    /// Where the shared extended attributes of an inode are stored, and in which space.
    ///
    /// # Errors
    /// As [`Self::xattrs`].
    pub fn shared_xattrs(&self, inode: &Inode) -> Result<(Space, Vec<Range<u64>>), Error> {
        let ranges = if inode.xattr_icount == 0 { Ok(Vec::new()) } else { self.find_shared(inode) };
        Ok((self.shared_space(), ranges.map_err(|fault| fault.of(inode.nid))?))
    }

    /// The value of one extended attribute, by its whole name.
    ///
    /// # Errors
    /// As [`Self::xattrs`].
    pub fn xattr(&self, inode: &Inode, name: impl AsRef<[u8]>) -> Result<Option<Vec<u8>>, Error> {
        let Some(wanted) = XattrName::split(name.as_ref()) else { return Ok(None) };
        let mut value = None;
        self.each_xattr(inode, |name, entry| {
            if name == wanted {
                value = Some(entry.value.to_vec());
            }
            value.is_none()
        })?;
        Ok(value)
    }

    /// Calls `see` with each attribute whose prefix is known, until it returns false.
    fn each_xattr(
        &self,
        inode: &Inode,
        see: impl FnMut(XattrName<'_>, &Entry<'_>) -> bool,
    ) -> Result<(), Error> {
        if inode.xattr_icount == 0 {
            return Ok(());
        }
        self.load_xattrs(inode, see).map_err(|fault| fault.of(inode.nid))
    }

    fn load_xattrs(
        &self,
        inode: &Inode,
        mut see: impl FnMut(XattrName<'_>, &Entry<'_>) -> bool,
    ) -> Result<(), Fault> {
        let mut see =
            |entry: &Entry<'_>| self.prefixes.resolve(entry).is_none_or(|name| see(name, entry));
        let bytes = self.xattr_body(inode)?;
        let body = XattrBody::parse(&bytes)?;
        for entry in body.entries() {
            if !see(&entry?) {
                return Ok(());
            }
        }
        let mut view = View::new(self, self.shared_space());
        for id in body.shared_ids() {
            let bytes = self.load_shared(&mut view, id)?;
            let (entry, _) = Entry::parse(&bytes)?;
            if !see(&entry) {
                return Ok(());
            }
        }
        Ok(())
    }

    fn xattr_body(&self, inode: &Inode) -> Result<Vec<u8>, Fault> {
        let mut bytes = vec![0; inode.xattr_size()];
        self.read_metadata(inode.space, inode.xattr_position()?, &mut bytes)?;
        Ok(bytes)
    }

    fn shared_space(&self) -> Space {
        let in_metabox = self.superblock.compat.contains(Compat::SHARED_EA_IN_METABOX);
        if in_metabox { Space::Metabox } else { Space::Primary }
    }

    fn find_shared(&self, inode: &Inode) -> Result<Vec<Range<u64>>, Fault> {
        let bytes = self.xattr_body(inode)?;
        let mut view = View::new(self, self.shared_space());
        let ids = XattrBody::parse(&bytes)?.shared_ids();
        ids.map(|id| self.locate_shared(&mut view, id)).collect()
    }

    fn load_shared(&self, view: &mut View<'_>, id: u32) -> Result<Vec<u8>, Fault> {
        let Range { start, end } = self.locate_shared(view, id)?;
        let length = usize::try_from(end - start);
        let mut bytes = vec![0; length.expect("an entry has less than 128 KiB")];
        view.read(start, &mut bytes)?;
        Ok(bytes)
    }

    fn locate_shared(&self, view: &mut View<'_>, id: u32) -> Result<Range<u64>, Fault> {
        let sb = &self.superblock;
        let position = shared_position(sb.xattr_blkaddr, id, sb.block);
        let position = position.ok_or(Corruption::Address)?;
        let mut header = [0; ENTRY_HEADER_SIZE];
        view.read(position, &mut header)?;
        let end = position.checked_add(entry_size(header) as u64).ok_or(Corruption::Address)?;
        Ok(position..end)
    }
}

fn to_xattr(name: XattrName<'_>, entry: &Entry<'_>) -> Xattr {
    let visible = name.to_full();
    let hidden = visible.is_none();
    let name = visible.unwrap_or_else(|| [name.infix, name.rest].concat());
    Xattr { name, value: entry.value.to_vec(), hidden }
}

/// Removes all attributes of one name but the first.
fn keep_first(xattrs: &mut Vec<Xattr>) {
    let mut seen = std::collections::HashSet::new();
    xattrs.retain(|xattr| seen.insert((xattr.name.clone(), xattr.hidden)));
}
