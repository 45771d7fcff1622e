//! Defines [`user()`] and [`group()`]: the numbers of owners, by number or by a name of this machine.

use std::fs;

/// The id of a user: a number, or a name in `/etc/passwd`.
#[must_use]
pub fn user(text: &str) -> Option<u32> {
    id(text, "/etc/passwd")
}

/// The id of a group: a number, or a name in `/etc/group`.
#[must_use]
pub fn group(text: &str) -> Option<u32> {
    id(text, "/etc/group")
}

/// A number, or that of a name in a table, in the third of the fields that colons separate. Root has 0 everywhere.
fn id(text: &str, table: &str) -> Option<u32> {
    if let Ok(id) = text.parse() {
        return Some(id);
    }
    let table = fs::read(table).unwrap_or_default();
    let mut lines = table.split(|byte| *byte == b'\n');
    let found = lines.find_map(|line| {
        let mut fields = line.split(|byte| *byte == b':');
        let name = fields.next()?;
        (name == text.as_bytes()).then(|| str::from_utf8(fields.nth(1)?).ok()?.parse().ok())?
    });
    found.or_else(|| (text == "root").then_some(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owners_are_numbers_or_names() {
        assert_eq!((user("7"), user("root"), group("root")), (Some(7), Some(0), Some(0)));
        assert!(user("nobody at all").is_none() && user("-1").is_none());
    }
}
