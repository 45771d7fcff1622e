//! Servers of S3's protocol on the loopback address: one that computes the signature of each request itself, and Versity's S3
//! gateway, where it is installed.

use std::{fs, path::Path};

use sha2::{Digest, Sha256};

use crate::{
    server::{self, Program, Server},
    web::{Reply, Request, Web},
};

const PROGRAM: Program = Program {
    tier: "s3",
    variable: "LITH_S3",
    folder_variable: "LITH_S3_DIR",
    folder: "lith-s3",
    program: "versitygw",
    script: "tests/s3/get",
};

/// Versity's S3 gateway in a process, with one account.
pub struct Gateway {
    server: Server,
    account: Account,
}

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
        let date = value("X-Amz-Date");
        let request = [&*request.method, path, &signed.join("&"), host];
        value("X-Amz-Credential") == format!("{}/{}", self.id, self.scope(date)).replace('/', "%2F")
            && value("X-Amz-Security-Token") == self.token.as_deref().unwrap_or_default()
            && signature == self.signature(request, date)
    }

    /// What a signature of some time is for.
    fn scope(&self, date: &str) -> String {
        let day = date.split('T').next().unwrap_or_default();
        format!("{day}/{}/s3/aws4_request", self.region)
    }

    /// The signature of a request: of its method, path, query without the signature in order, and host.
    fn signature(&self, [method, path, query, host]: [&str; 4], date: &str) -> String {
        let host = format!("host:{host}");
        let lines = [method, path, query, &host, "", "host", "UNSIGNED-PAYLOAD"];
        let (scope, day) = (self.scope(date), date.split('T').next().unwrap_or_default());
        let text =
            ["AWS4-HMAC-SHA256", date, &scope, &hex::encode(Sha256::digest(lines.join("\n")))]
                .join("\n");
        let key = [day, &self.region, "s3", "aws4_request"]
            .iter()
            .fold(format!("AWS4{}", self.secret).into_bytes(), |key, part| {
                hmac(&key, part.as_bytes()).to_vec()
            });
        hex::encode(hmac(&key, text.as_bytes()))
    }

    /// The query that allows a request for a minute. The account has no token.
    fn query(&self, [method, path, host]: [&str; 3]) -> String {
        let date = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ").to_string();
        let credential = format!("{}/{}", self.id, self.scope(&date)).replace('/', "%2F");
        let query = format!(
            "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential={credential}&X-Amz-Date={date}\
                &X-Amz-Expires=60&X-Amz-SignedHeaders=host"
        );
        let signature = self.signature([method, path, &query, host], &date);
        format!("{query}&X-Amz-Signature={signature}")
    }
}

impl Gateway {
    /// Starts it with its data in a folder; `None`: it is not installed, which is reported.
    #[must_use]
    pub fn start(folder: &Path) -> Option<Self> {
        let account = Account {
            id: "AKID".to_owned(),
            secret: "se/cr+et".to_owned(),
            token: None,
            region: "eu-west-3".to_owned(),
        };
        let [data, attributes] = ["s3", "attributes"].map(|name| folder.join(name));
        for folder in [&data, &attributes] {
            fs::create_dir(folder).unwrap();
        }
        let server = PROGRAM.start(|command, host| {
            command.args(["--quiet", "--port", host, "--region", &account.region]);
            command.args(["--access", &account.id, "--secret", &account.secret, "posix"]);
            command.arg("--sidecar").args([attributes, data]);
        })?;
        Some(Self { server, account })
    }

    /// Its address.
    #[must_use]
    pub fn endpoint(&self) -> String {
        format!("http://{}", self.server.host)
    }

    /// Who may read.
    #[must_use]
    pub const fn account(&self) -> &Account {
        &self.account
    }

    /// Makes a bucket, which only the account may read.
    pub fn make_bucket(&self, name: &str) {
        self.store(name, &[]);
    }

    /// Stores an object at a path, `BUCKET/KEY` as in an address.
    pub fn store(&self, path: &str, object: &[u8]) {
        let query = self.account.query(["PUT", &format!("/{path}"), &self.server.host]);
        server::put(&format!("{}/{path}?{query}", self.endpoint()), &[], object);
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
