//! How are options of mksquashfs and unsquashfs called here? Defines [`explain()`], which answers them better than clap's tips.

use std::ffi::OsString;

use clap::{
    Error,
    error::{ContextKind, ContextValue, ErrorKind},
};

/// An option of another program, and what it is here, if it is something.
type Known = (&'static str, Option<&'static str>);

/// Options of mksquashfs, and those of `lith build`; docs/guide/squashfs.md explains them.
const MKSQUASHFS: &[Known] = &[
    ("-action", Some("--set 'GLOB:mode=MODE,owner=UID,group=GID', or --exclude, or --rule")),
    ("-action-file", None),
    ("-all-root", Some("--all-root")),
    ("-always-use-fragments", Some("-E fragments, the default from --kernel 6.1 on")),
    ("-b", Some("-C SIZE, up to 1M; -b is the size of blocks of the filesystem")),
    ("-block-readers", Some("--workers N")),
    ("-comp", Some("-z zstd, -z xz, -z gzip or -z lz4, with a level as in -z zstd,15")),
    ("-cpiostyle", Some("find ... -print0 | cpio -0 -o -H newc | lith build - IMAGE")),
    ("-cpiostyle0", Some("find ... -print0 | cpio -0 -o -H newc | lith build - IMAGE")),
    ("-default-gid", None),
    ("-default-mode", None),
    ("-default-uid", None),
    ("-e", Some("--exclude GLOB, for each path")),
    ("-ef", Some("--exclude-from FILE")),
    ("-exit-on-error", Some("the default; see --on-error")),
    ("-exports", None),
    ("-false-action", None),
    ("-false-action-file", None),
    ("-fix", None),
    ("-force-dir-mode", Some("--set '**:dir-mode=MODE'")),
    ("-force-file-mode", Some("--set '**:file-mode=MODE'")),
    ("-force-gid", Some("--gid N")),
    ("-force-uid", Some("--uid N")),
    ("-fstime", Some("-T TIME --mtime keep")),
    ("-ignore-zeros", None),
    ("-info", None),
    ("-info-file", None),
    ("-inode-time", Some("-T TIME --mtime fixed")),
    ("-keep-as-directory", Some("tar -C PARENT -cf - NAME | lith build - IMAGE")),
    ("-limit", None),
    ("-log-action", None),
    ("-log-action-file", None),
    ("-max-depth", Some("--exclude '/*/*/*' for 2, and so on")),
    ("-mem", Some("--memory SIZE")),
    ("-mem-default", None),
    ("-mem-percent", Some("--memory SIZE")),
    ("-mkfs-time", Some("-T TIME --mtime keep")),
    ("-no-compression", Some("-z none")),
    ("-no-duplicates", None),
    ("-no-exports", None),
    ("-no-fragments", Some("-E ^fragments")),
    ("-no-hardlinks", Some("--dereference-hard-links")),
    ("-no-progress", Some("-q")),
    ("-no-recovery", Some("the default")),
    ("-no-sparse", None),
    ("-no-strip", Some("tar -cf - PATHS | lith build - IMAGE")),
    ("-no-tailends", Some("-E ^fragments")),
    ("-no-xattrs", Some("--xattrs off")),
    ("-noappend", Some("the default")),
    ("-noD", Some("-z none")),
    ("-noDataCompression", Some("-z none")),
    ("-noF", None),
    ("-noFragmentCompression", None),
    ("-noI", Some("the default; see -m")),
    ("-noId", Some("the default; see -m")),
    ("-noIdTableCompression", Some("the default; see -m")),
    ("-noInodeCompression", Some("the default; see -m")),
    ("-nopad", None),
    ("-noX", Some("the default; see -m")),
    ("-noXattrCompression", Some("the default; see -m")),
    ("-numeric-owner", Some("the default")),
    ("-o", Some("--offset N")),
    ("-offset", Some("--offset N")),
    ("-one-file-system", Some("--one-file-system")),
    ("-one-file-system-x", Some("-x, and --exclude for the mount points")),
    ("-overcommit", Some("--workers N")),
    ("-p", Some("--manifest FILE")),
    ("-pd", None),
    ("-percentage", None),
    ("-pf", Some("--manifest FILE")),
    ("-processors", Some("--workers N")),
    ("-progress", Some("the default on a terminal")),
    ("-pseudo-dir", None),
    ("-pseudo-override", Some("--set, which applies last")),
    ("-quiet", Some("-q")),
    ("-recover", Some("the default")),
    ("-recovery-path", Some("the default")),
    ("-regex", Some("--exclude-regex REGEX")),
    ("-repro", Some("the default")),
    ("-repro-time", Some("-T TIME --mtime fixed")),
    ("-root-becomes", None),
    ("-root-gid", Some("--set '/:group=GID'")),
    ("-root-mode", Some("--set '/:mode=MODE'")),
    ("-root-owned", Some("--all-root")),
    ("-root-time", Some("--set '/:mtime=SECONDS'")),
    ("-root-uid", Some("--set '/:owner=UID'")),
    ("-single-reader", Some("--workers N")),
    ("-small-readers", Some("--workers N")),
    ("-sort", Some("--sort FILE")),
    ("-stream", Some("- as IMAGE")),
    ("-tailends", Some("-E fragments, the default from --kernel 6.1 on")),
    ("-tar", Some("- as SOURCE")),
    ("-tarstyle", Some("tar -cf - PATHS | lith build - IMAGE")),
    ("-throttle", None),
    ("-true-action", None),
    ("-true-action-file", None),
    ("-uid-gid-offset", Some("--uid-offset N --gid-offset N")),
    ("-version", Some("lith --version")),
    ("-wildcards", Some("the default of --exclude")),
    ("-Xalgorithm", None),
    ("-xattrs", Some("--xattrs on")),
    ("-xattrs-add", Some("--set '**:xattr.NAME=VALUE'")),
    ("-xattrs-exclude", Some("--xattrs-exclude GLOB")),
    ("-xattrs-include", Some("--xattrs-include GLOB")),
    ("-Xbcj", None),
    ("-Xcompression-level", Some("a number after the algorithm, as in -z zstd,15")),
    ("-Xdict-size", Some("-z xz,6,dictsize=SIZE")),
    ("-Xhc", Some("-z lz4hc,12")),
    ("-Xstrategy", None),
    ("-Xwindow-size", None),
];

