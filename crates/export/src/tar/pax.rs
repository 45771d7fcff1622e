//! Defines [`Records`], the content of a PAX header.

use lith_tree::Timestamp;

/// Records of a PAX header, each `length key=value` on a line, where the length counts the whole record.
#[derive(Default)]
pub(super) struct Records(Vec<u8>);

impl Records {
    pub(super) fn add(&mut self, key: &[u8], value: &[u8]) {
        // Space, equals sign and line feed.
        let fixed = key.len() + value.len() + 3;
        let mut length = fixed + 1;
        while length != fixed + digits(length) {
            length = fixed + digits(length);
        }
        self.0.extend_from_slice(format!("{length} ").as_bytes());
        self.0.extend_from_slice(key);
        self.0.push(b'=');
        self.0.extend_from_slice(value);
        self.0.push(b'\n');
    }

    pub(super) fn add_number(&mut self, key: &str, value: u64) {
        self.add(key.as_bytes(), value.to_string().as_bytes());
    }

    /// Adds an extended attribute. A key can't hold `=`, so `=` and `%` are escaped as in a URL, as GNU tar does.
    pub(super) fn add_xattr(&mut self, name: &[u8], value: &[u8]) {
        let mut key = b"SCHILY.xattr.".to_vec();
        for byte in name {
            match byte {
                b'=' => key.extend_from_slice(b"%3D"),
                b'%' => key.extend_from_slice(b"%25"),
                byte => key.push(*byte),
            }
        }
        self.add(&key, value);
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

const fn digits(number: usize) -> usize {
    number.ilog10() as usize + 1
}

/// A time as a decimal number of seconds, with as many digits as it needs.
pub(super) fn decimal(Timestamp { sec, nsec }: Timestamp) -> String {
    if nsec == 0 {
        return sec.to_string();
    }
    // Nanoseconds count up from the second below, but decimal digits count away from zero.
    let (sign, whole, fraction) = if sec < 0 {
        ("-", sec.saturating_add(1).unsigned_abs(), 1_000_000_000_u32.saturating_sub(nsec))
    } else {
        ("", sec.unsigned_abs(), nsec)
    };
    let text = format!("{sign}{whole}.{fraction:09}");
    text.trim_end_matches('0').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_counts_its_own_length() {
        for value in [0, 1, 2, 3, 85, 86, 87, 88, 89, 90, 91, 983, 984, 985, 986] {
            let mut records = Records::default();
            records.add(b"key", &vec![b'v'; value]);
            let bytes = records.as_bytes();
            let space = bytes.iter().position(|byte| *byte == b' ').unwrap();
            let length = str::from_utf8(&bytes[..space]).unwrap();
            assert_eq!(length.parse(), Ok(bytes.len()), "{value}");
        }
    }

    #[test]
    fn times_are_decimal_numbers() {
        let time = |sec, nsec| decimal(Timestamp { sec, nsec });
        assert_eq!(time(5, 0), "5");
        assert_eq!(time(5, 120), "5.00000012");
        assert_eq!(time(-2, 500_000_000), "-1.5");
        assert_eq!(time(-1, 250_000_000), "-0.75");
        assert_eq!(time(-7, 0), "-7");
        assert_eq!(time(1 << 40, 1), "1099511627776.000000001");
    }
}
