//! Makes the stored bytes of a run from its content, when a delta is made and when it is applied.

use crate::{
    DeltaError,
    coding::{Coding, Encoders},
    guide::{Events, Path, Reference},
    limits,
    section::Step,
    unit::length,
};

/// How the new image is stored.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stored<'a> {
    /// Bytes of a block.
    pub(crate) block: usize,
    pub(crate) codings: &'a [Coding],
}

impl Stored<'_> {
    /// The bytes that a run of steps makes of `content`. What is left of it was only there to be looked at. `guides` say
    /// what the sequences of its guided pclusters are, along a prefix.
    pub(crate) fn run(
        &self,
        (content, steps): (&[u8], &[Step]),
        (reference, guides): (&Reference<'_>, &[Events]),
        encoders: &mut Encoders,
    ) -> Result<Vec<u8>, DeltaError> {
        let (mut rest, mut out) = (content, Vec::new());
        let mut guides = guides.iter();
        for step in steps {
            match *step {
                Step::Plain { len } => {
                    let len = usize::try_from(len).unwrap_or(usize::MAX);
                    let (now, later) = rest.split_at_checked(len).ok_or(SHORT)?;
                    out.extend_from_slice(now);
                    out.resize(out.len().next_multiple_of(self.block), 0);
                    rest = later;
                }
                Step::Guided { len } => {
                    let len = usize::try_from(len).unwrap_or(usize::MAX);
                    let (now, later) = rest.split_at_checked(len).ok_or(SHORT)?;
                    let events = guides.next().ok_or(SHORT)?;
                    let stream = events.follow(reference, now)?;
                    let padding = stream.len().next_multiple_of(self.block) - stream.len();
                    out.resize(out.len() + padding, 0);
                    out.extend(stream);
                    rest = later;
                }
                Step::Fill { coding, count } | Step::Along { coding, count } => {
                    let coding = self.codings.get(coding);
                    let coding = *coding.ok_or(DeltaError::Damaged("an unknown encoder"))?;
                    let is_guided = matches!(step, Step::Along { .. });
                    for _ in 0..count {
                        let content = (rest, self.block);
                        let filled = if is_guided {
                            let events = guides.next().ok_or(SHORT)?;
                            let mut path = Path::new(events, reference, rest);
                            encoders.fill_along(coding, content, &mut path, &mut out)
                        } else {
                            encoders.fill(coding, content, &mut out)?
                        };
                        let consumed = filled.filter(|consumed| *consumed > 0);
                        rest = consumed.and_then(|consumed| rest.get(consumed..)).ok_or(SHORT)?;
                        check(&out)?;
                    }
                }
            }
            check(&out)?;
        }
        Ok(out)
    }
}

fn check(out: &[u8]) -> Result<(), DeltaError> {
    let is_long = out.len() > length(limits::OUTPUT);
    if is_long { Err(DeltaError::Damaged("a run is too long")) } else { Ok(()) }
}

const SHORT: DeltaError = DeltaError::Damaged("a run needs more content");
