//! Reads ahead what is read first of an image, beside the programs that use it.

use std::{
    fs::File,
    io, iter,
    ops::Range,
    os::unix::{fs::FileExt, process::CommandExt},
    process::{Command, Stdio},
    thread,
};

use lith::reader::Image;
use rustix::fs::{Advice, fadvise};

use crate::{
    args::mount::{Mount, Prefetch, Settings},
    exit::Outcome,
    run::subject,
};

/// Bytes that are read at once. A device serves requests in order: a program that reads something else waits for
/// no more than one step.
const STEP: u64 = 512 << 10;

/// Starts a process that reads into memory what is requested, and returns whether there is any of that. It is an offer: what
/// can't be read is for the mount to report.
///
/// Started before the image is mounted, it is ahead of the programs: what they must read themselves costs more, as the kernel
/// reads ahead of them into what isn't read first.
pub(super) fn start(request: &Mount, settings: &Settings) -> bool {
    if !ranges(request, settings).is_ok_and(|ranges| !ranges.is_empty()) {
        return false;
    }
    let mut command = Command::new("/proc/self/exe");
    command.arg0("lith").args(request.arguments("--read-ahead", settings));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // It has its own end, whatever becomes of the terminal.
    command.process_group(0);
    let Ok(mut reader) = command.spawn() else { return false };
    // A server would keep it as a zombie.
    let _detached = thread::Builder::new().spawn(move || reader.wait());
    true
}

/// Reads it, one step after another (`lith mount --read-ahead`).
pub(super) fn run(request: &Mount, settings: &Settings) -> anyhow::Result<Outcome> {
    let file = File::open(&request.image.image)?;
    for step in steps(&ranges(request, settings)?) {
        read(&file, settings.offset, &step)?;
    }
    Ok(Outcome::Success)
}

/// The ranges of the image, in bytes.
fn ranges(request: &Mount, settings: &Settings) -> anyhow::Result<Vec<Range<u64>>> {
    if request.prefetch == Prefetch::None {
        return Ok(Vec::new());
    }
    let devices = subject::open_all(&request.location(settings))?;
    let image = Image::open_with(devices, lith::reader::Options::default())?;
    Ok(ranges_of(&image, request.prefetch))
}

/// The ranges of an open image, in bytes of it.
pub(super) fn ranges_of(image: &Image, prefetch: Prefetch) -> Vec<Range<u64>> {
    match prefetch {
        Prefetch::None => Vec::new(),
        Prefetch::Auto | Prefetch::Hot => image.read_first(),
        Prefetch::All => iter::once(0..image.device_size(0)).collect(),
    }
}

/// The steps of all ranges in the order of their use: each range is in that order itself, and all are used at the same time.
/// The shortest begins, which holds inodes.
fn steps(ranges: &[Range<u64>]) -> Vec<Range<u64>> {
    let mut steps = Vec::new();
    for range in ranges {
        let len = range.end.saturating_sub(range.start);
        for done in (0..len).step_by(usize::try_from(STEP).expect("a step is held in memory")) {
            let share = (u128::from(done) << 64) / u128::from(len);
            let start = range.start + done;
            steps.push((share, len, start..start.saturating_add(STEP).min(range.end)));
        }
    }
    steps.sort_by_key(|(share, len, _)| (*share, *len));
    steps.into_iter().map(|(_, _, step)| step).collect()
}

/// Reads a step, and returns when its end is in memory.
fn read(file: &File, offset: u64, step: &Range<u64>) -> io::Result<()> {
    let (start, len) = (offset.saturating_add(step.start), step.end - step.start);
    // One request, and no more than that: to read all of it could start the kernel's own read-ahead, which may be megabytes
    // that programs would wait for.
    fadvise(file, start, len.try_into().ok(), Advice::WillNeed)?;
    if let Some(last) = start.checked_add(len).and_then(|end| end.checked_sub(1)) {
        let _missing = file.read_at(&mut [0], last)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_beside_each_other_in_steps() {
        let found = steps(&[0..2 * STEP, 10 * STEP..14 * STEP + 1, 5..9]);
        let step = |at: u64| at * STEP..(at + 1) * STEP;
        let expected = [
            5..9,
            step(0),
            step(10),
            step(11),
            step(12),
            step(1),
            step(13),
            14 * STEP..14 * STEP + 1,
        ];
        assert_eq!(found, expected);
        assert_eq!(steps(&[]), []);
    }
}