/// Options of unsquashfs, and `lith extract`'s or another verb.
const UNSQUASHFS: &[Known] = &[
    ("-all", None),
    ("-all-time", None),
    ("-cat", Some("lith cat IMAGE PATH...")),
    ("-dest", Some("-d DIR")),
    ("-e", Some("-T FILE")),
    ("-ef", Some("-T FILE")),
    ("-ex", None),
    ("-exc", None),
    ("-excf", None),
    ("-exclude-file", None),
    ("-exclude-list", None),
    ("-excludes", None),
    ("-extract-file", Some("-T FILE")),
    ("-f", Some("--overwrite")),
    ("-follow", None),
    ("-follow-symlinks", None),
    ("-force", Some("--overwrite")),
    ("-fstime", Some("lith info --json --superblock IMAGE")),
    ("-full", Some("the default of lith ls -l")),
    ("-full-precision", Some("the default of lith ls -l")),
    ("-i", None),
    ("-ig", None),
    ("-ignore-errors", None),
    ("-info", None),
    ("-L", None),
    ("-l", Some("lith ls -R IMAGE")),
    ("-lc", None),
    ("-li", None),
    ("-linfo", None),
    ("-ll", Some("lith ls -lR --names --local IMAGE")),
    ("-llc", None),
    ("-lln", Some("lith ls -lR IMAGE")),
    ("-llnumeric", Some("lith ls -lR IMAGE")),
    ("-lls", Some("lith ls -lR --names --local IMAGE")),
    ("-ls", Some("lith ls -R IMAGE")),
    ("-match", Some("the default")),
    ("-max", None),
    ("-max-depth", None),
    ("-mem", None),
    ("-mem-percent", None),
    ("-missing", None),
    ("-missing-symlinks", None),
    ("-mkfs-time", Some("lith info --json --superblock IMAGE")),
    ("-n", Some("-q")),
    ("-no", Some("--no-xattrs")),
    ("-no-exit", None),
    ("-no-exit-code", None),
    ("-no-progress", Some("-q")),
    ("-no-wild", None),
    ("-no-wildcards", None),
    ("-no-xattrs", Some("--no-xattrs")),
    ("-o", Some("--offset N")),
    ("-offset", Some("--offset N")),
    ("-p", Some("--workers N")),
    ("-percentage", None),
    ("-pf", Some("lith dump IMAGE")),
    ("-processors", Some("--workers N")),
    ("-pseudo-file", Some("lith dump IMAGE")),
    ("-quiet", Some("-q")),
    ("-r", None),
    ("-regex", None),
    ("-s", Some("lith info IMAGE")),
    ("-st", Some("the default")),
    ("-stat", Some("lith info IMAGE")),
    ("-strict-errors", Some("the default")),
    ("-UTC", Some("lith ls -lR IMAGE")),
    ("-version", Some("lith --version")),
    ("-x", Some("the default")),
    ("-xattrs", Some("the default")),
    ("-xattrs-exclude", None),
    ("-xattrs-include", None),
];

/// The error about a line with an option of mksquashfs or unsquashfs, with what that is here. Clap sees several short options in it.
pub(super) fn explain(error: Error, command: &mut clap::Command, line: &[OsString]) -> Error {
    let is_usage = matches!(
        error.kind(),
        ErrorKind::UnknownArgument
            | ErrorKind::InvalidValue
            | ErrorKind::ValueValidation
            | ErrorKind::ArgumentConflict
            | ErrorKind::TooManyValues
            | ErrorKind::WrongNumberOfValues
    );
    let mut words =
        line.iter().skip(1).map_while(|word| word.to_str().filter(|word| *word != "--"));
    let verb = words.by_ref().find(|word| !word.starts_with('-'));
    let (program, known) = match verb {
        Some("build") if is_usage => ("mksquashfs", MKSQUASHFS),
        Some("extract") if is_usage => ("unsquashfs", UNSQUASHFS),
        _ => return error,
    };
    let about = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(argument)) => argument.as_str(),
        _ => "",
    };
    let Some((option, ours)) = words.find_map(|word| foreign(word, about, known)) else {
        return error;
    };
    let text = match ours {
        Some(ours) => format!("{option} is an option of {program}; here it is: {ours}"),
        None => format!("{option} is an option of {program} without a counterpart here"),
    };
    let error = Error::raw(ErrorKind::UnknownArgument, text);
    match verb.and_then(|verb| command.find_subcommand_mut(verb)) {
        Some(command) => error.format(command),
        None => error,
    }
}

