//! Defines [`AzureAccount`] and [`Blob`]: objects of Azure Blob Storage.
//!
//! A request shows who it is from by a shared access signature in its query: one that was given, or one that the key of the
//! account makes for this object and a short time.

use std::fmt;

use base64::{Engine, prelude::BASE64_STANDARD};
use hmac::{Hmac, KeyInit, Mac};
use jiff::{SignedDuration, Timestamp};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use sha2::Sha256;

use crate::{
    Address, RemoteError,
    access::Access,
    address::{PATH, VALID},
    environment::variable,
};

/// The version of the protocol, which says what is signed.
const VERSION: &str = "2021-12-02";

/// Where containers are, and who reads them.
#[derive(Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AzureAccount {
    /// The account's name.
    pub name: Option<String>,
    /// The server, such as `http://127.0.0.1:10000/devstoreaccount1`; `None`: that of Azure for the account.
    pub endpoint: Option<String>,
    /// The account's key, in Base64.
    pub key: Option<String>,
    /// A shared access signature, which is used if there is no key. Without both, requests are not signed.
    pub signature: Option<String>,
}

impl fmt::Debug for AzureAccount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, endpoint, .. } = self;
        f.debug_struct("AzureAccount")
            .field("name", name)
            .field("endpoint", endpoint)
            .finish_non_exhaustive()
    }
}

impl AzureAccount {
    /// The default with some changes.
    #[must_use]
    pub fn with(change: impl FnOnce(&mut Self)) -> Self {
        let mut account = Self::default();
        change(&mut account);
        account
    }

    /// What the environment says: `AZURE_STORAGE_ACCOUNT`, `AZURE_STORAGE_KEY`,
    /// `AZURE_STORAGE_SAS_TOKEN`, `AZURE_STORAGE_ENDPOINT`; what these don't say, `AZURE_STORAGE_CONNECTION_STRING` does.
    #[must_use]
    pub fn of_environment() -> Self {
        let connection = variable(&["AZURE_STORAGE_CONNECTION_STRING"]).unwrap_or_default();
        let given = Self::of_connection(&connection);
        Self {
            name: variable(&["AZURE_STORAGE_ACCOUNT", "AZURE_STORAGE_ACCOUNT_NAME"]).or(given.name),
            endpoint: variable(&["AZURE_STORAGE_ENDPOINT"]).or(given.endpoint),
            key: variable(&["AZURE_STORAGE_KEY", "AZURE_STORAGE_ACCOUNT_KEY"]).or(given.key),
            signature: variable(&["AZURE_STORAGE_SAS_TOKEN"]).or(given.signature),
        }
    }

    /// What a connection string says: fields `NAME=VALUE` with semicolons between them.
    fn of_connection(text: &str) -> Self {
        let field = |name: &str| {
            let mut fields = text.split(';').filter_map(|field| field.split_once('='));
            let found = fields.find(|(other, _)| other.trim().eq_ignore_ascii_case(name));
            found.map(|(_, value)| value.trim().to_owned()).filter(|value| !value.is_empty())
        };
        let of_suffix =
            || Some(format!("https://{}.blob.{}", field("AccountName")?, field("EndpointSuffix")?));
        Self {
            name: field("AccountName"),
            endpoint: field("BlobEndpoint").or_else(of_suffix),
            key: field("AccountKey"),
            signature: field("SharedAccessSignature"),
        }
    }
}

/// An object in a container.
pub(crate) struct Blob {
    address: Address,
    signer: Signer,
}

enum Signer {
    Nobody,
    /// The query that is given.
    Given(String),
    /// By a key, for a resource.
    Key {
        key: Vec<u8>,
        resource: String,
    },
}

impl fmt::Debug for Blob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Blob").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Blob {
    /// The object that `CONTAINER/NAME` names.
    pub(crate) fn new(text: &str, account: &AzureAccount) -> Result<Self, RemoteError> {
        let parts = text.split_once('/').filter(|(container, name)| {
            let is_legal = |byte: u8| byte.is_ascii_alphanumeric() || b"-$".contains(&byte);
            !container.is_empty() && container.bytes().all(is_legal) && !name.is_empty()
        });
        if parts.is_none() {
            return Err(RemoteError::Address("expected az://CONTAINER/NAME"));
        }
        let name = account.name.as_deref().unwrap_or_default();
        let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let endpoint = match &account.endpoint {
            Some(endpoint) => endpoint.trim_end_matches('/').to_owned(),
            None if is_name => format!("https://{name}.blob.core.windows.net"),
            None => return Err(RemoteError::Address("set AZURE_STORAGE_ACCOUNT for az://")),
        };
        let address = format!("{endpoint}/{}", utf8_percent_encode(text, PATH));
        let signer = match (&account.key, &account.signature) {
            (Some(_), _) if !is_name => {
                return Err(RemoteError::Address("the key needs AZURE_STORAGE_ACCOUNT"));
            }
            (Some(key), _) => {
                let wrong = |_secret| RemoteError::Address("the key of the account is no Base64");
                let key = BASE64_STANDARD.decode(key).map_err(wrong)?;
                Signer::Key { key, resource: format!("/blob/{name}/{text}") }
            }
            (None, Some(given)) => Signer::Given(given.trim_start_matches('?').to_owned()),
            (None, None) => Signer::Nobody,
        };
        Ok(Self { address: Address::parse(&address)?, signer })
    }

    /// The address without a signature.
    pub(crate) fn address(&self) -> Address {
        self.address.clone()
    }
}

