//! Defines [`Waiting`]: events that no worker has answered yet.

use std::{
    collections::BTreeMap,
    ops::Range,
    time::{Duration, Instant},
};

/// Events that are passed on at once; the kernel keeps the others. Each holds a descriptor, of which a process has 1024.
pub(crate) const MOST: usize = 400;

/// Events by their numbers. A number is used once, as descriptors are used again: what a worker says about an event must not
/// be taken for an answer to a later one.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    next: u64,
    events: BTreeMap<u64, Event>,
}

#[derive(Debug)]
struct Event {
    fd: i32,
    range: Range<u64>,
    since: Instant,
}

impl Waiting {
    /// Adds one, and returns its number.
    pub(crate) fn add(&mut self, fd: i32, range: Range<u64>) -> u64 {
        let number = self.next;
        self.next += 1;
        self.events.insert(number, Event { fd, range, since: Instant::now() });
        number
    }

    /// Takes one, and returns its descriptor.
    pub(crate) fn take(&mut self, number: u64) -> Option<i32> {
        self.events.remove(&number).map(|event| event.fd)
    }

    /// Takes those that have waited for longer than a time.
    pub(crate) fn take_older(&mut self, age: Duration) -> Vec<i32> {
        let is_old = |event: &Event| event.since.elapsed() > age;
        let old: Vec<_> =
            self.events.iter().filter(|(_, event)| is_old(event)).map(|(id, _)| *id).collect();
        old.into_iter().filter_map(|number| self.take(number)).collect()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.events.len() >= MOST
    }

    /// Numbers and ranges, the oldest first.
    pub(crate) fn all(&self) -> impl Iterator<Item = (u64, Range<u64>)> {
        self.events.iter().map(|(number, event)| (*number, event.range.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_not_used_again() {
        let mut waiting = Waiting::default();
        let (first, second) = (waiting.add(5, 0..1), waiting.add(6, 1..2));
        assert_eq!(waiting.take(first), Some(5));
        assert_eq!(waiting.take(first), None);
        let third = waiting.add(5, 2..3);
        assert_eq!(waiting.take(first), None);
        assert_eq!(waiting.all().collect::<Vec<_>>(), [(second, 1..2), (third, 2..3)]);
        assert!(waiting.take_older(Duration::from_secs(60)).is_empty());
        assert_eq!(waiting.take_older(Duration::ZERO), [6, 5]);
    }
}
