//! Removes temporary files when a signal ends the program.

use std::{
    fs,
    sync::{
        Once,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
    time::Duration,
};

use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    iterator::Signals,
    low_level::emulate_default_handler,
};

static OBEYED: Once = Once::new();
/// Whether a signal is about to end the program.
static IS_ENDING: AtomicBool = AtomicBool::new(false);

/// From now on, signals that end the program first remove its temporary files. Those that it was started to ignore, as by
/// nohup(1), stay ignored.
pub(crate) fn remove_files_on_signals() {
    OBEYED.call_once(|| {
        let ignored = ignored();
        let signals = [SIGHUP, SIGINT, SIGTERM];
        let signals = signals.into_iter().filter(move |signal| ignored >> (signal - 1) & 1 == 0);
        let (ready, waiting) = mpsc::channel();
        // Without the thread, signals end the program as ever.
        let _ = thread::Builder::new().name("signals".to_owned()).spawn(move || {
            let Ok(mut signals) = Signals::new(signals) else { return };
            drop(ready);
            for signal in signals.forever() {
                IS_ENDING.store(true, Ordering::SeqCst);
                lith::remove_hidden();
                let _ = emulate_default_handler(signal);
                IS_ENDING.store(false, Ordering::SeqCst);
            }
        });
        // Ends when signals are caught, or can't be.
        let _: Result<(), _> = waiting.recv();
    });
}

/// Waits for the signal that ends the program, if one has come: what fails because its files are gone is no error.
pub(crate) fn end_if_signalled() {
    while IS_ENDING.load(Ordering::SeqCst) {
        thread::sleep(Duration::from_millis(1));
    }
}

/// The set of signals that are ignored: bit 0 is signal 1.
fn ignored() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default()
}
