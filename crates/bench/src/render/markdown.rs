//! Renders results as Markdown.

use super::{
    grid::{self, Grid, Selection},
    prose,
};
use crate::results::{Results, Suite, Table};

/// A whole document: what holds for all, and each suite with its tables and commands.
pub(crate) fn markdown(results: &Results) -> String {
    let mut parts = vec!["# Results of lith bench".to_owned(), header(results)];
    parts.extend(results.suites.iter().map(suite));
    joined(parts) + "\n"
}

/// A suite with its tables and commands.
fn suite(suite: &Suite) -> String {
    let mut parts = vec![format!("## {}", line(&suite.title)), prose(&suite.about)];
    for table in &suite.tables {
        parts.push(format!("### {}", line(&table.title)));
        parts.push(table_with_caption(table, &Selection::default()));
    }
    parts.push(commands(suite));
    joined(parts)
}

/// When, where and by which command.
pub(super) fn header(results: &Results) -> String {
    let facts = grid::facts(results);
    let facts: Vec<_> =
        facts.iter().map(|(name, text)| format!("* {name}: {}", prose(text))).collect();
    joined([fenced(&[&results.command]), facts.join("\n")])
}

/// A table with its description.
pub(super) fn table_with_caption(table: &Table, selection: &Selection) -> String {
    let caption = grid::caption(table, selection);
    let caption = caption.iter().map(|paragraph| prose(paragraph));
    joined(caption.chain([cells(&Grid::long(table, selection))]))
}

fn commands(suite: &Suite) -> String {
    let commands = grid::commands(suite);
    if commands.is_empty() {
        return String::new();
    }
    format!("Commands:\n\n{}", fenced(&commands))
}

/// Cells between bars.
pub(super) fn cells(grid: &Grid) -> String {
    let heads: Vec<_> = grid.heads.iter().map(|head| line(&head.text)).collect();
    let rules: Vec<_> = grid
        .heads
        .iter()
        .map(|head| if head.numeric { "---:" } else { "---" }.to_owned())
        .collect();
    let rows = grid.rows.iter().map(|row| row.iter().map(|cell| line(cell)).collect());
    let lines = [heads, rules].into_iter().chain(rows);
    lines.map(|cells: Vec<String>| barred(&cells)).collect::<Vec<_>>().join("\n")
}

pub(super) fn picture(title: &str, path: &str) -> String {
    let plain = !path.contains([' ', '(', ')']);
    let path = if plain { path.to_owned() } else { format!("<{path}>") };
    format!("![{}]({path})", line(title))
}

/// Paragraphs and blocks with blank lines between them.
fn joined(parts: impl IntoIterator<Item = String>) -> String {
    let parts: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join("\n\n")
}

/// Plain text in one line, with nothing that Markdown would take for its own.
pub(super) fn line(text: &str) -> String {
    escaped(text, "\\`*[]|~")
}

/// Plain text in one line, with code in backquotes.
fn prose(text: &str) -> String {
    let written = |(code, piece)| {
        if code { format!("`{}`", one_line(piece)) } else { line(piece) }
    };
    prose::pieces(text).into_iter().map(written).collect()
}

fn escaped(text: &str, special: &str) -> String {
    let mut safe = String::new();
    let text = one_line(text);
    for (at, letter) in text.char_indices() {
        match letter {
            '<' => safe.push_str("&lt;"),
            '&' => safe.push_str("&amp;"),
            '_' if !within_word(&text, at) => safe.push_str("\\_"),
            _ => {
                safe.extend(special.contains(letter).then_some('\\'));
                safe.push(letter);
            }
        }
    }
    safe
}

/// Whether letters or digits are on both sides of a character of one byte.
fn within_word(text: &str, at: usize) -> bool {
    let (before, after) = text.split_at(at);
    before.ends_with(char::is_alphanumeric)
        && after.chars().nth(1).is_some_and(char::is_alphanumeric)
}

fn one_line(text: &str) -> String {
    text.split(['\n', '\r']).collect::<Vec<_>>().join(" ")
}

fn barred(cells: &[String]) -> String {
    let mut text = String::from("|");
    for cell in cells {
        text.push_str(if cell.is_empty() { "" } else { " " });
        text.push_str(cell);
        text.push_str(" |");
    }
    text
}

/// Lines of code, between fences that are longer than any run of backquotes in them.
fn fenced(lines: &[&str]) -> String {
    let code = lines.join("\n");
    let runs = code.split(|letter| letter != '`').map(str::len);
    let fence = "`".repeat(runs.max().unwrap_or(0).max(2) + 1);
    format!("{fence}\n{code}\n{fence}")
}

#[cfg(test)]
mod tests {
    use super::{super::samples, *};

    #[test]
    fn a_document_has_all_that_was_measured() {
        let text = markdown(&samples::results());
        assert_eq!(text, include_str!("samples.md"), "{text}");
    }

    #[test]
    fn names_cannot_break_out_of_a_cell() {
        assert_eq!(line("a|b <i>&amp; *x* _y_ s_q"), "a\\|b &lt;i>&amp;amp; \\*x\\* \\_y\\_ s_q");
        assert_eq!(line("two\nlines"), "two lines");
        assert_eq!(line("back\\slash `tick`"), "back\\\\slash \\`tick\\`");
    }

    #[test]
    fn backquotes_in_prose_are_code() {
        assert_eq!(prose("`tar cf - . | cat` of a*"), "`tar cf - . | cat` of a\\*");
        assert_eq!(prose("one ` only"), "one \\` only");
    }

    #[test]
    fn fences_are_longer_than_what_they_hold() {
        assert_eq!(fenced(&["a"]), "```\na\n```");
        assert_eq!(fenced(&["a ```` b"]), "`````\na ```` b\n`````");
    }

    #[test]
    fn paths_with_blanks_are_bracketed() {
        assert_eq!(picture("a]", "b/c.svg"), "![a\\]](b/c.svg)");
        assert_eq!(picture("a", "b c.svg"), "![a](<b c.svg>)");
    }

    #[test]
    fn a_table_without_rows_is_a_head() {
        let mut table = samples::table();
        table.rows.clear();
        assert_eq!(cells(&Grid::long(&table, &Selection::default())), "| contender |\n| --- |");
    }
}
