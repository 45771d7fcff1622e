//! Which SELinux label does a file get? Defines [`FileContexts`], the rules of a `file_contexts` file.
//!
//! A rule has a regular expression that must match the whole path, optionally a file type, and a label. A rule without
//! special characters precedes all others; of several with the same path the first counts. Of the others the last that matches counts.
//! The expressions are those of PCRE without lookaround, back-references and possessive repetitions.

mod error;
mod pcre;
mod rule;

use std::{collections::HashMap, fs, path::Path};

use lith_tree::{Tree, Xattr};

use crate::mount_point::{MountPoint, inodes};
use rule::Rule;

pub use error::{LabelError, LabelProblem};

/// The attribute that holds a label.
const NAME: &[u8] = b"security.selinux";

/// The first bytes of a compiled file of rules.
const COMPILED: &[u8] = b"\x8a\xff\x7c\xf9";

/// The rules of a `file_contexts` file.
#[derive(Debug, Default)]
pub struct FileContexts {
    /// Rules without special characters, by their path.
    literal: HashMap<Vec<u8>, Vec<Rule>>,
    /// The others, in the order of the file.
    expressions: Vec<Rule>,
}

impl FileContexts {
    /// Reads the file at `path`.
    ///
    /// # Errors
    /// [`LabelError`] names the first line that is not a rule.
    pub fn read(path: &Path) -> Result<Self, LabelError> {
        let text =
            fs::read(path).map_err(|source| LabelError::Read { path: path.to_owned(), source })?;
        if text.starts_with(COMPILED) {
            return Err(LabelError::Compiled(path.to_owned()));
        }
        Self::parse(&text).map_err(|(line, source)| LabelError::Rule {
            path: path.to_owned(),
            line,
            source,
        })
    }

    /// Parses the lines of a file; an error comes with the number of its line, from 1.
    fn parse(text: &[u8]) -> Result<Self, (usize, LabelProblem)> {
        let mut contexts = Self::default();
        for (number, line) in (1_usize..).zip(text.split(|byte| *byte == b'\n')) {
            let line = line.trim_ascii();
            if line.is_empty() || line.starts_with(b"#") {
                continue;
            }
            let (rule, literal) = Rule::parse(line).map_err(|problem| (number, problem))?;
            match literal {
                Some(path) => contexts.literal.entry(path).or_default().push(rule),
                None => contexts.expressions.push(rule),
            }
        }
        Ok(contexts)
    }

    /// The label of the file at an absolute path; `kind` is the letter of its type as [`lith_tree::Kind::letter`] returns it.
    #[must_use]
    pub fn label(&self, path: &[u8], kind: char) -> Option<&[u8]> {
        let literal = self.literal.get(path).into_iter().flatten();
        let mut rules = literal.chain(self.expressions.iter().rev());
        rules.find(|rule| rule.matches(path, kind))?.label.as_deref()
    }

    /// Replaces the labels of all files of `tree`, which is going to be mounted at `mount_point`.
    pub fn apply(&self, tree: &mut Tree, mount_point: &[u8]) {
        let mounted = MountPoint::new(mount_point);
        for inode in inodes(tree) {
            let node = tree.get(inode);
            let path = mounted.absolute(&tree.path(inode));
            let label = self.label(&path, node.kind.letter());
            let old = tree.xattrs.get(node.metadata.xattrs);
            let mut xattrs: Vec<Xattr> =
                old.iter().filter(|xattr| &*xattr.name != NAME).cloned().collect();
            xattrs.extend(label.map(|label| Xattr { name: NAME.into(), value: label.into() }));
            tree.get_mut(inode).metadata.xattrs = tree.xattrs.intern(xattrs);
        }
    }
}

#[cfg(test)]
mod tests {
    use lith_tree::{InodeIndex, Kind, Metadata, Name};

    use super::*;

