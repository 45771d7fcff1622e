//! Who else says what an image holds?

pub mod kernel;
pub mod tools;
