//! How does an old image become a new one, bit for bit?
//!
//! [`make`] writes a delta of two images; [`apply`] makes the new image of the old one and the delta. The files may be any:
//! where they are EROFS images, content is compared as it is before compression, and what this crate's encoders compress to
//! the very bytes of the new image is compressed again instead of being stored in the delta.
//!
//! ```text
//! old, new  --survey-->  Survey      the units of each image: pclusters, and the bytes between them
//!           --plan---->  Piece       how each range of the new image is made: copied, stored, or compressed again
//!           --gather-->  Section     pieces in order, and the units that their content resembles
//!           --write--->  the delta   a header, and sections whose content is compressed with those units as a prefix
//! ```
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod apply;
mod coding;
mod error;
mod gather;
mod header;
mod limits;
mod make;
mod pack;
mod plan;
mod recode;
mod samples;
mod section;
mod survey;
mod unit;
mod wire;

pub use apply::{Applied, apply};
pub use error::{DeltaError, Difference};
pub use header::Header;
pub use make::{Images, Made, Options, make};
