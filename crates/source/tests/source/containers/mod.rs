//! Tests container images as sources.

mod hostile;
mod layout;
mod overlay;

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use lith_source::{Excludes, Opened, Options, Source, SourceError, is_container, open};
use serde_json::json;
use tempfile::TempDir;

use super::common::{Builder, Rows, assert_same, chain, rows};
use layout::{Packed, add, add_layer, add_manifest, finish, named, tar_of};

/// The source called `prefix:PATH` and a tag.
fn read(
    prefix: &str,
    (path, tag): (&Path, &str),
    change: impl FnOnce(&mut Options),
) -> Result<Source, SourceError> {
    let name = format!("{prefix}:{}{tag}", path.display());
    assert!(is_container(Path::new(&name)));
    let options = Options::with(|options| {
        options.spool_dir = std::env::temp_dir();
        change(options);
    });
    match open(Path::new(&name), &options)? {
        Opened::Source(source) => Ok(source),
        _ => panic!("{name} is an image"),
    }
}

fn read_all(prefix: &str, path: &Path) -> Rows {
    rows(&read(prefix, (path, ""), |_options| {}).unwrap())
}

/// Paths, and of files the number of bytes, as `a/b=3`.
fn listed(rows: &Rows) -> String {
    let line = |(path, row): (&Vec<u8>, &super::common::Row)| {
        let path = String::from_utf8(path.clone()).unwrap();
        if row.letter == 'f' { format!("{path}={}", row.detail) } else { path }
    };
    rows.iter().skip(1).map(line).collect::<Vec<_>>().join(" ")
}

/// A folder with a layout of these layers, the lowest first.
fn layout(layers: &[Vec<u8>]) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("layout");
    let packed = [Packed::Gzip, Packed::Plain, Packed::Zstd].into_iter().cycle();
    let layers: Vec<_> =
        layers.iter().zip(packed).map(|(tar, packed)| add_layer(&path, tar, packed)).collect();
    finish(&path, &[named(add_manifest(&path, &layers, ("linux", "amd64")), "v1")]);
    (folder, path)
}

fn tar() -> Builder {
    Builder::default()
}

/// A layer, and one that removes, replaces and adds files of it.
fn two() -> [Vec<u8>; 2] {
    let lower = tar().dir("etc").file("etc/keep", b"keep").file("etc/gone", b"gone").dir("opt/old");
    let lower = lower.file("opt/old/file", b"old").file("turned", b"a file").dir("back");
    let upper = tar().dir("etc").file("etc/.wh.gone", b"").file("opt/.wh..wh..opq", b"");
    let upper = upper.file("opt/new", b"new").dir("turned").file("turned/inside", b"1234567");
    let upper = upper.file("back", b"a file");
    [lower.file("back/x", b"").end(), upper.end()]
}

const MERGED: &str = "back=6 etc etc/keep=4 opt opt/new=3 turned turned/inside=7";

#[test]
fn layers_of_a_layout_and_of_its_archives_become_one_tree() {
    let (folder, path) = layout(&two());
    let config = folder.path().join("config.json");
    let source = read("oci", (&path, ":v1"), |options| options.config_copy = Some(config.clone()));
    let found = rows(&source.unwrap());
    assert_eq!(listed(&found), MERGED);
    assert!(fs::read_to_string(&config).unwrap().contains("/bin/sh"));

    let archive = folder.path().join("archive.tar");
    fs::write(&archive, tar_of(&path)).unwrap();
    let compressed = folder.path().join("archive.tar.zst");
    fs::write(&compressed, zstd::encode_all(&*fs::read(&archive).unwrap(), 1).unwrap()).unwrap();
    for archive in [archive, compressed] {
        assert_same(&found, &read_all("oci-archive", &archive), "an archive");
    }
}

#[test]
fn files_are_excluded_of_the_merged_tree() {
    let link = tar().link("etc/link", "etc/gone").file("etc/.wh.gone", b"").end();
    let [lower, upper] = two();
    let (_folder, path) = layout(&[lower, link, upper]);
    let exclude = |patterns: &[&str]| {
        let patterns = patterns.iter().map(|pattern| (*pattern).to_owned()).collect::<Vec<_>>();
        let exclude = Excludes::new(&patterns).unwrap();
        let source = read("oci", (&path, ""), |options| options.exclude = exclude);
        listed(&rows(&source.unwrap()))
    };
    assert_eq!(exclude(&["/opt", "keep", "/turned/*"]), "back=6 etc etc/link=4 turned");
    assert_eq!(exclude(&["*", "!keep"]), "etc etc/keep=4");
}

