//! How do a file's extents become its bytes?
//!
//! `Content::read` goes over the extents of a read. Uncompressed files are read extent by extent. For compressed files
//! `plan` groups extents into runs that are fetched from a device at once, and `serve` decodes or copies each of them. A
//! fragment is a read of the packed inode's content, and inline data is metadata, which may be in the metabox inode's
//! content (`metabox`): both come back to `Content::read`.

mod metabox;
mod plan;
mod read;
mod serve;
mod source;
