//! Defines [`Pacing`]: connections that end when bodies arrive too slowly.
//!
//! It is between TCP and TLS, as a server can send a single TLS record, or the header of a chunk, for hours as well.

use std::time::{Duration, Instant};

use ureq::{
    Error, Timeout,
    unversioned::transport::{Buffers, ConnectionDetails, Connector, NextTimeout, Transport, time},
};

/// Bytes of a body that must arrive within the timeout. A modem of 9600 bits a second has more than 16 KiB in 20 seconds.
pub(crate) const LEAST: u64 = 16 << 10;

/// Makes [`Paced`] connections of others.
#[derive(Debug)]
pub(super) struct Pacing {
    /// The time in which [`LEAST`] bytes must arrive.
    pub(super) time: Duration,
}

/// A connection that ends when fewer bytes of a body than [`LEAST`] arrive while they are waited for so long. Time in which nobody
/// waits, as what has arrived is written to a disk, doesn't count.
#[derive(Debug)]
pub(super) struct Paced<T> {
    inner: T,
    time: Duration,
    waited: Duration,
    arrived: u64,
}

impl<In: Transport> Connector<In> for Pacing {
    type Out = Paced<In>;

    fn connect(
        &self,
        _details: &ConnectionDetails<'_>,
        chained: Option<In>,
    ) -> Result<Option<Paced<In>>, Error> {
        let (time, waited, arrived) = (self.time, Duration::ZERO, 0);
        Ok(chained.map(|inner| Paced { inner, time, waited, arrived }))
    }
}

impl<T: Transport> Transport for Paced<T> {
    fn buffers(&mut self) -> &mut dyn Buffers {
        self.inner.buffers()
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), Error> {
        (self.waited, self.arrived) = (Duration::ZERO, 0);
        self.inner.transmit_output(amount, timeout)
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, Error> {
        let before = self.inner.buffers().input().len();
        let begin = Instant::now();
        let has_input = self.inner.await_input(timeout)?;
        // Everything but a body has a time in which all of it must arrive.
        if timeout.after != time::Duration::NotHappening {
            return Ok(has_input);
        }
        self.waited += begin.elapsed();
        self.arrived += self.inner.buffers().input().len().saturating_sub(before) as u64;
        if self.waited >= self.time {
            if self.arrived < LEAST && has_input {
                return Err(Error::Timeout(Timeout::PerRead));
            }
            (self.waited, self.arrived) = (Duration::ZERO, 0);
        }
        Ok(has_input)
    }

    fn is_open(&mut self) -> bool {
        self.inner.is_open()
    }

    fn is_tls(&self) -> bool {
        self.inner.is_tls()
    }
}
