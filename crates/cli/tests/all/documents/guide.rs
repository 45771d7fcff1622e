//! Tests that the commands of the guide print what its pages show.
//!
//! A line `    $ command` is run by bash in a folder with the files that pages speak of, and what follows it is its
//! output: `…` matches any text of a line, a line `...` for any lines. After `    # command`, root runs it.

use std::{
    collections::BTreeMap,
    env, fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
};

use lith_testkit::tier;

use crate::end_to_end::command;

#[test]
fn the_first_image() {
    assert_prints("guide/first-image.md");
}

#[test]
fn embedded() {
    assert_prints("guide/embedded.md");
}

#[test]
fn reproducible_ci() {
    assert_prints("guide/reproducible.md");
}

#[test]
fn data_sets() {
    assert_prints("guide/datasets.md");
}

#[test]
fn diagnosing() {
    assert_prints("guide/diagnosing.md");
}

#[test]
fn the_format() {
    assert_prints("format.md");
}

/// What other pages show is of trees that aren't here, but their options exist.
#[test]
fn the_options_of_all_pages_exist() {
    let folder = Folder::new();
    let (mut count, mut refused) = (0, Vec::new());
    for page in fs::read_dir(docs().join("guide")).unwrap().map(|entry| entry.unwrap().path()) {
        let steps = steps(&fs::read_to_string(&page).unwrap());
        for step in steps.iter().filter(|step| is_harmless(step)) {
            count += 1;
            let (printed, _) = folder.run(&step.command);
            let is_usage = printed.contains("For more information, try '--help'");
            // Lists that the page speaks of aren't here.
            if is_usage && !printed.contains("No such file or directory") {
                let place = format!("{}:{}", page.display(), step.line);
                refused.push(format!("{place}: {}\n{printed}", step.command));
            }
        }
    }
    assert!(refused.is_empty(), "\n{}", refused.concat());
    assert!(count > 60, "{count} commands");
}

/// Commands of lith alone that end by themselves, without a network, and that succeed.
fn is_harmless(step: &Step) -> bool {
    let mut words = step.command.split_whitespace();
    let verb = words.clone().nth(1).unwrap_or_default();
    words.next() == Some("lith")
        && !step.as_root
        && !["mount", "umount", "record", "bench", "cache", "applets", "mkfs.erofs"].contains(&verb)
        && !["://", "|", "oci", "/boot", "/tmp", " - "]
            .iter()
            .any(|part| step.command.contains(part))
        && !step.expected.iter().any(|line| line.starts_with("error:"))
}

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

/// A command of a page.
struct Step {
    line: usize,
    command: String,
    as_root: bool,
    expected: Vec<String>,
}

fn steps(page: &str) -> Vec<Step> {
    let (mut steps, mut open, mut fenced) = (Vec::<Step>::new(), false, false);
    for (index, line) in page.lines().enumerate() {
        fenced ^= line.starts_with("```");
        let Some(code) = line.strip_prefix("    ").filter(|_| !fenced) else {
            open = false;
            continue;
        };
        let prompt = code.strip_prefix("$ ").map(|command| (command, false));
        let prompt = prompt.or_else(|| code.strip_prefix("# ").map(|command| (command, true)));
        match (prompt, steps.last_mut()) {
            (Some((command, as_root)), _) => {
                let (line, command) = (index + 1, command.to_owned());
                steps.push(Step { line, command, as_root, expected: Vec::new() });
                open = true;
            }
            (None, Some(step)) if open => step.expected.push(code.to_owned()),
            (None, _) => {}
        }
    }
    steps
}

