//! Which long prefixes do the names of extended attributes share?

use lith_format::xattr::{LONG_PREFIX_FLAG, LongPrefix, PrefixTable, XattrName};

/// The long prefixes of an image, each of which some attribute has.
#[derive(Debug, Default)]
pub(crate) struct Prefixes {
    table: Vec<LongPrefix>,
}

/// How a name is stored.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spelling<'a> {
    /// The number of its short or long prefix.
    pub(crate) index: u8,
    pub(crate) name: XattrName<'a>,
}

impl Prefixes {
    /// Those of `asked` that are the longest fit for one of `names` at least, in the order in which they were asked for.
    pub(crate) fn of<'a>(asked: &[Vec<u8>], names: impl Iterator<Item = &'a [u8]>) -> Self {
        let split = |prefix: &Vec<u8>| long_prefix(prefix).filter(|long| !long.infix.is_empty());
        let mut all = Self { table: asked.iter().filter_map(split).collect() };
        if all.table.is_empty() {
            return all;
        }
        let mut used = vec![false; all.table.len()];
        for name in names.filter_map(XattrName::split) {
            if let Some(used) = all.longest(&name).and_then(|at| used.get_mut(at)) {
                *used = true;
            }
        }
        let mut used = used.into_iter();
        all.table.retain(|_| used.next() == Some(true));
        all
    }

    /// How a whole name is stored; not at all if its namespace has no form.
    pub(crate) fn spell<'a>(&'a self, full: &'a [u8]) -> Option<Spelling<'a>> {
        let name = XattrName::split(full)?;
        let short = Spelling { index: name.base.to_raw(), name };
        let Some((at, long)) = self.longest(&name).and_then(|at| Some((at, self.table.get(at)?)))
        else {
            return Some(short);
        };
        let rest = name.rest.get(long.infix.len()..)?;
        let index = LONG_PREFIX_FLAG | u8::try_from(at).ok()?;
        Some(Spelling { index, name: XattrName { infix: &long.infix, rest, ..name } })
    }

    /// How many there are, at most 128.
    pub(crate) fn count(&self) -> u8 {
        u8::try_from(self.table.len()).unwrap_or(u8::MAX)
    }

    /// The table as it is stored; nothing if there are none.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        // Options hold no more, and no longer ones, than a table can.
        let table = PrefixTable::new(self.table.clone()).unwrap_or_default();
        table.encode_into(&mut bytes);
        bytes
    }

    /// The number of the longest prefix of a name, of equally long ones the first.
    fn longest(&self, name: &XattrName<'_>) -> Option<usize> {
        let fits = |long: &LongPrefix| {
            long.base == name.base.to_raw() && name.rest.starts_with(&long.infix)
        };
        let fitting = self.table.iter().enumerate().filter(|(_, long)| fits(long));
        fitting.rev().max_by_key(|(_, long)| long.infix.len()).map(|(at, _)| at)
    }
}

/// A prefix in parts; nothing if no attribute that Linux shows can begin with it.
pub(crate) fn long_prefix(prefix: &[u8]) -> Option<LongPrefix> {
    let name = XattrName::split(prefix).filter(|name| !name.base.is_whole_name())?;
    Some(LongPrefix { base: name.base.to_raw(), infix: name.rest.to_vec() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_prefix_is_taken_and_what_no_name_has_is_left_out() {
        let asked = ["user.", "trusted.overlay.", "user.a.", "user.a.b.", "security.x"];
        let asked = asked.map(|prefix| prefix.as_bytes().to_vec());
        let names: [&[u8]; 4] =
            [b"user.a.b.c", b"user.z", b"trusted.overlay.", b"system.posix_acl_access"];
        let prefixes = Prefixes::of(&asked, names.into_iter());
        assert_eq!(prefixes.count(), 2);
        let stored = names.map(|name| {
            let spelling = prefixes.spell(name).unwrap();
            assert_eq!(spelling.name.to_full().unwrap(), name);
            (spelling.index, spelling.name.rest)
        });
        assert_eq!(stored, [(0x81, &b"c"[..]), (1, b"z"), (0x80, b""), (2, b"")]);
        let table = PrefixTable::parse(&prefixes.encode(), 2).unwrap();
        assert_eq!(table.prefixes()[1].infix, b"a.b.");
        assert!(Prefixes::of(&asked, [].into_iter()).encode().is_empty());
    }
}
