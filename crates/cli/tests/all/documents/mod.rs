//! Tests that the documents are right: their commands and their links.
#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

mod guide;
mod links;
