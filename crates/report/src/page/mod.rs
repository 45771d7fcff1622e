//! How do facts about an image become a web page?
use crate::{Facts, PageError};
/// Marks a page as one.
pub const GENERATOR: &str = "lith report";
/// stub
pub fn page(_name: &[u8], _facts: &Facts) -> Result<String, PageError> {
    Ok(GENERATOR.to_owned())
}
