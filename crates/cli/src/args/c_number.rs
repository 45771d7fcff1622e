//! How are numbers read as erofs-utils read them?

/// A number as strtoul(3) reads it for base 0: decimal, octal behind `0`, hexadecimal behind `0x`.
pub(crate) fn number(word: &str) -> Result<u64, String> {
    let (digits, radix) = match word.strip_prefix("0x").or_else(|| word.strip_prefix("0X")) {
        Some(digits) => (digits, 16),
        None if word.len() > 1 && word.starts_with('0') => (word, 8),
        None => (word, 10),
    };
    let is_sign = digits.starts_with(['+', '-']);
    let number = u64::from_str_radix(digits, radix).ok().filter(|_| !is_sign);
    number.ok_or_else(|| "a number is expected: 4096, 0x1000 or 010000".to_owned())
}

/// A number as [`number`] has it, with a sign before it or not.
pub(crate) fn signed(word: &str) -> Result<i64, String> {
    let (digits, is_negative) = word.strip_prefix('-').map_or((word, false), |rest| (rest, true));
    let size = i64::try_from(number(digits)?).map_err(|_large| "too large".to_owned())?;
    Ok(if is_negative { -size } else { size })
}

/// A number of bytes: one as [`number`] has it, perhaps with `k`, `m` or `g` behind it.
pub(crate) fn bytes(word: &str) -> Result<u64, String> {
    let shift = match word.as_bytes().last() {
        Some(b'k' | b'K') => 10,
        Some(b'm' | b'M') => 20,
        Some(b'g' | b'G') => 30,
        _ => 0,
    };
    let digits = if shift > 0 { word.get(..word.len() - 1).unwrap_or_default() } else { word };
    number(digits)?.checked_mul(1 << shift).ok_or_else(|| "too large".to_owned())
}

/// The number of a user or group: any but the one that means none.
pub(crate) fn id(word: &str) -> Result<u32, String> {
    let id = u32::try_from(number(word)?).ok().filter(|id| *id != u32::MAX);
    id.ok_or_else(|| "a number below 4294967295 is expected".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_c() {
        for (word, expected) in
            [("0", 0), ("4096", 4096), ("0x1000", 4096), ("010", 8), ("4k", 4096), ("1M", 1 << 20)]
        {
            assert_eq!(bytes(word), Ok(expected), "{word}");
        }
        for word in ["", "k", "0x", "09", "-1", "+1", "1.5", "4kk", "0x-1", "99999999999999999999"]
        {
            assert!(bytes(word).is_err(), "{word}");
        }
        assert!(bytes("99999999999g").is_err());
        assert_eq!((signed("-1"), signed("0x10"), signed("7")), (Ok(-1), Ok(16), Ok(7)));
        assert_eq!((id("1000"), id("4294967295").is_err()), (Ok(1000), true));
    }
}
