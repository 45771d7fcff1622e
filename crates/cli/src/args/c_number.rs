//! Parses numbers as erofs-utils do.

/// Parses a number as strtoul(3) does for base 0: decimal, octal after `0`, hexadecimal after `0x`.
pub(crate) fn number(text: &str) -> Result<u64, String> {
    let (digits, radix) = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => (digits, 16),
        None if text.len() > 1 && text.starts_with('0') => (text, 8),
        None => (text, 10),
    };
    let is_sign = digits.starts_with(['+', '-']);
    let number = u64::from_str_radix(digits, radix).ok().filter(|_| !is_sign);
    number.ok_or_else(|| "expected a number such as 4096, 0x1000 or 010000".to_owned())
}

/// Parses a number as [`number`] does, with an optional minus sign.
pub(crate) fn signed(text: &str) -> Result<i64, String> {
    let (digits, is_negative) = text.strip_prefix('-').map_or((text, false), |rest| (rest, true));
    let size = i64::try_from(number(digits)?).map_err(|_large| "too large".to_owned())?;
    Ok(if is_negative { -size } else { size })
}

/// Parses a number of bytes as [`number`] does, with an optional suffix `k`, `m` or `g`.
pub(crate) fn bytes(text: &str) -> Result<u64, String> {
    let shift = match text.as_bytes().last() {
        Some(b'k' | b'K') => 10,
        Some(b'm' | b'M') => 20,
        Some(b'g' | b'G') => 30,
        _ => 0,
    };
    let digits = if shift > 0 { text.get(..text.len() - 1).unwrap_or_default() } else { text };
    number(digits)?.checked_mul(1 << shift).ok_or_else(|| "too large".to_owned())
}

/// Parses the number of a user or group. The largest is none: chown(2) takes it as "unchanged".
pub(crate) fn id(text: &str) -> Result<u32, String> {
    let id = u32::try_from(number(text)?).ok().filter(|id| *id != u32::MAX);
    id.ok_or_else(|| "expected a number below 4294967295".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_syntax_of_c() {
        for (text, expected) in
            [("0", 0), ("4096", 4096), ("0x1000", 4096), ("010", 8), ("4k", 4096), ("1M", 1 << 20)]
        {
            assert_eq!(bytes(text), Ok(expected), "{text}");
        }
        for text in ["", "k", "0x", "09", "-1", "+1", "1.5", "4kk", "0x-1", "99999999999999999999"]
        {
            assert!(bytes(text).is_err(), "{text}");
        }
        assert!(bytes("99999999999g").is_err());
        assert_eq!((signed("-1"), signed("0x10"), signed("7")), (Ok(-1), Ok(16), Ok(7)));
        assert_eq!((id("1000"), id("4294967295").is_err()), (Ok(1000), true));
    }
}