impl Access for Blob {
    fn signed(&self) -> Option<Address> {
        let query = match &self.signer {
            Signer::Nobody => return None,
            Signer::Given(query) => query.clone(),
            Signer::Key { key, resource } => {
                let end =
                    Timestamp::now().checked_add(SignedDuration::try_from(VALID).ok()?).ok()?;
                query(key, resource, &end.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
            }
        };
        Address::parse(&format!("{}?{query}", self.address.secret_text())).ok()
    }
}

/// A signature by which a resource can be read until some time: a service SAS.
fn query(key: &[u8], resource: &str, end: &str) -> String {
    // Permissions, start, end, resource, identifier, addresses, protocols, version, kind, and what is not used.
    let fields = ["r", "", end, resource, "", "", "", VERSION, "b", "", "", "", "", "", "", ""];
    let mut hmac = Hmac::<Sha256>::new_from_slice(key).expect("a key has any length");
    hmac.update(fields.join("\n").as_bytes());
    let signature = BASE64_STANDARD.encode(hmac.finalize().into_bytes());
    let encoded = |text| utf8_percent_encode(text, NON_ALPHANUMERIC);
    format!("sv={VERSION}&se={}&sr=b&sp=r&sig={}", encoded(end), encoded(&signature))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account() -> AzureAccount {
        AzureAccount::of_connection(
            "DefaultEndpointsProtocol=https;AccountName=acct;AccountKey=a2V5;EndpointSuffix=core.example",
        )
    }

    #[test]
    fn a_signature_is_that_of_the_service() {
        // Computed by another program from the documented text.
        let expected = "sv=2021-12-02&se=2026%2D11%2D23T04%3A00%3A00Z&sr=b&sp=r\
            &sig=zc2zHZT9XKJJ9r23ky8vlUDbVLxExTSxdnLws0KIOvY%3D";
        assert_eq!(query(b"key", "/blob/acct/box/a/b c", "2026-11-23T04:00:00Z"), expected);
    }

    #[test]
    fn containers_have_the_addresses_of_their_account_or_endpoint() {
        let address = |account: &AzureAccount| {
            Blob::new("box/a/b c+d", account).unwrap().address().secret_text()
        };
        let mut own = account();
        assert_eq!(address(&own), "https://acct.blob.core.example/box/a/b%20c%2Bd");
        own.endpoint = None;
        assert_eq!(address(&own), "https://acct.blob.core.windows.net/box/a/b%20c%2Bd");
        own.endpoint = Some("http://127.0.0.1:10000/acct/".to_owned());
        assert_eq!(address(&own), "http://127.0.0.1:10000/acct/box/a/b%20c%2Bd");
        for wrong in ["box", "box/", "/x", "b x/y", "../y", "a@b/c"] {
            assert!(Blob::new(wrong, &own).is_err(), "{wrong}");
        }
        for (change, reason) in [("name", "AZURE_STORAGE_ACCOUNT"), ("key", "no Base64")] {
            let mut wrong = account();
            match change {
                "name" => wrong.name = None,
                _ => wrong.key = Some("secret!".to_owned()),
            }
            let error = Blob::new("box/x", &wrong).unwrap_err().to_string();
            assert!(error.contains(reason) && !error.contains("secret"), "{error}");
        }
    }

    #[test]
    fn a_signature_is_part_of_an_address_that_is_not_shown() {
        let blob = Blob::new("box/x", &account()).unwrap();
        let signed = blob.signed().unwrap();
        assert!(signed.secret_text().contains("&sig="), "{}", signed.secret_text());
        assert_eq!(signed.to_string(), "https://acct.blob.core.example/box/x?...");
        let given = AzureAccount::with(|own| {
            own.name = Some("acct".to_owned());
            own.signature = Some("?sv=1&sig=secret".to_owned());
        });
        let blob = Blob::new("box/x", &given).unwrap();
        assert!(blob.signed().unwrap().secret_text().ends_with("/box/x?sv=1&sig=secret"));
        assert!(!format!("{blob:?}{given:?}{:?}", account()).contains("secret"));
        let open = AzureAccount::with(|own| own.name = Some("acct".to_owned()));
        assert!(Blob::new("box/x", &open).unwrap().signed().is_none());
    }
}
