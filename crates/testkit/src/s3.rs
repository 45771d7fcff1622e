//! A server of S3's protocol on the loopback address, which computes the signature of each request itself.

use sha2::{Digest, Sha256};

use crate::web::{Reply, Request, Web};

/// Who may read, and what there is.
#[derive(Clone, Debug)]
pub struct Account {
    /// The key's id.
    pub id: String,
    /// The secret.
    pub secret: String,
    /// The token of a temporary key.
    pub token: Option<String>,
    /// The region that requests are to be signed for.
    pub region: String,
}

/// Serves an object at a path, such as `/bucket/key`, to an account, or to everybody.
#[must_use]
pub fn serve(path: &str, object: Vec<u8>, account: Option<Account>) -> Web {
    let path = path.to_owned();
    Web::start(move |request| {
        let (at, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
        if account.as_ref().is_some_and(|account| !account.has_signed(request, at, query)) {
            return Reply::status(403);
        }
        if at == path { Reply::of(request, &object, "\"e1\"") } else { Reply::status(404) }
    })
}

impl Account {
    /// Whether a request has this account's signature in its query, by AWS' rules (Signature Version 4).
    fn has_signed(&self, request: &Request, path: &str, query: &str) -> bool {
        let mut fields: Vec<(&str, &str)> =
            query.split('&').filter_map(|field| field.split_once('=')).collect();
        fields.sort_unstable();
        let value = |name: &str| {
            fields.iter().find(|(other, _)| *other == name).map_or("", |(_, value)| value)
        };
        let signature = value("X-Amz-Signature");
        let signed: Vec<_> = fields.iter().filter(|(name, _)| *name != "X-Amz-Signature").collect();
        let signed: Vec<_> = signed.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let host = request.header("host").unwrap_or_default();
        let lines = [
            &*request.method,
            path,
            &signed.join("&"),
            &format!("host:{host}"),
            "",
            "host",
            "UNSIGNED-PAYLOAD",
        ];
        let date = value("X-Amz-Date");
        let day = date.split('T').next().unwrap_or_default();
        let scope = format!("{day}/{}/s3/aws4_request", self.region);
        let text =
            ["AWS4-HMAC-SHA256", date, &scope, &hex::encode(Sha256::digest(lines.join("\n")))]
                .join("\n");
        let key = [day, &self.region, "s3", "aws4_request"]
            .iter()
            .fold(format!("AWS4{}", self.secret).into_bytes(), |key, part| {
                hmac(&key, part.as_bytes()).to_vec()
            });
        value("X-Amz-Credential") == format!("{}/{scope}", self.id).replace('/', "%2F")
            && value("X-Amz-Security-Token") == self.token.as_deref().unwrap_or_default()
            && signature == hex::encode(hmac(&key, text.as_bytes()))
    }
}

/// RFC 2104 with SHA-256.
pub(crate) fn hmac(key: &[u8], text: &[u8]) -> [u8; 32] {
    let mut block = [0; 64];
    if key.len() > block.len() {
        block[..32].copy_from_slice(&Sha256::digest(key));
    } else {
        block[..key.len()].copy_from_slice(key);
    }
    let pad = |with: u8| block.map(|byte| byte ^ with);
    let inner = Sha256::new().chain_update(pad(0x36)).chain_update(text).finalize();
    Sha256::new().chain_update(pad(0x5c)).chain_update(inner).finalize().into()
}
