//! Defines [`Access`]: what shows a server that a request is allowed.

use std::fmt;

use ureq::{Body, http::Response};

use crate::{Address, RemoteError, address::Credentials};

/// What shows a server that a request is allowed. It is for the server of an object's own address, never for one that requests are
/// redirected to.
pub(crate) trait Access: fmt::Debug + Send + Sync {
    /// The value of the header `Authorization`.
    fn authorization(&self) -> Option<String> {
        None
    }

    /// The address with a signature, which is valid for a short time.
    fn signed(&self) -> Option<Address> {
        None
    }

    /// Gets what a server demands that has refused a request; `false`: there is nothing else to try.
    fn renew(&self, _refusal: &Response<Body>) -> Result<bool, RemoteError> {
        Ok(false)
    }
}

/// Whether a request that was refused can be repeated with something else than it has shown, which another thread may have got by now.
pub(crate) fn renewed(
    access: &dyn Access,
    shown: Option<&str>,
    refusal: &Response<Body>,
) -> Result<bool, RemoteError> {
    let is_other = || access.authorization().as_deref() != shown;
    Ok(is_other() || access.renew(refusal)? || is_other())
}

/// A value of the header `Authorization` that never changes, or none.
impl Access for Option<Credentials> {
    fn authorization(&self) -> Option<String> {
        self.as_ref().map(|Credentials(value)| value.clone())
    }
}
