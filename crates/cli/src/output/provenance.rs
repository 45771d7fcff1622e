//! Formats how an image was made.

use std::io::{self, Write};

use lith::provenance::{Provenance, RecordedFile};

use super::error::harmless;

/// Writes the record of an image. What it says is of whoever made the image.
pub(crate) fn provenance_text(f: &mut dyn Write, found: &Provenance) -> io::Result<()> {
    let Provenance { tool, layout, recipe, tree, .. } = found;
    writeln!(f, "made by     {}, layout {layout}", harmless(tool))?;
    writeln!(f, "sources     {}", recipe.sources)?;
    writeln!(f, "tree        SHA-256 {}", harmless(tree))?;
    for option in &recipe.options {
        writeln!(f, "option      {}", harmless(option))?;
    }
    for RecordedFile { option, name, sha256 } in &recipe.files {
        let (option, name, sha256) = (harmless(option), harmless(name), harmless(sha256));
        writeln!(f, "file        {option} {name}, SHA-256 {sha256}")?;
    }
    Ok(())
}
