//! Defines [`S3Account`] and [`Bucket`]: objects of S3 and of what speaks its protocol.

use std::{fmt, fs, path::PathBuf};

use rusty_s3::{Credentials, S3Action, UrlStyle};

use crate::{Address, RemoteError, access::Access, address::VALID, environment::variable};

/// Where buckets are, and who reads them.
#[derive(Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct S3Account {
    /// The server, such as `http://127.0.0.1:9000`; `None`: that of Amazon for the region.
    pub endpoint: Option<String>,
    /// The region of the bucket, `us-east-1` by default.
    pub region: Option<String>,
    /// The key's id and its secret; `None`: requests are not signed.
    pub key: Option<(String, String)>,
    /// The token of a temporary key.
    pub token: Option<String>,
}

impl fmt::Debug for S3Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { endpoint, region, .. } = self;
        f.debug_struct("S3Account")
            .field("endpoint", endpoint)
            .field("region", region)
            .finish_non_exhaustive()
    }
}

impl S3Account {
    /// The default with some changes.
    #[must_use]
    pub fn with(change: impl FnOnce(&mut Self)) -> Self {
        let mut account = Self::default();
        change(&mut account);
        account
    }

    /// What the environment and the files of a user's configuration say: `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`,
    /// `AWS_SESSION_TOKEN`, `AWS_REGION`, `AWS_ENDPOINT_URL_S3`, `AWS_ENDPOINT_URL`, and of the profile `AWS_PROFILE` what
    /// `~/.aws/credentials` and `~/.aws/config` have.
    #[must_use]
    pub fn of_environment() -> Self {
        let profile = variable(&["AWS_PROFILE"]).unwrap_or_else(|| "default".to_owned());
        let keys = read("AWS_SHARED_CREDENTIALS_FILE", "credentials");
        let settings = read("AWS_CONFIG_FILE", "config");
        let of_profile = |name: &str| {
            let section = format!("profile {profile}");
            setting(&settings, &section, name).or_else(|| setting(&settings, &profile, name))
        };
        let pair = |id: Option<String>, secret: Option<String>| id.zip(secret);
        let own = pair(variable(&["AWS_ACCESS_KEY_ID"]), variable(&["AWS_SECRET_ACCESS_KEY"]));
        let own = own.map(|key| (key, variable(&["AWS_SESSION_TOKEN"])));
        let of_file = |text: &str, section: &str| {
            let get = |name: &str| setting(text, section, name);
            let key = pair(get("aws_access_key_id"), get("aws_secret_access_key"));
            key.map(|key| (key, get("aws_session_token")))
        };
        let found = own
            .or_else(|| of_file(&keys, &profile))
            .or_else(|| of_file(&settings, &format!("profile {profile}")))
            .or_else(|| of_file(&settings, &profile));
        let (key, token) = found.map_or((None, None), |(key, token)| (Some(key), token));
        Self {
            endpoint: variable(&["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"])
                .or_else(|| of_profile("endpoint_url")),
            region: variable(&["AWS_REGION", "AWS_DEFAULT_REGION"])
                .or_else(|| of_profile("region")),
            key,
            token,
        }
    }
}

/// The text of a file that a variable names, or that is in the usual folder; empty if there is none.
fn read(name: &str, usual: &str) -> String {
    let usual = || Some(PathBuf::from(variable(&["HOME"])?).join(".aws").join(usual));
    let path = variable(&[name]).map(PathBuf::from).or_else(usual);
    path.and_then(|path| fs::read_to_string(path).ok()).unwrap_or_default()
}

/// The value of a setting in a section of a file as `~/.aws/config`.
fn setting(text: &str, section: &str, name: &str) -> Option<String> {
    let mut is_in_section = false;
    for line in text.lines().map(str::trim) {
        if let Some(title) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            is_in_section = title.trim() == section;
        } else if is_in_section
            && let Some((key, value)) = line.split_once('=')
            && key.trim() == name
        {
            return Some(value.trim().to_owned()).filter(|value| !value.is_empty());
        }
    }
    None
}

/// An object in a bucket.
pub(crate) struct Bucket {
    place: rusty_s3::Bucket,
    credentials: Option<Credentials>,
    key: String,
}

impl fmt::Debug for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bucket").field("key", &self.key).finish_non_exhaustive()
    }
}

