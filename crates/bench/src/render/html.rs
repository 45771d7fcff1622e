//! Renders results as an HTML page that loads nothing.

use lith_markup::{Html, html};

use super::{
    grid::{self, Grid, Head, Selection},
    plot, prose,
};
use crate::results::{Results, Suite, Table};

/// The whole page: what holds for all, and each suite with its plots, tables and commands. It has no script and
/// makes no requests.
pub(crate) fn page(results: &Results) -> String {
    let mut page = Html::default();
    html!(
        page,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>lith bench, ",
        results.machine.date,
        "</title>\n<style>\n",
    );
    page.markup(include_str!("style.css"));
    html!(page, "</style>\n</head>\n<body>\n<h1>Results of lith bench</h1>\n<pre tabindex=\"0\">");
    html!(page, results.command, "</pre>\n<dl>");
    for (name, text) in grid::facts(results) {
        html!(page, "\n<dt>", name, "</dt><dd>", text, "</dd>");
    }
    html!(page, "\n</dl>");
    if results.suites.len() > 1 {
        html!(page, "\n<nav><ul>");
        for Suite { name, title, .. } in &results.suites {
            html!(page, "\n<li><a href=\"#", name, "\">", title, "</a></li>");
        }
        html!(page, "\n</ul></nav>");
    }
    for suite in &results.suites {
        section(&mut page, suite);
    }
    html!(page, "\n</body>\n</html>");
    page.into_string()
}

fn section(page: &mut Html, suite: &Suite) {
    html!(page, "\n<section id=\"", suite.name, "\">\n<h2>", suite.title, "</h2>\n");
    paragraph(page, &suite.about);
    for table in &suite.tables {
        part(page, suite, table);
    }
    let commands = grid::commands(suite);
    if !commands.is_empty() {
        html!(page, "\n<details>\n<summary>Commands</summary>\n<pre tabindex=\"0\">");
        for command in commands {
            html!(page, command, "\n");
        }
        html!(page, "</pre>\n</details>");
    }
    html!(page, "\n</section>");
}

fn paragraph(page: &mut Html, text: &str) {
    html!(page, "<p>");
    for (is_code, text) in prose::pieces(text) {
        if is_code {
            html!(page, "<code>", text, "</code>");
        } else {
            html!(page, text);
        }
    }
    html!(page, "</p>");
}

fn part(page: &mut Html, suite: &Suite, table: &Table) {
    let all = Selection::default();
    let Table { title, .. } = table;
    html!(page, "\n<h3 id=\"", suite.name, "-", table.name, "\">", title, "</h3>");
    for text in grid::caption(table, &all) {
        html!(page, "\n");
        paragraph(page, &text);
    }
    if let Some(svg) = plot::svg(table) {
        html!(
            page,
            "\n<div class=\"plot\" tabindex=\"0\" role=\"region\" aria-label=\"Plot: ",
            title,
            "\">\n"
        );
        page.drawing(&svg);
        html!(page, "</div>");
    }
    html!(
        page,
        "\n<div class=\"box\" tabindex=\"0\" role=\"region\" aria-label=\"Table: ",
        title,
        "\">\n"
    );
    grid(page, &Grid::long(table, &all));
    html!(page, "\n</div>");
}

fn grid(page: &mut Html, Grid { heads, rows }: &Grid) {
    html!(page, "<table>\n<thead><tr>");
    for Head { text, numeric } in heads {
        html!(page, "<th scope=\"col\"");
        if *numeric {
            html!(page, " class=\"number\"");
        }
        html!(page, ">", text, "</th>");
    }
    html!(page, "</tr></thead>\n<tbody>");
    for row in rows {
        html!(page, "\n<tr>");
        for (text, head) in row.iter().zip(heads) {
            match class(text, head.numeric) {
                "" => html!(page, "<td>", text, "</td>"),
                class => html!(page, "<td class=\"", class, "\">", text, "</td>"),
            }
        }
        html!(page, "</tr>");
    }
    html!(page, "\n</tbody>\n</table>");
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
        let page = page(&samples::results());
        assert_eq!(page.matches("<table>").count(), 3);
        assert_eq!(page.matches("<svg class").count(), 2, "one table has no plot");
        assert_eq!(page.matches("<details>").count(), 2);
        for text in ["PASS time 0.50x", "MISS time 1.00x", "<code>lith build -zlz4</code>"] {
            assert!(page.contains(text), "{text} is missing");
        }
    }

    #[test]
    fn targets_can_be_left_out() {
        let page = page(&samples::results().without_targets());
        assert!(!page.contains("PASS ") && !page.contains("MISS "), "{page}");
    }

    #[test]
    fn names_stay_text() {
        let page = page(&samples::results());
        for raw in ["<CPU>", "<&>", "lz4 <4", "3 & more"] {
            assert!(!page.contains(raw), "{raw} is not escaped");
        }
        assert!(page.contains("Example &lt;CPU&gt; &amp; Co"));
    }

    #[test]
    fn nothing_else_is_asked_for() {
        let page = page(&samples::results());
        for word in ["<script", "<link", "<img", "src=", "@import", "url("] {
            assert!(!page.contains(word), "{word}");
        }
        let named = page.matches("http").count();
        assert_eq!(named, 1 + page.matches("xmlns=\"http://www.w3.org/2000/svg\"").count());
    }
}
