//! Parses one source file into its modules: the names each defines, what it imports, and the paths in its code.
//!
//! A file is read as trees of tokens, so strings, comments and lifetimes can't mislead. Items under `#[cfg(test)]` and
//! `#[test]` are left out.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Delimiter, Group, Spacing, TokenStream, TokenTree};

/// The segments of a path, such as `crate`, `zmap`, `Header`.
pub(super) type Segments = Vec<String>;

/// What a name stands for in its module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Name {
    /// An item defined right there.
    Item,
    /// A module written in the same file.
    Inline(Box<Scanned>),
    /// A module in a file of its own.
    File,
    /// Another name for what the path leads to.
    Use(Segments),
}

/// An `impl` block without a trait.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Inherent {
    /// The type.
    pub(super) target: Segments,
    /// The names of its functions and constants.
    pub(super) members: Vec<String>,
}

/// A module as its text defines it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Scanned {
    /// Names and their meanings; a module and a function may share one.
    pub(super) names: BTreeMap<String, Vec<Name>>,
    /// Modules and enumerations of which all names are imported.
    pub(super) globs: Vec<Segments>,
    /// Paths of private imports and those in the code.
    pub(super) mentions: BTreeSet<Segments>,
    /// Names that are called as methods, or as `Self::name`.
    pub(super) methods: BTreeSet<String>,
    /// `impl` blocks without a trait.
    pub(super) inherent: Vec<Inherent>,
}

impl Scanned {
    /// The module that a file's text defines.
    pub(super) fn parse(text: &str) -> Self {
        let mut scanned = Self::default();
        scanned.items(text.parse().expect("the file compiles, so it consists of tokens"));
        scanned
    }

    fn items(&mut self, stream: TokenStream) {
        let tokens: Vec<_> = stream.into_iter().collect();
        let mut rest = &*tokens;
        while !rest.is_empty() {
            let (attributes, after) = attributes(rest);
            let length = item_length(after);
            let (item, next) = after.split_at(length);
            if !attributes.iter().any(is_for_tests) {
                for group in attributes {
                    self.code(group.stream());
                }
                self.item(item);
            }
            rest = next;
        }
    }

    fn item(&mut self, item: &[TokenTree]) {
        let visibility = visibility_length(item);
        let body = item.get(visibility..).unwrap_or_default();
        match keyword(body) {
            Some(("use", at)) => {
                self.import(body.get(at + 1..).unwrap_or_default(), visibility > 0);
            }
            Some(("mod", at)) => self.module(body.get(at + 1..).unwrap_or_default()),
            Some(("impl", at)) => self.implementation(body.get(at + 1..).unwrap_or_default()),
            Some(("extern", _)) => braces(body).for_each(|group| self.items(group.stream())),
            Some((_, at)) => {
                self.define(body.get(at + 1));
                self.code(body.iter().cloned().collect());
            }
            None => self.code(body.iter().cloned().collect()),
        }
    }

    fn define(&mut self, name: Option<&TokenTree>) {
        // The name of a macro stands after `macro_rules!`.
        if let Some(TokenTree::Ident(name)) = name {
            self.names.entry(name.to_string()).or_default().push(Name::Item);
        }
    }

    fn module(&mut self, rest: &[TokenTree]) {
        let Some(TokenTree::Ident(name)) = rest.first() else { return };
        let meaning = braces(rest).next().map_or(Name::File, |group| {
            let mut inner = Self::default();
            inner.items(group.stream());
            Name::Inline(Box::new(inner))
        });
        self.names.entry(name.to_string()).or_default().push(meaning);
    }

    fn import(&mut self, tree: &[TokenTree], is_public: bool) {
        for (path, name) in use_paths(tree, &[]) {
            if !is_public {
                self.mentions.insert(path.clone());
            }
            match name {
                Some(name) => self.names.entry(name).or_default().push(Name::Use(path)),
                None => self.globs.push(path),
            }
        }
    }

    fn implementation(&mut self, rest: &[TokenTree]) {
        self.code(rest.iter().cloned().collect());
        let Some(body) = braces(rest).last() else { return };
        let head: Vec<_> = rest.iter().take_while(|tree| !is_brace(tree)).collect();
        if is_of_trait(&head) {
            return;
        }
        let mut members = Self::default();
        members.items(body.stream());
        let members = members.names.into_keys().collect();
        self.inherent.push(Inherent { target: type_of(&head), members });
    }

