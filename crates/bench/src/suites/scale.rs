//! Defines the suite that shows how builds use many processors.

use super::shared::{lith_by, series, table, workers};
use crate::{
    corpus::Names,
    results::{Limit, Metric, Target},
    suite::{Entry, Suite, Task},
};

const SHOWN: &[Metric] = &[Metric::Wall, Metric::Cpu, Metric::Alone, Metric::PeakMemory];
const PRESETS: [(&str, &str); 5] = [
    ("fast", "--preset fast"),
    ("balanced", ""),
    ("balanced, Linux 6.12", "--kernel 6.12"),
    ("small", "--preset small"),
    ("smallest, Linux 6.18", "--preset smallest --kernel 6.18"),
];
/// Of the CPU time, that in which only one thread may work: with it, 32 processors are used to a half.
const MOST_ALONE: Target =
    Target { metric: Metric::Alone, relative: false, limit: Limit::Most(0.03) };

pub(super) fn suite(corpora: &Names) -> Suite {
    let tables = corpora.many_trees.iter().map(|tree| {
        let entries = PRESETS.into_iter().flat_map(|preset| {
            let counts = if workers() == 1 { vec![1] } else { vec![1, workers()] };
            counts.into_iter().map(move |workers| entry(preset, workers))
        });
        let (name, title) = (format!("scale-{tree}"), format!("Building {tree}"));
        table(&name, &title, tree, (SHOWN, Metric::Wall), entries)
    });
    Suite {
        name: "scale",
        title: "Builds on several processors",
        about: "Each preset with one worker and with as many as there are processors, and how much of the time only one \
                thread worked.",
        tables: tables.collect(),
    }
}

fn entry((preset, options): (&str, &str), workers: usize) -> Entry {
    let variant = match workers {
        1 => format!("{preset}, 1 worker"),
        more => format!("{preset}, {more} workers"),
    };
    let targets = if workers == 1 { Vec::new() } else { vec![MOST_ALONE] };
    let task = Task::Trace(lith_by(workers, options));
    Entry { targets, ..Entry::new(series::LITH, &variant, task) }
}