impl Bucket {
    /// The object that `BUCKET/KEY` names.
    pub(crate) fn new(text: &str, account: &S3Account) -> Result<Self, RemoteError> {
        let none = RemoteError::Address("expected s3://BUCKET/KEY");
        let Some((name, key)) = text.split_once('/').filter(|(_, key)| !key.is_empty()) else {
            return Err(none);
        };
        let is_legal = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
        if name.is_empty() || !name.bytes().all(is_legal) || name.starts_with('.') {
            return Err(none);
        }
        let region = account.region.clone().unwrap_or_else(|| "us-east-1".to_owned());
        // A certificate is for one label only.
        let style = match account.endpoint {
            None if !name.contains('.') => UrlStyle::VirtualHost,
            _ => UrlStyle::Path,
        };
        let usual = || format!("https://s3.{region}.amazonaws.com");
        let endpoint = account.endpoint.clone().unwrap_or_else(usual);
        let wrong = RemoteError::Address("the endpoint or the region is none of S3");
        let Ok(endpoint) = endpoint.parse() else { return Err(wrong) };
        let Ok(bucket) = rusty_s3::Bucket::new(endpoint, style, name.to_owned(), region) else {
            return Err(wrong);
        };
        let credentials = account.key.clone().map(|(id, secret)| match account.token.clone() {
            Some(token) => Credentials::new_with_token(id, secret, token),
            None => Credentials::new(id, secret),
        });
        Ok(Self { place: bucket, credentials, key: key.to_owned() })
    }

    /// The address without a signature.
    pub(crate) fn address(&self) -> Result<Address, RemoteError> {
        Address::parse(self.place.get_object(None, &self.key).sign(VALID).as_str())
    }
}

impl Access for Bucket {
    fn signed(&self) -> Option<Address> {
        let credentials = self.credentials.as_ref()?;
        let signed = self.place.get_object(Some(credentials), &self.key).sign(VALID);
        Address::parse(signed.as_str()).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str, account: &S3Account) -> String {
        Bucket::new(text, account).unwrap().address().unwrap().secret_text()
    }

    #[test]
    fn buckets_have_the_addresses_of_their_region_or_endpoint() {
        let mut account = S3Account::default();
        let text = address("box/a/b c+d", &account);
        assert_eq!(text, "https://box.s3.us-east-1.amazonaws.com/a/b%20c%2Bd");
        account.region = Some("eu-west-3".to_owned());
        assert_eq!(address("my.box/x", &account), "https://s3.eu-west-3.amazonaws.com/my.box/x");
        account.endpoint = Some("http://127.0.0.1:9000".to_owned());
        assert_eq!(address("box/x", &account), "http://127.0.0.1:9000/box/x");
        for wrong in ["box", "box/", "/x", "b x/y", "../y", "a@b/c"] {
            assert!(Bucket::new(wrong, &account).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_signature_is_part_of_an_address_that_is_not_shown() {
        let account = S3Account::with(|account| {
            account.key = Some(("id".to_owned(), "secret".to_owned()));
            account.token = Some("token".to_owned());
        });
        let bucket = Bucket::new("box/x", &account).unwrap();
        let signed = bucket.signed().unwrap();
        assert!(signed.secret_text().contains("X-Amz-Signature="), "{}", signed.secret_text());
        assert!(signed.secret_text().contains("X-Amz-Security-Token=token"));
        assert!(signed.has_origin_of(&bucket.address().unwrap()));
        assert_eq!(signed.to_string(), "https://box.s3.us-east-1.amazonaws.com/x?...");
        assert!(!format!("{bucket:?}{account:?}").contains("secret"));
        assert!(Bucket::new("box/x", &S3Account::default()).unwrap().signed().is_none());
    }

    #[test]
    fn settings_are_those_of_their_section() {
        let text =
            "[default]\nregion = eu-west-1\n # [other]\n[profile work]\nregion=us-west-2\nx =\n";
        assert_eq!(setting(text, "default", "region").as_deref(), Some("eu-west-1"));
        assert_eq!(setting(text, "profile work", "region").as_deref(), Some("us-west-2"));
        assert_eq!(setting(text, "profile work", "x"), None);
        assert_eq!(setting(text, "other", "region"), None);
    }
}
