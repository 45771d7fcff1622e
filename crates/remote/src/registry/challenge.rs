//! Defines [`Challenge`]: what a registry demands that has refused a request.

use std::collections::HashMap;

/// What a registry demands, by a header `WWW-Authenticate`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Challenge {
    /// A user and a password.
    Basic,
    /// A token of another server.
    Bearer {
        /// The address of that server.
        realm: String,
        service: Option<String>,
        /// What the token is for.
        scope: Option<String>,
    },
}

impl Challenge {
    /// Parses the value of a header; `None`: it is of another kind.
    pub(crate) fn parse(value: &str) -> Option<Self> {
        let (kind, rest) = value.trim().split_once(' ').unwrap_or((value.trim(), ""));
        if kind.eq_ignore_ascii_case("basic") {
            return Some(Self::Basic);
        }
        if !kind.eq_ignore_ascii_case("bearer") {
            return None;
        }
        let mut fields = fields(rest);
        let mut take = |name: &str| fields.remove(name);
        Some(Self::Bearer { realm: take("realm")?, service: take("service"), scope: take("scope") })
    }
}

/// The fields `name="value"` of a list, where a quoted value can have commas.
fn fields(mut text: &str) -> HashMap<String, String> {
    let mut fields = HashMap::new();
    while let Some((name, rest)) = text.split_once('=') {
        let name = name.trim_matches([' ', ',']).to_ascii_lowercase();
        let (value, rest) = match rest.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').unwrap_or((quoted, "")),
            None => rest.split_once(',').unwrap_or((rest, "")),
        };
        fields.insert(name, value.trim().to_owned());
        text = rest;
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_commas() {
        let text =
            r#"Bearer realm="https://auth/token",service=reg,scope="repository:a:pull,push""#;
        let expected = Challenge::Bearer {
            realm: "https://auth/token".to_owned(),
            service: Some("reg".to_owned()),
            scope: Some("repository:a:pull,push".to_owned()),
        };
        assert_eq!(Challenge::parse(text), Some(expected));
        assert_eq!(Challenge::parse("basic realm=x"), Some(Challenge::Basic));
        assert_eq!(Challenge::parse("Basic"), Some(Challenge::Basic));
        for text in ["Negotiate x", "Bearer service=x", "", "Bearer realm"] {
            assert_eq!(Challenge::parse(text), None, "{text}");
        }
    }
}
