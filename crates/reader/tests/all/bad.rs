//! Is each kind of damage named? Every case is a golden image with a few bytes changed.

use crate::common::{bytes, goldens, open_bytes, read_all};
use lith_device::{MemoryDevice, ReadAt};
use lith_format::{
    addr::{Lcn, Nid},
    dirent::DirentError,
    file_type::FileType,
    inode::InodeError,
    superblock::SuperblockError,
    xattr::XattrError,
    zmap::{HeaderError, IndexError, MapDamage},
};
use lith_reader::{Corruption, Error, ExtentKind, Image, OpenError, Options, Place, Unsupported};

/// A golden image to be damaged.
struct Patient {
    bytes: Vec<u8>,
    image: Image,
}

impl Patient {
    /// Without the checksum, which would catch what happens to block 0.
    fn new(name: &str) -> Self {
        let mut bytes = bytes(&format!("{name}.erofs"));
        bytes[1024 + 8] &= !1;
        Self { image: open_bytes(bytes.clone()).unwrap(), bytes }
    }

    /// Where the inode of a path is on the device.
    fn inode(&self, path: &str) -> usize {
        usize::try_from(self.image.resolve(path.as_bytes()).unwrap().position).unwrap()
    }

    /// Where what follows the inode and its xattrs begins: a map header, a chunk table or inline data.
    fn area(&self, path: &str) -> usize {
        let inode = self.image.resolve(path.as_bytes()).unwrap();
        usize::try_from(inode.position).unwrap() + inode.layout_area()
    }

    fn put(mut self, at: usize, new: &[u8]) -> Self {
        self.bytes[at..at + new.len()].copy_from_slice(new);
        self
    }

    fn opened(self) -> Image {
        open_bytes(self.bytes).unwrap()
    }

    fn refused(self) -> Error {
        open_bytes(self.bytes).unwrap_err()
    }

    /// Why a file can't be read after the change.
    fn read(self, path: &str) -> Error {
        let image = self.opened();
        let inode = image.resolve(path.as_bytes()).unwrap();
        read_all(&image, &inode).unwrap_err()
    }

    /// Why a path can't be resolved after the change.
    fn resolve(self, path: &str) -> Error {
        self.opened().resolve(path.as_bytes()).unwrap_err()
    }
}

/// Asserts what an error is, and its number.
macro_rules! is {
    ($error:expr, $errno:ident, $pattern:pat $(if $guard:expr)?) => {{
        let error = $error;
        assert!(matches!(&error, $pattern $(if $guard)?), "{error:?}");
        assert_eq!(error.errno(), lith_system::errno::$errno, "{error:?}");
    }};
}

macro_rules! corrupt {
    ($source:pat) => {
        Error::Corrupt { source: $source, .. }
    };
}

macro_rules! bad_superblock {
    ($source:pat) => {
        Error::Open { source: OpenError::Superblock($source), .. }
    };
}

fn plain() -> Patient {
    Patient::new("01-plain")
}

#[test]
fn superblocks() {
    let sb = 1024;
    is!(plain().put(sb, b"x").refused(), EINVAL, bad_superblock!(SuperblockError::Magic { .. }));
    is!(
        plain().put(sb + 12, &[8]).refused(),
        EUCLEAN,
        bad_superblock!(SuperblockError::BlockBits { found: 8 })
    );
    is!(
        plain().put(sb + 0x5a, &[1]).refused(),
        EUCLEAN,
        bad_superblock!(SuperblockError::DirBlockBits { found: 1 })
    );
    is!(
        plain().put(sb + 0x53, &[0x80]).refused(),
        EOPNOTSUPP,
        bad_superblock!(SuperblockError::UnknownIncompat { bits: 0x8000_0000 })
    );
    let mut checked = bytes("01-plain.erofs");
    checked[3000] ^= 1;
    is!(
        open_bytes(checked).unwrap_err(),
        EBADMSG,
        bad_superblock!(SuperblockError::Checksum { .. })
    );
    let text = u16::try_from(plain().image.resolve(b"text").unwrap().nid.0).unwrap();
    is!(
        plain().put(sb + 14, &text.to_le_bytes()).refused(),
        EUCLEAN,
        Error::Open { source: OpenError::Root { .. }, .. }
    );
    is!(
        Patient::new("04-lz4hc-16k").put(sb + 128, &[2]).refused(),
        EUCLEAN,
        Error::Open { source: OpenError::Configs(_), .. }
    );
    is!(
        Patient::new("27-xattr-prefix").put(sb + 0x5c, &[0xff; 4]).refused(),
        EUCLEAN,
        Error::Open { source: OpenError::Prefixes(XattrError::PrefixCutOff { index: 0 }), .. }
    );
}

