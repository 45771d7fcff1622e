//! Defines the errors of updating documents.

use std::{io, path::PathBuf};

use crate::render::LoadError;

/// Why a document can't be written anew.
#[derive(Debug, thiserror::Error)]
pub enum DocumentError {
    /// The document or the folder of results can't be read.
    #[error("{path}: can't be read", path = path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The document or a picture can't be written.
    #[error("{path}: can't be written", path = path.display())]
    Write {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A marker requests what does not exist.
    #[error("{path}, line {line}: a marker that can't be followed", path = path.display())]
    Marker {
        /// The document.
        path: PathBuf,
        /// The marker's line, from 1.
        line: usize,
        /// Why.
        #[source]
        reason: Box<MarkerError>,
    },
}

/// Why a marker can't be followed.
#[derive(Debug, thiserror::Error)]
pub enum MarkerError {
    /// There is no end before the next marker, or at all.
    #[error("no line `<!-- end of bench -->` follows before the next marker")]
    Open,
    /// There is no beginning.
    #[error("an end without a beginning")]
    Closed,
    /// It names no results, or a path.
    #[error("a name of results in their folder is expected, found {0:?}")]
    File(String),
    /// It has an unknown option.
    #[error("SUITE/TABLE, pivot, picture, metrics=, series= or variants= is expected, found {0:?}")]
    Word(String),
    /// It chooses from tables, but names none.
    #[error("pivot, picture and choices need a table: SUITE/TABLE")]
    NoTable,
    /// The results can't be had.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The results have no such suite.
    #[error("no suite {0:?} in the results")]
    Suite(String),
    /// The suite has no such table.
    #[error("no table {table:?} in the suite {suite:?}")]
    Table {
        /// The suite.
        suite: String,
        /// The table that it should have.
        table: String,
    },
    /// There is no such metric, or no row has it.
    #[error("no row has the metric {0:?}")]
    Metric(String),
    /// No row has this series.
    #[error("no row has the series {0:?}")]
    Series(String),
    /// No row has this variant.
    #[error("no row has the variant {0:?}")]
    Variant(String),
    /// The table has no plot.
    #[error("the table {0:?} has no plot")]
    Plot(String),
}
