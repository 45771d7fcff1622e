//! Since which kernel can an image use what?
//!
//! [`Capability`] is the only table of versions: features, presets, help and refusals read it.

mod capability;
mod requirements;
mod version;

pub use self::{
    capability::Capability,
    requirements::{Reason, Requirement, min_kernel, requirements},
    version::{KernelVersion, KernelVersionError},
};
