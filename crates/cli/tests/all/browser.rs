//! Tests the page that `lith report` writes in a real browser.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that panics has failed")]

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use lith_testkit::{
    nasty::{self, Nasty},
    noise::{self, Texture},
    oracle::browser::Browser,
    place,
};

/// A phone and a desktop screen.
const PHONE: (u32, u32) = (360, 740);
const DESK: (u32, u32) = (1280, 900);

/// Builds an image of a directory and the page about it.
fn report(folder: &Path, tree: &Path) -> PathBuf {
    let (image, page) = (folder.join("image.erofs"), folder.join("page.html"));
    let run = |arguments: &[&str], paths: [&Path; 2]| {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("lith"));
        let output = command.args(arguments).args(paths).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    run(&["build", "-q", "-z", "lz4", "-E", "^fragments"], [tree, &image]);
    run(&["report", "-q", "--no-presets", "-o"], [&page, &image]);
    page
}

/// Opens a page on both screens, where it must fit and load nothing; returns its content.
fn look(browser: &Browser, page: &Path) -> String {
    // Links lead to places of the page itself.
    let text = fs::read_to_string(page).unwrap().replace("href=\"#", "");
    for foreign in
        ["<script", "<link", "<iframe", "<img", "src=", "href=", "url(", "@import", "http:"]
    {
        assert!(!text.contains(foreign), "{foreign}");
    }
    assert_eq!(browser.requests(page).len(), 1, "it asks for nothing but itself");
    let mut doms = Vec::new();
    for window in [PHONE, DESK] {
        let seen = browser.look(page, window);
        assert_eq!(seen.console, [""; 0], "{window:?}");
        let measures = browser.measure(page, window);
        assert_eq!(measures.window, u64::from(window.0), "{measures:?}");
        assert!(measures.content <= measures.window, "{measures:?}");
        assert!(measures.smallest_text >= 12.0, "{measures:?}");
        assert_eq!((measures.bad_labels, measures.scripts), (0, 0), "{measures:?}");
        assert!(measures.labels > 0, "{measures:?}");
        doms.push(seen.dom);
    }
    assert_eq!(doms[0], doms[1], "one page for all screens");
    for heading in [
        "Where the bytes go: folders",
        "Where the bytes go: types of files",
        "Ratio by algorithm",
        "What is stored where",
        "Largest files",
        "Stored once instead of several times",
        "About the image",
    ] {
        assert!(doms[0].contains(&format!("<h2>{heading}</h2>")), "{heading}");
    }
    doms.remove(0)
}

#[test]
fn a_page_fits_phones_and_desktops() {
    let Some(browser) = Browser::find() else { return };
    let folder = place::folder();
    let tree = folder.path().join("tree");
    for number in 0..40_u64 {
        let inner = tree.join(format!("folder-{}/with a longer name {number}", number % 7));
        fs::create_dir_all(&inner).unwrap();
        for file in 0..30_usize {
            let ending = ["txt", "so.1.2", "png", "x86", "html"][file % 5];
            let texture = if file % 5 == 2 { Texture::Noise } else { Texture::Text };
            let bytes = noise::bytes(texture, number * 100 + file as u64, file * file * 40);
            fs::write(inner.join(format!("{file}.{ending}")), bytes).unwrap();
        }
    }
    let dom = look(&browser, &report(folder.path(), &tree));
    assert!(dom.matches("<rect").count() > 200, "{}", dom.matches("<rect").count());
    assert!(dom.matches("<svg class=\"tree\"").count() == 4);
    assert!(
        dom.contains("folder-3") && dom.contains("<td>.png</td>") && dom.contains("<td>.so</td>")
    );
    assert!(dom.contains("<td>lz4</td>") && dom.contains("data, lz4"));
}

#[test]
fn hostile_names_are_text() {
    let Some(browser) = Browser::find() else { return };
    let folder = place::folder();
    let tree = folder.path().join("tree");
    let names = [
        "<img src=x onerror=document.title='gone'>",
        "<svg onload=document.title='gone'>",
        "\"><b>bold",
        "</bdi>&amp;&lt;",
        "a'b\"c`d",
        "\u{202e}gnp.exe",
        "\u{5e9}\u{5dc}\u{5d5}\u{5dd}",
        "new\nline",
        "{{ generator }}{% for %}",
    ];
    for (seed, name) in (0..).zip(names.map(|name| name.replace('/', "|"))) {
        fs::create_dir_all(tree.join(&name)).unwrap();
        fs::write(tree.join(&name).join(&name), noise::bytes(Texture::Noise, seed, 20_000))
            .unwrap();
    }
    let page = report(folder.path(), &tree);
    let seen = browser.look(&page, PHONE);
    assert_eq!(seen.console, [""; 0]);
    for shown in [
        "&lt;img src=x onerror=document.title='gone'&gt;",
        "\"&gt;&lt;b&gt;bold",
        "&lt;|bdi&gt;&amp;amp;&amp;lt;",
        "\\xe2\\x80\\xaegnp.exe",
        "new\\x0aline",
        "{{ generator }}{% for %}",
    ] {
        assert!(seen.dom.contains(shown), "{shown}");
    }
    for markup in ["<img", "<b>bold", "<svg onload", "<title>gone"] {
        assert!(!seen.dom.contains(markup), "{markup}");
    }
    for window in [PHONE, DESK] {
        let measures = browser.measure(&page, window);
        assert!(measures.content <= measures.window, "{measures:?}");
        assert_eq!((measures.bad_labels, measures.scripts), (0, 0), "{measures:?}");
    }
}

#[test]
fn a_pathological_tree_has_a_page() {
    let Some(browser) = Browser::find() else { return };
    let folder = place::folder();
    let tree = folder.path().join("tree");
    fs::create_dir(&tree).unwrap();
    nasty::plant(&tree, Nasty::Whole);
    let page = report(folder.path(), &tree);
    assert!(fs::metadata(&page).unwrap().len() < 2 << 20);
    let dom = look(&browser, &page);
    assert!(dom.contains("names/") || dom.contains("<bdi>names</bdi>"));
}

#[test]
fn the_checks_find_faults() {
    let Some(browser) = Browser::find() else { return };
    let folder = place::folder();
    let page = folder.path().join("page.html");
    let faulty = "<!DOCTYPE html>\n<meta http-equiv=\"Content-Security-Policy\" content=\"img-src *\">\n\
        <body><div style=\"width: 2000px\">wide</div><p style=\"font-size: 7px\">small</p>\
        <svg class=\"tree\"><g><rect width=\"20\" height=\"20\"/><text y=\"12\">a long label</text></g>\
        <g><rect x=\"21\" width=\"200\" height=\"20\"/><text x=\"21\" y=\"12\">over it</text></g></svg>\
        <img src=\"picture.svg\"><img src=\"http://elsewhere.invalid/\"><script>undefined.x</script></body>";
    fs::write(&page, faulty).unwrap();
    let measures = browser.measure(&page, PHONE);
    assert!(measures.content > 2000 && measures.smallest_text < 8.0, "{measures:?}");
    assert_eq!((measures.bad_labels, measures.labels, measures.scripts), (2, 2, 1), "{measures:?}");
    let requests = browser.requests(&page);
    assert!(requests.iter().any(|line| line.contains("picture.svg")), "{requests:?}");
    assert!(requests.iter().any(|line| line.contains("elsewhere.invalid")), "{requests:?}");
    assert!(!browser.look(&page, PHONE).console.is_empty());
}