#[test]
fn special_inodes() {
    let packed = Patient::new("08-fragments");
    let (root, at) = (packed.image.superblock().root_nid.0, 1024 + 0x60);
    is!(
        packed.put(at, &root.to_le_bytes()).refused(),
        EUCLEAN,
        corrupt!(Corruption::NotAFile { role: "packed" })
    );
    let missing = Patient::new("08-fragments").put(at, &[0; 8]);
    let image = missing.opened();
    let error = read_all(&image, &image.resolve(b"small/0").unwrap()).unwrap_err();
    is!(error, EUCLEAN, corrupt!(Corruption::NoPackedInode));
    let metabox = Patient::new("21-metabox").put(1024 + 0x87, &[0x80]).refused();
    is!(metabox, EUCLEAN, bad_superblock!(SuperblockError::InMetabox { inode: "metabox", .. }));
    let nowhere = plain().opened().inode(Nid(Nid::METABOX)).unwrap_err();
    is!(nowhere, EUCLEAN, corrupt!(Corruption::NoMetabox));
    let beyond =
        Patient::new("21-metabox").opened().inode(Nid(Nid::METABOX | 1 << 40)).unwrap_err();
    is!(beyond, EUCLEAN, corrupt!(Corruption::BeyondMetabox { .. }));
}

#[test]
fn device_tables() {
    let golden = goldens().into_iter().find(|golden| golden.name == "15-blobdev").unwrap();
    let image = || Box::new(MemoryDevice::new(bytes("15-blobdev.erofs"))) as Box<dyn ReadAt>;
    let blob = || Box::new(MemoryDevice::new(bytes(&golden.devices[0]))) as Box<dyn ReadAt>;
    let open = |devices| Image::open_with(devices, Options::default());
    is!(
        open(vec![image(), blob(), blob()]).unwrap_err(),
        ENODEV,
        Error::Open { source: OpenError::DeviceCount { expected: 1, given: 2 }, .. }
    );
    is!(
        open(vec![]).unwrap_err(),
        ENODEV,
        Error::Open { source: OpenError::DeviceCount { expected: 1, given: 0 }, .. }
    );
    is!(
        Patient::new("15-blobdev").put(1024 + 0x58, &[0xff; 2]).refused(),
        EUCLEAN,
        Error::Open { source: OpenError::DeviceTable(_), .. }
    );
    // Without the blob, and not concatenated either, its data is missing.
    let alone = open_bytes(bytes("15-blobdev.erofs")).unwrap();
    let text = alone.resolve(b"text").unwrap();
    is!(read_all(&alone, &text).unwrap_err(), EIO, Error::Device { .. });
}

#[test]
fn inodes() {
    let at = plain().inode("text");
    is!(
        plain().put(at + 1, &[0x80]).resolve("text"),
        EOPNOTSUPP,
        Error::Unsupported { source: Unsupported::Inode(InodeError::UnknownFormat { .. }), .. }
    );
    is!(
        plain().put(at, &[0x0a]).resolve("text"),
        EOPNOTSUPP,
        Error::Unsupported { source: Unsupported::Inode(InodeError::Layout { raw: 5 }), .. }
    );
    is!(
        plain().put(at + 4, &[0xff; 2]).resolve("text"),
        EUCLEAN,
        corrupt!(Corruption::Inode(InodeError::FileType(_)))
    );
    let deep = plain();
    let error = {
        let at = deep.area("deep") as u64;
        deep.image.inode(Nid(at / 32 + (1 << 50)))
    };
    is!(error.unwrap_err(), EIO, Error::Device { .. });
    let large = plain().inode("block");
    is!(plain().put(large + 16, &[0xf0; 4]).read("block"), EIO, Error::Device { .. });
}

#[test]
fn directories() {
    let entries = plain().area("deep");
    let broken = |nameoff: u16| plain().put(entries + 8, &nameoff.to_le_bytes());
    for nameoff in [0, 13, 0xfff0] {
        is!(
            broken(nameoff).resolve("deep/er"),
            EUCLEAN,
            corrupt!(Corruption::Directory { block: 0, source: DirentError::FirstNameoff { .. } })
        );
    }
    let listed = broken(13).opened();
    let deep = listed.resolve(b"deep").unwrap();
    let mut listing = listed.read_dir(&deep).unwrap();
    assert!(listing.next().unwrap().is_err());
    assert!(listing.next().is_none());
    let huge = plain();
    let inode = huge.inode("deep");
    is!(huge.put(inode, &[4]).put(inode + 8, &[0xff; 4]).resolve("deep/er"), EUCLEAN, corrupt!(_));
}