/// The option of another program that a word is, in an error about an argument. One letter may well be ours: it counts only if
/// the error is about it.
fn foreign(word: &str, about: &str, known: &'static [Known]) -> Option<Known> {
    let option = known.iter().find(|option| option.0 == word)?;
    let is_block_size = word == "-b" && about.starts_with("--block-size");
    (word.len() > 2 || about == word || is_block_size).then_some(*option)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn answer(line: &[&str]) -> String {
        let line: Vec<OsString> = line.iter().map(OsString::from).collect();
        let mut command = super::super::command();
        let error = command.try_get_matches_from_mut(&line).unwrap_err();
        explain(error, &mut command, &line).to_string()
    }

    #[test]
    fn options_of_squashfs_are_answered_by_ours() {
        for (line, expected) in [
            ("build a b -comp zstd", "-comp is an option of mksquashfs; here it is: -z zstd, "),
            ("build a b -mem 3G", "-mem is an option of mksquashfs; here it is: --memory SIZE"),
            ("build -b 128K a b", "-b is an option of mksquashfs; here it is: -C SIZE"),
            ("build a b -e x", "-e is an option of mksquashfs; here it is: --exclude GLOB"),
            ("build -quiet a b", "-quiet is an option of mksquashfs; here it is: -q"),
            ("build a b -info", "-info is an option of mksquashfs without a counterpart here"),
            ("extract -f a", "-f is an option of unsquashfs; here it is: --overwrite"),
            ("extract a -lls", "-lls is an option of unsquashfs; here it is: lith ls -lR "),
        ] {
            let words: Vec<&str> = ["lith"].into_iter().chain(line.split(' ')).collect();
            let found = answer(&words);
            assert!(found.starts_with(&format!("error: {expected}")), "{line}: {found}");
            assert!(found.contains("Usage: lith ") && !found.contains("-- -c"), "{line}: {found}");
        }
    }

    #[test]
    fn other_errors_stay_as_they_are() {
        for line in
            ["build a b --comp zstd", "build a b -k", "build a b --typo -- -comp", "ls -comp a"]
        {
            let words: Vec<&str> = ["lith"].into_iter().chain(line.split(' ')).collect();
            let found = answer(&words);
            assert!(!found.contains("squashfs"), "{line}: {found}");
        }
    }

    /// The first cell of a row.
    fn first(row: &str) -> &str {
        row.trim_start_matches("| ").split(" | ").next().unwrap_or_default()
    }

    /// Options of unsquashfs that `lith extract` has as well.
    const OURS: [&str; 3] = ["-d", "-q", "-v"];

    /// The first words of what a cell shows as code.
    fn options(cell: &str) -> BTreeSet<&str> {
        let code = cell.split('`').skip(1).step_by(2);
        code.filter_map(|code| code.split([' ', '=']).next()).collect()
    }

    #[test]
    fn the_guide_lists_all_options_and_what_they_are_here() {
        let guide = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guide/squashfs.md");
        let text = std::fs::read_to_string(guide).unwrap();
        let (_, tables) = text.split_once("| mksquashfs | lith build |").unwrap();
        let (build, extract) = tables.split_once("| unsquashfs | lith |").unwrap();
        for (table, known, all) in [
            (build, MKSQUASHFS, include_str!("squashfs/mksquashfs-4.7.5.txt")),
            (extract, UNSQUASHFS, include_str!("squashfs/unsquashfs-4.7.5.txt")),
        ] {
            let rows: BTreeSet<&str> =
                table.lines().flat_map(|line| options(first(line))).collect();
            for option in all.split_whitespace() {
                assert!(rows.contains(option), "{option} is not in the guide");
                let is_known = known.iter().any(|known| known.0 == option);
                let has_row_of_help = table.lines().any(|line| {
                    line.contains("`lith help ") && options(first(line)).contains(option)
                });
                assert!(is_known || has_row_of_help || OURS.contains(&option), "{option}");
            }
            for (option, ours) in known {
                let row = table.lines().find(|line| options(first(line)).contains(option));
                let row = row.unwrap_or_else(|| panic!("{option} is not in the guide"));
                // What an answer names is what the guide names.
                let named =
                    ours.unwrap_or_default().split([' ', ',']).find(|word| word.starts_with('-'));
                assert!(row.contains(named.unwrap_or_default()), "{option}: {ours:?}: {row}");
            }
        }
    }
}
