//! Tests `lith report`, and that `lith info` prints the same facts.

use std::fs;

use super::{
    args,
    sample::{Sample, command, complaint, json, lith, printed},
};

#[test]
fn a_page_is_written_to_the_requested_path() {
    let (sample, image) = Sample::built();
    let page = sample.path("page of it.html");
    let output = printed(args!["report", "--no-presets", "-o", page, image]);
    assert!(
        output.starts_with(&format!("{}: ", page.display())) && output.ends_with(" KiB\n"),
        "{output}"
    );
    let text = fs::read_to_string(&page).unwrap();
    assert!(text.starts_with("<!DOCTYPE html>") && text.ends_with("</html>"), "{text}");
    assert!(text.contains("<title>image.erofs: where the bytes go</title>"), "{text}");
    assert!(text.contains("odd\\x0a\\xff"), "{text}");
    let standard = lith(args!["report", "--no-presets", "-o", "-", image]);
    assert!(standard.stdout == text.as_bytes() && standard.stderr.is_empty());
    assert_eq!(printed(args!["report", "-q", "--no-presets", "-o", page, image]), "");
    assert_eq!(sample.names(), ["image.erofs", "page of it.html", "src"]);
}

#[test]
fn the_default_path_only_replaces_a_report() {
    let (sample, image) = Sample::built();
    let report = || {
        let here = sample.path("");
        command().args(args!["report", "--no-presets", image]).current_dir(here).output().unwrap()
    };
    for _ in 0..2 {
        let output = report();
        assert!(output.stdout.starts_with(b"image.html: "), "{output:?}");
    }
    fs::write(sample.path("image.html"), "<p>something else").unwrap();
    let refused = report();
    assert_eq!(refused.status.code(), Some(1));
    assert!(complaint(&refused).starts_with("lith: image.html: "));
    assert_eq!(fs::read(sample.path("image.html")).unwrap(), b"<p>something else");
    assert_eq!(sample.names(), ["image.erofs", "image.html", "src"]);
}

#[test]
fn presets_are_estimated_unless_the_image_is_corrupt() {
    let (sample, image) = Sample::built();
    let page = sample.path("page.html");
    printed(args!["report", "-q", "-o", page, image]);
    let text = fs::read_to_string(&page).unwrap();
    assert!(text.contains("What another preset would save"));
    assert_eq!(sample.names(), ["image.erofs", "page.html", "src"]);
    let presets = json(args!["info", "--json", "--presets", image])["presets"].clone();
    assert_eq!((&presets["is_whole"], &presets["sample_bytes"]), (&true.into(), &350_016.into()));
    let names: Vec<_> = presets["presets"].as_array().unwrap().iter().map(|p| &p["name"]).collect();
    assert_eq!(names, ["fast", "balanced", "small", "smallest"]);
    for preset in presets["presets"].as_array().unwrap() {
        let rebuilt = sample.path("rebuilt");
        let name = preset["name"].as_str().unwrap();
        printed(args!["build", "-q", "--preset", name, image, rebuilt]);
        assert_eq!(preset["image"], fs::metadata(rebuilt).unwrap().len(), "{preset}");
    }
    let map = json(args!["map", "--json", image, "/sub/large"]);
    let physical = usize::try_from(map["extents"][0]["physical"].as_u64().unwrap()).unwrap();
    let stored = usize::try_from(map["extents"][0]["stored"].as_u64().unwrap()).unwrap();
    let mut bytes = fs::read(&image).unwrap();
    bytes[physical..physical + stored].fill(0xff);
    fs::write(&image, bytes).unwrap();
    let output = lith(args!["report", "-q", "-o", page, image]);
    assert_eq!(output.status.code(), Some(0));
    assert!(complaint(&output).contains("image.erofs: cannot estimate other presets: "));
    assert!(!fs::read_to_string(&page).unwrap().contains("What another preset"));
}

#[test]
fn info_prints_the_same_facts() {
    let (_sample, image) = Sample::built();
    let facts = json(args!["info", "--all", "--equal-files", "--json", image]);
    assert_eq!(facts["equal_files"]["copies"], 0);
    assert!(
        printed(args!["info", "--all", "--equal-files", image]).contains("\nequal files stored")
    );
    assert_eq!(
        (&facts["folders"]["files"], &facts["folders"]["bytes"]),
        (&5.into(), &350_016.into())
    );
    assert_eq!(facts["folders"]["stored"], facts["contents"]["stored"]);
    assert_eq!(facts["folders"]["folders"][0]["name"], "sub");
    assert_eq!(facts["largest"]["by_bytes"][0]["path"], "/sub/large");
    let odd = facts["largest"]["by_bytes"].as_array().unwrap();
    let odd = odd.iter().find(|file| file.get("path_hex").is_some()).unwrap();
    assert_eq!(odd["path_hex"], "2f7375622f646565702f6f64640aff5c");
    assert_eq!(facts["duplicates"]["hard_links"]["bytes"], 13);
    let regions = facts["devices_map"][0]["regions"].as_array().unwrap();
    let mut end = 0;
    for region in regions {
        assert_eq!(region["start"], end);
        end += region["bytes"].as_u64().unwrap();
    }
    assert_eq!(facts["size"], end);
    let text = printed(args!["info", "--all", image]);
    for row in [
        "350016",
        "  /sub/\n",
        "  text\n",
        "  /sub/large\n",
        "hard links             1               13 bytes\n",
        "  data, lz4\n",
        "  superblock, config records\n",
    ] {
        assert!(text.contains(row), "{row}: {text}");
    }
    assert!(text.starts_with(&printed(args!["info", image])));
}
