//! Reads a list of paths.

use std::io::{self, BufRead};

use crate::text::{clean_path, for_each_line};

/// The paths of a text with one on each line, from the root and without a leading slash. Empty lines have no meaning.
///
/// # Errors
/// [`io::Error`] if the text can't be read; of kind `InvalidData`, with a [`ParseError`](crate::ParseError) inside, if a
/// path can't exist.
pub fn paths_of_list(text: impl BufRead) -> io::Result<Vec<Vec<u8>>> {
    let mut paths = Vec::new();
    for_each_line(text, |_, line| {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if !line.is_empty() {
            paths.push(clean_path(line)?);
        }
        Ok(())
    })?;
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_a_line() {
        let found = paths_of_list(&b"/usr/bin/a b\n\n./x\r\ny"[..]).unwrap();
        assert_eq!(found, [&b"usr/bin/a b"[..], b"x", b"y"]);
        assert!(paths_of_list(&b"a\n../b\n"[..]).unwrap_err().to_string().contains("line 2"));
    }
}
