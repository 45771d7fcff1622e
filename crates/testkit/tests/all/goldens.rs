//! The golden images hold what their lists name, and our own images are the same bytes as ever.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "in tests failures should be loud"
)]

use std::{collections::BTreeMap, error::Error as _, fs, path::PathBuf};

use lith::{
    builder::Options,
    codec::Compressor,
    source::Source,
    tree::{DumpError, Filesystem, dump},
};
use lith_testkit::{
    golden::{self, Golden},
    image, matrix,
    noise::{self, Texture},
    recipe,
};

const FIELDS: [&str; 14] = [
    "path",
    "type",
    "mode",
    "uid",
    "gid",
    "mtime.sec",
    "mtime.nsec",
    "nlink",
    "size",
    "rdev",
    "sha256",
    "target",
    "xattrs",
    "first",
];

/// Algorithms whose images are refused as long as there is no decoder, by the name of the golden image.
const WITHOUT_DECODER: [(&str, &str); 4] = [
    ("34-lzma", "lzma"),
    ("35-deflate", "deflate"),
    ("36-zstd", "zstd"),
    ("19-48bit-zstd", "zstd"),
];

fn text_of(source: &Source) -> Result<String, DumpError> {
    let mut text = Vec::new();
    dump(source.filesystem(), &mut text)?;
    Ok(String::from_utf8(text).unwrap())
}

/// The lines of the golden image's tree, where what is found may be what is known to be wrong in the image.
fn expected(golden: &Golden, found: &[&str]) -> Vec<String> {
    let text = golden::text(&format!("{}.txt", golden.tree));
    let exceptions = golden::rows("exceptions.txt");
    let exceptions: Vec<_> =
        exceptions.iter().filter(|row| row[0] == golden.name && row[3] == "mkfs").collect();
    let allowed = |path: &str, field: &str, value: &str| {
        exceptions
            .iter()
            .any(|row| ["*", path].contains(&&*row[1]) && row[2] == field && row[4] == value)
    };
    let line = |(expected, found): (&str, &&str)| {
        let path = expected.split(' ').next().unwrap();
        let fields = expected.split(' ').zip(found.split(' ')).zip(FIELDS);
        let fields = fields.map(
            |((expected, found), field)| if allowed(path, field, found) { found } else { expected },
        );
        fields.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(text.lines().count(), found.len(), "{}: other names", golden.name);
    text.lines().zip(found).map(line).collect()
}

#[test]
fn every_golden_image_dumps_as_its_text() {
    let mut read = 0;
    for golden in golden::all() {
        let source = golden.open();
        match (text_of(&source), WITHOUT_DECODER.iter().find(|(name, _)| *name == golden.name)) {
            (Ok(text), _) => {
                read += 1;
                let found: Vec<_> = text.lines().collect();
                for (found, expected) in found.iter().zip(expected(&golden, &found)) {
                    assert_eq!(**found, *expected, "{}", golden.name);
                }
            }
            (Err(error), Some((_, algorithm))) => {
                let mut causes = vec![error.to_string()];
                let mut cause = error.source();
                while let Some(error) = cause {
                    causes.push(error.to_string());
                    cause = error.source();
                }
                assert!(causes.iter().any(|text| text.contains(algorithm)), "{causes:?}");
            }
            (Err(error), None) => panic!("{}: {error:?}", golden.name),
        }
    }
    assert!(read >= 35, "only {read} were read");
}

fn pinned_file() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/pinned.txt")
}

/// The images that are pinned: small ones of one tree, and each of the kinds.
fn ours() -> BTreeMap<String, String> {
    let seeds = noise::bytes(Texture::Noise, 1, 6000);
    let (tree, contents) = recipe::from_bytes(&seeds).follow();
    let mut kinds = matrix::all(16);
    kinds.push(("lz4hc,9 64K".to_owned(), image::compressed(image::lz4hc(9), 65536)));
    kinds.push(("lz4hc,12 4K".to_owned(), image::compressed(image::lz4hc(12), 4096)));
    kinds.push(("for Linux 5.4".to_owned(), for_old_kernel()));
    let digest = |(name, options): (String, Options)| {
        (name, image::digest(&image::build(Filesystem::new(&tree, &contents), &options)))
    };
    kinds.into_iter().map(digest).collect()
}

fn for_old_kernel() -> Options {
    let kernel = lith::format::kernel::KernelVersion::new(5, 4);
    image::compressed(Compressor::Lz4, 4096).with(|o| o.kernel = kernel)
}

/// When the layout changes on purpose, `LITH_PIN=write cargo test -p lith-testkit goldens` pins it anew.
#[test]
fn our_images_are_what_they_always_were() {
    let ours: Vec<String> =
        ours().iter().map(|(name, digest)| format!("{digest} {name}\n")).collect();
    let ours = ours.concat();
    if std::env::var_os("LITH_PIN").is_some_and(|value| value == "write") {
        fs::write(pinned_file(), &ours).unwrap();
    }
    let pinned = fs::read_to_string(pinned_file()).unwrap();
    for (pinned, ours) in pinned.lines().zip(ours.lines()) {
        assert_eq!(pinned, ours);
    }
    assert_eq!(pinned.lines().count(), ours.lines().count());
}