/// Runs the commands of a page one after the other.
#[track_caller]
fn assert_prints(page: &str) {
    let folder = Folder::new();
    let text = fs::read_to_string(docs().join(page)).unwrap();
    let mut exports = String::new();
    let steps = steps(&text);
    assert!(!steps.is_empty());
    for step in steps {
        if step.command.starts_with("export ") {
            exports = format!("{exports}{}; ", step.command);
        }
        if step.as_root && !may_run_as_root(&step, page) {
            continue;
        }
        let (printed, succeeded) = folder.run(&format!("{exports}{}", step.command));
        let lines: Vec<_> = printed.lines().collect();
        let context = || format!("{page}:{}: {} printed\n{printed}", step.line, step.command);
        assert!(matches(&step.expected, &lines), "{}", context());
        assert!(succeeded || !step.expected.is_empty(), "{}", context());
    }
}

/// Devices of a page are those of its reader, not of this machine.
fn may_run_as_root(step: &Step, page: &str) -> bool {
    let may = tier::can_mount();
    if let Err(reason) = &may {
        tier::skip("guide", format_args!("commands of root in {page}: {reason}"));
    }
    may.is_ok() && !step.command.contains("/dev/")
}

fn matches(expected: &[String], lines: &[&str]) -> bool {
    match expected {
        [] => lines.is_empty(),
        [any, rest @ ..] if any.trim() == "..." => {
            (0..=lines.len()).any(|skipped| matches(rest, lines.get(skipped..).unwrap_or_default()))
        }
        [first, rest @ ..] => lines
            .split_first()
            .is_some_and(|(line, lines)| matches_line(first, line) && matches(rest, lines)),
    }
}

fn matches_line(expected: &str, line: &str) -> bool {
    match expected.trim_end().split_once('…') {
        None => expected.trim_end() == line.trim_end(),
        Some((start, rest)) => line.strip_prefix(start).is_some_and(|line| {
            let ends = line.char_indices().map(|(position, _)| position).chain([line.len()]);
            ends.into_iter().any(|end| line.get(end..).is_some_and(|line| matches_line(rest, line)))
        }),
    }
}

#[test]
fn output_is_compared_with_gaps() {
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    assert!(matches(&lines("a … b\n...\nend"), &["a 1 2 b", "x", "y", "end"]));
    assert!(matches(&lines("..."), &[]));
    assert!(!matches(&lines("a … b"), &["a 1 c"]));
    assert!(!matches(&lines("a"), &["a", "b"]));
    assert!(!matches(&[], &["a"]));
}

/// The folder in which the commands of a page run.
struct Folder {
    folder: tempfile::TempDir,
}

impl Folder {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let numbers: String =
            (1..=20_000).flat_map(|number: u32| [number.to_string(), "\n".into()]).collect();
        let files = BTreeMap::from([
            ("rootfs/bin/sh", "#!/bin/false\n"),
            ("rootfs/etc/hostname", "box\n"),
            ("rootfs/etc/motd", "welcome\n"),
            ("rootfs/lib/numbers", &*numbers),
            ("dataset/train/0001.txt", "sample 1\n"),
            ("dataset/train/0002.txt", "sample 2\n"),
            ("dataset/train/labels.csv", &*numbers),
            ("dataset/test/0003.txt", "sample 3\n"),
        ]);
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        symlink("motd", folder.path().join("rootfs/etc/issue")).unwrap();
        let folder = Self { folder };
        let (printed, succeeded) = folder.run("lith build -q rootfs rootfs.erofs");
        assert!(succeeded, "{printed}");
        folder
    }

    /// Returns both outputs as they are mixed on a terminal, and whether the command succeeded.
    fn run(&self, line: &str) -> (String, bool) {
        let program = PathBuf::from(command().get_program());
        let mut path = vec![program.parent().unwrap().to_owned()];
        path.extend(env::split_paths(&env::var_os("PATH").unwrap()));
        let output = Command::new("bash")
            .args(["-c", &format!("exec 2>&1 </dev/null; umask 022; {line}")])
            .current_dir(self.folder.path())
            .env("PATH", env::join_paths(path).unwrap())
            .envs([("LC_ALL", "C"), ("TZ", "UTC")])
            .env_remove("SOURCE_DATE_EPOCH")
            .output()
            .unwrap();
        (String::from_utf8_lossy(&output.stdout).into_owned(), output.status.success())
    }
}
