//! Defines how a check or an extraction by fsck.erofs ended.

/// The result of a check or an extraction.
pub(super) struct Verdict {
    pub(super) is_sound: bool,
    /// The last line of output, in the wording of erofs-utils.
    pub(super) text: &'static str,
}
