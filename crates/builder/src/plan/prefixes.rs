//! Defines [`Prefixes`], the long prefixes of extended attribute names.

use lith_format::xattr::{LONG_PREFIX_FLAG, LongPrefix, PrefixTable, ShortPrefix, XattrName};

use crate::xattr_name::{long_prefix, whole_name};

/// The long prefixes of an image.
#[derive(Debug, Default)]
pub(crate) struct Prefixes {
    /// Those of which each is some attribute's.
    table: Vec<LongPrefix>,
    /// The last one: the whole name of the attribute with digests, whether or not there is a file that has it.
    digest: Option<LongPrefix>,
}

/// How a name is stored.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spelling<'a> {
    /// The number of its short or long prefix.
    pub(crate) index: u8,
    pub(crate) name: XattrName<'a>,
}

impl Prefixes {
    /// Those of `requested` that are the longest match of at least one of `names`, in the order of the request, followed by
    /// the name `digest`, which is a prefix of no other name.
    pub(crate) fn of<'a>(
        requested: &[Vec<u8>],
        digest: Option<&[u8]>,
        names: impl Iterator<Item = &'a [u8]>,
    ) -> Self {
        let split = |prefix: &Vec<u8>| long_prefix(prefix).filter(|long| !long.infix.is_empty());
        let table = requested.iter().filter_map(split).collect();
        let mut all = Self { table, digest: digest.and_then(whole_name) };
        if all.table.is_empty() {
            return all;
        }
        let mut used = vec![false; all.table.len()];
        let names = names.filter(|name| Some(*name) != digest);
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
        if let Some(digest) = self.spell_digest(full) {
            return Some(digest);
        }
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
        u8::try_from(self.all().count()).expect("the options allow at most 128")
    }

    /// The number of the one that names digests, if there is one.
    pub(crate) fn digest_number(&self) -> Option<u8> {
        self.digest.as_ref().and(u8::try_from(self.table.len()).ok())
    }

    /// The table as it is stored; nothing if there are none.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        // Options hold no more, and no longer ones, than a table can.
        let table = PrefixTable::new(self.all().cloned().collect());
        let table = table.expect("the options allow no other prefixes");
        table.encode_into(&mut bytes);
        bytes
    }

    fn all(&self) -> impl Iterator<Item = &LongPrefix> {
        self.table.iter().chain(&self.digest)
    }

    /// How the name of digests is stored, if this is it.
    fn spell_digest(&self, full: &[u8]) -> Option<Spelling<'_>> {
        let LongPrefix { base, infix } = self.digest.as_ref()?;
        let base = ShortPrefix::from_raw(*base)?;
        let is_it = full.strip_prefix(base.text()).is_some_and(|rest| rest == infix);
        let index = LONG_PREFIX_FLAG | self.digest_number()?;
        is_it.then_some(Spelling { index, name: XattrName { base, infix, rest: b"" } })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_prefix_is_taken_and_what_no_name_has_is_left_out() {
        let asked = ["user.", "trusted.overlay.", "user.a.", "user.a.b.", "security.x"];
        let asked = asked.map(|prefix| prefix.as_bytes().to_vec());
        let names: [&[u8]; 4] =
            [b"user.a.b.c", b"user.z", b"trusted.overlay.", b"system.posix_acl_access"];
        let prefixes = Prefixes::of(&asked, None, names.into_iter());
        assert_eq!(prefixes.count(), 2);
        let stored = names.map(|name| {
            let spelling = prefixes.spell(name).unwrap();
            assert_eq!(spelling.name.to_full().unwrap(), name);
            (spelling.index, spelling.name.rest)
        });
        assert_eq!(stored, [(0x81, &b"c"[..]), (1, b"z"), (0x80, b""), (2, b"")]);
        let table = PrefixTable::parse(&prefixes.encode(), 2).unwrap();
        assert_eq!(table.prefixes()[1].infix, b"a.b.");
        assert!(Prefixes::of(&asked, None, [].into_iter()).encode().is_empty());
    }

    #[test]
    fn the_name_of_digests_is_a_prefix_of_nothing_else() {
        let asked = [b"user.d".to_vec(), b"user.digest".to_vec()];
        let names: [&[u8]; 3] = [b"user.digest", b"user.data", b"user.digest.2"];
        let index = |prefixes: &Prefixes, name: &[u8]| {
            let spelling = prefixes.spell(name).unwrap();
            (spelling.index, spelling.name.infix.to_vec(), spelling.name.rest.to_vec())
        };
        let prefixes = Prefixes::of(&asked, Some(names[0]), names.into_iter());
        assert_eq!((prefixes.count(), prefixes.digest_number()), (3, Some(2)));
        assert_eq!(index(&prefixes, names[0]), (0x82, b"digest".to_vec(), vec![]));
        assert_eq!(index(&prefixes, names[1]), (0x80, b"d".to_vec(), b"ata".to_vec()));
        assert_eq!(index(&prefixes, names[2]), (0x81, b"digest".to_vec(), b".2".to_vec()));
        let prefixes = Prefixes::of(&asked, Some(names[0]), names.into_iter().take(2));
        assert_eq!((prefixes.count(), prefixes.digest_number()), (2, Some(1)));
    }

    #[test]
    fn digests_can_be_hidden() {
        let name: &[u8] = b"erofs.fingerprint.v1";
        let prefixes = Prefixes::of(&[], Some(name), [].into_iter());
        let table = PrefixTable::parse(&prefixes.encode(), prefixes.count()).unwrap();
        assert_eq!(table.prefixes(), [LongPrefix { base: 0, infix: name.to_vec() }]);
        let spelling = prefixes.spell(name).unwrap();
        assert_eq!((spelling.index, spelling.name.rest), (0x80, &b""[..]));
        assert!(prefixes.spell(b"erofs.fingerprint.v2").is_none());
    }
}
