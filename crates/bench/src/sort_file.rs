//! Makes the sort files of mksquashfs.

use std::collections::HashSet;

/// The highest priority.
const HIGHEST: usize = 32_767;

/// The files of a profile with descending priorities. Names that mksquashfs would take apart are left out.
pub(crate) fn priorities_of(profile: &str) -> String {
    let mut seen = HashSet::new();
    let paths = profile.lines().filter_map(|line| line.strip_prefix("read /")?.split(' ').next());
    let paths = paths.filter(|path| !path.contains('\\') && seen.insert(*path));
    let line = |(rank, path): (usize, &str)| format!("{path} {}\n", HIGHEST.saturating_sub(rank));
    paths.enumerate().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_are_read_first_have_the_highest_priority() {
        let profile = "lith-profile 1\nlookup /a - 1 1\nread /a/b 0+5 2 1\nread /c 0+1 3 1\n\
            read /a/b 9+1 4 1\nread /d\\x20e 0+1 5 1\n";
        assert_eq!(priorities_of(profile), "a/b 32767\nc 32766\n");
    }
}
