//! Is an image mounted already?

use std::{
    ffi::OsStr,
    fs,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use crate::output::address::{is_address, shown};

/// Whether what was mounted last at `directory` is this image.
pub(super) fn is_mounted(image: &Path, directory: &Path) -> bool {
    let image = if is_address(image) { Ok(shown(image).into()) } else { image.canonicalize() };
    let (Ok(image), Some(directory)) = (image, absolute(directory)) else { return false };
    let Ok(list) = fs::read_to_string("/proc/self/mountinfo") else { return false };
    let mut mounts = list.lines().filter_map(Line::of);
    let top = mounts.rfind(|mount| mount.place == directory);
    top.is_some_and(|mount| mount.is_image() && mount.file() == image)
}

/// The absolute path of a directory. What is mounted there is not asked, as it may refuse to answer.
fn absolute(directory: &Path) -> Option<PathBuf> {
    match (directory.parent(), directory.file_name()) {
        (Some(parent), Some(name)) => {
            let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
            Some(parent.canonicalize().ok()?.join(name))
        }
        _ => directory.canonicalize().ok(),
    }
}

/// A line of the list of mounts.
struct Line<'a> {
    place: PathBuf,
    kind: &'a str,
    source: PathBuf,
}

impl<'a> Line<'a> {
    fn of(line: &'a str) -> Option<Self> {
        let (left, right) = line.split_once(" - ")?;
        let mut right = right.split(' ');
        let place = unescaped(left.split(' ').nth(4)?);
        Some(Self { place, kind: right.next()?, source: unescaped(right.next()?) })
    }

    fn is_image(&self) -> bool {
        self.kind == "erofs" || self.kind.starts_with("fuse")
    }

    /// The file that is mounted, also by a loop device.
    fn file(&self) -> PathBuf {
        let name = self.source.file_name().unwrap_or_default();
        let behind = Path::new("/sys/block").join(name).join("loop/backing_file");
        let file =
            fs::read_to_string(behind).map(|text| PathBuf::from(text.trim_end_matches('\n')));
        file.unwrap_or_else(|_no_loop_device| self.source.clone())
    }
}

/// A path in which some characters are written as `\040`.
fn unescaped(text: &str) -> PathBuf {
    let mut parts = text.split('\\');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let number = part.get(..3).and_then(|digits| u8::from_str_radix(digits, 8).ok());
        bytes.extend(number);
        bytes.extend_from_slice(part.get(3..).unwrap_or_default().as_bytes());
    }
    OsStr::from_bytes(&bytes).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_list_of_mounts_are_parsed() {
        let line = "29 1 0:25 / /mnt/a\\040b\\134c rw,relatime shared:1 - fuse.lith /x\\011y ro";
        let line = Line::of(line).unwrap();
        assert_eq!((line.place, line.kind), ("/mnt/a b\\c".into(), "fuse.lith"));
        assert_eq!(line.source, Path::new("/x\ty"));
        assert!(Line::of("29 1 0:25").is_none());
    }
}
