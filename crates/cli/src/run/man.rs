//! Writes manual pages from the definitions of command lines (`lith man`).

use std::{
    fs,
    io::{self, Write},
    iter,
};

use anyhow::Context;
use clap::Command;
use clap_mangen::Man as Page;

use crate::{
    args::{self, man::Man},
    exit::{Convention, Outcome},
    output::{self, error::Place},
};

/// Writes the pages of the program, its verbs and its `applets` into a directory, or the program's page to standard
/// output.
pub(crate) fn run(
    request: &Man,
    applets: impl Iterator<Item = Command>,
) -> anyhow::Result<Outcome> {
    let mut command = args::command();
    command.build();
    let Some(directory) = &request.directory else {
        let mut output = output::stdout()?;
        render(&command, &mut output)?;
        return output::finish(output);
    };
    fs::create_dir_all(directory)
        .with_context(|| format!("{}: cannot create", Place(directory)))?;
    // A page has lith's version, not that of erofs-utils.
    let applets: Vec<_> = applets.map(|applet| applet.version(env!("CARGO_PKG_VERSION"))).collect();
    for command in iter::once(&command).chain(args::verbs(&command)).chain(&applets) {
        let name = command.get_display_name().unwrap_or_else(|| command.get_name());
        let path = directory.join(format!("{name}.1"));
        let mut page = Vec::new();
        render(command, &mut page)?;
        fs::write(&path, page).with_context(|| format!("{}: cannot write", Place(&path)))?;
    }
    Ok(Outcome::Success)
}

fn render(command: &Command, output: &mut dyn Write) -> io::Result<()> {
    let page = Page::new(command.clone());
    page.render_title(output)?;
    page.render_name_section(output)?;
    synopsis(command, output)?;
    page.render_description_section(output)?;
    page.render_options_section(output)?;
    if command.has_subcommands() {
        page.render_subcommands_section(output)?;
    }
    let help = command.get_after_long_help().or(command.get_after_help());
    let help = help.map(ToString::to_string).unwrap_or_default();
    for part in help.split("\n\n").filter(|part| !part.is_empty()) {
        literal_section(part, output)?;
    }
    match command.get_bin_name().and_then(|name| name.strip_prefix("lith ")) {
        Some(verb) => of_verb(verb, output),
        None => Ok(()),
    }
}

/// How the command is called. The list of all options follows in a section of its own.
fn synopsis(command: &Command, output: &mut dyn Write) -> io::Result<()> {
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim().strip_prefix("Usage: ").unwrap_or(&usage).replace('-', "\\-");
    writeln!(output, ".SH SYNOPSIS\n.nf")?;
    usage.lines().try_for_each(|line| writeln!(output, "\\&{}", line.trim()))?;
    writeln!(output, ".fi")
}

/// Variables of the environment, and the verbs that they concern.
const ENVIRONMENT: [(&str, &[&str], &str); 4] = [
    (
        "SOURCE_DATE_EPOCH",
        &["build"],
        "Seconds since 1970: the timestamp of the image, to which later times become equal; see -T.",
    ),
    (
        "TMPDIR",
        &["diff", "dump", "extract", "info", "report", "tar"],
        "The directory for temporary data.",
    ),
    ("TZ", &["ls", "stat"], "The time zone of --local."),
    ("NO_COLOR", &[], "If set and not empty, nothing is coloured unless --color demands it."),
];

/// Pages that users of a verb may want besides that of lith.
const RELATED: [(&str, &str); 14] = [
    ("build", "lith-check(1), lith-mount(1), mkfs.erofs(1)"),
    ("ls", "lith-stat(1), lith-cat(1), lith-map(1)"),
    ("cat", "lith-ls(1), lith-extract(1)"),
    ("stat", "lith-ls(1), lith-map(1)"),
    ("extract", "lith-tar(1), lith-cat(1)"),
    ("tar", "lith-extract(1), tar(1)"),
    ("mount", "lith-umount(1), erofsfuse(1), mount(8)"),
    ("umount", "lith-mount(1), umount(8)"),
    ("check", "lith-info(1), fsck.erofs(1)"),
    ("info", "lith-report(1), lith-map(1), dump.erofs(1)"),
    ("report", "lith-info(1)"),
    ("diff", "lith-dump(1), diff(1)"),
    ("dump", "lith-diff(1)"),
    ("verity", "lith-build(1), lith-check(1), veritysetup(8), fsverity(1)"),
];

/// The sections that pages of verbs end with.
fn of_verb(verb: &str, output: &mut dyn Write) -> io::Result<()> {
    writeln!(output, ".SH ENVIRONMENT")?;
    for (name, verbs, text) in ENVIRONMENT {
        if verbs.is_empty() || verbs.contains(&verb) {
            writeln!(output, ".TP\n\\fB{name}\\fR\n{}", text.replace('-', "\\-"))?;
        }
    }
    writeln!(output, ".SH \"EXIT STATUS\"")?;
    for (code, meaning) in Convention::of(verb).meanings() {
        writeln!(output, ".TP\n\\fB{code}\\fR\n{meaning}")?;
    }
    let related = RELATED.iter().find(|(name, _)| *name == verb);
    let related = related.map(|(_, pages)| format!(", {pages}")).unwrap_or_default();
    writeln!(output, ".SH \"SEE ALSO\"\nlith(1){}", related.replace('-', "\\-"))
}

/// A section whose lines are not joined, from `Heading:` and indented lines.
fn literal_section(part: &str, output: &mut dyn Write) -> io::Result<()> {
    let (heading, lines) = part.split_once(":\n").unwrap_or(("Notes", part));
    let heading = if heading == "Exit codes" { "exit status" } else { heading };
    writeln!(output, ".SH {}\n.nf", heading.to_uppercase())?;
    for line in lines.lines() {
        let line = line.strip_prefix("  ").unwrap_or(line);
        writeln!(output, "\\&{}", line.replace('\\', "\\e").replace('-', "\\-"))?;
    }
    writeln!(output, ".fi")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_examples_are_not_joined() {
        let mut page = Vec::new();
        literal_section("Examples:\n  lith -R a\\b\n  .dot", &mut page).unwrap();
        let page = String::from_utf8(page).unwrap();
        assert_eq!(page, ".SH EXAMPLES\n.nf\n\\&lith \\-R a\\eb\n\\&.dot\n.fi\n");
    }

    #[test]
    fn every_verb_has_a_page() {
        let mut command = args::command();
        command.build();
        for verb in args::verbs(&command) {
            let mut page = Vec::new();
            render(verb, &mut page).unwrap();
            let page = String::from_utf8(page).unwrap();
            for section in
                [".SH SYNOPSIS", ".SH EXAMPLES", ".SH ENVIRONMENT", ".SH \"EXIT STATUS\""]
            {
                assert!(page.contains(section), "{} has no {section}", verb.get_name());
            }
            let usage = format!("\\&lith {}", verb.get_name());
            assert!(page.contains(&usage), "{page}");
        }
    }
}
