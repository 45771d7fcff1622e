//! Tests what `lith build` takes as its source: layers, and lists of files.

use std::fs;

use lith_testkit::tier;

use super::{
    args,
    sample::{Sample, command, lith, printed},
};

#[test]
fn several_sources_are_layers() {
    let (sample, image) = Sample::built();
    let upper = sample.path("upper");
    fs::create_dir_all(upper.join("sub")).unwrap();
    fs::write(upper.join("sub/noise"), "replaced").unwrap();
    fs::write(upper.join("new"), "new").unwrap();
    let (upper_image, tar) = (sample.path("upper.erofs"), sample.path("upper.tar"));
    printed(args!["build", "-q", upper, upper_image]);
    printed(args!["tar", "-o", tar, upper_image]);
    let merged = sample.path("merged.erofs");
    let mut images = Vec::new();
    for above in [upper, upper_image, tar] {
        printed(args!["build", "-q", sample.src(), above, merged]);
        let text = printed(args!["cat", merged, "sub/noise", "new", "hello"]);
        assert_eq!(text, "replacednewhello, world\n");
        images.push(fs::read(&merged).unwrap());
        printed(args!["build", "-q", image, above, merged]);
        images.push(fs::read(&merged).unwrap());
    }
    assert!(images.iter().all(|image| *image == images[0]));
}

#[test]
fn a_dump_with_content_beside_it_makes_the_same_image() {
    let (sample, image) = Sample::built();
    let (list, again) = (sample.path("list"), sample.path("again.erofs"));
    let dumped = printed(args!["dump", image]);
    fs::write(&list, &dumped).unwrap();
    let build = args!["build", "-q", "-E", "^fragments", "--manifest", list, sample.src(), again];
    printed(build);
    assert!(fs::read(&again).unwrap() == fs::read(&image).unwrap());
    let piped = args!["build", "-q", "-E", "^fragments", "--manifest", "-", sample.src(), again];
    let piped = command().args(piped).stdin(fs::File::open(&list).unwrap()).output().unwrap();
    assert!(piped.status.success(), "{}", String::from_utf8_lossy(&piped.stderr));
    assert!(fs::read(&again).unwrap() == fs::read(&image).unwrap());
    let device = "/dev/null c 0666 3 4 5 6 1 0 1:3 - - - -";
    fs::write(&list, format!("{dumped}{device}\n")).unwrap();
    printed(args!["build", "-q", "--manifest", list, sample.src(), again]);
    let dumped = printed(args!["dump", again]);
    assert!(dumped.contains(device), "{dumped}");
    fs::write(sample.src().join("hello"), "longer than before").unwrap();
    let refused = lith(args!["build", "-q", "--manifest", list, sample.src(), again]);
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(said.contains("list:") && said.ends_with("the file has 18 bytes, not 13\n"), "{said}");
}

#[test]
fn an_mtree_of_bsdtar_makes_an_equal_tree() {
    let sample = Sample::new();
    let list = sample.path("list");
    let mut bsdtar = std::process::Command::new("bsdtar");
    bsdtar.current_dir(sample.src()).args(args!["--format=mtree", "-cf", list, "."]);
    match bsdtar.status() {
        Ok(status) => assert!(status.success()),
        Err(error) => return tier::skip("an mtree of bsdtar", error),
    }
    let image = sample.path("image.erofs");
    printed(args!["build", "-q", "--manifest", list, sample.src(), image]);
    // An mtree has no hard links.
    assert_eq!(printed(args!["diff", "--ignore=links", sample.src(), image]), "");
}

/// The digest of a tar without members, 1024 zeros.
const EMPTY: &str = "sha256:5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef";

#[test]
fn a_container_image_is_built_and_read() {
    let sample = Sample::new();
    let (saved, archive) = (sample.path("saved"), sample.path("saved.tar"));
    fs::create_dir(&saved).unwrap();
    let config =
        format!(r#"{{"os":"linux","architecture":"s390x","rootfs":{{"diff_ids":["{EMPTY}"]}}}}"#);
    let list = r#"[{"Config":"config","RepoTags":["box:latest"],"Layers":["layer.tar"]}]"#;
    fs::write(saved.join("layer.tar"), [0; 1024]).unwrap();
    fs::write(saved.join("config"), &config).unwrap();
    fs::write(saved.join("manifest.json"), list).unwrap();
    let mut tar = std::process::Command::new("tar");
    assert!(tar.args(args!["-C", saved, "-cf", archive, "."]).status().unwrap().success());

    let source = format!("docker-archive:{}:box", archive.display());
    let (image, copy) = (sample.path("image.erofs"), sample.path("copy"));
    let build =
        args!["build", "-q", "--platform", "linux/s390x", "--config-file", copy, source, image];
    printed(build);
    assert_eq!(fs::read_to_string(&copy).unwrap(), config);
    assert_eq!(printed(args!["diff", source, image]), "");
    assert_eq!(printed(args!["ls", source]), "");
    let other = lith(args!["build", "-q", "--platform", "linux/amd64", source, image]);
    let said = String::from_utf8(other.stderr).unwrap();
    assert!(said.ends_with("no image for linux/amd64; there is linux/s390x\n"), "{said}");
    fs::write(saved.join("layer.tar"), [0; 1536]).unwrap();
    let mut tar = std::process::Command::new("tar");
    assert!(tar.args(args!["-C", saved, "-cf", archive, "."]).status().unwrap().success());
    let damaged = lith(args!["ls", source]);
    let said = String::from_utf8(damaged.stderr).unwrap();
    assert!(said.contains("layer.tar has the digest sha256:"), "{said}");
}
