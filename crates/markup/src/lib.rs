//! Writes HTML of which only literals are markup: any other value is text, whatever it contains.
//!
//! ```
//! use lith_markup::{Html, html};
//!
//! let (mut page, name) = (Html::default(), "a<b");
//! html!(page, "<p>", name, ": ", name.len(), "</p>\n");
//! assert_eq!(page.into_string(), "<p>a&lt;b: 3</p>\n");
//! ```
#![forbid(unsafe_code)]

use std::fmt::{Display, Write};

/// A page, or the beginning of one. [`html!`] appends to it.
#[derive(Clone, Debug, Default)]
pub struct Html(String);

impl Html {
    /// Appends markup. What is not written in the source is for [`Self::text()`], or [`Self::drawing()`].
    pub fn markup(&mut self, markup: &'static str) {
        self.0.push_str(markup);
    }

    /// Appends text, also for the value of an attribute in quotes: no character of it has a meaning for HTML.
    pub fn text(&mut self, text: &dyn Display) {
        write!(Escaped(&mut self.0), "{text}").expect("a string takes any text");
    }

    /// Appends an SVG as it is. What drew it escapes the texts in it.
    pub fn drawing(&mut self, svg: &str) {
        self.0.push_str(svg);
    }

    /// The page as text.
    #[must_use]
    pub fn into_string(self) -> String {
        self.0
    }
}

struct Escaped<'a>(&'a mut String);

impl Write for Escaped<'_> {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        for c in text.chars() {
            match c {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#x27;"),
                '/' => self.0.push_str("&#x2f;"),
                c => self.0.push(c),
            }
        }
        Ok(())
    }
}

/// Appends pieces to an [`Html`]: literals are markup, values of any other expression are text.
#[macro_export]
macro_rules! html {
    ($page:expr $(,)?) => {};
    ($page:expr, $markup:literal $(, $($rest:tt)*)?) => {{
        $page.markup($markup);
        $crate::html!($page $(, $($rest)*)?);
    }};
    ($page:expr, $text:expr $(, $($rest:tt)*)?) => {{
        $page.text(&$text);
        $crate::html!($page $(, $($rest)*)?);
    }};
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_literals_are_markup() {
        let mut page = Html::default();
        let raw = String::from("</a> & \"'<\u{e9}\u{2192}");
        html!(
            page,
            "<a title=\"",
            raw,
            "\">",
            format_args!("{raw}{}", 7),
            "</a>",
            &*raw,
            raw.len()
        );
        let text = "&lt;&#x2f;a&gt; &amp; &quot;&#x27;&lt;\u{e9}\u{2192}";
        let expected = format!("<a title=\"{text}\">{text}7</a>{text}15");
        assert_eq!(page.into_string(), expected);
    }
}