#[test]
fn archives_of_docker_save_are_found_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let saved = folder.path().join("saved");
    let (lower, upper) = (tar().file("a", b"lower").end(), tar().file(".wh.a", b"").end());
    for (name, tar) in [("one", &lower), ("two", &upper)] {
        fs::create_dir_all(saved.join(name)).unwrap();
        fs::write(saved.join(name).join("layer.tar"), tar).unwrap();
    }
    fs::create_dir(saved.join("three")).unwrap();
    symlink("../one/layer.tar", saved.join("three/layer.tar")).unwrap();
    let ids = [&lower, &upper, &lower].map(|tar| layout::digest(tar));
    let config = json!({"os": "linux", "architecture": "amd64", "rootfs": {"diff_ids": ids}});
    let config = config.to_string();
    let name = format!("{}.json", layout::digest(config.as_bytes()).trim_start_matches("sha256:"));
    fs::write(saved.join(&name), config).unwrap();
    let layers = ["one/layer.tar", "two/layer.tar", "three/layer.tar"];
    let list = json!([{"Config": name, "RepoTags": ["box:latest"], "Layers": layers}]);
    fs::write(saved.join("manifest.json"), list.to_string()).unwrap();
    let archive = folder.path().join("saved.tar");
    fs::write(&archive, tar_of(&saved)).unwrap();
    for tag in ["", ":box", ":box:latest"] {
        let source = read("docker-archive", (&archive, tag), |_options| {}).unwrap();
        assert_eq!(listed(&rows(&source)), "a=5");
    }
    let said = chain(&read("docker-archive", (&archive, ":other"), |_options| {}).unwrap_err());
    assert!(said.ends_with("it has no image called other; there is box:latest"), "{said}");
    fs::write(saved.join(&name), "{}").unwrap();
    fs::write(&archive, tar_of(&saved)).unwrap();
    let said = chain(&read("docker-archive", (&archive, ""), |_options| {}).unwrap_err());
    assert!(said.contains(".json has the digest sha256:"), "{said}");
}

#[test]
fn a_platform_is_chosen_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("layout");
    let mut manifests = Vec::new();
    for architecture in ["arm64", "s390x"] {
        let layers = [add_layer(&path, &tar().dir(architecture).end(), Packed::Plain)];
        manifests.push(add_manifest(&path, &layers, ("linux", architecture)));
    }
    let index = json!({"schemaVersion": 2, "manifests": manifests});
    finish(&path, &[add(&path, index.to_string().as_bytes())]);
    let of = |platform: &str| {
        let platform = platform.parse().unwrap();
        read("oci", (&path, ""), |options| options.platform = Some(platform))
    };
    assert_eq!(listed(&rows(&of("linux/s390x").unwrap())), "s390x");
    let said = chain(&of("linux/riscv64").unwrap_err());
    let expected = "it has no image for linux/riscv64; there are linux/arm64, linux/s390x";
    assert!(said.ends_with(expected), "{said}");
    // A descriptor can't make an image one for another platform.
    manifests[0]["platform"]["architecture"] = "riscv64".into();
    finish(&path, &manifests);
    let said = chain(&of("linux/riscv64").unwrap_err());
    assert!(said.ends_with("it has no image for linux/riscv64; there is linux/arm64"), "{said}");
}

#[test]
fn a_layer_takes_directories_and_linked_files_of_those_below() {
    let lower = tar().dir("d").dir("d/e").file("file", b"shared").file("d/other", b"1").end();
    // The directories have no members, and the second link leads to a link.
    let upper = tar().file("d/e/new", b"new").link("d/link", "file").link("d/again", "d/link");
    let upper = upper.file(".wh.file", b"").end();
    let top = tar().link("top", "d/again").file("d/.wh.link", b"").file("d/other", b"22").end();
    let (_folder, path) = layout(&[lower, upper, top]);
    let found = read_all("oci", &path);
    assert_eq!(listed(&found), "d d/again=6 d/e d/e/new=3 d/other=2 top=6");
    let row = |path: &str| &found[path.as_bytes()];
    assert_eq!((row("top").inode, row("top").nlink), (row("d/again").inode, 2));
    for path in ["d", "d/e"] {
        let metadata = row(path).metadata;
        assert_eq!((metadata.permissions, metadata.uid, metadata.mtime.sec), (0o640, 11, 13));
    }
    // An opaque root hides everything, and keeps its attributes.
    let (lower, upper) = (tar().dir("./").dir("d").end(), tar().file(".wh..wh..opq", b"").end());
    let found = read_all("oci", &layout(&[lower, upper]).1);
    assert_eq!((found.len(), found[&b""[..]].metadata.permissions), (1, 0o640));
    // A directory that was removed first is a new one.
    let lower = tar().dir("d").file("d/old", b"").end();
    let upper = tar().file(".wh.d", b"").file("d/new", b"").end();
    let found = read_all("oci", &layout(&[lower, upper]).1);
    assert_eq!(listed(&found), "d d/new=0");
    assert_eq!(found[&b"d"[..]].metadata.permissions, 0o755);
}

#[test]
fn links_that_lead_nowhere_are_refused() {
    let cases = [
        (tar().link("a", "b"), "b"),
        (tar().link("a", "b").link("b", "c").link("c", "a"), "b"),
        (tar().link("a", "d"), "d"),
        (tar().link("a", "hidden"), "hidden"),
        (tar().link("a", "../../file"), ".."),
    ];
    for (upper, target) in cases {
        let lower = tar().dir("d").file("hidden", b"").file("file", b"").end();
        let middle = tar().file(".wh.hidden", b"").end();
        let (_folder, path) = layout(&[lower, middle, upper.end()]);
        let said = chain(&read("oci", (&path, ""), |_options| {}).unwrap_err());
        assert!(said.contains("is refused") && said.contains(target), "{said}");
    }
    // In the order of members, a link can come before what it leads to.
    let early = tar().link("a", "b").file("b", b"12").end();
    assert_eq!(listed(&read_all("oci", &layout(&[early]).1)), "a=2 b=2");
}
