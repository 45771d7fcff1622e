//! Makes the stored bytes of a run from its content, when a delta is made and when it is applied.

use crate::{
    DeltaError,
    coding::{Coding, Encoders},
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
    /// The bytes that a run of steps makes of `content`. What is left of it was only there to be looked at.
    pub(crate) fn run(
        &self,
        content: &[u8],
        steps: &[Step],
        encoders: &mut Encoders,
    ) -> Result<Vec<u8>, DeltaError> {
        let (mut rest, mut out) = (content, Vec::new());
        for step in steps {
            match *step {
                Step::Plain { len } => {
                    let len = usize::try_from(len).unwrap_or(usize::MAX);
                    let (now, later) = rest.split_at_checked(len).ok_or(SHORT)?;
                    out.extend_from_slice(now);
                    out.resize(out.len().next_multiple_of(self.block), 0);
                    rest = later;
                }
                Step::Fill { coding, count } => {
                    let coding = self.codings.get(coding);
                    let coding = *coding.ok_or(DeltaError::Damaged("an unknown encoder"))?;
                    for _ in 0..count {
                        let filled = encoders.fill(coding, (rest, self.block), &mut out)?;
                        let consumed = filled.filter(|consumed| *consumed > 0);
                        rest = consumed.and_then(|consumed| rest.get(consumed..)).ok_or(SHORT)?;
                        if out.len() > length(limits::OUTPUT) {
                            return Err(DeltaError::Damaged("a run is too long"));
                        }
                    }
                }
            }
        }
        Ok(out)
    }
}

const SHORT: DeltaError = DeltaError::Damaged("a run needs more content");
