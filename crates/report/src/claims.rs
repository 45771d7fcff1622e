//! Defines [`Claims`]: whose the bytes of a device are, with bounded work.

use std::ops::Range;

use lith_survey::{Allowance, Part, RangeMap};

use crate::error::{FactsError, take};

/// Byte ranges by class. A byte belongs to the class that claims it first.
#[derive(Clone, Debug)]
pub(crate) struct Claims<C> {
    pub(crate) ranges: RangeMap<C>,
    /// Known ranges that may still be met.
    steps: Allowance,
}

impl<C: Copy + Eq> Claims<C> {
    /// No claims; while ranges are claimed, `steps` known ranges may be met.
    pub(crate) fn new(steps: Allowance) -> Self {
        Self { ranges: RangeMap::default(), steps }
    }

    /// Claims the unclaimed bytes of `range`, which `part` gets in order. Returns their number.
    pub(crate) fn claim(
        &mut self,
        range: Range<u64>,
        class: C,
        mut part: impl FnMut(Range<u64>),
    ) -> Result<u64, FactsError> {
        let mut steps = 1;
        let new = self.ranges.add(range, class, |each| match each {
            Part::New(range) => part(range),
            Part::Known(_) => steps += 1,
        });
        take(&mut self.steps, steps, "extents")?;
        Ok(new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_belong_to_the_first_claim_and_work_is_bounded() {
        let mut claims = Claims::new(Allowance::new(12));
        for start in 0..10 {
            assert_eq!(claims.claim(start * 2..start * 2 + 1, 'a', |_| ()).unwrap(), 1);
        }
        let mut parts = Vec::new();
        assert_eq!(claims.claim(18..22, 'b', |part| parts.push(part)).unwrap(), 3);
        assert_eq!(parts, vec![19..22; 1]);
        let error = claims.claim(0..100, 'b', |_| ()).unwrap_err();
        assert!(error.to_string().contains("its extents overlap"), "{error}");
    }
}