#[test]
fn symlinks() {
    let at = plain().inode("link-short");
    let target = |patient: Patient| {
        let image = patient.opened();
        image.read_link(&image.resolve(b"link-short").unwrap()).unwrap_err()
    };
    is!(
        target(plain().put(at + 8, &[0])),
        EUCLEAN,
        corrupt!(Corruption::SymlinkLength { length: 0, limit: 4095 })
    );
    is!(target(plain().put(at + 9, &[0x20])), EUCLEAN, corrupt!(Corruption::SymlinkLength { .. }));
    let area = plain().area("link-short");
    is!(target(plain().put(area + 1, &[0])), EUCLEAN, corrupt!(Corruption::SymlinkNul));
    let circle = plain();
    let (length, area) = (circle.inode("link-short") + 8, circle.area("link-short"));
    let circle = circle.put(length, &[1]).put(area, b".");
    assert!(circle.opened().resolve_following(b"link-short").is_ok());
    let circle = plain().put(area, b"link").put(length, &[4]);
    is!(
        circle.opened().resolve_following(b"link-short").unwrap_err(),
        ENOENT,
        Error::NotFound { .. }
    );
    let dangling = plain();
    let (length, area) = (dangling.inode("link-dangling") + 8, dangling.area("link-dangling"));
    let circle = dangling.put(area, b"./link-dangling").put(length, &[15]).opened();
    is!(
        circle.resolve_following(b"link-dangling").unwrap_err(),
        ELOOP,
        Error::TooManySymlinks { limit: 40, .. }
    );
}

#[test]
fn xattrs() {
    let at = Patient::new("02-noinline-data").inode("text");
    let of_text = |patient: Patient| {
        let image = patient.opened();
        image.xattrs(&image.resolve(b"text").unwrap()).unwrap_err()
    };
    let few = || Patient::new("02-noinline-data");
    is!(
        of_text(few().put(at + 2, &[1, 0])),
        EOPNOTSUPP,
        Error::Unsupported { source: Unsupported::Xattr(XattrError::HeaderOnly), .. }
    );
    let inode = few().image.resolve(b"text").unwrap();
    let body = at + inode.size_on_disk();
    is!(
        of_text(few().put(body + 4, &[255])),
        EUCLEAN,
        corrupt!(Corruption::Xattr(XattrError::SharedCount { count: 255, .. }))
    );
    is!(
        of_text(few().put(body + 12, &[255])),
        EUCLEAN,
        corrupt!(Corruption::Xattr(XattrError::EntryCutOff { .. }))
    );
}

#[test]
fn shared_xattrs() {
    let plain = plain();
    let (nid, at) = with_shared_xattr(&plain);
    let image = plain.put(at, &[0xff; 4]).opened();
    let error = image.xattrs(&image.inode(nid).unwrap()).unwrap_err();
    is!(error, EIO, Error::Device { .. });
}

/// An inode that has a shared xattr, and where its id is.
fn with_shared_xattr(patient: &Patient) -> (Nid, usize) {
    let image = &patient.image;
    let mut directories = vec![image.root().unwrap()];
    while let Some(directory) = directories.pop() {
        for entry in image.read_dir(&directory).unwrap() {
            let inode = image.inode(entry.unwrap().nid).unwrap();
            let body = usize::try_from(inode.position).unwrap() + inode.size_on_disk();
            if inode.xattr_icount != 0 && patient.bytes[body + 4] != 0 {
                return (inode.nid, body + 12);
            }
            if inode.file_type == FileType::Directory {
                directories.push(inode);
            }
        }
    }
    panic!("no inode has a shared xattr")
}

#[test]
fn chunks() {
    let at = Patient::new("14-chunks").inode("text");
    is!(
        Patient::new("14-chunks").put(at + 17, &[1]).resolve("text"),
        EOPNOTSUPP,
        Error::Unsupported { source: Unsupported::Inode(InodeError::Chunk(_)), .. }
    );
    let table = Patient::new("14-chunks").area("text");
    is!(
        Patient::new("14-chunks")
            .put(table, &[0xfe, 0xff, 0xff, 0xff, 0xfe, 0xff, 0xff, 0xff])
            .read("text"),
        EIO,
        Error::Device { .. }
    );
    // Device 1, where the image has one device and so no id.
    let chunked = Patient::new("15-blobdev");
    let table = chunked.area("text");
    is!(
        chunked.put(table + 2, &[1]).put(1024 + 0x56, &[2]).refused_or_read("text"),
        EIO,
        Error::Device { .. }
    );
}

