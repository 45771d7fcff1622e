//! Tests that all JSON output conforms to docs/schema.

use std::{fs, path::Path};

use serde_json::Value;

use super::{
    args, digests,
    mount::{self, MountPoint},
    sample::{Sample, json, lith, printed},
};

/// The schema of a name in docs/schema.
fn schema(name: &str) -> Value {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema");
    let text = fs::read_to_string(folder.join(name).with_extension("json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// Asserts that each of the values conforms to a schema.
pub(super) fn assert_conform(name: &str, values: &[Value]) {
    let root = schema(name);
    assert!(!values.is_empty(), "{name}: nothing to check");
    for value in values {
        conform(&root, &root, value, name);
    }
}

/// Asserts that a value conforms to a part of a schema. Knows the keywords that the schemas here use, and fails on others.
fn conform(root: &Value, part: &Value, value: &Value, at: &str) {
    for (keyword, rule) in part.as_object().unwrap() {
        match &**keyword {
            "$schema"
            | "$defs"
            | "title"
            | "description"
            | "required"
            | "properties"
            | "additionalProperties" => {}
            "$ref" => {
                let pointer = rule.as_str().unwrap().strip_prefix('#').unwrap();
                conform(root, root.pointer(pointer).unwrap(), value, at);
            }
            "type" => {
                let is_of = |name: &Value| is_of_type(value, name.as_str().unwrap());
                let is_right =
                    rule.as_array().map_or_else(|| is_of(rule), |all| all.iter().any(is_of));
                assert!(is_right, "{at}: {value} is not {rule}");
            }
            "const" => assert_eq!(rule, value, "{at}"),
            "enum" => assert!(rule.as_array().unwrap().contains(value), "{at}: {value}"),
            "minimum" => assert!(value.as_f64() >= rule.as_f64(), "{at}: {value}"),
            "pattern" => {
                assert!(fits(value.as_str().unwrap(), rule.as_str().unwrap()), "{at}: {value}");
            }
            "minItems" => {
                assert!(value.as_array().unwrap().len() as u64 >= rule.as_u64().unwrap(), "{at}");
            }
            "maxItems" => {
                assert!(value.as_array().unwrap().len() as u64 <= rule.as_u64().unwrap(), "{at}");
            }
            "items" => {
                let items = value.as_array().unwrap().iter().enumerate();
                items.for_each(|(number, item)| {
                    conform(root, rule, item, &format!("{at}[{number}]"));
                });
            }
            _ => unreachable!("{at}: {keyword} is no keyword that is known here"),
        }
    }
    if let Some(object) = value.as_object() {
        conform_object(root, part, object, at);
    }
}

fn conform_object(root: &Value, part: &Value, object: &serde_json::Map<String, Value>, at: &str) {
    for name in part["required"].as_array().into_iter().flatten() {
        assert!(object.contains_key(name.as_str().unwrap()), "{at}: {name} is missing");
    }
    for (name, value) in object {
        let at = format!("{at}.{name}");
        match (
            part.pointer(&format!("/properties/{name}")).unwrap_or(&Value::Null),
            &part["additionalProperties"],
        ) {
            (Value::Null, Value::Bool(others)) => assert!(others, "{at}: not in the schema"),
            (Value::Null, Value::Null) => {}
            (Value::Null, others) => conform(root, others, value, &at),
            (known, _) => conform(root, known, value, &at),
        }
    }
}

fn is_of_type(value: &Value, name: &str) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => unreachable!("{name} is no type"),
    }
}

/// Whether a text fits one of the patterns of the schemas.
fn fits(text: &str, pattern: &str) -> bool {
    let are = |digits: &str| text.chars().all(|c| digits.contains(c));
    match pattern {
        "^/" => text.starts_with('/'),
        "^[0-7]{4}$" => text.len() == 4 && are("01234567"),
        "^([0-9a-f]{2})*$" => text.len().is_multiple_of(2) && are("0123456789abcdef"),
        _ => unreachable!("{pattern} is no pattern that is known here"),
    }
}

pub(super) fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn all_json_conforms_to_its_schema() {
    let (sample, image) = Sample::built();
    let copy = sample.path("copy.erofs");
    assert_conform("build", &[json(args!["build", "--json", sample.src(), copy])]);
    let protected = sample.path("protected.erofs");
    let build = args!["build", "--json", "--verity", sample.src(), protected];
    assert_conform("build", &[json(build)]);
    assert_conform("verity", &[json(args!["verity", "info", "--json", protected])]);
    let list = sample.path("list");
    fs::write(&list, "/hello\n").unwrap();
    let recorded = sample.path("recorded.erofs");
    let options = args!["build", "-q", "--provenance", "-L", "x", "--order", list];
    printed(options.into_iter().chain(args![sample.src(), recorded]));
    assert_conform("provenance", &[json(args!["info", "--provenance", "--json", recorded])]);
    assert_conform("verity", &[json(args!["verity", "add", "--json", copy])]);
    assert_conform("ls", &lines(&printed(args!["ls", "-R", "--json", image])));
    assert_conform("ls", &lines(&printed(args!["ls", "--json", image, "sub/deep", "link"])));
    assert_conform("stat", &lines(&printed(args!["stat", "--json", image, "**"])));
    assert_conform("map", &[json(args!["map", "--json", image, "sub/large"])]);
    assert_conform("check", &[json(args!["check", "--json", image])]);
    let profile = sample.path("profile");
    fs::write(&profile, "lith-profile 1\nread /hello 0+5 1 1\nread /gone 0+5 2 1\n").unwrap();
    let shown = json(args!["profile", "show", "--json", image, profile, "--beside", image]);
    assert_conform("profile", std::slice::from_ref(&shown));
    assert_eq!(
        (&shown["images"][1]["used_bytes"], &shown["images"][0]["missing"]),
        (&5.into(), &1.into())
    );
    let (_changed, wrong) = digests::changed();
    let found =
        String::from_utf8(lith(args!["check", "--json", "--digests", wrong]).stdout).unwrap();
    assert!(found.contains("wrong_digests"), "{found}");
    assert_conform("check", &[serde_json::from_str(&found).unwrap()]);
    assert_conform("check-rules", &lines(&printed(args!["check", "--rules", "--json"])));
    for options in [&["--superblock"][..], &[], &["--all", "--equal-files", "--presets"]] {
        let arguments = ["info", "--json"].iter().chain(options).map(Into::into);
        assert_conform("info", &[json(arguments.chain([image.clone().into_os_string()]))]);
    }
}

#[test]
fn what_was_made_conforms_to_its_schema() {
    let (sample, image) = Sample::built();
    let has_xattr = sample.set_xattr("hello", "user.sample", b"value");
    printed(args!["build", "-q", "--force", "-E", "^fragments", sample.src(), image]);
    let (out, tar, page) = (sample.path("out"), sample.path("out.tar"), sample.path("page.html"));
    let extracted = json(args!["extract", "--json", "-C", out, image]);
    assert_conform("extract", std::slice::from_ref(&extracted));
    assert_eq!(extracted["output"], out.to_str().unwrap());
    let written = json(args!["tar", "--json", "-o", tar, image]);
    assert_conform("tar", std::slice::from_ref(&written));
    for record in [&extracted, &written] {
        assert_eq!(record["bytes"], 350_016, "{record}");
    }
    let shown = json(args!["report", "--json", "-o", page, image]);
    assert_conform("report", std::slice::from_ref(&shown));
    assert_eq!(shown["bytes"].as_u64(), Some(fs::metadata(page).unwrap().len()));
    fs::write(sample.src().join("sub/noise"), b"less").unwrap();
    let (new, page) = (sample.path("new.erofs"), sample.path("both.html"));
    printed(args!["build", "-q", sample.src(), new]);
    let compared = json(args!["report", "--json", "-o", page, image, new]);
    assert_conform("report", std::slice::from_ref(&compared));
    assert_eq!(compared["comparison"]["names"]["changed"], 1);
    let dumped = lines(&printed(args!["dump", "--json", image]));
    assert_conform("dump", &dumped);
    assert_eq!(dumped.len(), printed(args!["dump", image]).lines().count());
    let of = |path: &str| dumped.iter().find(|record| record["path"] == path).unwrap();
    assert_eq!(of("/sub/hard")["first"], "/hello");
    assert_eq!(of("/hello").get("xattrs").is_some(), has_xattr);
    for args in
        [args!["tar", "--json", image].to_vec(), args!["tar", "--json", "-o", "-", image].to_vec()]
    {
        assert_ne!(lith(&args).status.code(), Some(0), "{args:?}");
    }
}

#[test]
fn what_is_made_of_images_conforms_to_its_schema() {
    let (sample, old) = Sample::built();
    fs::write(sample.src().join("added"), "more\n").unwrap();
    let [patch, whole, merged, new, delta, applied] =
        ["patch", "whole", "merged", "new", "delta", "applied"].map(|name| sample.path(name));
    printed(args!["build", "-q", "--base", old, sample.src(), patch]);
    let flat = json(args!["flatten", "--json", patch, "-o", whole]);
    let both = json(args!["merge", "--json", old, whole, "-o", merged]);
    assert_conform("build", &[flat.clone(), both.clone()]);
    for (made, path) in [(&flat, &whole), (&both, &merged)] {
        assert_eq!(made["image"], path.to_str().unwrap());
        assert_eq!(made["image_bytes"], fs::metadata(path).unwrap().len());
    }
    printed(args!["build", "-q", sample.src(), new]);
    let made = json(args!["delta", "--json", old, new, "-o", delta]);
    assert_conform("delta", std::slice::from_ref(&made));
    assert_eq!(made["bytes"], fs::metadata(&delta).unwrap().len());
    assert_eq!(made["new_bytes"], fs::metadata(&new).unwrap().len());
    let done = json(args!["apply", "--json", "-q", old, delta, "-o", applied]);
    assert_conform("apply", std::slice::from_ref(&done));
    assert_eq!(done["bytes"], made["new_bytes"]);
    assert_eq!(fs::read(applied).unwrap(), fs::read(new).unwrap());
}

#[test]
fn mounts_conform_to_their_schema() {
    if !mount::is_there() {
        return;
    }
    let (sample, image) = Sample::built();
    let at = MountPoint::new(&sample);
    for driver in ["kernel", "fuse"] {
        let mounted = json(args!["mount", "--json", format!("--{driver}"), image, at.path()]);
        assert_conform("mount", std::slice::from_ref(&mounted));
        assert_eq!(mounted["driver"], driver);
        printed(args!["umount", at.path()]);
    }
}

#[test]
fn findings_and_differences_conform_to_their_schemas() {
    let (sample, image) = Sample::built();
    let src = sample.src();
    fs::write(src.join("hello"), "hello, World\n").unwrap();
    fs::remove_file(src.join("empty")).unwrap();
    fs::create_dir(src.join("new")).unwrap();
    let found = lith(args!["diff", "--json", image, src]);
    let found = lines(&String::from_utf8(found.stdout).unwrap());
    assert_conform("diff", &found);
    let kinds = |what: &str| found.iter().filter(|record| record["what"] == what).count();
    assert_eq!([kinds("presence"), kinds("content")], [2, 1], "{found:?}");
    assert!(kinds("mtime") > 0);
    let map = json(args!["map", "--json", image, "/sub/large"]);
    let at = usize::try_from(map["extents"][0]["physical"].as_u64().unwrap()).unwrap();
    let mut bytes = fs::read(&image).unwrap();
    bytes[at..at + 4096].fill(0xff);
    fs::write(&image, bytes).unwrap();
    let record = lith(args!["check", "--json", image]).stdout;
    let record: Value = serde_json::from_slice(&record).unwrap();
    assert_conform("check", std::slice::from_ref(&record));
    assert_eq!(record["findings"].as_array().map(Vec::len), Some(1), "{record}");
}
