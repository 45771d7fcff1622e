//! What does an image say about itself, and what is in it?

use std::io::Write;

use crate::{
    args::info::Info,
    exit::Outcome,
    output::{self, census::Contents, info::Description, json},
    run::{census, subject::Subject},
};

/// Describes an image.
pub(crate) fn run(request: &Info) -> anyhow::Result<Outcome> {
    let subject = Subject::open(&request.image)?;
    let contents = if request.superblock { None } else { Some(census::count(&subject)?) };
    let description = Description::new(&subject.image, contents.map(Contents::from));
    let mut output = output::stdout()?;
    if request.json {
        json::write_pretty(&mut output, &description)?;
    } else {
        write!(output, "{description}")?;
    }
    output.flush()?;
    Ok(Outcome::Success)
}
