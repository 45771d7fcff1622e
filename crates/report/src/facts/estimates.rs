//! Defines [`Estimates`]: how large an image would be with other options.

use serde::Serialize;

/// How large an image would be with other options.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Estimates {
    /// Bytes of file content that were built: all, or runs of neighbouring files at even distances.
    pub sample_bytes: u64,
    /// Bytes that these take in this image, with their share of its metadata.
    pub sample_stored: u64,
    /// Whether all content was built, so that sizes are exact.
    pub is_whole: bool,
    /// Bytes of the image now, on all its devices.
    pub now: u64,
    /// The name of the options with which the image itself seems to be made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub own: Option<String>,
    /// The options that were tried.
    pub presets: Vec<Estimate>,
}

/// How large an image would be with some options.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Estimate {
    /// The name of the options.
    pub name: String,
    /// Bytes of an image of the sample.
    pub sample_image: u64,
    /// Bytes of an image of everything.
    pub image: u64,
    /// That size divided by the size now.
    pub ratio: Option<f64>,
}
