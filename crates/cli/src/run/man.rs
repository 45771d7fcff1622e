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
        None => of_program(command, output),
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

/// What reads or writes at addresses.
const REMOTE: &[&str] = &[
    "build", "cat", "check", "diff", "dump", "extract", "flatten", "info", "ls", "map", "merge",
    "mount", "push", "pull", "rebuild", "record", "report", "stat", "tar",
];

/// Variables of the environment, and the verbs that they concern: without any, all of them.
const ENVIRONMENT: [(&str, &[&str], &str); 10] = [
    (
        "SOURCE_DATE_EPOCH",
        &["build", "mkfs.erofs"],
        "Seconds since 1970: the timestamp of the image, to which later times become equal; see -T.",
    ),
    (
        "TMPDIR",
        &[
            "build", "cat", "check", "diff", "dump", "extract", "info", "ls", "map", "mount",
            "report", "stat", "tar",
        ],
        "The directory for temporary data: what a pipe has, and decoded data that don't fit memory.",
    ),
    ("TZ", &["ls", "stat"], "The time zone of --local."),
    (
        "XDG_CACHE_HOME",
        REMOTE,
        "The parent of the directory for what is fetched from servers [default: ~/.cache].",
    ),
    ("LITH_CACHE_LIMIT", REMOTE, "How much that directory may hold, as 500M or 20G [default: 8G]."),
    (
        "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_PROFILE, AWS_REGION, AWS_ENDPOINT_URL",
        REMOTE,
        "Keys and place of s3:// addresses, as other programs read them.",
    ),
    (
        "AZURE_STORAGE_ACCOUNT, AZURE_STORAGE_KEY, AZURE_STORAGE_SAS_TOKEN, AZURE_STORAGE_ENDPOINT, AZURE_STORAGE_CONNECTION_STRING",
        REMOTE,
        "Account, key and place of az:// addresses.",
    ),
    ("LITH_HTTP_AUTHORIZATION", REMOTE, "The header Authorization for web servers."),
    (
        "DOCKER_CONFIG, REGISTRY_AUTH_FILE",
        REMOTE,
        "The directory or the file with logins at registries, for oci:// and docker:// addresses.",
    ),
    ("NO_COLOR", &[], "If set and not empty, nothing is coloured unless --color demands it."),
];

/// The programs of erofs-utils, and the verb that does the same.
const APPLETS: [(&str, &str); 5] = [
    ("mkfs.erofs", "lith-build(1), fsck.erofs(1), mount.erofs(1)"),
    ("fsck.erofs", "lith-check(1), lith-extract(1), mkfs.erofs(1)"),
    ("dump.erofs", "lith-info(1), lith-map(1), mkfs.erofs(1)"),
    ("erofsfuse", "lith-mount(1), mount.erofs(1), fusermount3(1)"),
    ("mount.erofs", "lith-mount(1), erofsfuse(1), mount(8)"),
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

/// The variables that concern a verb or an applet; without a name, all.
fn environment(name: Option<&str>, output: &mut dyn Write) -> io::Result<()> {
    let is_applet = name.is_some_and(|name| APPLETS.iter().any(|(applet, _)| *applet == name));
    let mut all = ENVIRONMENT.iter().filter(|(_, verbs, _)| {
        name.is_none_or(|name| verbs.contains(&name) || verbs.is_empty() && !is_applet)
    });
    let Some(first) = all.next() else { return Ok(()) };
    writeln!(output, ".SH ENVIRONMENT")?;
    for (name, _, text) in iter::once(first).chain(all) {
        writeln!(output, ".TP\n\\fB{name}\\fR\n{}", text.replace('-', "\\-"))?;
    }
    Ok(())
}

fn exit_status(meanings: &[(u8, &str)], output: &mut dyn Write) -> io::Result<()> {
    writeln!(output, ".SH \"EXIT STATUS\"")?;
    for (code, meaning) in meanings {
        writeln!(output, ".TP\n\\fB{code}\\fR\n{meaning}")?;
    }
    Ok(())
}

fn see_also(pages: &str, output: &mut dyn Write) -> io::Result<()> {
    writeln!(output, ".SH \"SEE ALSO\"\n{}", pages.replace('-', "\\-"))
}

/// The sections that pages of verbs end with.
fn of_verb(verb: &str, output: &mut dyn Write) -> io::Result<()> {
    environment(Some(verb), output)?;
    exit_status(Convention::of(verb).meanings(), output)?;
    let related = RELATED.iter().find(|(name, _)| *name == verb);
    let related = related.map(|(_, pages)| format!(", {pages}")).unwrap_or_default();
    see_also(&format!("lith(1){related}"), output)
}

/// The sections that the pages of lith and of applets end with. That of lith has its exit codes already.
fn of_program(command: &Command, output: &mut dyn Write) -> io::Result<()> {
    let name = command.get_name();
    let Some((_, related)) = APPLETS.iter().find(|(applet, _)| *applet == name) else {
        environment(None, output)?;
        let applets: Vec<_> = APPLETS.iter().map(|(name, _)| format!("{name}(1)")).collect();
        return see_also(&applets.join(", "), output);
    };
    environment(Some(name), output)?;
    exit_status(&[(0, "Success."), (1, "Anything else.")], output)?;
    see_also(&format!("lith(1), {related}"), output)
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

    fn page(command: &Command) -> String {
        let mut page = Vec::new();
        render(command, &mut page).unwrap();
        String::from_utf8(page).unwrap()
    }

    #[test]
    fn the_page_of_lith_lists_all_variables_and_applets() {
        let mut command = args::command();
        command.build();
        let page = page(&command);
        for (names, _, _) in ENVIRONMENT {
            assert!(page.contains(&format!("\\fB{names}\\fR")), "{names}");
        }
        assert_eq!(page.to_uppercase().matches("EXIT STATUS").count(), 1);
        assert!(page.contains(".SH \"SEE ALSO\"\nmkfs.erofs(1), "));
    }

    #[test]
    fn pages_of_applets_end_as_those_of_verbs() {
        for (applet, related) in APPLETS {
            let page = page(&Command::new(applet));
            assert!(
                page.contains(&format!(
                    ".SH \"SEE ALSO\"\nlith(1), {}",
                    related.replace('-', "\\-")
                )),
                "{page}"
            );
            assert!(page.contains(".SH \"EXIT STATUS\"\n.TP\n\\fB0\\fR\nSuccess."), "{page}");
            assert_eq!(page.contains(".SH ENVIRONMENT"), applet == "mkfs.erofs", "{page}");
        }
    }
}
