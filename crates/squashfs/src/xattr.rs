//! Reads extended attributes.

use zerocopy::{
    FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned,
    little_endian::{U16, U32, U64},
};

use crate::{
    Corruption, Error, Part, limits,
    metadata::{Area, Reader},
    store::Store,
    table::Table,
};

/// An extended attribute.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Xattr {
    /// With its namespace.
    pub name: Vec<u8>,
    /// Opaque bytes.
    pub value: Vec<u8>,
}

/// The namespaces by their numbers.
const NAMESPACES: [&[u8]; 3] = [b"user.", b"trusted.", b"security."];

/// Set in the type of a name whose value is elsewhere: the address is in its place.
const ELSEWHERE: u16 = 1 << 8;

/// Where sets of extended attributes are.
#[derive(Debug)]
pub(crate) struct XattrTables {
    ids: Table,
    area: Area,
}

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct StoredHead {
    table_start: U64,
    ids: U32,
    unused: U32,
}

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct StoredId {
    address: U64,
    count: U32,
    size: U32,
}

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct StoredName {
    kind: U16,
    length: U16,
}

const _: () = assert!(size_of::<StoredHead>() == 16);
const _: () = assert!(size_of::<StoredId>() == 16);
const _: () = assert!(size_of::<StoredName>() == 4);

impl XattrTables {
    /// Opens those whose head is at a position.
    pub(crate) fn open(store: &Store, head_at: u64) -> Result<Self, Error> {
        let mut head = [0; size_of::<StoredHead>()];
        store.read(&mut head, head_at)?;
        let head: StoredHead = zerocopy::transmute!(head);
        let list = head_at.saturating_add(size_of::<StoredHead>() as u64);
        let ids = Table::open::<StoredId>(store, Part::XattrIds, list, head.ids.get().into())?;
        let start = head.table_start.get();
        let end = ids.first_block().unwrap_or(head_at).min(head_at);
        if start > end {
            return Err(Corruption::Table { part: Part::Xattrs, start }.into());
        }
        Ok(Self { ids, area: Area { part: Part::Xattrs, start, end } })
    }

    /// The extended attributes of a set.
    pub(crate) fn read(&self, store: &Store, set: u32) -> Result<Vec<Xattr>, Error> {
        let id: StoredId = self.ids.get(store, set.into())?;
        let mut reader = self.area.read_at(store, id.address.get())?;
        let (mut xattrs, mut names) = (Vec::new(), 0);
        for _number in 0..id.count.get() {
            let stored: StoredName = reader.get()?;
            let kind = stored.kind.get();
            let namespace = NAMESPACES.get(usize::from(kind & 0xff));
            let namespace = *namespace.ok_or(Corruption::XattrNamespace(kind))?;
            let length = usize::from(stored.length.get());
            let name = [namespace, &reader.bytes(length)?].concat();
            names += name.len() + 1;
            if names > limits::XATTR {
                return Err(Corruption::XattrSize.into());
            }
            let mut value = read_value(&mut reader)?;
            if kind & ELSEWHERE != 0 {
                let address = value.as_slice().try_into().map(u64::from_le_bytes);
                let address = address.or(Err(Corruption::XattrSize))?;
                value = read_value(&mut self.area.read_at(store, address)?)?;
            }
            xattrs.push(Xattr { name, value });
        }
        Ok(xattrs)
    }
}

fn read_value(reader: &mut Reader<'_>) -> Result<Vec<u8>, Error> {
    let length = usize::try_from(reader.get::<U32>()?.get()).expect("32 bits");
    if length > limits::XATTR {
        return Err(Corruption::XattrSize.into());
    }
    reader.bytes(length)
}