    /// Collects the paths and the method calls in code.
    fn code(&mut self, stream: TokenStream) {
        let mut tokens: Vec<_> = stream.into_iter().collect();
        while let Some(at) = test_attribute(&tokens) {
            tokens.drain(at);
        }
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            match token {
                TokenTree::Group(group) => self.code(group.stream()),
                TokenTree::Ident(ident)
                    if *ident == "use" && !is_punct(tokens.get(at + 1), '<') =>
                {
                    let end = tokens.iter().skip(at).position(|t| is_punct(Some(t), ';'));
                    let end = at + end.unwrap_or(tokens.len() - at);
                    self.import_in_body(tokens.get(at + 1..end).unwrap_or_default());
                    at = end;
                }
                TokenTree::Ident(_) => at += self.mention(&tokens, at),
                _ => {}
            }
            at += 1;
        }
    }

    /// Names of imports within a function are not known to other functions, so only their paths count.
    fn import_in_body(&mut self, tree: &[TokenTree]) {
        self.mentions.extend(use_paths(tree, &[]).into_iter().map(|(path, _)| path));
    }

    /// Takes the path that starts at a token, and returns how many more tokens it has.
    fn mention(&mut self, tokens: &[TokenTree], at: usize) -> usize {
        let before = at.checked_sub(1).and_then(|at| tokens.get(at));
        let path = path_at(tokens, at);
        let length = path.len() * 3 - 3;
        let is_call = |at: usize| match tokens.get(at) {
            Some(TokenTree::Group(group)) => group.delimiter() == Delimiter::Parenthesis,
            following => is_punct(following, ':'),
        };
        match (before, &*path) {
            (Some(TokenTree::Punct(punct)), [name, ..]) if ".'".contains(punct.as_char()) => {
                // `..limit` is a range, not a method.
                let is_range = punct.as_char() == '.'
                    && at.checked_sub(2).is_some_and(|at| is_punct(tokens.get(at), '.'));
                if is_range {
                    self.take(path, true);
                } else if is_call(at + 1) {
                    self.methods.insert(name.clone());
                }
            }
            // What follows the generics of a path belongs to that path.
            (Some(TokenTree::Punct(punct)), _)
                if punct.as_char() == ':' && is_double(tokens, at) => {}
            (_, [first, name, ..]) if first == "Self" => {
                self.methods.insert(name.clone());
            }
            _ => self.take(path, is_call(at + length + 1)),
        }
        length
    }

    /// A name in lower case that is not called is most likely a variable or a field.
    fn take(&mut self, path: Segments, is_called: bool) {
        let is_variable = |name: &String| name.starts_with(|c: char| c.is_lowercase() || c == '_');
        match &*path {
            [only] if is_variable(only) && !is_called => {}
            _ => {
                self.mentions.insert(path);
            }
        }
    }
}

/// The attributes at the start, and what follows them.
fn attributes(tokens: &[TokenTree]) -> (Vec<Group>, &[TokenTree]) {
    let mut groups = Vec::new();
    let mut rest = tokens;
    loop {
        match rest {
            [TokenTree::Punct(hash), TokenTree::Group(group), after @ ..]
                if hash.as_char() == '#' =>
            {
                groups.push(group.clone());
                rest = after;
            }
            [TokenTree::Punct(hash), TokenTree::Punct(_), TokenTree::Group(_), after @ ..]
                if hash.as_char() == '#' =>
            {
                rest = after;
            }
            _ => return (groups, rest),
        }
    }
}

/// Whether an attribute is `#[test]`, or a `#[cfg]` that only tests fulfil.
fn is_for_tests(attribute: &Group) -> bool {
    let text = attribute.stream().to_string();
    let words: Vec<_> = text.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
    match words.first() {
        Some(&"test") => true,
        Some(&"cfg") => {
            words.contains(&"test") && !words.contains(&"not") && !words.contains(&"any")
        }
        _ => false,
    }
}

/// Tokens of the item that starts here.
fn item_length(tokens: &[TokenTree]) -> usize {
    let body = visibility_length(tokens);
    let ends_with_semicolon = match keyword(tokens.get(body..).unwrap_or_default()) {
        Some((word, _)) => ["use", "const", "static", "type"].contains(&word),
        None => false,
    };
    let is_end =
        |token: &TokenTree| is_punct(Some(token), ';') || !ends_with_semicolon && is_brace(token);
    tokens.iter().position(is_end).map_or(tokens.len(), |at| at + 1)
}

/// Tokens of `pub`, or `pub(crate)` and the like.
fn visibility_length(tokens: &[TokenTree]) -> usize {
    match tokens {
        [TokenTree::Ident(word), TokenTree::Group(_), ..] if *word == "pub" => 2,
        [TokenTree::Ident(word), ..] if *word == "pub" => 1,
        _ => 0,
    }
}