impl Patient {
    fn refused_or_read(self, path: &str) -> Error {
        match open_bytes(self.bytes.clone()) {
            Ok(_) => self.read(path),
            Err(error) => error,
        }
    }
}

#[test]
fn map_headers() {
    let lz4 = || Patient::new("04-lz4hc-16k");
    let header = lz4().area("text");
    is!(
        lz4().put(header + 4, &[3]).read("text"),
        EUCLEAN,
        corrupt!(Corruption::Header(HeaderError::BigPclusterBitsDiffer { .. }))
    );
    is!(
        Patient::new("03-lz4").put(Patient::new("03-lz4").area("text") + 4, &[7]).read("text"),
        EUCLEAN,
        corrupt!(Corruption::Header(HeaderError::BigPclusterNotAnnounced { .. }))
    );
    is!(
        lz4().put(header + 6, &[1]).read("text"),
        EUCLEAN,
        corrupt!(Corruption::UndeclaredAlgorithm { la: 0, .. })
    );
    is!(
        lz4().put(header + 6, &[9]).read("text"),
        EUCLEAN,
        corrupt!(Corruption::UnknownAlgorithm(_))
    );
    // The header says that the file is one fragment.
    is!(
        Patient::new("08-fragments")
            .put(Patient::new("08-fragments").area("text"), &[0xff; 8])
            .read("text"),
        EUCLEAN,
        corrupt!(Corruption::FragmentBeyondPacked { .. } | Corruption::Address)
    );
    is!(
        lz4().put(header, &[0, 0, 0, 0, 0, 0, 0, 0x80]).read("text"),
        EUCLEAN,
        corrupt!(Corruption::NoPackedInode)
    );
}

#[test]
fn indexes() {
    let full = || Patient::new("06-legacy-compress");
    let first = full().area("text") + 16;
    let nonhead = |at, delta0: u16| full().put(at, &[2, 0]).put(at + 4, &delta0.to_le_bytes());
    is!(
        nonhead(first, 0).read("text"),
        EUCLEAN,
        corrupt!(Corruption::Map(MapDamage::BogusLookback { delta0: 0, .. }))
    );
    is!(
        nonhead(first, 1).read("text"),
        EUCLEAN,
        corrupt!(Corruption::Map(MapDamage::BogusLookback { delta0: 1, .. }))
    );
    is!(
        nonhead(first + 8, 0x800).read("text"),
        EUCLEAN,
        corrupt!(Corruption::Map(MapDamage::ZeroCblkcnt { lcn: Lcn(1) }))
    );
    is!(
        nonhead(first + 8, 1).read("text"),
        EUCLEAN,
        corrupt!(Corruption::Map(MapDamage::MissingCblkcnt { lcn: Lcn(1) }))
    );
    is!(
        full().put(first + 2, &[0, 0x10]).read("text"),
        EUCLEAN,
        corrupt!(Corruption::Index(IndexError::BogusClusterofs { lcn: Lcn(0), .. }))
    );
    // The pcluster is beyond the end.
    is!(full().put(first + 4, &[0xff; 4]).read("text"), EIO, Error::Device { .. });
    // Compact packs of all ones.
    let compact = Patient::new("04-lz4hc-16k");
    let packs = compact.area("text") + 8;
    is!(
        compact.put(packs, &[0xff; 60]).read("text"),
        EUCLEAN,
        corrupt!(Corruption::Map(_) | Corruption::Index(_))
    );
}

#[test]
fn streams() {
    let lz4 = || Patient::new("04-lz4hc-16k");
    let image = lz4().image;
    let text = image.resolve(b"text").unwrap();
    let extent = image.extents(&text).unwrap().next().unwrap().unwrap();
    assert!(matches!(extent.kind, ExtentKind::Compressed { partial: false, .. }));
    let Place::Device(at) = extent.place else { panic!("{extent:?}") };
    let (start, plen) = (usize::try_from(at.pa.0).unwrap(), usize::try_from(extent.plen).unwrap());
    is!(
        lz4().put(start, &vec![0; plen]).read("text"),
        EUCLEAN,
        corrupt!(Corruption::Decode { la: 0, .. })
    );
    is!(
        lz4().put(start + plen / 2, &vec![0xff; plen / 2]).read("text"),
        EUCLEAN,
        corrupt!(Corruption::Decode { la: 0, .. })
    );
    let error = lz4().put(start, &vec![0; plen]).read("text");
    assert!(error.to_string().contains(&format!("inode {}", text.nid)), "{error}");
}
