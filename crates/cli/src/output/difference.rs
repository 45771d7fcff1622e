//! Defines the JSON form of a difference between two trees.

use std::borrow::Cow;

use lith::tree::{Change, Difference, Timestamp};
use serde::Serialize;
use serde_json::{Value, json};

use super::json;

/// A line of `diff --json`.
#[derive(Debug, Serialize)]
pub(crate) struct DifferenceRecord<'a> {
    path: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path_hex: Option<String>,
    what: &'static str,
    /// The extended attribute concerned.
    #[serde(skip_serializing_if = "Option::is_none")]
    xattr: Option<Cow<'a, str>>,
    /// The first byte that differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    position: Option<u64>,
    /// The value in the first tree; null: it has none.
    a: Value,
    /// The value in the second tree.
    b: Value,
}

impl<'a> From<&'a Difference> for DifferenceRecord<'a> {
    fn from(difference: &'a Difference) -> Self {
        let Difference { path, change } = difference;
        let (what, a, b) = values(change);
        let xattr = match change {
            Change::XattrMissing(name)
            | Change::XattrAdded(name)
            | Change::XattrValue { name, .. } => Some(json::text(name)),
            _ => None,
        };
        let position = match change {
            Change::Content { position, .. } => Some(*position),
            _ => None,
        };
        let (path, path_hex) = json::path(path);
        Self { path, path_hex, what, xattr, position, a, b }
    }
}

/// The kind of a difference, and the values on both sides.
fn values(change: &Change) -> (&'static str, Value, Value) {
    match change {
        Change::Missing => ("presence", json!(true), json!(false)),
        Change::Added => ("presence", json!(false), json!(true)),
        Change::Kind(a, b) => ("type", json!(a), json!(b)),
        Change::Permissions(a, b) => ("mode", octal(*a), octal(*b)),
        Change::Uid(a, b) => ("uid", json!(a), json!(b)),
        Change::Gid(a, b) => ("gid", json!(a), json!(b)),
        Change::Mtime(a, b) => ("mtime", time(*a), time(*b)),
        Change::Nlink(a, b) => ("nlink", json!(a), json!(b)),
        Change::Links(a, b) => ("links", text(a), text(b)),
        Change::Rdev(a, b) => {
            let device =
                |rdev: &lith::tree::Rdev| json!({ "major": rdev.major, "minor": rdev.minor });
            ("rdev", device(a), device(b))
        }
        Change::Target(a, b) => ("target", text(a), text(b)),
        Change::Size(a, b) => ("size", json!(a), json!(b)),
        Change::Content { left, right, .. } => ("content", json!(left), json!(right)),
        Change::XattrMissing(_) => ("xattr", json!(true), json!(false)),
        Change::XattrAdded(_) => ("xattr", json!(false), json!(true)),
        Change::XattrValue { left, right, .. } => {
            ("xattr_value", json!(hex::encode(left)), json!(hex::encode(right)))
        }
    }
}

fn octal(permissions: u16) -> Value {
    json!(format!("{permissions:04o}"))
}

fn time(time: Timestamp) -> Value {
    json!({ "mtime": time.sec, "mtime_nsec": time.nsec })
}

fn text(bytes: &[u8]) -> Value {
    json!(json::text(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(change: Change) -> String {
        let difference = Difference { path: b"a".as_slice().into(), change };
        serde_json::to_string(&DifferenceRecord::from(&difference)).unwrap()
    }

    #[test]
    fn differences_are_json_objects() {
        assert_eq!(
            shown(Change::Permissions(0o644, 0o4755)),
            r#"{"path":"/a","what":"mode","a":"0644","b":"4755"}"#
        );
        assert_eq!(
            shown(Change::Content { position: 9, left: 1, right: 2 }),
            r#"{"path":"/a","what":"content","position":9,"a":1,"b":2}"#
        );
        assert_eq!(
            shown(Change::XattrAdded(b"user.x".as_slice().into())),
            r#"{"path":"/a","what":"xattr","xattr":"user.x","a":false,"b":true}"#
        );
    }
}
