//! Formats names and numbers for a page.

use std::{cmp::Ordering, iter, str};

use lith_tree::DisplayPath;
use xxhash_rust::xxh3::xxh3_64;

use crate::{
    facts::Sums,
    number::{Bytes, Count, Share},
};

/// A name or path of any bytes.
pub(super) fn shown(name: &[u8]) -> String {
    DisplayPath(name).to_string()
}

/// The id of what a page says of a folder or type.
pub(super) fn anchor(name: &str) -> String {
    format!("a{:016x}", xxh3_64(name.as_bytes()))
}

/// Sums in one line.
pub(super) fn figures(sums: &Sums) -> String {
    let Sums { files, bytes, stored } = *sums;
    let (share, files) = (Share(stored, bytes), Count(files, "file"));
    format!("{} \u{2192} {} ({share}), {files}", Bytes(bytes), Bytes(stored))
}

/// A number with a comma between thousands.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let first = (digits.len() + 2) % 3 + 1;
    let (start, rest) = digits.split_at_checked(first).unwrap_or((&digits, ""));
    let groups = rest.as_bytes().chunks(3).filter_map(|group| str::from_utf8(group).ok());
    iter::once(start).chain(groups).collect::<Vec<_>>().join(",")
}

/// The share of one number in another in percent, for CSS.
pub(super) fn percent(part: u64, whole: u64) -> String {
    let thousandths =
        (u128::from(part) * 100_000).checked_div(u128::from(whole)).unwrap_or(0).min(100_000);
    format!("{}.{:03}%", thousandths / 1000, thousandths % 1000)
}

/// The difference between two numbers as a share of the old one, with its sign.
pub(super) fn change(new: u64, old: u64) -> String {
    let (sign, difference) = if new < old { ("\u{2212}", old - new) } else { ("+", new - old) };
    format!("{sign}{}", Share(difference, old))
}

/// The difference between two numbers of bytes, with its sign.
pub(super) fn delta(new: u64, old: u64) -> String {
    let sign = match new.cmp(&old) {
        Ordering::Less => "\u{2212}",
        Ordering::Equal => return "0".to_owned(),
        Ordering::Greater => "+",
    };
    format!("{sign}{}", Bytes(new.abs_diff(old)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_readable() {
        let numbers = [0, 12, 123, 1234, 123_456, 1_234_567].map(grouped);
        assert_eq!(numbers, ["0", "12", "123", "1,234", "123,456", "1,234,567"]);
        assert_eq!(percent(1, 3), "33.333%");
        assert_eq!(percent(7, 3), "100.000%");
        assert_eq!(percent(7, 0), "0.000%");
        assert_eq!(change(80, 100), "\u{2212}20.0 %");
        assert_eq!(change(150, 100), "+50.0 %");
        assert_eq!(
            [(9, 9), (1, 3), (2048, 0)].map(|(new, old)| delta(new, old)),
            ["0", "\u{2212}2 bytes", "+2.0 KiB"]
        );
    }
}
