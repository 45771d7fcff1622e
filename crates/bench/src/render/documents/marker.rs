//! Parses markers.

use anyhow::bail;

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Marker {
    /// The results, without the folder and `.json`.
    pub(super) file: String,
    /// `SUITE` or `SUITE/TABLE`.
    pub(super) targets: Vec<String>,
    pub(super) form: Form,
    pub(super) metrics: Vec<String>,
    pub(super) series: Vec<String>,
    pub(super) variants: Vec<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Form {
    #[default]
    Full,
    Pivot,
    Picture,
}

/// The arguments of a line that is a marker.
pub(super) fn inside(line: &str) -> Option<&str> {
    line.strip_prefix("<!-- bench:")?.strip_suffix("-->")
}

impl Marker {
    pub(super) fn parse(text: &str) -> anyhow::Result<Self> {
        let mut words = words(text).into_iter();
        let file = words.next().unwrap_or_default();
        if file.is_empty() || file.contains(['/', '\\', '=']) {
            bail!("a name of results in their folder is expected, found {file:?}");
        }
        let mut marker = Self { file, ..Self::default() };
        for word in words {
            marker.take(word)?;
        }
        Ok(marker)
    }

    /// Whether it selects less than all.
    pub(super) fn chooses(&self) -> bool {
        let choices = [&self.metrics, &self.series, &self.variants];
        self.form != Form::Full || choices.iter().any(|names| !names.is_empty())
    }

    fn take(&mut self, word: String) -> anyhow::Result<()> {
        match word.split_once('=') {
            Some(("metrics", names)) => self.metrics = list(names),
            Some(("series", names)) => self.series = list(names),
            Some(("variants", names)) => self.variants = list(names),
            Some(_) => bail!(
                "SUITE/TABLE, pivot, picture, metrics=, series= or variants= is expected, found {word:?}"
            ),
            None if word == "pivot" => self.form = Form::Pivot,
            None if word == "picture" => self.form = Form::Picture,
            None => self.targets.push(word),
        }
        Ok(())
    }
}

/// Words between blanks; quotes hold blanks, and are left out.
fn words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for (index, part) in text.split('"').enumerate() {
        let quoted = index % 2 == 1;
        for letter in part.chars() {
            if letter.is_whitespace() && !quoted {
                words.push(String::new());
            } else if let Some(word) = words.last_mut() {
                word.push(letter);
            }
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

fn list(names: &str) -> Vec<String> {
    let names = names.split(';').map(str::trim).filter(|name| !name.is_empty());
    names.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_sorted_by_meaning() {
        let line = r#"<!-- bench: quick read/seq read/tar pivot metrics=wall series="lith; S, kernel" -->"#;
        let marker = Marker::parse(inside(line).unwrap()).unwrap();
        let expected = Marker {
            file: "quick".into(),
            targets: vec!["read/seq".into(), "read/tar".into()],
            form: Form::Pivot,
            metrics: vec!["wall".into()],
            series: vec!["lith".into(), "S, kernel".into()],
            variants: Vec::new(),
        };
        assert_eq!(marker, expected);
    }

    #[test]
    fn words_without_a_meaning_are_named() {
        let cases =
            [("", "found \"\""), ("../other", "../other"), ("quick colour=red", "colour=red")];
        for (text, named) in cases {
            let error = Marker::parse(text).unwrap_err();
            assert!(error.to_string().contains(named), "{error}");
        }
    }

    #[test]
    fn only_whole_lines_are_markers() {
        assert_eq!(inside("see <!-- bench: quick -->"), None);
        assert_eq!(inside("    <!-- bench: quick -->"), None);
        assert_eq!(inside("<!-- bench: quick"), None);
    }
}
