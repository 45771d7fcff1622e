//! Formats the counts of an image's files and extents.

use std::fmt;

use lith_report::{Contents, Tally};

use super::number::{Bytes, Count, Share};

pub(crate) struct ContentsText<'a>(pub(crate) &'a Contents);

impl ContentsText<'_> {
    fn kinds(&self) -> String {
        let kinds = self.0.kinds.iter().map(|(kind, count)| match kind.name() {
            "directory" if *count != 1 => format!("{count} directories"),
            name => Count(*count, name).to_string(),
        });
        kinds.collect::<Vec<_>>().join(", ")
    }
}

impl fmt::Display for ContentsText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let contents = self.0;
        writeln!(f, "\nholds       {}", self.kinds())?;
        writeln!(
            f,
            "            {} below the root; {}, {} with extended attributes",
            Count(contents.names, "name"),
            Count(contents.compact_inodes, "compact inode"),
            contents.inodes_with_xattrs,
        )?;
        let (bytes, stored) = (Bytes(contents.bytes), Bytes(contents.stored));
        let share = Share(contents.stored, contents.bytes);
        writeln!(f, "content     {bytes}, stored in {stored}: {share}")?;
        writeln!(
            f,
            "\nstored as   {:>10} {:>16} {:>16} {:>9}",
            "extents", "bytes", "stored", "share"
        )?;
        for (name, Tally { extents, bytes, stored, .. }) in &contents.data {
            let share = Share(*stored, *bytes).to_string();
            writeln!(f, "{name:<11} {extents:>10} {bytes:>16} {stored:>16} {share:>9}")?;
        }
        Ok(())
    }
}
