//! Renders results as an HTML page that loads nothing.

use minijinja::{AutoEscape, Environment};
use serde::Serialize;

use super::{
    grid::{self, Grid, Selection},
    plot, prose,
};
use crate::results::{Results, Suite, Table};

/// Why there is no page.
#[derive(Debug, thiserror::Error)]
#[error("the page can't be written")]
pub struct RenderError(#[from] minijinja::Error);

/// The whole page: what holds for all, and each suite with its plots, tables and commands. It has no script and
/// makes no requests.
///
/// # Errors
///
/// A template that does not fit, which the tests rule out.
pub fn html(results: &Results) -> Result<String, RenderError> {
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    let page = environment.render_str(include_str!("page.html"), Page::of(results))?;
    Ok(page)
}

#[derive(Serialize)]
struct Page<'a> {
    date: &'a str,
    command: &'a str,
    facts: Vec<Fact>,
    suites: Vec<Section<'a>>,
}

#[derive(Serialize)]
struct Fact {
    name: &'static str,
    text: String,
}

#[derive(Serialize)]
struct Section<'a> {
    id: &'a str,
    title: &'a str,
    about: Vec<Piece>,
    tables: Vec<Part<'a>>,
    commands: Vec<&'a str>,
}

#[derive(Serialize)]
struct Part<'a> {
    id: String,
    title: &'a str,
    caption: Vec<Vec<Piece>>,
    svg: Option<String>,
    heads: Vec<Head>,
    rows: Vec<Vec<Cell>>,
}

#[derive(Serialize)]
struct Head {
    text: String,
    numeric: bool,
}

#[derive(Serialize)]
struct Cell {
    text: String,
    class: &'static str,
}

#[derive(Serialize)]
struct Piece {
    code: bool,
    text: String,
}

impl<'a> Page<'a> {
    fn of(results: &'a Results) -> Self {
        let facts = grid::facts(results).into_iter().map(|(name, text)| Fact { name, text });
        Self {
            date: &results.machine.date,
            command: &results.command,
            facts: facts.collect(),
            suites: results.suites.iter().map(Section::of).collect(),
        }
    }
}

impl<'a> Section<'a> {
    fn of(suite: &'a Suite) -> Self {
        Self {
            id: &suite.name,
            title: &suite.title,
            about: pieces(&suite.about),
            tables: suite.tables.iter().map(|table| Part::of(suite, table)).collect(),
            commands: grid::commands(suite),
        }
    }
}

impl<'a> Part<'a> {
    fn of(suite: &Suite, table: &'a Table) -> Self {
        let all = Selection::default();
        let Grid { heads, rows } = Grid::long(table, &all);
        let row = |cells: Vec<String>| {
            let cells = cells.into_iter().zip(&heads);
            cells.map(|(text, head)| Cell { class: class(&text, head.numeric), text }).collect()
        };
        let rows = rows.into_iter().map(row).collect();
        let heads =
            heads.into_iter().map(|head| Head { text: head.text, numeric: head.numeric }).collect();
        Self {
            id: format!("{}-{}", suite.name, table.name),
            title: &table.title,
            caption: grid::caption(table, &all).iter().map(|text| pieces(text)).collect(),
            svg: plot::svg(table),
            heads,
            rows,
        }
    }
}

fn pieces(text: &str) -> Vec<Piece> {
    let pieces = prose::pieces(text).into_iter();
    pieces.map(|(code, text)| Piece { code, text: text.to_owned() }).collect()
}

/// The style of a cell. A missed target stands out.
fn class(text: &str, numeric: bool) -> &'static str {
    let has = |word: &str| text.split("; ").any(|verdict| verdict.starts_with(word));
    match () {
        () if numeric => "number",
        () if has("MISS ") => "miss",
        () if has("PASS ") => "pass",
        () => "",
    }
}

#[cfg(test)]
mod tests {
    use super::{super::samples, *};

    #[test]
    fn a_page_has_each_plot_and_table() {
        let page = html(&samples::results()).unwrap();
        assert_eq!(page.matches("<table>").count(), 3);
        assert_eq!(page.matches("<svg class").count(), 2, "one table has no plot");
        assert_eq!(page.matches("<details>").count(), 2);
        for text in ["PASS time 0.50x", "MISS time 1.00x", "<code>lith build -zlz4</code>"] {
            assert!(page.contains(text), "{text} is missing");
        }
    }

    #[test]
    fn names_stay_text() {
        let page = html(&samples::results()).unwrap();
        for raw in ["<CPU>", "<&>", "lz4 <4", "3 & more"] {
            assert!(!page.contains(raw), "{raw} is not escaped");
        }
        assert!(page.contains("Example &lt;CPU&gt; &amp; Co"));
    }

    #[test]
    fn nothing_else_is_asked_for() {
        let page = html(&samples::results()).unwrap();
        for word in ["<script", "<link", "<img", "src=", "@import", "url("] {
            assert!(!page.contains(word), "{word}");
        }
        let named = page.matches("http").count();
        assert_eq!(named, 1 + page.matches("xmlns=\"http://www.w3.org/2000/svg\"").count());
    }
}
