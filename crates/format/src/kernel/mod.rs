//! Since which kernel can an image use what?
//!
//! [`Capability`] is the only table of versions: features, presets, help and refusals read it. [`Target`] is that of distributions,
//! whose kernels are configured without some algorithms.

mod capability;
mod requirements;
mod target;
mod version;

pub use self::{
    capability::Capability,
    requirements::{Reason, Requirement, min_kernel, requirements},
    target::{Target, TargetError},
    version::{KernelVersion, KernelVersionError},
};
