//! Stores and loads results as JSON.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use crate::results::Results;

/// Why kept results can't be had.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The file can't be read.
    #[error("{path}: can't be read", path = path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file holds something else.
    #[error("{path}: no results of a benchmark", path = path.display())]
    Parse {
        /// The file.
        path: PathBuf,
        /// Where it differs, and how.
        source: serde_json::Error,
    },
}

/// Results as the text that [`load`] reads.
///
/// # Errors
///
/// A number that JSON can't hold.
pub fn json(results: &Results) -> Result<String, serde_json::Error> {
    let mut text = serde_json::to_string_pretty(results)?;
    text.push('\n');
    Ok(text)
}

/// Reads results that were kept as JSON.
///
/// # Errors
///
/// A file that can't be read or holds something else.
pub fn load(path: &Path) -> Result<Results, LoadError> {
    let text = fs::read_to_string(path)
        .map_err(|source| LoadError::Read { path: path.to_owned(), source })?;
    serde_json::from_str(&text).map_err(|source| LoadError::Parse { path: path.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use super::{super::samples, *};

    #[test]
    fn what_is_kept_is_what_was_measured() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kept.json");
        let results = samples::results();
        fs::write(&path, json(&results).unwrap()).unwrap();
        assert_eq!(load(&path).unwrap(), results);
    }

    #[test]
    fn what_is_no_results_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("other.json");
        assert!(matches!(load(&path), Err(LoadError::Read { .. })));
        fs::write(&path, "[1, 2]").unwrap();
        let error = load(&path).unwrap_err();
        assert!(matches!(error, LoadError::Parse { .. }));
        assert!(error.to_string().contains("other.json"), "{error}");
    }
}
