//! Does `bench` measure what is there, and say what is not?

use lith_testkit::tier;
use serde_json::Value;

use super::{
    args,
    sample::{Sample, complaint, lith, printed},
};

/// Runs suites on a small tree, and gives the results and the Markdown.
fn measured(sample: &Sample, words: &[&str]) -> (Value, String) {
    let (out, work) = (sample.path("results"), sample.path("work"));
    let where_to = args!["bench", "--corpus", sample.src(), "--out", out, "--work", work];
    // Neither corpora nor rivals of this machine take part.
    let none = args!["--corpora", sample.path("none"), "--rivals", "nobody", "--repeat", "2"];
    let output = lith(where_to.into_iter().chain(words.iter().map(Into::into)).chain(none));
    let log = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{log}");
    let json = std::fs::read(out.join("results.json")).unwrap();
    let html = std::fs::read_to_string(out.join("results.html")).unwrap();
    assert!(html.starts_with("<!") && html.contains("</html>"));
    let markdown = String::from_utf8(output.stdout).unwrap();
    assert_eq!(markdown, std::fs::read_to_string(out.join("results.md")).unwrap());
    // Nothing else is left.
    assert_eq!(std::fs::read_dir(&work).unwrap().count(), 0);
    (serde_json::from_slice(&json).unwrap(), markdown)
}

#[test]
fn images_are_built_checked_and_extracted() {
    let sample = Sample::new();
    let (results, markdown) = measured(&sample, &["check", "extract", "squash"]);
    let suites = results["suites"].as_array().unwrap();
    assert_eq!(suites.len(), 3, "{results}");
    for suite in suites {
        for table in suite["tables"].as_array().unwrap() {
            let rows = table["rows"].as_array().unwrap();
            assert!(!rows.is_empty() && rows.iter().all(|row| row["series"] == "lith"), "{table}");
            for sample in rows.iter().flat_map(|row| row["samples"].as_array().unwrap()) {
                assert!(sample["wall"].as_f64().unwrap() > 0.0, "{sample}");
                assert!(sample["size"].as_f64().unwrap() >= 4096.0, "{sample}");
            }
            assert_eq!(rows[0]["samples"].as_array().unwrap().len(), 2);
        }
    }
    let command = "lith bench check extract squash --corpus DIR --rivals nobody --repeat 2";
    assert_eq!(results["command"], command);
    assert!(markdown.contains(command), "{markdown}");
}

#[test]
fn images_are_mounted_and_read_where_that_can_be_done() {
    let sample = Sample::new();
    let (results, _) = measured(&sample, &["tar", "random"]);
    let rows = results["suites"].as_array().unwrap().iter();
    let rows = rows.flat_map(|suite| suite["tables"].as_array().unwrap());
    let rows: Vec<_> = rows.flat_map(|table| table["rows"].as_array().unwrap()).collect();
    let left_out = results["left_out"].to_string();
    for series in ["lith, kernel", "lith, FUSE"] {
        let found = rows.iter().filter(|row| row["series"] == series).count();
        // In a container devices may be there and yet be refused.
        assert!(found > 0 || left_out.contains(series), "{series}: {left_out}");
        if found > 0 {
            tier::ran("bench of mounts");
        } else {
            tier::skip("bench of mounts", format!("{series} can't be mounted here"));
        }
    }
    for row in rows {
        assert!(row["samples"][0]["wall"].as_f64().unwrap() > 0.0, "{row}");
    }
}

#[test]
fn names_that_are_none_are_refused() {
    let sample = Sample::new();
    let unknown = lith(args![
        "bench",
        "nosuchsuite",
        "--out",
        sample.path("out"),
        "--work",
        sample.path("work")
    ]);
    assert_eq!(unknown.status.code(), Some(1));
    let text = String::from_utf8(unknown.stderr).unwrap();
    assert!(text.contains("nosuchsuite") && text.contains("gentle"), "{text}");
    let missing =
        lith(args!["bench", "check", "--corpus", sample.path("none"), "--out", sample.path("out")]);
    assert_eq!(missing.status.code(), Some(1));
    assert!(complaint(&missing).contains("no folder and no corpus"));
    let list = printed(args!["bench", "--list"]);
    assert!(list.starts_with("erofs ") && list.lines().count() > 10, "{list}");
}
