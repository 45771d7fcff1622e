//! Tests `lith report`, and that `lith info` prints the same facts.

use std::fs;

use super::{
    args,
    sample::{Sample, command, complaint, json, lith, noise, printed},
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

#[test]
fn a_page_about_two_images_shows_what_changed_and_what_grew() {
    let (sample, old) = Sample::built();
    fs::write(sample.src().join("sub/deep/added.txt"), noise(20_000)).unwrap();
    fs::write(sample.src().join("sub/noise"), noise(80_000)).unwrap();
    fs::remove_file(sample.src().join("sub/large")).unwrap();
    sample.set_time("hello", 1_800_000_000);
    let new = sample.path("new.erofs");
    printed(args!["build", "-q", "-E", "^fragments", sample.src(), new]);
    let page = sample.path("page.html");
    let shown = json(args!["report", "--json", "-o", page, old, new]);
    let found = &shown["comparison"];
    let facts = [&old, &new].map(|image| json(args!["info", "--all", "--json", image]));
    for (number, facts) in facts.iter().enumerate() {
        let image = &found["images"][number];
        assert_eq!((&image["size"], &image["files"]), (&facts["size"], &facts["folders"]["files"]));
        assert_eq!(image["stored"], facts["folders"]["stored"]);
        let side = if number == 0 { "before" } else { "after" };
        for sum in ["files", "bytes", "stored"] {
            assert_eq!(found["folders"][side][sum], facts["folders"][sum], "{side}: {sum}");
        }
    }
    // Both names of `hello` have another time, and the folders of the others too.
    assert_eq!((&found["names"]["added"], &found["names"]["removed"]), (&1.into(), &1.into()));
    assert_eq!(found["names"]["changed"], 1);
    let files = found["files"].as_array().unwrap();
    let listed = files.iter().map(|file| (&file["path"], &file["change"]));
    let listed: Vec<_> = listed.map(|(path, change)| format!("{path} {change}")).collect();
    let expected = [
        r#""/sub/noise" "changed""#,
        r#""/sub/deep/added.txt" "added""#,
        r#""/sub/large" "removed""#,
    ];
    assert!(expected.iter().all(|file| listed.contains(&(*file).to_owned())), "{listed:?}");
    assert_eq!((listed.len(), &found["more_files"]), (3, &0.into()));
    let of = |path: &str| files.iter().find(|file| file["path"] == path).unwrap();
    assert_eq!(of("/sub/noise")["before"]["bytes"], 50_000);
    assert_eq!(of("/sub/noise")["after"]["bytes"], 80_000);
    assert_eq!(of("/sub/large")["after"]["bytes"], 0);
    let sub = &found["folders"]["folders"][0];
    assert_eq!((&sub["name"], &sub["names"]["added"]), (&"sub".into(), &1.into()));
    let text = fs::read_to_string(&page).unwrap();
    assert!(text.contains("<title>image.erofs and new.erofs: what changed</title>"), "{text}");
    for part in ["added.txt", "1 added, 1 removed, 1 changed", "<bdi>deep</bdi>/"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let here = sample.path("");
    let output = command().args(args!["report", old, new]).current_dir(here).output().unwrap();
    assert!(output.stdout.starts_with(b"image-new.html: "), "{output:?}");
}

#[test]
fn a_page_about_the_same_image_twice_has_no_changes() {
    let (sample, image) = Sample::built();
    let shown = json(args!["report", "--json", "-o", sample.path("page.html"), image, image]);
    let found = &shown["comparison"];
    for kind in ["added", "removed", "changed", "attributes"] {
        assert_eq!(found["names"][kind], 0, "{found}");
    }
    assert_eq!(found["folders"]["folders"], serde_json::json!([]));
    let text = fs::read_to_string(sample.path("page.html")).unwrap();
    assert!(text.contains("No file was added, removed or changed."), "{text}");
    let missing = lith(args!["report", image, sample.path("missing.erofs")]);
    assert_eq!(missing.status.code(), Some(1));
    assert!(complaint(&missing).contains("missing.erofs"));
}
