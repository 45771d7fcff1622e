//! Renders what follows a marker in a document.

use anyhow::{Context, bail};
use serde::{
    Deserialize,
    de::{IntoDeserializer, value::Error as Unknown},
};

use super::{
    super::{
        grid::{Grid, Selection},
        markdown, plot,
    },
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
    pub(super) fn of(results: &Results, marker: &Marker, prefix: &str) -> anyhow::Result<Self> {
        if marker.targets.is_empty() {
            anyhow::ensure!(
                !marker.chooses(),
                "pivot, picture and choices need a table: SUITE/TABLE"
            );
            return Ok(Self { text: markdown::header(results), ..Self::default() });
        }
        let mut parts = Self::default();
        let mut chosen = Vec::new();
        for target in &marker.targets {
            let names = target.split_once('/');
            let (name, table) =
                names.with_context(|| format!("SUITE/TABLE is expected, found {target:?}"))?;
            let suite = results.suites.iter().find(|suite| suite.name == name);
            let suite = suite.with_context(|| format!("no suite {name:?} in the results"))?;
            let found = suite.tables.iter().find(|found| found.name == table);
            let found =
                found.with_context(|| format!("no table {table:?} in the suite {name:?}"))?;
            chosen.push((suite, found));
        }
        parts.tables(marker, prefix, &chosen)?;
        Ok(parts)
    }

    fn tables(
        &mut self,
        marker: &Marker,
        prefix: &str,
        chosen: &[(&Suite, &Table)],
    ) -> anyhow::Result<()> {
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
                    let name = &table.name;
                    self.add(&picture.with_context(|| format!("the table {name:?} has no plot"))?);
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

/// The choices of a marker, each of which some row of the tables can meet.
fn selection(marker: &Marker, tables: &[&Table]) -> anyhow::Result<Selection> {
    let rows = || tables.iter().flat_map(|table| &table.rows);
    let mut metrics = Vec::new();
    for name in &marker.metrics {
        let metric = metric(name).filter(|metric| rows().any(|row| row.median(*metric).is_some()));
        metrics.push(metric.with_context(|| format!("no row has the metric {name:?}"))?);
    }
    if let Some(name) = marker.series.iter().find(|name| rows().all(|row| row.series != **name)) {
        bail!("no row has the series {name:?}");
    }
    if let Some(name) = marker.variants.iter().find(|name| rows().all(|row| row.variant != **name))
    {
        bail!("no row has the variant {name:?}");
    }
    Ok(Selection { metrics, series: marker.series.clone(), variants: marker.variants.clone() })
}

/// A metric as it is called in results.
fn metric(name: &str) -> Option<Metric> {
    let name = IntoDeserializer::<Unknown>::into_deserializer(name);
    Metric::deserialize(name).ok()
}
