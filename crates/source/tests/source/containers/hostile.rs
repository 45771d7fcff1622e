//! Damaged and malicious container images are refused.

use std::{
    fs::{self, File},
    os::unix::fs::symlink,
    path::Path,
};

use serde_json::{Value, json};

use super::{
    super::common::{chain, noise},
    layout::{Packed, add, add_layer, add_manifest, digest, finish, named},
    read, tar,
};

/// Writes a layout with one layer anew.
fn plant(path: &Path, packed: Packed) {
    let _absent = fs::remove_dir_all(path);
    let tar = tar().file("file", &noise(3000, 7)).end();
    let layers = [add_layer(path, &tar, packed)];
    finish(path, &[add_manifest(path, &layers, ("linux", "amd64"))]);
}

/// The error of a layout.
fn refused(path: &Path) -> String {
    chain(&read("oci", (path, ""), |_options| {}).unwrap_err())
}

#[test]
fn a_changed_byte_of_any_blob_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("layout");
    for packed in [Packed::Plain, Packed::Gzip, Packed::Zstd] {
        plant(&path, packed);
        let blobs = fs::read_dir(path.join("blobs/sha256")).unwrap();
        let blobs: Vec<_> = blobs.map(|entry| entry.unwrap().path()).collect();
        assert_eq!(blobs.len(), 3);
        for blob in blobs {
            let name = blob.file_name().unwrap().to_str().unwrap();
            let bytes = fs::read(&blob).unwrap();
            for at in [0, 700 % bytes.len(), bytes.len() / 2, bytes.len() - 1] {
                let mut bytes = bytes.clone();
                bytes[at] ^= 1;
                fs::write(&blob, &bytes).unwrap();
                let said = refused(&path);
                assert!(said.contains(name), "{said}");
            }
            let missing = &bytes[..bytes.len() - 1];
            fs::write(&blob, missing).unwrap();
            assert!(refused(&path).contains(name));
            fs::write(&blob, [&bytes[..], b"\0"].concat()).unwrap();
            assert!(refused(&path).contains(name));
            fs::remove_file(&blob).unwrap();
            let said = refused(&path);
            assert!(said.ends_with(&format!("it has no blobs/sha256/{name}")), "{said}");
            fs::write(&blob, &bytes).unwrap();
        }
        assert!(read("oci", (&path, ""), |_options| {}).is_ok());
    }
}

#[test]
fn diff_ids_are_verified_and_are_as_many_as_layers() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("layout");
    for packed in [Packed::Plain, Packed::Gzip] {
        let mut layer = add_layer(&path, &tar().dir("d").end(), packed);
        layer.diff_id = digest(b"something else");
        finish(&path, &[add_manifest(&path, &[layer], ("linux", "amd64"))]);
        assert!(refused(&path).contains("has the digest sha256:"));
    }
    let config = json!({"rootfs": {"diff_ids": [digest(b"")]}});
    let config = add(&path, config.to_string().as_bytes());
    let manifest = json!({"config": config, "layers": []});
    finish(&path, &[add(&path, manifest.to_string().as_bytes())]);
    let said = refused(&path);
    assert!(said.ends_with("its manifest has 0 layers, its configuration 1"), "{said}");
}

#[test]
fn impossible_documents_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("layout");
    plant(&path, Packed::Plain);
    let index: Value = serde_json::from_slice(&fs::read(path.join("index.json")).unwrap()).unwrap();
    let mut nested = index["manifests"][0].clone();
    let with = |descriptor: Value| {
        finish(&path, &[descriptor]);
        refused(&path)
    };
    for digest in ["sha256:../../../../../etc/passwd", "md5:00", ""] {
        assert!(with(json!({"digest": digest, "size": 1})).ends_with("is no digest"));
    }
    let missing = json!({"digest": digest(b"nothing"), "size": 7});
    assert!(with(missing).contains("it has no blobs/sha256/"));
    let mut short = nested.clone();
    short["size"] = 1.into();
    assert!(with(short).ends_with("bytes, not 1"));
    let both = json!({"manifests": [], "config": {"digest": "", "size": 0}, "layers": []});
    let both = add(&path, both.to_string().as_bytes());
    assert!(with(both).ends_with("is neither an index nor a manifest"));
    let layer = add(&path, b"no JSON");
    assert!(with(layer).contains("is damaged"));

    // More indexes in one another than any real image has.
    for _level in 0..8 {
        nested = add(&path, json!({"manifests": [nested]}).to_string().as_bytes());
    }
    assert!(with(nested).ends_with("its indexes are nested more than 4 times"));

    // A manifest of a gigabyte is not even read.
    let huge = "0".repeat(64);
    File::create(path.join("blobs/sha256").join(&huge)).unwrap().set_len(1 << 30).unwrap();
    let huge = json!({"digest": format!("sha256:{huge}"), "size": 1 << 30});
    assert!(with(huge).ends_with("has 1073741824 bytes, more than 4194304"));
}

#[test]
fn layers_that_are_no_tars_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("layout");
    for bytes in [b"hsqs".as_slice(), b"PK\x03\x04", &[b'x'; 4096]] {
        let layers = [add_layer(&path, bytes, Packed::Plain)];
        finish(&path, &[add_manifest(&path, &layers, ("linux", "amd64"))]);
        let said = refused(&path);
        assert!(said.contains("expected"), "{said}");
    }
    // One without any member is none.
    let layers = [add_layer(&path, &[0; 1024], Packed::Gzip), add_layer(&path, b"", Packed::Plain)];
    finish(&path, &[add_manifest(&path, &layers, ("linux", "amd64"))]);
    assert_eq!(super::read_all("oci", &path).len(), 1);
}

#[test]
fn an_unclear_choice_and_a_loop_of_links_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("layout");
    fs::create_dir(&path).unwrap();
    let one = named(add(&path, b"[]"), "one");
    let two = named(add(&path, b"{}"), "two");
    finish(&path, &[one, two]);
    let said = refused(&path);
    let expected = "it has not exactly one image, and none is chosen; there are one, two";
    assert!(said.ends_with(expected), "{said}");
    fs::remove_file(path.join("index.json")).unwrap();
    assert!(refused(&path).ends_with("it has no index.json"));
    symlink("index.json", path.join("index.json")).unwrap();
    assert!(refused(&path).contains("index.json"));
}
