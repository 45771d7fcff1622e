//! Tests of the facts gathered from golden, built and damaged images.

mod facts;
mod hostile;
