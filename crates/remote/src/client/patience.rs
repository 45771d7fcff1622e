//! Defines [`Patience`]: how often a request is repeated, and when.

use std::{thread, time::Duration};

use super::pace::LEAST;
use crate::{Options, RemoteError};

/// What is left of the tries of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    tries: u32,
    delay: Duration,
    longest: Duration,
    /// Tries and delay at first.
    whole: (u32, Duration),
    /// Bytes that have arrived since then.
    arrived: u64,
}

impl Patience {
    pub(crate) fn new(options: &Options) -> Self {
        let &Options { tries, delay, longest_delay: longest, .. } = options;
        Self { tries, delay, longest, whole: (tries, delay), arrived: 0 }
    }

    /// The same for one try.
    pub(crate) const fn once(self) -> Self {
        Self { tries: 1, ..self }
    }

    /// Notes bytes that have arrived: with enough of them all tries are left again. A server that sends a few at each try would
    /// never be left otherwise.
    pub(crate) fn renew(&mut self, bytes: usize) {
        self.arrived = self.arrived.saturating_add(bytes as u64);
        if self.arrived >= LEAST {
            self.arrived = 0;
            (self.tries, self.delay) = self.whole;
        }
    }

    /// Waits until the next try; an error that won't pass, and one after the last try, is returned.
    pub(crate) fn wait(&mut self, error: RemoteError) -> Result<(), RemoteError> {
        self.tries = self.tries.saturating_sub(1);
        if self.tries == 0 || !error.is_temporary() {
            return Err(error);
        }
        thread::sleep(self.pause(&error));
        self.delay = self.delay.saturating_mul(2);
        Ok(())
    }

    /// After an answer of so many bytes that lacks `missing` ones, and is no error: a few of many count as a try that failed.
    /// With a quarter of them each time, there are not many requests.
    pub(crate) fn short(
        &mut self,
        bytes: u64,
        missing: u64,
        host: &str,
    ) -> Result<(), RemoteError> {
        if bytes >= LEAST || bytes.saturating_mul(3) >= missing {
            return Ok(());
        }
        self.wait(RemoteError::Cut { host: host.to_owned(), missing })
    }

    /// What the server demands, or a time of chance, so that many clients don't come back at once.
    fn pause(&self, error: &RemoteError) -> Duration {
        let own = self.delay.mul_f64(0.5 + fastrand::f64() / 2.0);
        let pause = match error {
            RemoteError::Busy { after: Some(after), .. } => *after,
            _ => own,
        };
        pause.min(self.longest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_ends_and_no_server_makes_it_longer() {
        let options = Options::with(|options| {
            (options.tries, options.delay) = (3, Duration::from_millis(1));
            options.longest_delay = Duration::from_millis(2);
        });
        let busy = || RemoteError::Busy {
            host: String::new(),
            status: String::new(),
            after: Some(Duration::from_secs(1 << 40)),
        };
        let mut patience = Patience::new(&options);
        assert_eq!(patience.pause(&busy()), options.longest_delay);
        assert!(patience.wait(busy()).is_ok() && patience.wait(busy()).is_ok());
        assert!(matches!(patience.wait(busy()), Err(RemoteError::Busy { .. })));
        let wrong = RemoteError::wrong("", "");
        assert!(Patience::new(&options).wait(wrong).is_err());
        assert!(Patience::new(&options).once().wait(busy()).is_err());
    }
}
