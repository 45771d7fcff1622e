//! Records the arguments of `lith build` as far as they decide the bytes of an image, and applies what is recorded.
//!
//! An option is recorded unless it is known not to decide bytes, so that none is forgotten.

use std::{
    ffi::{OsStr, OsString},
    fs::File,
    path::{Path, PathBuf},
};

use clap::{Arg, ArgMatches, Command, parser::ValueSource};
use lith::{
    Adjust, Times,
    format::kernel::KernelVersion,
    provenance::{Recipe, RecordedFile},
    tree::Timestamp,
};
use uuid::Uuid;

use crate::output::error::Place;

/// What doesn't decide bytes: resources, what is printed, and where devices and further files are.
const OTHERS: [&str; 25] = [
    "paths",
    "provenance",
    "workers",
    "memory",
    "force",
    "no_verify",
    "json",
    "quiet",
    "verbose",
    "color",
    "help",
    "strict",
    "devices",
    "base_dirs",
    "max_depth",
    "config_file",
    "offset",
    "root_hash_file",
    "sign",
    "cert",
    "sign_with",
    "cache_dir",
    "no_cache",
    // Recorded by what they mean, after all others.
    "timestamp",
    "mtime",
];

/// Options that name files, whose bytes count.
const FILES: [&str; 9] = [
    "manifest",
    "exclude_from",
    "compress_hints",
    "profiles",
    "order",
    "sort",
    "file_contexts",
    "fs_config_file",
    "bases",
];

/// Options of a hash tree: they count if it is part of the image's file.
const HASH_TREE: [&str; 4] = ["verity", "salt", "verity_block", "verity_uuid"];

/// What arguments mean that depend on the machine, the environment or chance.
pub(super) struct Meaning {
    pub(super) sources: usize,
    pub(super) adjust: Adjust,
    pub(super) kernel: KernelVersion,
    /// The UUID, if it doesn't follow from the content.
    pub(super) uuid: Option<Uuid>,
}

/// The recipe of a build.
///
/// # Errors
/// What can't be recorded, by name.
pub(super) fn record(
    meaning: &Meaning,
    command: &Command,
    matches: &ArgMatches,
) -> Result<Recipe, String> {
    let is_appended =
        matches.get_raw("verity").is_some_and(|mut values| values.any(|value| value == "append"));
    let mut recipe = Recipe { sources: meaning.sources, ..Recipe::default() };
    let is_given = |id: &str| matches.value_source(id) == Some(ValueSource::CommandLine);
    for argument in command.get_arguments().filter(|argument| is_given(argument.get_id().as_str()))
    {
        let id = argument.get_id().as_str();
        if OTHERS.contains(&id) || HASH_TREE.contains(&id) && !is_appended {
            continue;
        }
        let name = name_of(argument);
        let values = matches.get_raw_occurrences(id).into_iter().flatten();
        let values: Vec<&OsStr> = values.flatten().collect();
        if FILES.contains(&id) {
            for path in values {
                recipe.files.push(file(&name, Path::new(path))?);
            }
        } else if argument.get_action().takes_values() {
            for value in resolved(meaning, id, values) {
                let text = value.into_string();
                let text = text.map_err(|_bytes| format!("--provenance: {name} has no text"))?;
                recipe.options.push(joined(&name, &text));
            }
        } else {
            recipe.options.push(name);
        }
    }
    let time = matches.get_raw("timestamp").and_then(|mut values| values.next());
    recipe.options.extend(times(meaning.adjust.times, time.and_then(OsStr::to_str)));
    Ok(recipe)
}

/// The values of an option, those that depend on the machine by what they mean.
fn resolved(meaning: &Meaning, id: &str, values: Vec<&OsStr>) -> Vec<OsString> {
    let number = |id: Option<u32>| id.map(|id| id.to_string().into()).into_iter().collect();
    match (id, meaning.uuid) {
        ("uid", _) => number(meaning.adjust.uid),
        ("gid", _) => number(meaning.adjust.gid),
        ("kernel", _) => vec![meaning.kernel.to_string().into()],
        ("uuid", Some(uuid)) => vec![uuid.to_string().into()],
        _ => values.into_iter().map(OsStr::to_owned).collect(),
    }
}

/// The rule for times as options, whether options or the environment state it.
fn times(times: Times, given: Option<&str>) -> Vec<String> {
    let with = |time: Timestamp, rule: &str| {
        let time = given.map_or_else(|| time.sec.to_string(), ToOwned::to_owned);
        vec![format!("--timestamp={time}"), format!("--mtime={rule}")]
    };
    match times {
        Times::Keep => vec!["--mtime=keep".into()],
        Times::Clamp(time) => with(time, "clamp"),
        Times::Fixed(time) => with(time, "fixed"),
    }
}

fn name_of(argument: &Arg) -> String {
    match (argument.get_long(), argument.get_short()) {
        (Some(long), _) => format!("--{long}"),
        (None, short) => format!("-{}", short.unwrap_or_default()),
    }
}

fn joined(name: &str, value: &str) -> String {
    let between = if name.starts_with("--") { "=" } else { "" };
    format!("{name}{between}{value}")
}

fn file(option: &str, path: &Path) -> Result<RecordedFile, String> {
    if path == Path::new("-") {
        return Err(format!("--provenance: {option} must name a file, not standard input"));
    }
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    Ok(RecordedFile { option: option.to_owned(), name, sha256: digest(path)? })
}

fn digest(path: &Path) -> Result<String, String> {
    let digest = File::open(path).and_then(RecordedFile::digest);
    digest.map_err(|error| format!("{}: {error}", Place(path)))
}

/// The words of the `lith build` that a recipe describes, with the files that it takes out of `given`.
///
/// # Errors
/// A file that is missing, by the option and name that it was given with.
pub(crate) fn words(recipe: &Recipe, given: &[PathBuf]) -> Result<Vec<OsString>, String> {
    let digests = given.iter().map(|path| Ok((digest(path)?, path)));
    let digests = digests.collect::<Result<Vec<_>, String>>()?;
    let mut words: Vec<OsString> = vec!["lith build".into(), "--provenance".into()];
    words.extend(recipe.options.iter().map(OsString::from));
    for RecordedFile { option, name, sha256 } in &recipe.files {
        let found = digests.iter().find(|(digest, _)| digest == sha256);
        let (_, path) = found.ok_or_else(|| {
            format!("it was made with {option} {name}, which --with must name: SHA-256 {sha256}")
        })?;
        words.extend([option.into(), path.as_os_str().to_owned()]);
    }
    Ok(words)
}
