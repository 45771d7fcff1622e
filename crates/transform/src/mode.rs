//! Defines [`ModeChange`], a mode as chmod(1) takes it.

use std::str::FromStr;

/// A mode that replaces the one of a file, in octal, or a change of it as chmod(1) has them: `u+x`, `go-w`, `a=rX`, `g=u`.
///
/// It has one clause: several changes are applied one after the other. Without `u`, `g`, `o` or `a` it applies to all three,
/// whatever the umask.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ModeChange(Change);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Change {
    Octal(u16),
    Symbolic { who: u16, operation: Operation, what: What },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Operation {
    Add,
    Remove,
    Set,
}

/// Bits for each of user, group and others; `who` chooses among them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum What {
    Bits {
        bits: u16,
        /// The bits of `x`, which apply to directories, and to files that somebody may execute already.
        conditional: u16,
    },
    /// The permissions of user, group or others, by how far they are shifted.
    CopyOf(u32),
}

/// A text that is no mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an octal mode, or one such as u+x, go-w or a=rX is expected")]
pub struct ModeError;

impl FromStr for ModeChange {
    type Err = ModeError;

    fn from_str(text: &str) -> Result<Self, ModeError> {
        if text.starts_with(|first: char| first.is_ascii_digit()) {
            let mode = u16::from_str_radix(text, 8).ok().filter(|mode| *mode <= 0o7777);
            return mode.map(|mode| Self(Change::Octal(mode))).ok_or(ModeError);
        }
        let at = text.find(['+', '-', '=']).ok_or(ModeError)?;
        let (who, rest) = text.split_at(at);
        let who = who.chars().try_fold(0, |all, letter| Some(all | class(letter)?));
        let who = who.map(|who| if at == 0 { class('a').unwrap_or(who) } else { who });
        let operation = match rest.as_bytes().first() {
            Some(b'+') => Operation::Add,
            Some(b'-') => Operation::Remove,
            _ => Operation::Set,
        };
        let what = What::parse(rest.get(1..).unwrap_or_default());
        let symbolic = |(who, what)| Self(Change::Symbolic { who, operation, what });
        who.zip(what).map(symbolic).ok_or(ModeError)
    }
}

/// The bits of a mode that a letter before the operation stands for.
const fn class(letter: char) -> Option<u16> {
    match letter {
        'u' => Some(0o4700),
        'g' => Some(0o2070),
        'o' => Some(0o1007),
        'a' => Some(0o7777),
        _ => None,
    }
}

impl What {
    fn parse(text: &str) -> Option<Self> {
        match text {
            "u" => return Some(Self::CopyOf(6)),
            "g" => return Some(Self::CopyOf(3)),
            "o" => return Some(Self::CopyOf(0)),
            _ => {}
        }
        let (mut bits, mut conditional) = (0, 0);
        for letter in text.chars() {
            match letter {
                'r' => bits |= 0o444,
                'w' => bits |= 0o222,
                'x' => bits |= 0o111,
                'X' => conditional |= 0o111,
                's' => bits |= 0o6000,
                't' => bits |= 0o1000,
                _ => return None,
            }
        }
        Some(Self::Bits { bits, conditional })
    }

    const fn bits(self, mode: u16, is_directory: bool) -> u16 {
        match self {
            Self::Bits { bits, conditional } if is_directory || mode & 0o111 != 0 => {
                bits | conditional
            }
            Self::Bits { bits, .. } => bits,
            Self::CopyOf(shift) => (mode >> shift & 7) * 0o111,
        }
    }
}

impl ModeChange {
    /// The mode of a file that has `mode`.
    #[must_use]
    pub const fn of(self, mode: u16, is_directory: bool) -> u16 {
        match self.0 {
            Change::Octal(mode) => mode,
            Change::Symbolic { who, operation, what } => {
                let bits = what.bits(mode, is_directory) & who;
                match operation {
                    Operation::Add => mode | bits,
                    Operation::Remove => mode & !bits,
                    Operation::Set => mode & !who | bits,
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(text: &str, mode: u16, is_directory: bool) -> u16 {
        text.parse::<ModeChange>().unwrap().of(mode, is_directory)
    }

    #[test]
    fn modes_are_octal_or_changes() {
        for (text, mode, expected) in [
            ("0", 0o777, 0),
            ("4755", 0o644, 0o4755),
            ("go-w", 0o666, 0o644),
            ("+x", 0o644, 0o755),
            ("a+X", 0o644, 0o644),
            ("a+X", 0o744, 0o755),
            ("u=rw", 0o4755, 0o655),
            ("g=u", 0o750, 0o770),
            ("o=", 0o1757, 0o750),
            ("ug+s", 0o755, 0o6755),
            ("+t", 0o755, 0o1755),
            ("u-s", 0o6755, 0o2755),
        ] {
            assert_eq!(changed(text, mode, false), expected, "{text} of {mode:o}");
        }
        assert_eq!(changed("a+X", 0o644, true), 0o755);
    }

    #[test]
    fn what_is_no_mode_is_refused() {
        for text in ["", "8", "17777", "x", "u", "z+x", "u+z", "u+gr", "u+x,g+x", "-1", "0o7", "1+"]
        {
            assert_eq!(text.parse::<ModeChange>(), Err(ModeError), "{text}");
        }
    }

    #[test]
    #[cfg(unix)]
    fn changes_are_those_of_chmod() {
        let script = r#"umask 0; file=$(mktemp); trap 'rm -f "$file"' EXIT
            for who in "" u g o a uo; do for operation in + - =; do for what in "" r wx X u o s t rXs; do
            for mode in 0 640 4751 7777; do
                chmod $mode "$file"; chmod -- "$who$operation$what" "$file"
                echo "$who$operation$what $mode $(stat -c %a "$file")"
            done; done; done; done"#;
        let output = std::process::Command::new("sh").args(["-c", script]).output().unwrap();
        let printed = String::from_utf8(output.stdout).unwrap();
        let mut count = 0;
        for line in printed.lines() {
            let mut words = line.split(' ');
            let clause = words.next().unwrap();
            let [mode, expected] =
                [0; 2].map(|_| u16::from_str_radix(words.next().unwrap(), 8).unwrap());
            assert_eq!(changed(clause, mode, false), expected, "{clause} of {mode:o}");
            count += 1;
        }
        assert_eq!(count, 6 * 3 * 9 * 4);
    }
}
