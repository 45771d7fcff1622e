//! Renders what follows a marker in a document.

use serde::{
    Deserialize,
    de::{IntoDeserializer, value::Error as Unknown},
};

use super::{
    super::{
        grid::{Grid, Selection},
        markdown, plot,
    },
    error::MarkerError,
    marker::{Form, Marker},
};
use crate::results::{Metric, Results, Suite, Table};

/// The text, and the pictures that it shows by the names of their files.
#[derive(Default)]
pub(super) struct Block {
    pub(super) text: String,
    pub(super) pictures: Vec<(String, String)>,
}

impl Block {
    /// The text that a marker requests; pictures are in the folder `prefix` from where the document is.
    pub(super) fn of(
        results: &Results,
        marker: &Marker,
        prefix: &str,
    ) -> Result<Self, MarkerError> {
        let mut parts = Self::default();
        let mut chosen = Vec::new();
        for target in &marker.targets {
            match target.split_once('/') {
                Some((suite, table)) => chosen.push(find(results, suite, table)?),
                None if marker.chooses() => return Err(MarkerError::NoTable),
                None => {
                    let suite = results.suite(target).ok_or(MarkerError::Suite(target.clone()))?;
                    let text = markdown::suite(suite, |table| {
                        parts.picture(marker, prefix, (suite, table))
                    });
                    parts.add(&text);
                }
            }
        }
        if marker.targets.is_empty() {
            if marker.chooses() {
                return Err(MarkerError::NoTable);
            }
            parts.add(&markdown::header(results));
        }
        parts.tables(marker, prefix, &chosen)?;
        Ok(parts)
    }

    fn tables(
        &mut self,
        marker: &Marker,
        prefix: &str,
        chosen: &[(&Suite, &Table)],
    ) -> Result<(), MarkerError> {
        let tables: Vec<&Table> = chosen.iter().map(|(_, table)| *table).collect();
        let Some(first) = tables.first() else { return Ok(()) };
        let selection = selection(marker, &tables)?;
        match marker.form {
            Form::Full => {
                for table in tables {
                    self.add(&markdown::table_with_caption(table, &selection));
                }
            }
            Form::Pivot => {
                let metrics = match selection.metrics.as_slice() {
                    [] => first.shown.get(..1).unwrap_or_default(),
                    chosen => chosen,
                };
                self.add(&markdown::cells(&Grid::pivot(&tables, metrics, &selection)));
            }
            Form::Picture => {
                for (suite, table) in chosen {
                    let picture = self.picture(marker, prefix, (suite, table));
                    self.add(&picture.ok_or_else(|| MarkerError::Plot(table.name.clone()))?);
                }
            }
        }
        Ok(())
    }

    /// The link to a table's picture, which is kept.
    fn picture(
        &mut self,
        marker: &Marker,
        prefix: &str,
        (suite, table): (&Suite, &Table),
    ) -> Option<String> {
        let name = format!("{}-{}-{}.svg", marker.file, suite.name, table.name);
        self.pictures.push((name.clone(), plot::svg(table)?));
        Some(markdown::picture(&table.title, &format!("{prefix}{name}")))
    }

    fn add(&mut self, text: &str) {
        if !self.text.is_empty() {
            self.text.push_str("\n\n");
        }
        self.text.push_str(text);
    }
}

fn find<'a>(
    results: &'a Results,
    suite: &str,
    table: &str,
) -> Result<(&'a Suite, &'a Table), MarkerError> {
    let found = results.suite(suite).ok_or_else(|| MarkerError::Suite(suite.to_owned()))?;
    let missing = || MarkerError::Table { suite: suite.to_owned(), table: table.to_owned() };
    Ok((found, found.table(table).ok_or_else(missing)?))
}

/// The choices of a marker, each of which some row of the tables can meet.
fn selection(marker: &Marker, tables: &[&Table]) -> Result<Selection, MarkerError> {
    let rows = || tables.iter().flat_map(|table| &table.rows);
    let mut metrics = Vec::new();
    for name in &marker.metrics {
        let metric = metric(name);
        let measured = metric.filter(|metric| rows().any(|row| row.median(*metric).is_some()));
        metrics.push(measured.ok_or_else(|| MarkerError::Metric(name.clone()))?);
    }
    if let Some(name) = marker.series.iter().find(|name| rows().all(|row| row.series != **name)) {
        return Err(MarkerError::Series(name.clone()));
    }
    if let Some(name) = marker.variants.iter().find(|name| rows().all(|row| row.variant != **name))
    {
        return Err(MarkerError::Variant(name.clone()));
    }
    Ok(Selection { metrics, series: marker.series.clone(), variants: marker.variants.clone() })
}

/// A metric as it is called in results.
fn metric(name: &str) -> Option<Metric> {
    let name = IntoDeserializer::<Unknown>::into_deserializer(name);
    Metric::deserialize(name).ok()
}
