//! Tests what an image of composefs can't hold, and that a build of one can be cancelled.

use lith_observer::Observer;
use lith_tree::{InodeIndex, MemoryContents, Metadata, Name, Tree, Xattr};

use super::{form::ELSEWHERE, *};

/// Builds an image of a tree with one file.
fn build_one(
    kind: Kind,
    xattrs: &[(&str, &[u8])],
    observer: &dyn Observer,
) -> Result<Built, BuildError> {
    let mut tree = Tree::new(Metadata::default());
    let xattr = |(name, value): &(&str, &[u8])| Xattr {
        name: name.as_bytes().into(),
        value: (*value).into(),
    };
    let xattrs = tree.xattrs.intern(xattrs.iter().map(xattr).collect());
    let metadata = Metadata { xattrs, ..Metadata::default() };
    tree.add(InodeIndex::ROOT, Name::new(b"file").unwrap(), metadata, kind).unwrap();
    let contents = MemoryContents::default();
    let folder = tempfile::tempdir().unwrap();
    let file = tempfile::tempfile().unwrap();
    let context = Context { observer, ..Context::new(folder.path()) };
    build(Filesystem::new(&tree, &contents), Output::from(&file), Version::V1, &context)
}

#[test]
fn what_has_no_form_is_refused_by_its_path() {
    let large = Kind::Regular { size: 1 << 60 };
    let symlink = Kind::Symlink(vec![b't'; SYMLINK + 1].into());
    let empty = || Kind::Regular { size: 0 };
    let elsewhere = [(str::from_utf8(ELSEWHERE).unwrap(), &b""[..])];
    let many: Vec<_> = (0..5).map(|number| format!("user.{number}")).collect();
    let value = vec![0; 65535];
    let many: Vec<_> = many.iter().map(|name| (&**name, &*value)).collect();
    for (kind, xattrs, problem) in [
        (large, &elsewhere[..], "too large: more chunks than composefs allows"),
        (symlink, &[], "its target has 4096 bytes, more than 4095"),
        (empty(), &[("other.name", b"")], "has a namespace that EROFS cannot hold"),
        (empty(), &many, "makes the file's attributes exceed 256 KiB"),
    ] {
        let error = build_one(kind, xattrs, &()).unwrap_err();
        assert_eq!(error.path().unwrap().to_str(), Some("file"));
        assert!(error.to_string().contains(problem), "{error}");
    }
}

#[test]
fn a_file_elsewhere_is_a_hole_of_any_size() {
    let (size, xattrs) = (1_u64 << 50, [(str::from_utf8(ELSEWHERE).unwrap(), &b""[..])]);
    let built = build_one(Kind::Regular { size }, &xattrs, &()).unwrap();
    assert_eq!((built.report.image_bytes, built.report.sparse_files), (4096, 1));
    assert_eq!(built.report.content_bytes, size);
}

#[test]
fn a_build_is_cancelled() {
    struct Cancelled;
    impl Observer for Cancelled {
        fn is_cancelled(&self) -> bool {
            true
        }
    }
    let error = build_one(Kind::Fifo, &[], &Cancelled).unwrap_err();
    assert!(matches!(error, BuildError::Cancelled), "{error}");
}
