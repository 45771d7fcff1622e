//! Turns failures and statuses of requests into errors, without what may be secret.

use std::{io, sync::Arc, time::Duration};

use ureq::{
    Body,
    http::{HeaderName, Response, StatusCode, header::RETRY_AFTER},
};

use crate::RemoteError;

/// The value of a header.
pub(crate) fn text(response: &Response<Body>, name: HeaderName) -> Option<&str> {
    response.headers().get(name)?.to_str().ok()
}

/// Why a server doesn't do what was requested.
pub(crate) fn refusal(response: &Response<Body>, host: &str) -> RemoteError {
    let (status, host) = (response.status(), host.to_owned());
    let is_busy = status.is_server_error() && status != StatusCode::NOT_IMPLEMENTED
        || [StatusCode::REQUEST_TIMEOUT, StatusCode::TOO_MANY_REQUESTS].contains(&status);
    let (name, after) = (status.to_string(), after(response));
    if is_busy {
        return RemoteError::Busy { host, status: name, after };
    }
    // S3 names the region of a bucket that is in another one.
    match text(response, HeaderName::from_static("x-amz-bucket-region")) {
        Some(region) if is_name(region) && [301, 307, 400].contains(&status.as_u16()) => {
            RemoteError::Region { host, region: region.to_owned() }
        }
        _ => RemoteError::Refused { host, status: name },
    }
}

fn is_name(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// How long to wait before the next request, as the server says.
fn after(response: &Response<Body>) -> Option<Duration> {
    text(response, RETRY_AFTER)?.trim().parse().ok().map(Duration::from_secs)
}

pub(crate) fn is_redirection(status: StatusCode) -> bool {
    [301, 302, 303, 307, 308].contains(&status.as_u16())
}

/// Why a body ends before all of it has arrived. Whatever the reason, the rest is requested by another connection.
pub(crate) fn cut(error: &io::Error, host: &str, missing: u64) -> RemoteError {
    let host = host.to_owned();
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref());
    match inner {
        Some(ureq::Error::Timeout(_)) => RemoteError::Slow { host, missing },
        _ => RemoteError::Cut { host, missing },
    }
}

/// Why no answer arrived. Errors that may hold an address are replaced by a fixed text.
pub(crate) fn failure(error: ureq::Error, host: &str) -> RemoteError {
    let host = host.to_owned();
    let unreachable =
        |source| RemoteError::Unreachable { host: host.clone(), source: Arc::new(source) };
    match error {
        ureq::Error::Io(error) if error.kind() == io::ErrorKind::InvalidData => {
            RemoteError::Untrusted { host, reason: error.to_string() }
        }
        ureq::Error::Rustls(error) => RemoteError::Untrusted { host, reason: error.to_string() },
        ureq::Error::Tls(reason) => RemoteError::Untrusted { host, reason: reason.to_owned() },
        ureq::Error::Io(error) => unreachable(error),
        ureq::Error::Timeout(_) => unreachable(io::ErrorKind::TimedOut.into()),
        ureq::Error::HostNotFound => unreachable(io::Error::other("there is no such host")),
        ureq::Error::Protocol(_) => unreachable(io::Error::other("its answer is not HTTP")),
        _ => unreachable(io::Error::other("the connection failed")),
    }
}
