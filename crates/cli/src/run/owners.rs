//! Finds the names of owners and groups in an image.

use std::collections::HashMap;

use lith::reader::Image;

/// Larger files of names are not read.
const MOST: u64 = 16 << 20;

/// Names by number; numbers without one are shown as they are.
#[derive(Debug, Default)]
pub(super) struct Owners {
    users: HashMap<u32, String>,
    groups: HashMap<u32, String>,
}

impl Owners {
    /// Those in the image's /etc/passwd and /etc/group, as far as they can be read.
    pub(super) fn of(image: &Image) -> Self {
        let read = |path| names(&content(image, path).unwrap_or_default());
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

fn content(image: &Image, path: &str) -> Option<Vec<u8>> {
    let inode = image.resolve_following(path).ok()?;
    let file = image.file(&inode).ok()?;
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
