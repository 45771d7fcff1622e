//! Counts the files of an image by type, size and extension as dump.erofs does.

use std::fmt;

use lith::{
    format::{addr::BlockBits, features::Incompat, file_type::FileType},
    reader::{Error, Image, Inode},
};

use super::file::{kind_name, stored_size};
use crate::applets::display::Percent;

/// File types in the order in which they are printed.
const KINDS: [FileType; 7] = [
    FileType::Regular,
    FileType::Directory,
    FileType::CharDevice,
    FileType::BlockDevice,
    FileType::Fifo,
    FileType::Socket,
    FileType::Symlink,
];

/// Extensions that are counted; all others are counted together.
const EXTENSIONS: [&str; 9] =
    [".txt", ".so", ".xml", ".apk", ".odex", ".vdex", ".oat", ".rc", ".otf"];

/// The last class of sizes: 2^15 KiB or more.
const LARGEST: usize = 16;

/// The number of files in each class: class n has sizes below 2^n KiB that are in no class before.
type BySize = [u64; LARGEST + 1];

/// Counts and sums over all names of an image, so that a file with two hard links counts twice.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Statistics {
    files: u64,
    by_kind: [u64; KINDS.len()],
    compressed: u64,
    uncompressed: u64,
    bytes: u64,
    stored: u64,
    by_size: BySize,
    by_stored_size: BySize,
    by_extension: [u64; EXTENSIONS.len() + 1],
}

impl Statistics {
    /// Counts the root, everything below it, and the packed inode.
    pub(super) fn count(image: &Image) -> Result<Self, Error> {
        let mut counted = Self::default();
        let block = image.superblock().block;
        counted.add(&image.root()?, b"", block);
        for visit in image.files() {
            let visit = visit?;
            counted.add(&visit.inode, &visit.path, block);
        }
        let fragments = image.superblock().incompat.contains(Incompat::FRAGMENTS);
        if let Some(packed) = image.packed_inode().filter(|_| fragments) {
            let stored = stored_size(packed, block);
            counted.count_layout(packed);
            counted.stored = counted.stored.saturating_add(stored);
            count_size(&mut counted.by_stored_size, stored);
        }
        Ok(counted)
    }

    fn add(&mut self, inode: &Inode, path: &[u8], block: BlockBits) {
        self.files += 1;
        let kinds = KINDS.iter().zip(&mut self.by_kind);
        kinds.filter(|(kind, _)| **kind == inode.file_type).for_each(|(_, count)| *count += 1);
        self.count_layout(inode);
        if inode.file_type != FileType::Regular {
            return;
        }
        let stored = stored_size(inode, block);
        self.bytes = self.bytes.saturating_add(inode.size);
        self.stored = self.stored.saturating_add(stored);
        count_size(&mut self.by_size, inode.size);
        count_size(&mut self.by_stored_size, stored);
        let index = extension_index(path);
        self.by_extension.iter_mut().skip(index).take(1).for_each(|count| *count += 1);
    }

    fn count_layout(&mut self, inode: &Inode) {
        let compressed = inode.layout.is_compressed();
        *(if compressed { &mut self.compressed } else { &mut self.uncompressed }) += 1;
    }

    fn regular(&self) -> u64 {
        // `KINDS` starts with regular files.
        self.by_kind[0]
    }
}

fn count_size(by_size: &mut BySize, bytes: u64) {
    let bits = (bytes >> 10).checked_ilog2().map_or(0, |bits| bits + 1);
    let index = usize::try_from(bits).map_or(LARGEST, |bits| bits.min(LARGEST));
    by_size.iter_mut().skip(index).take(1).for_each(|count| *count += 1);
}

/// The index of a path's extension in [`EXTENSIONS`], or its length for any other.
fn extension_index(path: &[u8]) -> usize {
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    let dot = name.iter().rposition(|byte| *byte == b'.');
    let extension = dot.and_then(|dot| name.get(dot..));
    let known = EXTENSIONS.iter().position(|known| Some(known.as_bytes()) == extension);
    known.unwrap_or(EXTENSIONS.len())
}

impl fmt::Display for Statistics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "Filesystem total file count:\t\t{}", self.files)?;
        writeln!(f, "Filesystem unknown type count:\t\t0")?;
        for (kind, count) in KINDS.iter().zip(self.by_kind) {
            writeln!(f, "Filesystem {} count:\t\t{count}", kind_name(*kind))?;
        }
        let line = |f: &mut fmt::Formatter<'_>, what: &str, value: String| {
            writeln!(f, "{:<40}{value}", format!("Filesystem {what}:"))
        };
        line(f, "compressed files", self.compressed.to_string())?;
        line(f, "uncompressed files", self.uncompressed.to_string())?;
        line(f, "total original file size", format!("{} Bytes", self.bytes))?;
        line(f, "total file size", format!("{} Bytes", self.stored))?;
        line(f, "compress rate", format!("{}%", Percent(self.stored, self.bytes)))?;
        self.write_sizes(f, "Original", &self.by_size)?;
        self.write_sizes(f, "On-disk", &self.by_stored_size)?;
        writeln!(f, "\nFile type distribution:")?;
        heading(f, "type")?;
        let names = EXTENSIONS.iter().chain(&["others"]);
        names
            .zip(self.by_extension)
            .try_for_each(|(name, count)| bar(f, &format!("{name:<17}"), count, self.regular()))
    }
}

impl Statistics {
    fn write_sizes(
        &self,
        f: &mut fmt::Formatter<'_>,
        title: &str,
        by_size: &BySize,
    ) -> fmt::Result {
        writeln!(f, "\n{title} file size distribution:")?;
        heading(f, ">=(KB) .. <(KB) ")?;
        for (count, bits) in by_size.iter().zip(0_u32..) {
            let (from, to) = ((1_u64 << bits) >> 1, 1_u64 << bits);
            let range = if bits as usize == LARGEST {
                format!("{from:>6} ..")
            } else {
                format!("{from:>6} .. {to:<6}")
            };
            bar(f, &range, *count, self.regular())?;
        }
        Ok(())
    }
}

fn heading(f: &mut fmt::Formatter<'_>, what: &str) -> fmt::Result {
    writeln!(f, "{what:<16} {:>11} {:>16} |{:<50}|", "count", "ratio", "distribution")
}

/// A row of a chart: the class, its count, its share of all, and one mark for each two percent.
fn bar(f: &mut fmt::Formatter<'_>, what: &str, count: u64, all: u64) -> fmt::Result {
    let share = Percent(count, all).value();
    let marks: String =
        (1_u8..=50).filter(|mark| f64::from(*mark) * 2.0 <= share).map(|_| '#').collect();
    writeln!(f, "{what:<16}\t{count:<11} {share:>8.2}% |{marks:<50}|")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_of_sizes_are_powers_of_two() {
        let mut by_size = BySize::default();
        for bytes in [0, 1023, 1024, 2047, 2048, (32 << 20) - 1, 32 << 20, u64::MAX] {
            count_size(&mut by_size, bytes);
        }
        let mut expected = BySize::default();
        (expected[0], expected[1], expected[2]) = (2, 2, 1);
        (expected[15], expected[16]) = (1, 2);
        assert_eq!(by_size, expected);
    }

    #[test]
    fn only_the_last_extension_counts() {
        let others = EXTENSIONS.len();
        for (path, index) in [
            ("a.txt", 0),
            ("x.d/b.so", 1),
            ("lib.so.1", others),
            ("a.s", others),
            ("a.", others),
            ("x.txt/name", others),
            (".otf", 8),
        ] {
            assert_eq!(extension_index(path.as_bytes()), index, "{path}");
        }
    }
}
