//! What is changed of a tree between source and image?
//!
//! Each change takes a [`Tree`](lith_tree::Tree) and edits it in place: owners and times ([`Adjust`]), whiteouts
//! ([`mark_whiteouts`], [`strip_overlay`]), SELinux labels ([`FileContexts`]), Android's owners and modes ([`FsConfig`]), digests
//! of content ([`record_digests`]). [`Excludes`] decides which paths a source leaves out while it scans.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod adjust;
mod digest;
mod ere;
mod exclude;
mod extglob;
mod fs_config;
mod labels;
mod mode;
mod mount_point;
mod names;
mod overlay;
mod patterns;
mod settings;
mod xattr_filter;

pub use adjust::{Adjust, Overlay, Times};
pub use digest::{ContentDigest, DIGEST_NAME, record_digests};
pub use ere::{ExtendedRegex, RegexError};
pub use exclude::{Excludes, Role, Unmatched, Verdict};
pub use extglob::GroupError;
pub use fs_config::{FsConfig, FsConfigError};
pub use labels::{FileContexts, LabelError, LabelProblem};
pub use mode::{ModeChange, ModeError};
pub use names::{group, user};
pub use overlay::{
    is_metacopy, is_opaque, is_whiteout, make_opaque, mark_whiteouts, redirect, strip_overlay,
    without_metacopy, without_opaque,
};
pub use patterns::{ExcludeError, PatternError};
pub use settings::{Setting, SettingError};
pub use xattr_filter::XattrFilter;
