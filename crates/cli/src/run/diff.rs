//! Compares two trees (`lith diff`).

use std::{
    io::{self, IsTerminal, Write},
    path::Path,
    sync::Arc,
};

use lith::{
    bases::{self, Search},
    observer::Progress,
    tree::{self, Difference},
};

use super::{salvage::reader_options, trees};
use crate::{
    args::{MessageArgs, diff::Diff},
    exit::{self, Outcome},
    output::{self, Stdout, difference::DifferenceRecord, json, progress::Bar},
};

pub(crate) fn run(request: &Diff, messages: MessageArgs) -> anyhow::Result<Outcome> {
    let stdin = Path::new("-");
    if request.a == stdin && request.b == stdin {
        anyhow::bail!("standard input can't be both trees");
    }
    let search = request.devices.search();
    // Devices are those of the first tree that can have some.
    let folders = Search { devices: Vec::new(), ..search.clone() };
    let of_b = !bases::has_devices(&request.a);
    let (of_a, of_b) = if of_b { (&folders, &search) } else { (&search, &folders) };
    let [a, b] = request.locations(of_a, of_b);
    let open = |at: &_| {
        trees::open_with(at, &trees::everything(), reader_options(request.ignore_checksum))
    };
    let (a, b) = (open(&a)?, open(&b)?);
    let (left, right) = (a.filesystem(), b.filesystem());
    let progress = Arc::new(Progress::default());
    let mut listing = Listing {
        request,
        is_quiet: messages.quiet,
        output: output::stdout()?,
        count: 0,
        failed: None,
        bar: Some(Bar::new(!messages.quiet, &progress)),
    };
    let result = tree::diff(left, right, &request.options(), &*progress, &mut |difference| {
        listing.add(&difference);
    });
    listing.bar = None;
    listing.failed.map_or(Ok(()), Err)?;
    listing.output.flush()?;
    result?;
    Ok(if listing.count == 0 { Outcome::Success } else { Outcome::Different })
}

struct Listing<'a> {
    request: &'a Diff,
    is_quiet: bool,
    output: Stdout,
    count: u64,
    failed: Option<io::Error>,
    bar: Option<Bar>,
}

impl Listing<'_> {
    fn add(&mut self, difference: &Difference) {
        self.count += 1;
        if self.is_quiet {
            // The first difference decides the exit code, and there is nothing to clean up.
            exit::now(Outcome::Different);
        }
        if self.failed.is_some() {
            return;
        }
        if io::stdout().is_terminal() {
            // Differences on the same terminal would mix with it.
            self.bar = None;
        }
        match self.write(difference) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => exit::now(Outcome::Success),
            Err(error) => self.failed = Some(error),
            Ok(()) => {}
        }
    }

    fn write(&mut self, difference: &Difference) -> io::Result<()> {
        if self.request.json {
            json::write_line(&mut self.output, &DifferenceRecord::from(difference))
        } else {
            writeln!(self.output, "{difference}")
        }
    }
}