    const RULES: &[u8] = b"# comment\n\
        /etc/b\tu:exact:s0\n\
        /(.*)?\tu:root:s0\n\
        \t/bin(/.*)?  u:bin:s0  \n\
        /bin/.*\t-l\tu:link:s0\n\
        /etc/[a-z]+\\.conf -- u:conf:s0\n\
        /etc/.* u:etc:s0\n\
        /etc/a\\.b u:dot:s0\n\
        /etc/d/deep -- u:deep:s0\n\
        /e.* u:e:s0\n\
        /lib/none <<none>>\n\
        /lib/z -d u:wrong:s0\n\
        /lib/x u:first:s0\n\
        /lib/x u:second:s0\n\
        /lib/.*|/bin/sh u:alternative:s0\n";

    #[test]
    fn literal_rules_precede_and_of_others_the_last_counts() {
        let contexts = FileContexts::parse(RULES).unwrap();
        for (path, kind, label) in [
            ("/", 'd', "root"),
            ("/bin", 'd', "bin"),
            ("/bin/sh", 'f', "bin"),
            ("/bin/l", 'l', "link"),
            ("/etc/a.conf", 'f', "e"),
            ("/etc/b", 'f', "exact"),
            ("/etc/a.b", 'f', "dot"),
            ("/etc/d/deep", 'f', "deep"),
            ("/etc/d/deep", 'd', "e"),
            ("/lib/z", 'f', "alternative"),
            ("/lib/x", 'f', "first"),
            ("/other", 's', "root"),
        ] {
            let expected = format!("u:{label}:s0");
            let found = contexts.label(path.as_bytes(), kind);
            assert_eq!(found, Some(expected.as_bytes()), "{path} {kind}");
        }
        assert_eq!(contexts.label(b"/lib/none", 'f'), None);
        assert_eq!(FileContexts::parse(b"/a u:a:s0").unwrap().label(b"/b", 'f'), None);
    }

    #[test]
    fn labels_replace_those_of_the_source() {
        let mut tree = Tree::new(Metadata::default());
        let name = |name: &str| Name::new(name.as_bytes()).unwrap();
        let metadata = Metadata::default();
        let sys = tree.add(InodeIndex::ROOT, name("x"), metadata, Kind::directory()).unwrap();
        let old = tree.xattrs.intern(vec![
            Xattr { name: NAME.into(), value: b"old\0"[..].into() },
            Xattr { name: b"user.a"[..].into(), value: b"1"[..].into() },
        ]);
        tree.get_mut(sys).metadata.xattrs = old;
        let contexts = FileContexts::parse(b"/sys u:sys:s0\n/sys/y u:y:s0").unwrap();
        for mount_point in ["/sys", "sys", "/sys/", "//sys"] {
            contexts.apply(&mut tree, mount_point.as_bytes());
            let root = tree.xattrs.get(tree.get(InodeIndex::ROOT).metadata.xattrs);
            let expected = Xattr { name: NAME.into(), value: b"u:sys:s0"[..].into() };
            assert_eq!(root, [expected], "{mount_point}");
        }
        let left = tree.xattrs.get(tree.get(sys).metadata.xattrs);
        assert_eq!(left.iter().map(|xattr| &*xattr.name).collect::<Vec<_>>(), [b"user.a"]);
    }

    #[test]
    fn wrong_lines_are_named() {
        for (text, line, problem) in [
            (&b"/a u:a:s0\n/b\n"[..], 2, LabelProblem::Fields),
            (b"/a -x u:a:s0", 1, LabelProblem::Kind),
            (b"\n\n/a++ u:a:s0", 3, LabelProblem::Possessive),
            (b"/a\\ x", 1, LabelProblem::TrailingBackslash),
        ] {
            assert_eq!(FileContexts::parse(text).unwrap_err(), (line, problem));
        }
        for text in [&b"/(?!a) x"[..], b"/(a)\\1 x", b"/(a x", b"/[a x", b"/(?<=a)b x"] {
            let (_, problem) = FileContexts::parse(text).unwrap_err();
            assert!(matches!(problem, LabelProblem::Regex(_)), "{problem:?}");
        }
    }
}
