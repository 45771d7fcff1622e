//! Does `lith-bench` measure what is there, and report what is not?
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "in tests failures should be loud"
)]

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use lith_testkit::{
    noise::{self, Texture},
    place, tier,
};
use serde_json::Value;
use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_lith-bench");

/// A folder with a small tree, and with space for results.
struct Sample(TempDir);

impl Sample {
    /// `None` if the program to measure is not there: it is made in another crate.
    fn new() -> Option<Self> {
        let lith = Path::new(PROGRAM).with_file_name("lith");
        if !lith.exists() {
            let lith = lith.display();
            tier::skip("bench", format!("no {lith}: `cargo test --workspace` makes it"));
            return None;
        }
        tier::ran("bench");
        let sample = Self(place::folder());
        fs::create_dir_all(sample.path("src/sub")).unwrap();
        for (name, texture, length) in [
            ("empty", Texture::Text, 0),
            ("hello", Texture::Text, 13),
            ("sub/large", Texture::Text, 300_000),
            ("sub/noise", Texture::Noise, 50_000),
        ] {
            let path = sample.path("src").join(name);
            fs::write(path, noise::bytes(texture, 1, length)).unwrap();
        }
        Some(sample)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Runs the program with arguments and some of this folder's paths.
    fn bench(&self, arguments: &[&str], paths: &[(&str, &str)]) -> Output {
        let mut command = Command::new(PROGRAM);
        command.args(arguments);
        for (option, name) in paths {
            command.args([OsStr::new(option), self.path(name).as_os_str()]);
        }
        command.output().unwrap()
    }

    /// Runs suites on the tree; returns the results and the Markdown.
    fn measured(&self, suites: &[&str]) -> (Value, String) {
        // Neither corpora nor rivals of this machine take part.
        let arguments = [suites, &["--rivals", "nobody", "--repeat", "2"]].concat();
        let paths =
            [("--corpus", "src"), ("--out", "results"), ("--work", "work"), ("--corpora", "none")];
        let output = self.bench(&arguments, &paths);
        let log = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{log}");
        let result = |name: &str| fs::read_to_string(self.path("results").join(name)).unwrap();
        let html = result("results.html");
        assert!(html.starts_with("<!") && html.contains("</html>"));
        let markdown = String::from_utf8(output.stdout).unwrap();
        assert_eq!(markdown, result("results.md"));
        // Nothing else is left.
        assert_eq!(fs::read_dir(self.path("work")).unwrap().count(), 0);
        (serde_json::from_str(&result("results.json")).unwrap(), markdown)
    }
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

#[test]
fn images_are_built_checked_and_extracted() {
    let Some(sample) = Sample::new() else { return };
    let (results, markdown) = sample.measured(&["check", "extract", "squash"]);
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
    let Some(sample) = Sample::new() else { return };
    let (results, _) = sample.measured(&["tar", "random"]);
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
    let Some(sample) = Sample::new() else { return };
    let unknown = sample.bench(&["nosuchsuite"], &[("--out", "out"), ("--work", "work")]);
    assert_eq!(unknown.status.code(), Some(1));
    let complaint = text(&unknown.stderr);
    assert!(complaint.contains("nosuchsuite") && complaint.contains("gentle"), "{complaint}");
    let missing = sample.bench(&["check"], &[("--corpus", "none"), ("--out", "out")]);
    assert_eq!(missing.status.code(), Some(1));
    assert!(text(&missing.stderr).contains("no folder and no corpus"));
    let missing = sample.bench(&["check"], &[("--lith", "none"), ("--out", "out")]);
    assert_eq!(missing.status.code(), Some(1));
    assert!(text(&missing.stderr).contains("no lith"));
}

#[test]
fn its_help_and_its_list_need_nothing_else() {
    let printed = |argument: &str| {
        let output = Command::new(PROGRAM).arg(argument).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let list = printed("--list");
    assert!(list.starts_with("erofs ") && list.lines().count() > 10, "{list}");
    let help = printed("--help");
    assert!(help.contains("Usage: lith bench ") && help.contains("\nExamples:\n"), "{help}");
}
