//! Defines [`Target`]: where an object is, and how requests for it are allowed.

use std::sync::Arc;

use crate::{Address, access::Access, version::Version};

/// Where an object is, and how requests for it are allowed.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) address: Address,
    pub(crate) access: Arc<dyn Access>,
    /// Its version if the address can't ever have another one, as that of a digest.
    pub(crate) pinned: Option<Version>,
}
