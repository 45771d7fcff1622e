//! Finds the user's login for a registry in the files that docker and podman write.

use std::{
    collections::HashMap,
    env, fs,
    io::{self, Write},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use base64::{Engine, prelude::BASE64_STANDARD};
use serde::Deserialize;

use crate::RemoteError;

/// The user name that a helper gives with a token in place of a password.
const TOKEN: &str = "<token>";

/// A user's login for a registry.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Login {
    /// The value of the header `Authorization`.
    Basic(String),
    /// A token with which tokens can be had.
    Refresh(String),
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct File {
    auths: HashMap<String, Entry>,
    cred_helpers: HashMap<String, String>,
    creds_store: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Entry {
    auth: Option<String>,
    identitytoken: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Given {
    username: String,
    secret: String,
}

/// The files in which docker and podman have logins, whether there are such or not: `$REGISTRY_AUTH_FILE` alone if it is set,
/// else those of podman and of docker.
#[must_use]
pub fn usual_login_files() -> Vec<PathBuf> {
    let named = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(file) = named("REGISTRY_AUTH_FILE") {
        return vec![file];
    }
    let home = |below: &str| Some(named("HOME")?.join(below));
    let podman = |folder: PathBuf| folder.join("containers/auth.json");
    [
        named("XDG_RUNTIME_DIR").map(podman),
        named("XDG_CONFIG_HOME").or_else(|| home(".config")).map(podman),
        named("DOCKER_CONFIG").or_else(|| home(".docker")).map(|folder| folder.join("config.json")),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The login for one of these accounts, the most exact one first, in the first file that has one.
pub(super) fn find(files: &[PathBuf], accounts: &[String]) -> Result<Option<Login>, RemoteError> {
    for path in files {
        let text = match fs::read(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(_) => return Err(wrong(path, "can't be read")),
        };
        let file: File =
            serde_json::from_slice(&text).map_err(|_secret| wrong(path, "is no file of logins"))?;
        if let Some(login) = file.login(path, accounts)? {
            return Ok(Some(login));
        }
    }
    Ok(None)
}

fn wrong(path: &Path, what: &'static str) -> RemoteError {
    RemoteError::Logins { path: path.to_owned(), what }
}

impl File {
    fn login(&self, path: &Path, accounts: &[String]) -> Result<Option<Login>, RemoteError> {
        for account in accounts {
            if let Some(helper) = self.cred_helpers.get(account) {
                return ask(helper, account).map_err(|what| wrong(path, what));
            }
            let Some(entry) = self.auths.get(account) else { continue };
            if let Some(token) = entry.identitytoken.clone().filter(|token| !token.is_empty()) {
                return Ok(Some(Login::Refresh(token)));
            }
            if let Some(auth) = entry.auth.as_deref().filter(|auth| !auth.is_empty()) {
                return basic(auth).map(Some).ok_or_else(|| wrong(path, "has a damaged login"));
            }
            // The login is in the store of the system.
            if let Some(helper) = &self.creds_store {
                return ask(helper, account).map_err(|what| wrong(path, what));
            }
        }
        Ok(None)
    }
}

/// The login of an entry, which is base64 of `USER:PASSWORD`.
fn basic(auth: &str) -> Option<Login> {
    let plain = BASE64_STANDARD.decode(auth.trim()).ok()?;
    plain.contains(&b':').then(|| Login::Basic(format!("Basic {}", BASE64_STANDARD.encode(plain))))
}

/// Asks a program that keeps logins, `docker-credential-HELPER`. Without a login it fails.
fn ask(helper: &str, account: &str) -> Result<Option<Login>, &'static str> {
    let is_legal = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if helper.is_empty() || !helper.bytes().all(is_legal) {
        return Err("names a helper by an impossible name");
    }
    let missing = "names a helper that can't be started";
    let mut child = Command::new(format!("docker-credential-{helper}"))
        .arg("get")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|_error| missing)?;
    if let Some(mut input) = child.stdin.take() {
        // One that ends early has its reason.
        let _ = input.write_all(account.as_bytes());
    }
    let output = child.wait_with_output().map_err(|_error| missing)?;
    if !output.status.success() {
        return Ok(None);
    }
    let given: Given = serde_json::from_slice(&output.stdout)
        .map_err(|_secret| "names a helper whose answer is wrong")?;
    if given.username == TOKEN {
        return Ok(Some(Login::Refresh(given.secret)));
    }
    let plain = format!("{}:{}", given.username, given.secret);
    Ok(Some(Login::Basic(format!("Basic {}", BASE64_STANDARD.encode(plain)))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn login(text: &str, accounts: &[&str]) -> Result<Option<Login>, RemoteError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("auth.json");
        fs::write(&path, text).unwrap();
        let accounts: Vec<_> = accounts.iter().map(|account| (*account).to_owned()).collect();
        find(&[folder.path().join("none"), path], &accounts)
    }

    #[test]
    fn the_most_exact_login_counts() {
        let text = r#"{"auths": {
            "h": {"auth": "bWU6cGFzcw=="},
            "h/a": {"auth": "eW91OnBhc3M="},
            "t": {"identitytoken": "long"},
            "empty": {}
        }}"#;
        let is = |accounts: &[&str], expected: Option<Login>| {
            assert!(login(text, accounts).unwrap() == expected, "{accounts:?}");
        };
        is(&["h/a/b", "h/a", "h"], Some(Login::Basic("Basic eW91OnBhc3M=".to_owned())));
        is(&["h/b", "h"], Some(Login::Basic("Basic bWU6cGFzcw==".to_owned())));
        is(&["t"], Some(Login::Refresh("long".to_owned())));
        is(&["empty"], None);
        is(&["other"], None);
    }

    #[test]
    fn damaged_files_are_named_without_what_they_hold() {
        for text in [
            "secret",
            r#"{"auths": {"h": {"auth": "secret"}}}"#,
            r#"{"credHelpers": {"h": "../secret"}}"#,
            r#"{"credHelpers": {"h": "not-there-secret"}}"#,
        ] {
            let Err(error) = login(text, &["h"]) else { panic!("{text}") };
            let message = format!("{error} {error:?}");
            assert!(message.contains("auth.json") && !message.contains("secret"), "{message}");
        }
    }
}
