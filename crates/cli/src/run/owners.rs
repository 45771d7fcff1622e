//! Finds the names of owners and groups in an image or another tree.

use std::collections::HashMap;

use super::volume::Volume;

/// Larger files of names are not read.
const MOST: u64 = 16 << 20;

/// Names by number; numbers without one are shown as they are.
#[derive(Debug, Default)]
pub(super) struct Owners {
    users: HashMap<u32, String>,
    groups: HashMap<u32, String>,
}

impl Owners {
    /// Those in its /etc/passwd and /etc/group, as far as they can be read.
    pub(super) fn of(volume: &impl Volume) -> Self {
        let read = |path: &str| names(&content(volume, path.as_bytes()).unwrap_or_default());
        Self { users: read("/etc/passwd"), groups: read("/etc/group") }
    }

    pub(super) fn user(&self, uid: u32) -> String {
        shown(&self.users, uid)
    }

    pub(super) fn group(&self, gid: u32) -> String {
        shown(&self.groups, gid)
    }
}

fn shown(names: &HashMap<u32, String>, number: u32) -> String {
    names.get(&number).cloned().unwrap_or_else(|| number.to_string())
}

fn content(volume: &impl Volume, path: &[u8]) -> Option<Vec<u8>> {
    let node = volume.find(path, true).ok()?;
    let file = volume.content(&node).ok()?;
    let mut bytes = vec![0; usize::try_from(file.size().min(MOST)).ok()?];
    file.read_at(&mut bytes, 0).ok()?;
    Some(bytes)
}

/// The names in a file whose lines are `name:password:number:...`; the first of several with a number counts.
fn names(bytes: &[u8]) -> HashMap<u32, String> {
    let mut names = HashMap::new();
    for line in String::from_utf8_lossy(bytes).lines() {
        let mut fields = line.split(':');
        let (name, number) = (fields.next(), fields.nth(1).and_then(|number| number.parse().ok()));
        if let (Some(name), Some(number)) = (name, number) {
            names.entry(number).or_insert_with(|| name.to_owned());
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_passwd() {
        let names = names(b"root:x:0:0::/root:/bin/sh\ntoor:x:0:\n\nbad\nme:x:1000:1000\n+::::\n");
        assert_eq!([shown(&names, 0), shown(&names, 1000), shown(&names, 7)], ["root", "me", "7"]);
    }
}
