//! Stores and loads results as JSON.

use std::{fs, path::Path};

use anyhow::Context;

use crate::results::Results;

/// Results as the text that [`load`] reads.
pub(crate) fn json(results: &Results) -> serde_json::Result<String> {
    Ok(serde_json::to_string_pretty(results)? + "\n")
}

/// Reads results that were kept as JSON.
pub(super) fn load(path: &Path) -> anyhow::Result<Results> {
    let text =
        fs::read_to_string(path).with_context(|| format!("{}: can't be read", path.display()))?;
    serde_json::from_str(&text)
        .with_context(|| format!("{}: no results of a benchmark", path.display()))
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
        let error = load(&path).unwrap_err().to_string();
        assert!(error.ends_with("other.json: can't be read"), "{error}");
        fs::write(&path, "[1, 2]").unwrap();
        let error = load(&path).unwrap_err().to_string();
        assert!(error.ends_with("other.json: no results of a benchmark"), "{error}");
    }
}