/// The word that says which kind of item this is, and where the word is; the name follows it.
fn keyword(tokens: &[TokenTree]) -> Option<(&'static str, usize)> {
    const KINDS: [&str; 10] =
        ["fn", "struct", "enum", "union", "trait", "type", "static", "use", "mod", "impl"];
    for (at, token) in tokens.iter().enumerate() {
        let word = match token {
            TokenTree::Ident(ident) => ident.to_string(),
            // The name of the ABI in `extern "C"`.
            TokenTree::Literal(_) => continue,
            TokenTree::Group(_) if at > 0 && is_word(tokens.get(at - 1), "extern") => {
                return Some(("extern", at));
            }
            TokenTree::Group(_) if at > 1 && is_word(tokens.get(at - 2), "extern") => {
                return Some(("extern", at));
            }
            _ => return None,
        };
        if let Some(kind) = KINDS.into_iter().find(|kind| *kind == word) {
            return Some((kind, at));
        }
        match &*word {
            "const"
                if !is_word(tokens.get(at + 1), "fn") && !is_word(tokens.get(at + 1), "unsafe") =>
            {
                return Some(("const", at));
            }
            "macro_rules" => return Some(("macro_rules", at + 1)),
            "const" | "unsafe" | "async" | "extern" => {}
            _ => return None,
        }
    }
    None
}

/// The paths of an import with the name that each gets: none for all names of the path.
fn use_paths(tree: &[TokenTree], before: &[String]) -> Vec<(Segments, Option<String>)> {
    let mut path = before.to_vec();
    let mut paths = Vec::new();
    let mut name = None;
    for (at, token) in tree.iter().enumerate() {
        match token {
            TokenTree::Ident(word) if *word == "as" => {
                name = tree.get(at + 1).map(ToString::to_string);
                break;
            }
            TokenTree::Ident(word) if *word == "self" && !path.is_empty() => {}
            TokenTree::Ident(word) => path.push(word.to_string()),
            TokenTree::Group(group) => {
                let inner: Vec<_> = group.stream().into_iter().collect();
                for part in inner.split(|token| is_punct(Some(token), ',')) {
                    if !part.is_empty() {
                        paths.extend(use_paths(part, &path));
                    }
                }
                return paths;
            }
            TokenTree::Punct(punct) if punct.as_char() == '*' => return vec![(path, None)],
            _ => {}
        }
    }
    let name = name.or_else(|| path.last().cloned());
    vec![(path, name)]
}

/// The segments of the path that starts at a token.
fn path_at(tokens: &[TokenTree], mut at: usize) -> Segments {
    let mut path = Vec::new();
    while let Some(TokenTree::Ident(ident)) = tokens.get(at) {
        path.push(ident.to_string());
        if !is_double(tokens, at + 3) {
            break;
        }
        at += 3;
    }
    path
}

/// Whether `::` stands before a token.
fn is_double(tokens: &[TokenTree], at: usize) -> bool {
    let colon = |before: usize| match at.checked_sub(before).and_then(|at| tokens.get(at)) {
        Some(TokenTree::Punct(punct)) if punct.as_char() == ':' => Some(punct.spacing()),
        _ => None,
    };
    colon(2) == Some(Spacing::Joint) && colon(1).is_some()
}

/// Where an item of tests stands in a body: the members of an `impl` block, or statements.
fn test_attribute(tokens: &[TokenTree]) -> Option<std::ops::Range<usize>> {
    let start = tokens.windows(2).position(|pair| match pair {
        [TokenTree::Punct(hash), TokenTree::Group(group)] => {
            hash.as_char() == '#' && is_for_tests(group)
        }
        _ => false,
    })?;
    let (_, after) = attributes(tokens.get(start..)?);
    Some(start..tokens.len() - after.len() + item_length(after))
}

/// Whether the head of an `impl` block names a trait; `for<'a>` does not.
fn is_of_trait(head: &[&TokenTree]) -> bool {
    head.iter()
        .enumerate()
        .any(|(at, token)| is_word(Some(token), "for") && !is_punct(head.get(at + 1).copied(), '<'))
}

/// The type of an `impl` block without a trait.
fn type_of(head: &[&TokenTree]) -> Segments {
    let mut depth = 0_u32;
    let mut path = Vec::new();
    for (at, token) in head.iter().enumerate() {
        match token {
            TokenTree::Punct(punct) if punct.as_char() == '<' => depth += 1,
            TokenTree::Punct(punct) if punct.as_char() == '>' => {
                let is_arrow = at > 0 && is_punct(head.get(at - 1).copied(), '-');
                depth = depth.saturating_sub(u32::from(!is_arrow));
            }
            TokenTree::Ident(word) if *word == "where" => break,
            TokenTree::Ident(word) if depth == 0 => path.push(word.to_string()),
            _ => {}
        }
    }
    path
}

fn braces(tokens: &[TokenTree]) -> impl Iterator<Item = &Group> {
    tokens.iter().filter_map(|token| match token {
        TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => Some(group),
        _ => None,
    })
}

fn is_brace(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace)
}

fn is_punct(token: Option<&TokenTree>, char: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == char)
}

fn is_word(token: Option<&TokenTree>, word: &str) -> bool {
    matches!(token, Some(TokenTree::Ident(ident)) if *ident == word)
}
