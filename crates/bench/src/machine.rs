//! Describes this machine.

use std::{fs, thread};

use crate::results::Machine;

/// The machine that this program runs on, today.
pub(crate) fn here(cold: bool) -> Machine {
    Machine {
        date: jiff::Zoned::now().date().to_string(),
        kernel: rustix::system::uname().release().to_string_lossy().into_owned(),
        cpu: field("/proc/cpuinfo", "model name").unwrap_or_else(|| "unknown processor".into()),
        cores: thread::available_parallelism().map_or(1, usize::from),
        memory: bytes("/proc/meminfo", "MemTotal").unwrap_or(0),
        cold,
    }
}

/// A field of a file, in bytes.
pub(crate) fn bytes(path: &str, name: &str) -> Option<u64> {
    let kibibytes: u64 = field(path, name)?.trim_end_matches(" kB").parse().ok()?;
    Some(kibibytes * 1024)
}

/// What follows `name` and a colon on the first such line of a file.
fn field(path: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let mut fields = text.lines().filter_map(|line| line.split_once(':'));
    fields.find(|(key, _)| key.trim() == name).map(|(_, value)| value.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_what_any_has() {
        let machine = here(false);
        assert!(machine.memory > 16 << 20 && machine.cores > 0, "{machine:?}");
        assert!(machine.kernel.starts_with(|first: char| first.is_ascii_digit()), "{machine:?}");
        assert_eq!(machine.date.len(), 10);
    }
}
