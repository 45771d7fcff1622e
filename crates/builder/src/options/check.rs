//! Checks all options against the format and the target kernel.

use super::all::Options;
use crate::BuildError;

impl Options {
    /// Checks that the format and the target kernel allow these options.
    ///
    /// # Errors
    /// [`BuildError::Kernel`] names what needs a newer kernel, [`BuildError::Option`] what the format does
    /// not allow.
    pub fn check(&self) -> Result<(), BuildError> {
        self.identity.check()?;
        self.check_layout()?;
        self.check_attributes()?;
        self.check_compression()?;
        self.check_chunks()
    }
}
