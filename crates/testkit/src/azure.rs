//! A server of the protocol of Azure Blob Storage on the loopback address, which computes the signature of each request itself.

use base64::{Engine, prelude::BASE64_STANDARD};
use percent_encoding::percent_decode_str;

use crate::{
    s3::hmac,
    web::{Reply, Request, Web},
};

/// Serves an object at a path, such as `/acct/container/name`, to those who have the key of the account that the path begins with,
/// or to everybody.
#[must_use]
pub fn serve(path: &str, object: Vec<u8>, key: Option<Vec<u8>>) -> Web {
    let path = path.to_owned();
    Web::start(move |request| {
        let (at, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
        if key.as_ref().is_some_and(|key| !is_signed(request, at, query, key)) {
            return Reply::status(403);
        }
        if at == path { Reply::of(request, &object, "\"0x8D\"") } else { Reply::status(404) }
    })
}

/// Whether a request has a service SAS for reading in its query.
fn is_signed(request: &Request, path: &str, query: &str, key: &[u8]) -> bool {
    let text = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
    let value = |name: &str| {
        let mut fields = query.split('&').filter_map(|field| field.split_once('='));
        fields.find(|(other, _)| *other == name).map(|(_, value)| text(value)).unwrap_or_default()
    };
    let [permissions, end, kind, version] = ["sp", "se", "sr", "sv"].map(value);
    let signed = [
        &*permissions,
        &value("st"),
        &end,
        &format!("/blob{}", text(path)),
        &value("si"),
        &value("sip"),
        &value("spr"),
        &version,
        &kind,
    ];
    let signed = signed.join("\n") + &"\n".repeat(7);
    request.method == "GET"
        && permissions == "r"
        && kind == "b"
        && version.as_str() >= "2020-12-06"
        && end > now()
        && value("sig") == BASE64_STANDARD.encode(hmac(key, signed.as_bytes()))
}

/// The time as a signature has it.
fn now() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
