//! Renders results as an HTML page that loads nothing.

use anyhow::Context;
use minijinja::{AutoEscape, Environment, Value, context};

use super::{
    grid::{self, Grid, Selection},
    plot, prose,
};
use crate::results::{Results, Suite, Table};

/// The whole page: what holds for all, and each suite with its plots, tables and commands. It has no script and
/// makes no requests.
pub(crate) fn html(results: &Results) -> anyhow::Result<String> {
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    let page = context! {
        date => results.machine.date,
        command => results.command,
        facts => grid::facts(results),
        suites => results.suites.iter().map(section).collect::<Vec<_>>(),
    };
    let page = environment.render_str(include_str!("page.html"), page);
    page.context("the page can't be written")
}

fn section(suite: &Suite) -> Value {
    context! {
        id => suite.name,
        title => suite.title,
        about => prose::pieces(&suite.about),
        tables => suite.tables.iter().map(|table| part(suite, table)).collect::<Vec<_>>(),
        commands => grid::commands(suite),
    }
}

fn part(suite: &Suite, table: &Table) -> Value {
    let all = Selection::default();
    let Grid { heads, rows } = Grid::long(table, &all);
    let row = |cells: Vec<String>| -> Vec<_> {
        let cells = cells.into_iter().zip(&heads);
        cells.map(|(text, head)| (class(&text, head.numeric), text)).collect()
    };
    let caption = grid::caption(table, &all);
    context! {
        id => format!("{}-{}", suite.name, table.name),
        title => table.title,
        caption => caption.iter().map(|text| prose::pieces(text)).collect::<Vec<_>>(),
        svg => plot::svg(table),
        rows => rows.into_iter().map(row).collect::<Vec<_>>(),
        heads,
    }
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
    fn targets_can_be_left_out() {
        let page = html(&samples::results().without_targets()).unwrap();
        assert!(!page.contains("PASS ") && !page.contains("MISS "), "{page}");
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
