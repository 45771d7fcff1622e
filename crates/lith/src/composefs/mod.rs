//! Images in the manner of composefs: names and attributes in an image, the content of files in a folder of objects.
//!
//! A file of more than [`INLINE`] bytes is a hole in the image; an attribute names the object with its content, another one has
//! the object's fs-verity digest. An object is named by that digest and so is stored once for all images. The kernel's
//! overlayfs puts both together: `lowerdir=IMAGE::OBJECTS,metacopy=on,redirect_dir=on`.
//!
//! Trees, images and objects are byte for byte those of mkcomposefs.

mod marks;
mod object;
mod pack;
mod unpack;

pub use lith_builder::composefs::Version;
pub use object::INLINE;
pub use unpack::unpack;

pub(crate) use pack::{Store, pack};
