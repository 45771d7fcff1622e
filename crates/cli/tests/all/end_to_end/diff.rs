//! Tests `lith diff`.

use std::fs;

use serde_json::Value;

use super::{
    args,
    sample::{Sample, complaint, lith, printed},
};

#[test]
fn differences_are_printed_with_paths() {
    let (sample, image) = Sample::built();
    fs::write(sample.src().join("hello"), "hello, earth\n").unwrap();
    fs::remove_file(sample.src().join("pipe")).unwrap();
    sample.set_time("", 1_700_000_000);
    let found = lith(args!["diff", image, sample.src()]);
    assert_eq!(found.status.code(), Some(1));
    let text = String::from_utf8(found.stdout).unwrap();
    assert!(text.contains("/hello: content at 7: 0x77 -> 0x65\n"), "{text}");
    assert!(text.contains("/hello: mtime "), "{text}");
    assert!(text.contains("/pipe: only in the first\n"), "{text}");
    let found = lith(args!["diff", "--json", "--ignore", "mtime,owner", image, sample.src()]);
    let lines = String::from_utf8(found.stdout).unwrap();
    let records: Vec<Value> =
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let what: Vec<_> = records.iter().map(|record| record["what"].as_str().unwrap()).collect();
    assert_eq!(what, ["content", "presence"]);
    assert_eq!((&records[0]["path"], &records[0]["position"]), (&"/hello".into(), &7.into()));
}

#[test]
fn quiet_prints_nothing() {
    let (sample, image) = Sample::built();
    assert_eq!(printed(args!["diff", "-q", image, sample.src()]), "");
    fs::write(sample.src().join("new"), "").unwrap();
    let found = lith(args!["diff", "-q", image, sample.src()]);
    let silent = (found.stdout.len(), found.stderr.len());
    assert_eq!((found.status.code(), silent), (Some(1), (0, 0)));
}

#[test]
fn a_failure_has_another_exit_code_than_a_difference() {
    let (sample, image) = Sample::built();
    let trouble = lith(args!["diff", image, sample.path("nothing")]);
    assert_eq!(trouble.status.code(), Some(2));
    assert!(complaint(&trouble).contains("nothing: "));
    let both = lith(["diff", "-", "-"]);
    assert_eq!(both.status.code(), Some(2));
}
