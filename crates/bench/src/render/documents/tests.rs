use tempfile::TempDir;

use super::{
    super::{json, markdown, plot::svg, samples},
    *,
};

/// A document beside a folder `runs` with made-up results in `made.json`.
fn written(text: &str) -> (TempDir, PathBuf, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let (document, results) = (folder.path().join("doc.md"), folder.path().join("runs"));
    fs::create_dir(&results).unwrap();
    fs::write(results.join("made.json"), json(&samples::results()).unwrap()).unwrap();
    fs::write(&document, text).unwrap();
    (folder, document, results)
}

fn updated(text: &str) -> String {
    let (_folder, document, results) = written(text);
    assert!(update(&document, &results).unwrap());
    fs::read_to_string(document).unwrap()
}

/// The line and the reason for which a document can't be written.
fn refused(text: &str) -> (usize, String) {
    let (_folder, document, results) = written(text);
    let error = update(&document, &results).unwrap_err();
    assert_eq!(fs::read_to_string(document).unwrap(), text, "a refused document changes");
    let place = error.to_string();
    let line = place.strip_suffix(": a marker that can't be followed").unwrap();
    let (_, line) = line.rsplit_once(", line ").unwrap();
    (line.parse().unwrap(), error.source().unwrap().to_string())
}

/// The files that an update would change: the document, pictures, or none if all is up to date.
fn stale(document: &Path, results: &Path) -> Vec<PathBuf> {
    changed(document, results).unwrap().into_iter().map(|(path, _)| path).collect()
}

#[test]
fn a_pivot_has_a_column_for_each_series() {
    let marker = r#"<!-- bench: made build/lz4 pivot series="lith; mkfs.x" -->"#;
    let text = format!("# Title\n\n{marker}\nold\n{END}\nBelow\n");
    let expected = format!(
        "# Title\n\n{marker}\n\n\
         | time, s | lith | mkfs.x |\n\
         | --- | ---: | ---: |\n\
         | lz4 &lt;4 KiB> | 1.50 (1.50–1.60) | 3.00 (2.90–3.10) |\n\
         | zstd\\|3 &amp; more | 4.00 (3.90–4.10) | 4.00 |\n\n\
         {END}\nBelow\n"
    );
    assert_eq!(updated(&text), expected);
}

#[test]
fn a_pivot_of_more_metrics_and_tables_names_them() {
    let marker =
        r#"<!-- bench: made build/lz4 reading/points pivot metrics="wall; size" series=lith -->"#;
    let text = updated(&format!("{marker}\n{END}\n"));
    assert!(text.contains("| | lith: time, s | lith: size, bytes |"), "{text}");
    assert!(
        text.contains("| Time and size, lz4 &lt;4 KiB> | 1.50 (1.50–1.60) | 1,013,760 |"),
        "{text}"
    );
}

#[test]
fn a_full_table_has_the_chosen_columns_and_rows() {
    let marker =
        r#"<!-- bench: made build/lz4 metrics=size series=lith variants="lz4 <4 KiB>" -->"#;
    let text = updated(&format!("{marker}\n{END}\n"));
    assert!(
        text.contains("| contender | variant | size, bytes | size / mkfs.x | target |"),
        "{text}"
    );
    assert!(text.contains("| lith | lz4 &lt;4 KiB> | 1,013,760 | 0.99x | PASS"), "{text}");
    assert!(!text.contains("zstd"), "{text}");
}

#[test]
fn a_picture_lies_in_the_folder_of_results() {
    let (_folder, document, results) =
        written(&format!("<!-- bench: made build/lz4 picture -->\n{END}\n"));
    assert!(update(&document, &results).unwrap());
    let text = fs::read_to_string(&document).unwrap();
    assert!(text.contains("![Builds of \\| a folder](runs/made-build-lz4.svg)"), "{text}");
    let picture = fs::read_to_string(results.join("made-build-lz4.svg")).unwrap();
    assert_eq!(Some(picture), svg(&samples::table()));
}

#[test]
fn the_header_is_that_of_the_whole_report() {
    let text = updated(&format!("<!-- bench: made -->\n{END}\n"));
    let whole = markdown(&samples::results());
    let (header, _) = whole.split_once("\n\n## Builds").unwrap();
    assert!(text.contains(header.strip_prefix("# Results of lith bench\n\n").unwrap()), "{text}");
}

