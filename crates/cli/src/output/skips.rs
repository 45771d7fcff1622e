//! Collects and prints what an export could not keep.

use std::{
    fmt::Write as _,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use lith::{
    export::{ExportObserver, Skipped},
    observer::{Observer, Phase, Progress},
};

use super::error::{tell, without_number};

/// The most lines to keep; the rest is only counted.
const LINES: usize = 100;

/// Observes an export: keeps its progress, and collects what it skips.
#[derive(Debug, Default)]
pub(crate) struct Skips {
    progress: Arc<Progress>,
    lines: Mutex<Vec<String>>,
    count: AtomicU64,
}

impl Observer for Skips {
    fn begin(&self, phase: Phase) {
        self.progress.begin(phase);
    }

    fn expect(&self, bytes: u64) {
        self.progress.expect(bytes);
    }

    fn advance(&self, bytes: u64) {
        self.progress.advance(bytes);
    }
}

impl ExportObserver for Skips {
    fn skipped(&self, skipped: &Skipped) {
        self.count.fetch_add(1, Ordering::Relaxed);
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() < LINES {
            lines.push(without_number(&skipped.to_string()));
        }
    }
}

impl Skips {
    /// The progress of the export, for a progress bar.
    pub(crate) const fn progress(&self) -> &Arc<Progress> {
        &self.progress
    }

    /// Prints on standard error what the program of this name skipped.
    pub(crate) fn print(self, program: &str) {
        let text = self.text(program);
        if !text.is_empty() {
            tell(text.trim_end());
        }
    }

    /// A line for each thing that was skipped, up to a limit, sorted.
    pub(crate) fn lines(&self) -> Vec<String> {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner).clone();
        lines.sort();
        lines
    }

    fn text(self, program: &str) -> String {
        let lines = self.lines();
        let mut text = String::new();
        for line in &lines {
            // Writing to a string can't fail.
            let _ = writeln!(text, "{program}: {line}");
        }
        let more = self.count.into_inner().saturating_sub(lines.len() as u64);
        if more > 0 {
            let _ = writeln!(text, "{program}: {more} more not kept");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use lith::export::What;

    use super::*;

    #[test]
    fn lines_beyond_the_limit_are_counted() {
        let skips = Skips::default();
        for number in (0..103_u8).rev() {
            skips.skipped(&Skipped::new(&[b'a', number], What::Owner, None));
        }
        skips.advance(7);
        assert_eq!(skips.progress().done(), 7);
        let text = skips.text("lith");
        assert_eq!(text.lines().count(), 101);
        assert!(text.ends_with("\nlith: 3 more not kept\n"), "{text}");
        assert!(Skips::default().text("lith").is_empty());
    }
}
