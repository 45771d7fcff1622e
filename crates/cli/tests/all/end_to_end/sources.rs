//! Tests what `lith build` takes as its source: layers, and lists of files.

use std::fs;

use lith_testkit::tier;

use super::{
    args,
    sample::{Sample, lith, printed},
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
