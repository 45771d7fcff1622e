//! Servers of the protocol of Azure Blob Storage on the loopback address: one that computes the signature of each request itself, and
//! Azurite, the emulator of Azure's makers, where it is installed.

use std::{fs, path::Path};

use base64::{Engine, prelude::BASE64_STANDARD};
use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use crate::{
    s3::hmac,
    server::{self, Program, Server},
    web::{Reply, Request, Web},
};

const PROGRAM: Program = Program {
    tier: "azurite",
    variable: "LITH_AZURITE",
    folder_variable: "LITH_AZURITE_DIR",
    folder: "lith-azurite",
    program: "node_modules/.bin/azurite-blob",
    script: "tests/azurite/get",
};

/// The type of the objects that are sent.
const TYPE: &str = "application/octet-stream";

/// The version of the protocol by which objects are sent.
const VERSION: &str = "2021-12-02";

/// Azurite in a process, with one account.
pub struct Azurite {
    server: Server,
    key: [u8; 32],
}

impl Azurite {
    /// The account's name.
    pub const ACCOUNT: &str = "acct";

    /// Starts it with its data in a folder; `None`: it is not installed, which is reported.
    #[must_use]
    pub fn start(folder: &Path) -> Option<Self> {
        let data = folder.join("azurite");
        fs::create_dir(&data).unwrap();
        let key = [7; 32];
        let server = PROGRAM.start(|command, host| {
            let (address, port) = host.split_once(':').unwrap();
            command.env(
                "AZURITE_ACCOUNTS",
                format!("{}:{}", Self::ACCOUNT, BASE64_STANDARD.encode(key)),
            );
            command.args([
                "--silent",
                "--disableTelemetry",
                "--blobHost",
                address,
                "--blobPort",
                port,
            ]);
            command.arg("--location").arg(data);
        })?;
        Some(Self { server, key })
    }

    /// The address of the account.
    #[must_use]
    pub fn endpoint(&self) -> String {
        format!("http://{}/{}", self.server.host, Self::ACCOUNT)
    }

    /// The account's key, in Base64.
    #[must_use]
    pub fn key(&self) -> String {
        BASE64_STANDARD.encode(self.key)
    }

    /// Makes a container, which only the account may read.
    pub fn make_container(&self, name: &str) {
        self.put(&format!("{name}?restype=container"), &[], &[]);
    }

    /// Stores an object at a path, `CONTAINER/NAME` as in an address.
    pub fn store(&self, path: &str, object: &[u8]) {
        self.put(path, &[("x-ms-blob-type", "BlockBlob")], object);
    }

    /// A shared access signature for reading all objects of a container until the year 2999.
    #[must_use]
    pub fn token(&self, container: &str) -> String {
        let (end, account) = ("2999-01-01T00:00:00Z", Self::ACCOUNT);
        let resource = format!("/blob/{account}/{container}");
        let text = format!("r\n\n{end}\n{resource}\n\n\n\n{VERSION}\nc\n\n\n\n\n\n\n");
        let signature = BASE64_STANDARD.encode(hmac(&self.key, text.as_bytes()));
        let signature = utf8_percent_encode(&signature, NON_ALPHANUMERIC);
        format!("?se={end}&sp=r&sv={VERSION}&sr=c&sig={signature}")
    }

    /// Sends a request with a signature by the account's key in its header `Authorization`.
    fn put(&self, path: &str, headers: &[(&str, &str)], body: &[u8]) {
        let date = jiff::Timestamp::now().strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
        let own = [("x-ms-date", &*date), ("x-ms-version", VERSION)];
        let headers: Vec<_> = headers.iter().copied().chain(own).collect();
        let named: Vec<_> =
            headers.iter().map(|(name, value)| format!("{name}:{value}\n")).collect();
        let named = named.concat();
        let length = if body.is_empty() { String::new() } else { body.len().to_string() };
        let (at, query) = path.split_once('?').unwrap_or((path, ""));
        let query = query.split('&').filter_map(|field| field.split_once('='));
        let query: Vec<_> = query.map(|(name, value)| format!("\n{name}:{value}")).collect();
        let query = query.concat();
        // In the emulator's addresses the account is part of the path, and named once more.
        let account = Self::ACCOUNT;
        let text = format!(
            "PUT\n\n\n{length}\n\n{TYPE}\n\n\n\n\n\n\n{named}/{account}/{account}/{at}{query}"
        );
        let signature = BASE64_STANDARD.encode(hmac(&self.key, text.as_bytes()));
        let mut headers: Vec<_> =
            headers.into_iter().map(|(name, value)| (name, value.to_owned())).collect();
        headers.push(("content-type", TYPE.to_owned()));
        headers.push(("authorization", format!("SharedKey {account}:{signature}")));
        server::put(&format!("{}/{path}", self.endpoint()), &headers, body);
    }
}

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
