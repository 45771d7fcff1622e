//! Tests help texts, completions and manual pages.

use std::fs;

use super::{
    args,
    sample::{Sample, lith, printed},
};

const VERBS: [&str; 15] = [
    "build",
    "ls",
    "cat",
    "stat",
    "extract",
    "tar",
    "check",
    "info",
    "report",
    "map",
    "diff",
    "dump",
    "verity",
    "completions",
    "man",
];

#[test]
fn every_verb_has_help_with_examples() {
    let overview = printed(["--help"]);
    for verb in VERBS {
        assert!(overview.contains(&format!("\n  {verb} ")), "{verb}: {overview}");
        let help = printed([verb, "--help"]);
        assert!(help.contains("\nExamples:\n  "), "{help}");
        assert!(help.contains(&format!("lith {verb} ")), "{help}");
        // For ls, -h means sizes for people.
        if verb == "ls" {
            continue;
        }
        let short = printed([verb, "-h"]);
        assert!(short.len() < help.len() && short.contains("Usage: lith "), "{short}");
    }
}

#[test]
fn the_version_has_name_and_number() {
    assert_eq!(printed(["--version"]), format!("lith {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn the_verb_help_explains_the_others() {
    assert_eq!(printed(["help", "stat"]), printed(["stat", "--help"]));
    assert_eq!(printed(["help"]), printed(["--help"]));
}

#[test]
fn all_verbs_are_quiet_verbose_or_coloured_on_request() {
    let (_sample, image) = Sample::built();
    for verb in ["ls", "check", "info", "dump"] {
        let verbose = lith(args![verb, "-v", image]);
        let last = String::from_utf8(verbose.stderr).unwrap();
        assert!(last.starts_with("lith: ") && last.contains(" s, "), "{verb}: {last}");
        assert_eq!(verbose.stdout, lith(args!["--verbose", verb, image]).stdout, "{verb}");
    }
    assert_eq!(printed(args!["-q", "check", image]), "");
    let coloured = printed(args!["ls", "--color", "always", image]);
    assert!(coloured.contains("\n\x1b[1m\x1b[34msub\x1b[0m\n"), "{coloured:?}");
    assert!(!printed(args!["ls", image]).contains('\x1b'));
    let error = lith(args!["ls", "--color=always", image, "none"]).stderr;
    assert!(error.starts_with(b"\x1b[1m\x1b[31mlith\x1b[0m: "));
    // The exit codes of check also apply if an option precedes it.
    assert_eq!(lith(args!["-q", "check", "/nowhere"]).status.code(), Some(8));
}

#[test]
fn no_argument_prints_the_usage() {
    let output = lith([""; 0]);
    assert!(String::from_utf8(output.stderr).unwrap().contains("Usage: lith [OPTIONS] <VERB>"));
}

#[test]
fn completions_know_the_verbs() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = printed(["completions", shell]);
        assert!(VERBS.iter().all(|verb| script.contains(verb)), "{shell}");
        assert!(script.contains("dereference-hard-links"), "{shell}");
    }
}

#[test]
fn verbs_and_applets_have_manual_pages() {
    let dir = tempfile::tempdir().unwrap();
    let pages = dir.path().join("man1");
    printed(args!["man", pages]);
    for verb in VERBS {
        let page = fs::read_to_string(pages.join(format!("lith-{verb}.1"))).unwrap();
        assert!(page.contains(".SH EXAMPLES"), "{verb}");
    }
    for applet in ["mkfs.erofs", "fsck.erofs", "dump.erofs", "erofsfuse", "mount.erofs"] {
        let page = fs::read_to_string(pages.join(format!("{applet}.1"))).unwrap();
        assert!(page.contains(".SH SYNOPSIS") && page.contains(".SH OPTIONS"), "{applet}");
    }
    assert!(fs::read_to_string(pages.join("lith.1")).unwrap().contains(".SH EXIT STATUS"));
    assert!(printed(["man"]).contains(".SH EXIT STATUS"));
}