#[test]
fn what_is_written_once_stays() {
    let picture = "made build/lz4 reading/points picture";
    let all = ["made", "made build/lz4", picture, "made build/lz4 pivot"];
    let text = all.map(|words| format!("<!-- bench: {words} -->\n{END}\n")).join("\n");
    let (folder, document, results) = written(&text);
    assert!(update(&document, &results).unwrap());
    assert_eq!(stale(&document, &results), Vec::<PathBuf>::new());
    assert!(!update(&document, &results).unwrap());
    let left =
        fs::read_dir(folder.path()).unwrap().count() + fs::read_dir(&results).unwrap().count();
    assert_eq!(left, 2 + 3, "a document, a folder, results and two pictures");
}

#[test]
fn what_is_stale_is_named() {
    let markers = ["made build/lz4 picture", "made build/lz4"];
    let text = markers.map(|words| format!("<!-- bench: {words} -->\n{END}\n")).concat();
    let (_folder, document, results) = written(&text);
    update(&document, &results).unwrap();
    let mut slower = samples::results();
    slower.suites[0].tables[0].rows[2] = samples::row("lith", "lz4 <4 KiB>", [9.0; 3], 990.0);
    fs::write(results.join("made.json"), json(&slower).unwrap()).unwrap();
    let names = |paths: Vec<PathBuf>| -> Vec<_> {
        paths.iter().map(|path| path.file_name().unwrap().to_string_lossy().into_owned()).collect()
    };
    assert_eq!(names(stale(&document, &results)), ["made-build-lz4.svg", "doc.md"]);
    update(&document, &results).unwrap();
    fs::write(&document, fs::read_to_string(&document).unwrap().replace("9.00", "0.90")).unwrap();
    assert_eq!(names(stale(&document, &results)), ["doc.md"]);
}

#[test]
fn what_is_not_there_is_named_with_its_line() {
    let cases = [
        ("nothing", "nothing.json"),
        ("made other", "\"other\""),
        ("made build/other", "\"other\""),
        ("made build/lz4 metrics=fetched", "\"fetched\""),
        ("made build/lz4 metrics=beauty", "\"beauty\""),
        ("made build/lz4 series=other", "\"other\""),
        ("made build/lz4 variants=other", "\"other\""),
        ("made reading/plain picture", "\"plain\""),
        ("made build pivot", "SUITE/TABLE"),
        ("made picture", "SUITE/TABLE"),
    ];
    for (words, named) in cases {
        let (line, reason) = refused(&format!("Text\n\n<!-- bench: {words} -->\n{END}\n"));
        assert_eq!(line, 3, "{words}");
        assert!(reason.contains(named), "{words}: {reason}");
    }
}

#[test]
fn markers_without_their_other_half_are_named() {
    assert_eq!(refused("<!-- bench: made -->\nText\n").0, 1);
    assert_eq!(refused(&format!("\n{END}\n")).0, 2);
    assert_eq!(refused(&format!("<!-- bench: made -->\n<!-- bench: made -->\n{END}\n")).0, 1);
}

#[test]
fn code_and_text_are_left_alone() {
    let text = "```\n<!-- bench: made -->\n```\n\n    <!-- bench: made -->\n\nno line end";
    let (_folder, document, results) = written(text);
    assert!(!update(&document, &results).unwrap());
    assert_eq!(fs::read_to_string(document).unwrap(), text);
}

#[test]
fn the_way_to_another_folder_is_relative() {
    let way = |from: &str, to: &str| relative(Path::new(from), Path::new(to));
    assert_eq!(way("/a/docs", "/a/docs/runs"), "runs/");
    assert_eq!(way("/a", "/a/docs/runs"), "docs/runs/");
    assert_eq!(way("/a/guide", "/a/docs"), "../docs/");
    assert_eq!(way("/a", "/a"), "");
}

/// The documents that show stored results.
const DOCUMENTS: [&str; 2] = ["README.md", "docs/benchmarks.md"];

#[test]
fn documents_show_the_results_that_are_kept() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for name in DOCUMENTS {
        let stale = stale(&root.join(name), &root.join("docs/benchmarks"));
        assert_eq!(
            stale,
            Vec::<PathBuf>::new(),
            "differ from what the results in docs/benchmarks give"
        );
    }
}

#[test]
fn every_picture_of_results_is_in_a_document() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let read = |name| fs::read_to_string(root.join(name)).unwrap();
    let text = DOCUMENTS.map(read).concat();
    let files = fs::read_dir(root.join("docs/benchmarks")).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let is_picture = |name: &String| Path::new(name).extension().is_some_and(|is| is == "svg");
    let unused: Vec<_> = names.filter(|name| is_picture(name) && !text.contains(name)).collect();
    assert_eq!(unused, Vec::<String>::new());
}
