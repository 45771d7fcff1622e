//! Defines [`Flights`]: what is being fetched, so that nobody fetches it twice.

use std::{
    ops::Range,
    sync::{Arc, OnceLock},
};

use crate::RemoteError;

/// Units that one thread fetches.
#[derive(Debug)]
pub(crate) struct Flight {
    pub(crate) units: Range<u64>,
    /// Why they don't arrive, for those who wait for them.
    pub(crate) failed: OnceLock<RemoteError>,
}

/// What is being fetched.
#[derive(Debug, Default)]
pub(crate) struct Flights(Vec<Arc<Flight>>);

impl Flights {
    /// The one that has this unit.
    pub(crate) fn with(&self, unit: u64) -> Option<Arc<Flight>> {
        self.0.iter().find(|flight| flight.units.contains(&unit)).cloned()
    }

    pub(crate) fn start(&mut self, units: Range<u64>) -> Arc<Flight> {
        let flight = Arc::new(Flight { units, failed: OnceLock::new() });
        self.0.push(Arc::clone(&flight));
        flight
    }

    pub(crate) fn end(&mut self, flight: &Arc<Flight>) {
        self.0.retain(|other| !Arc::ptr_eq(other, flight));
    }
}
