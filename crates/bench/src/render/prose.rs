//! Parses plain text with code in backquotes.

/// Pieces of a text in turn, and whether each is code; a backquote without its other one is a letter like any.
pub(super) fn pieces(text: &str) -> Vec<(bool, &str)> {
    let pieces: Vec<_> = text.split('`').collect();
    if pieces.len().is_multiple_of(2) {
        return vec![(false, text)];
    }
    let numbered = pieces.into_iter().enumerate();
    numbered
        .map(|(index, piece)| (index % 2 == 1, piece))
        .filter(|(_, piece)| !piece.is_empty())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_what_two_backquotes_hold() {
        assert_eq!(pieces("`a` b"), [(true, "a"), (false, " b")]);
        assert_eq!(pieces("one ` only"), [(false, "one ` only")]);
        assert!(pieces("").is_empty());
    }
}
