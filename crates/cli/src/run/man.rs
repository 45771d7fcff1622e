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
    exit::Outcome,
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
    page.render_synopsis_section(output)?;
    page.render_description_section(output)?;
    page.render_options_section(output)?;
    if command.has_subcommands() {
        page.render_subcommands_section(output)?;
    }
    let help = command.get_after_long_help().or(command.get_after_help());
    let help = help.map(ToString::to_string).unwrap_or_default();
    if help.is_empty() {
        return Ok(());
    }
    help.split("\n\n").try_for_each(|part| literal_section(part, output))
}

/// A section whose lines are not joined, from `Heading:` and indented lines.
fn literal_section(part: &str, output: &mut dyn Write) -> io::Result<()> {
    let (heading, lines) = part.split_once(":\n").unwrap_or(("Notes", part));
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
            assert!(page.contains(".SH EXAMPLES"), "{}", verb.get_name());
        }
    }
}
