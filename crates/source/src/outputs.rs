//! Finds the files that are about to be made in a directory that is read.

use std::{collections::HashSet, fs, path::Path};

use lith_system::real_path;
use lith_tree::push_name;

use crate::Options;

/// The paths from the root of a directory of the files below it that are about to be made.
pub(crate) fn outputs_beneath(root: &Path, options: &Options) -> HashSet<Box<[u8]>> {
    let Ok(root) = fs::canonicalize(root) else { return HashSet::new() };
    let outputs = options.outputs.iter().filter_map(|output| real_path(output));
    let beneath = outputs.filter_map(|path| {
        let mut bytes = Vec::new();
        for name in path.strip_prefix(&root).ok()? {
            push_name(&mut bytes, name.as_encoded_bytes());
        }
        Some(bytes.into_boxed_slice())
    });
    beneath.collect()
}
