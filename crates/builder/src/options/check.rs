//! Checks all options against the format and the target kernel.

use lith_format::kernel::KernelVersion;

use super::all::Options;
use crate::BuildError;

/// Something that is requested, and the first kernel that supports it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Need {
    /// What is requested.
    pub what: String,
    /// The kernel.
    pub since: KernelVersion,
}

impl Options {
    /// Checks that the format and the target kernel allow these options.
    ///
    /// # Errors
    /// [`BuildError::Kernel`] names everything that needs a newer kernel, [`BuildError::Option`] what the format does
    /// not allow.
    pub fn check(&self) -> Result<(), BuildError> {
        let mut raised = self.clone();
        let mut needs = raised.raise_kernel()?;
        let Some(last) = needs.pop() else { return Ok(()) };
        let what = if needs.is_empty() {
            last.what
        } else {
            needs.push(last);
            let each = |Need { what, since }: &Need| format!("{what}: {since}");
            format!("the combination ({})", needs.iter().map(each).collect::<Vec<_>>().join(", "))
        };
        Err(BuildError::Kernel { what, needs: raised.kernel, kernel: self.kernel })
    }

    /// Makes the target kernel the oldest that supports what is requested, unless it is newer already. Returns what it
    /// lacked, with kernels in ascending order.
    ///
    /// # Errors
    /// [`BuildError::Option`] names what the format does not allow.
    pub fn raise_kernel(&mut self) -> Result<Vec<Need>, BuildError> {
        let mut lacking = Vec::new();
        loop {
            match self.check_for_kernel() {
                Ok(()) => return Ok(lacking),
                Err(BuildError::Kernel { what, needs: since, .. }) if since > self.kernel => {
                    self.kernel = since;
                    lacking.push(Need { what, since });
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// The first thing that the format or the target kernel does not allow.
    fn check_for_kernel(&self) -> Result<(), BuildError> {
        self.identity.check()?;
        self.check_layout()?;
        self.check_attributes()?;
        self.check_compression()?;
        self.check_chunks()
    }
}

#[cfg(test)]
mod tests {
    use lith_codec::Compressor;

    use super::*;
    use crate::{Compression, Fragments};

    #[test]
    fn all_that_an_old_kernel_lacks_is_named_with_the_newest_that_is_needed() {
        let mut options = Options::uncompressed();
        options.compression.files =
            Some(Compression::new(Compressor::Zstd { level: 9, window: None }));
        options.compression.fragments = Fragments::Tails;
        options.kernel = KernelVersion::new(5, 15);
        let refused = options.check().unwrap_err().to_string();
        assert_eq!(
            refused,
            "the combination (a packed inode: 6.1, zstd compression: 6.10) needs Linux 6.10, but the target kernel is Linux 5.15"
        );
        let needs = options.raise_kernel().unwrap();
        assert_eq!((needs.len(), options.kernel), (2, KernelVersion::new(6, 10)));
        assert!(options.check().is_ok() && options.raise_kernel().unwrap().is_empty());
    }
}
