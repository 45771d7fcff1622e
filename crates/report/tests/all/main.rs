//! Tests of the facts gathered from golden, built and damaged images.

mod estimates;
mod facts;
mod hostile;
