//! Tests that links among the documents lead somewhere, and that the site has all pages.

use std::{
    collections::{BTreeSet, HashMap},
    fs,
    path::{Component, Path, PathBuf},
};

fn root() -> PathBuf {
    normal(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
}

/// Without `.` and `..`, which need not exist for a path to be wrong.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(normal.pop()),
            Component::CurDir => {}
            other => normal.push(other),
        }
    }
    normal
}

/// All documents of the repository.
fn documents() -> Vec<PathBuf> {
    let (mut found, mut left) = (Vec::new(), vec![root()]);
    while let Some(folder) = left.pop() {
        for entry in fs::read_dir(&folder).unwrap().map(Result::unwrap) {
            let name = entry.file_name().to_string_lossy().into_owned();
            let hidden = name.starts_with('.') && name != ".github";
            if entry.file_type().unwrap().is_dir() {
                if !hidden && !name.starts_with("target") && name != "corpus" {
                    left.push(entry.path());
                }
            } else if Path::new(&name).extension().is_some_and(|extension| extension == "md") {
                found.push(entry.path());
            }
        }
    }
    found.sort();
    assert!(found.len() > 30, "{found:?}");
    found
}

/// The lines that are not code, with their numbers.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    text.lines().enumerate().filter_map(move |(index, line)| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        (!fenced && !fence && !line.starts_with("    ")).then_some((index + 1, line))
    })
}

/// Without `code`, which has no links.
fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect::<Vec<_>>().join("`")
}

/// What the links and pictures of a line name.
fn targets(line: &str) -> Vec<String> {
    let line = without_code(line);
    let ends = line.match_indices("](").map(|(position, brackets)| position + brackets.len());
    let targets = ends.filter_map(|start| line.get(start..)?.split([')', ' ']).next());
    targets.map(str::to_owned).collect()
}

/// The anchors of a page: of its headings, as GitHub and mdBook make them, and its own.
fn anchors(text: &str) -> BTreeSet<String> {
    let (mut anchors, mut seen) = (BTreeSet::new(), HashMap::<String, usize>::new());
    for (_, line) in prose(text) {
        if let Some(heading) = line.strip_prefix('#') {
            let slug = slug(heading.trim_start_matches('#').trim());
            let count = seen.entry(slug.clone()).or_default();
            anchors.insert(if *count == 0 { slug } else { format!("{slug}-{count}") });
            *count += 1;
        }
        let own = line.split("<a id=\"").skip(1).filter_map(|rest| rest.split('"').next());
        anchors.extend(own.map(str::to_owned));
    }
    anchors
}

fn slug(heading: &str) -> String {
    let kept = heading.chars().filter(|char| char.is_alphanumeric() || " -_".contains(*char));
    kept.flat_map(char::to_lowercase).map(|char| if char == ' ' { '-' } else { char }).collect()
}

/// What is wrong with a link of a document.
fn fault(document: &Path, target: &str) -> Option<String> {
    if ["http://", "https://", "mailto:"].iter().any(|scheme| target.starts_with(scheme)) {
        return None;
    }
    let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
    let file = match path {
        "" => document.to_owned(),
        path => normal(&document.parent().unwrap().join(path)),
    };
    if !file.exists() {
        return Some("leads nowhere".into());
    }
    if !file.starts_with(root()) {
        return Some("leaves the repository".into());
    }
    if anchor.is_empty() || anchors(&fs::read_to_string(&file).unwrap()).contains(anchor) {
        return None;
    }
    Some("has an anchor that the page has not".into())
}

#[test]
fn every_link_leads_somewhere() {
    let (mut faults, mut links) = (Vec::new(), 0);
    for document in documents() {
        let text = fs::read_to_string(&document).unwrap();
        for (number, target) in prose(&text)
            .flat_map(|(number, line)| targets(line).into_iter().map(move |t| (number, t)))
        {
            links += 1;
            if let Some(fault) = fault(&document, &target) {
                let name = document.strip_prefix(root()).unwrap().display();
                faults.push(format!("{name}:{number}: {target} {fault}"));
            }
        }
    }
    assert!(links > 150, "{links} links");
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

#[test]
fn the_site_has_every_page_once() {
    let docs = root().join("docs");
    let summary = fs::read_to_string(docs.join("SUMMARY.md")).unwrap();
    let mut listed: Vec<_> = summary.lines().flat_map(targets).collect();
    listed.sort();
    let pages = documents().into_iter().filter(|page| page.starts_with(&docs));
    let pages = pages.map(|page| page.strip_prefix(&docs).unwrap().to_string_lossy().into_owned());
    let mut pages: Vec<_> = pages.filter(|page| page != "SUMMARY.md").collect();
    pages.sort();
    assert_eq!(listed, pages);
}

#[test]
fn faults_of_links_are_found() {
    let page = root().join("docs/guide/README.md");
    assert_eq!(fault(&page, "build.md#layout"), None);
    assert_eq!(fault(&page, "#paths"), None);
    assert!(fault(&page, "none.md").is_some());
    assert!(fault(&page, "build.md#none").is_some());
    assert!(fault(&page, "../../../outside.md").is_some());
    assert_eq!(targets("a [b](c.md#d) and ![e](f.png), `[no](x)`"), ["c.md#d", "f.png"]);
    assert_eq!(slug("Algorithms (`-z`)"), "algorithms--z");
}
